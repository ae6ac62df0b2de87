"""`mtlv cluster`: group the tasks without training."""

from __future__ import annotations

import argparse

from mtlv.cli.terminal import OK, end_in_order, progress, say


def cluster(args: argparse.Namespace) -> int:
    """Group the tasks without training."""
    from mtlv.settings import load_suite

    suite = load_suite(args.config, args.overrides)
    from mtlv.suite.cluster import cluster_suite

    end_in_order()
    with progress() as display:
        result = cluster_suite(suite, args.out, display)
    say(*result.lines)
    return OK
