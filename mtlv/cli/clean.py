"""`mtlv clean`: list files of a store that nothing needs, and delete them on request."""

from __future__ import annotations

import argparse
from dataclasses import replace

from mtlv.cli.terminal import OK, say


def clean(args: argparse.Namespace) -> int:
    """List files of a store that nothing needs, and delete them on request."""
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
