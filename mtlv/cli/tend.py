"""Commands that tend a store: sync, clean."""

from __future__ import annotations

import argparse
from dataclasses import replace

from mtlv.cli.terminal import OK, complain, say


def sync(args: argparse.Namespace) -> int:
    """Deliver what runs could not."""
    from mtlv.settings import load_overrides
    from mtlv.store.location import StoreLocation
    from mtlv.tracking.sync import sync_store

    settings = load_overrides([]).members[0].settings
    lines = sync_store(
        StoreLocation(args.store or settings.store.uri).folder,
        args.uri,
        lambda text: complain(f"warning: {text}"),
        patience=settings.tracking.flush_seconds if args.wait is None else args.wait,
        set_aside=args.set_aside,
    )
    say(*lines)
    return OK


def clean(args: argparse.Namespace) -> int:
    """List what of a store nothing needs, and delete it where asked to."""
    from mtlv.settings import load_overrides, load_suite
    from mtlv.store.location import location_of
    from mtlv.suite.clean import clean_lines

    suites = [load_suite(name, []) for name in args.configs]
    first = suites[0] if suites else load_overrides([])
    store = location_of(first.members[0].settings.store)
    if args.store is not None:
        store = replace(store, uri=args.store)
    say(*clean_lines(store, suites, delete=args.yes))
    return OK
