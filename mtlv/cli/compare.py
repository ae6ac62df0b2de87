"""`mtlv compare`: compare runs on one page."""

from __future__ import annotations

import argparse
import re

from mtlv.cli.configs import is_config
from mtlv.cli.terminal import OK, complain, console, say
from mtlv.errors import ConfigError

OVERRIDE = re.compile(r"[\w.]+=")  # key=value; a run's name may also contain `k=3`, after other words


def compare(args: argparse.Namespace) -> int:
    """Compare runs on one page."""
    from mtlv.comparison import compare as comparing
    from mtlv.settings import load_overrides, load_suite
    from mtlv.suite.placement import find_runs

    overrides = [text for text in args.targets if OVERRIDE.match(text) and not is_config(text)]
    targets = [text for text in args.targets if text not in overrides]
    suites = tuple(find_runs(load_suite(name, overrides)) for name in targets if is_config(name))
    names = tuple(name for name in targets if not is_config(name))
    first = suites[0] if suites else load_overrides(overrides)
    stores = {suite.members[0].settings.tracking.uri for suite in suites}
    if len(stores) > 1 and args.uri is None:
        raise ConfigError(["the configs have different `tracking.uri`: give one store for all with `--uri`"])
    ask = comparing.ComparisonOptions(
        comparing.RunQuery(suites, names, args.experiment, args.last),
        baseline=args.baseline,
        expected=args.expected,
        texts=not args.no_texts,
        data=args.data,
        title=args.title,
        note=args.note,
        out=args.out,
        figures=args.figures,
        log=not args.no_log,
    )
    result = comparing.compare_store(args.uri or first.members[0].settings.tracking.uri, ask)
    from mtlv.display.tables import table

    table(console(), *result.table, title=result.comparison.title)
    for warning in result.comparison.warnings:
        complain(f"warning: {warning}")
    for note in result.notes:
        complain(f"note: {note}")
    say(*result.lines)
    return OK
