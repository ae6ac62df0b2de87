"""`mtlv run`: train, evaluate and track the models of a config."""

from __future__ import annotations

import argparse

from mtlv.cli.terminal import FAILED, OK, complain, console, end_in_order, progress, say
from mtlv.events import NoteGiven


def run(args: argparse.Namespace) -> int:
    """Train, evaluate and track the models of a config."""
    from mtlv.display.tables import table
    from mtlv.settings import load_suite

    suite = load_suite(args.config, args.overrides)
    from mtlv.suite.run import run_suite

    end_in_order()
    with progress() as display:
        for note in suite.notes:
            display(NoteGiven(note))
        result = run_suite(suite, display, if_exists=args.if_exists)
    if result.rows:
        table(console(), result.header, result.rows, title=f"Experiment {suite.experiment}")
    say(*result.warnings, *result.where)
    for problem in result.failed:
        complain(problem)
    return FAILED if result.failed else OK
