"""`mtlv run`: train, evaluate and track the models of a config."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from mtlv.cli.terminal import FAILED, OK, complain, console, end_in_order, progress, say
from mtlv.errors import MtlvError
from mtlv.events import NoteGiven, SuiteStarted

if TYPE_CHECKING:
    from mtlv.events import Event
    from mtlv.settings import Suite


def run(args: argparse.Namespace) -> int:
    """Train, evaluate and track the models of a config."""
    from mtlv.display.tables import table
    from mtlv.planning.check import further_problems
    from mtlv.settings import load_suite

    suite = load_suite(args.config, args.overrides, further_problems())
    from mtlv.suite.placement import place_runs
    from mtlv.suite.run import run_suite

    end_in_order()
    placement = place_runs(suite)
    suite = placement.suite
    place = [placement.line]
    with progress() as display:

        def show(event: Event) -> None:
            if place and isinstance(event, SuiteStarted):  # a suite that is refused has no place
                say(place.pop())
                sys.stdout.flush()  # before the training, also where the output goes to a file
            display(event)

        for note in suite.notes:
            show(NoteGiven(note))
        result = run_suite(suite, show, if_exists=args.if_exists, measures_time=True)
    say(*place)
    if result.rows:
        table(console(), result.header, result.rows, title=f"Experiment {suite.experiment}")
    say(*result.warnings, *result.where)
    if args.compare and result.members and suite.search is None:
        _compare(suite)
    for problem in result.failed:
        complain(problem)
    return FAILED if result.failed else OK


def _compare(suite: Suite) -> None:
    """Write the page of the members, and print its answer; the run itself has succeeded."""
    from mtlv.comparison.compare import ComparisonOptions, RunQuery, compare_store

    try:
        result = compare_store(suite.members[0].settings.tracking.uri, ComparisonOptions(RunQuery((suite,))))
    except MtlvError as error:
        complain(f"warning: the page was not written: {error}; try `{suite.command('compare')}`")
        return
    say(*result.lines)
