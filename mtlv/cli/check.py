"""`mtlv check`: validate a config and show its plan."""

from __future__ import annotations

import argparse

from mtlv.cli.terminal import OK, say
from mtlv.formatting import many


def check(args: argparse.Namespace) -> int:
    """Validate a config and show its plan, without training."""
    from mtlv.planning.check import check_suite, further_problems
    from mtlv.settings import load_suite

    suite = load_suite(args.config, args.overrides, further_problems())
    suite_check = check_suite(suite)
    seen: dict[tuple[str, ...], str] = {}
    shown: set[str] = set()
    for member in suite_check.members:
        say(f"{member.name}: {many(member.units, 'unit')}")
        if member.lines in seen:
            say(f"  as {seen[member.lines]}")
        else:
            seen[member.lines] = member.name
            say(*(f"  {line}" for line in member.lines))
        say(*(f"  warning: {warning}" for warning in member.warnings if warning not in shown))
        shown |= set(member.warnings)
    say(*(f"note: {note}" for note in suite.notes))
    members, units = many(len(suite_check.members), "member"), many(suite_check.units, "unit")
    trials = suite.search.trials if suite.search else None
    some = trials is not None and trials < len(suite_check.members)
    members = f"up to {trials} of {members}" if some else members
    units = f"up to {units}" if suite_check.at_most or some else units
    from mtlv.execution.allocation import share_lines
    from mtlv.suite.placement import find_runs

    say(*share_lines(suite.members[0].settings.execution, suite_check.units))
    say(f"results are stored in `{suite.members[0].settings.store.uri}`")
    say(f"{args.config}: valid; {members}, {units} to train, experiment `{find_runs(suite).experiment}`")
    return OK
