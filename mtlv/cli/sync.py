"""`mtlv sync`: upload what runs could not upload."""

from __future__ import annotations

import argparse

from mtlv.cli.terminal import OK, complain, say


def sync(args: argparse.Namespace) -> int:
    """Upload what runs could not upload."""
    from mtlv.settings import load_overrides
    from mtlv.tracking.sync import sync_store

    settings = load_overrides([]).members[0].settings
    lines = sync_store(
        args.store or settings.store.folder,
        args.uri,
        lambda text: complain(f"warning: {text}"),
        patience=settings.tracking.flush_seconds if args.wait is None else args.wait,
        set_aside=args.set_aside,
    )
    say(*lines)
    return OK
