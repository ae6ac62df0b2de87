"""`mtlv clean`: list files of a store that nothing needs, and delete them on request."""

from __future__ import annotations

import argparse

from mtlv.cli.terminal import OK, say


def clean(args: argparse.Namespace) -> int:
    """List files of a store that nothing needs, and delete them on request."""
    from mtlv.settings import load_overrides, load_suite
    from mtlv.suite.clean import clean_lines

    suites = [load_suite(name, []) for name in args.configs]
    first = suites[0] if suites else load_overrides([])
    folder = args.store or first.members[0].settings.store.folder
    say(*clean_lines(folder, suites, delete=args.yes))
    return OK
