"""Commands that look at what was run: status, compare, predict, ui."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path

from mtlv.cli.named import is_config, suite_or_defaults
from mtlv.cli.terminal import FAILED, OK, complain, console, end_in_order, say
from mtlv.errors import ConfigError
from mtlv.formatting import duration, many

OVERRIDE = re.compile(r"[\w.]+=")  # key=value; a run's name may hold `k=3` too, behind other words


def status(args: argparse.Namespace) -> int:
    """How far the running or last suite is."""
    from mtlv.store.location import location_of
    from mtlv.suite.status import status_lines

    if args.next and args.config is None:
        raise ConfigError(["`--next` needs a config: `mtlv status CONFIG --next`"])
    suite = suite_or_defaults(args)
    settings = suite.members[0].settings
    store = (
        location_of(settings.store)
        if args.store is None
        else replace(location_of(settings.store), uri=args.store)
    )
    say(*status_lines(store, suite.path if args.config else None, duration))
    if args.next:
        from mtlv.planning.preview import would_run_lines

        say(*would_run_lines(suite))
    return OK


def compare(args: argparse.Namespace) -> int:
    """Lay runs side by side."""
    from mtlv.compare.load import compare as comparing
    from mtlv.settings import load_overrides, load_suite

    overrides = [text for text in args.targets if OVERRIDE.match(text) and not is_config(text)]
    targets = [text for text in args.targets if text not in overrides]
    suites = tuple(load_suite(name, overrides) for name in targets if is_config(name))
    names = tuple(name for name in targets if not is_config(name))
    first = suites[0] if suites else load_overrides(overrides)
    stores = {suite.members[0].settings.tracking.uri for suite in suites}
    if len(stores) > 1 and args.uri is None:
        raise ConfigError(
            ["the configs have different `tracking.uri`: name the store of them all by `--uri`"]
        )
    ask = comparing.ComparisonOptions(
        comparing.Wanted(suites, names, args.experiment, args.last),
        baseline=args.baseline,
        expected=args.expected,
        texts=not args.no_texts,
        data=args.data,
        title=args.title,
        out=args.out,
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


def predict(args: argparse.Namespace) -> int:
    """Ask a run's trained model about texts."""
    from mtlv.errors import DataError
    from mtlv.serving.texts import from_file, given

    if bool(args.texts) == (args.file is not None):
        what = "texts were given and `--file` too" if args.texts else "no text was given"
        raise DataError(what, then="write the text behind the run, or name a file: `--file reports.txt`")
    if args.file is None:
        texts = given(args.texts, text_pair=args.pair, words=args.words, mentions=args.mentions)
    else:
        texts = from_file(args.file, args.column)
    from mtlv.serving.answers import check_target, write_answers

    out = None if args.out is None else check_target(args.out)
    from mtlv.serving.predict import ModelQuery, predict_texts

    place = ModelQuery(args.run, args.uri, args.experiment)
    answers = predict_texts(place, texts, tasks=args.task, device=args.device)
    if out is not None:
        write_answers(answers, out)
        say(f"{out}: {many(len(texts), 'text')}, {many(len(answers.found.tasks), 'task')}")
        return OK
    from mtlv.display.tables import table

    table(console(), answers.header, answers.rows, title=answers.origin, left=answers.text_columns)
    return OK


def ui(args: argparse.Namespace) -> int:
    """Open MLflow's page on the runs."""
    import tempfile

    from mtlv.tracking.mlflow_server import ServerAddress, has_server, link, serve

    door = ServerAddress(args.port, args.host, open_to_all=args.no_auth)
    suite = suite_or_defaults(args)
    uri = suite.members[0].settings.tracking.uri
    url = link(uri, suite.experiment if args.config else None, door)
    if has_server(uri):
        say(f"The runs are at {url}", *_side_by_side(args, url))
        return OK
    end_in_order()  # else its server would outlive this command
    say("Starting MLflow's page (about 10 seconds) ...")
    sys.stdout.flush()
    folder = tempfile.mkdtemp(prefix="mtlv-ui-")  # a name that nobody could have made a link of
    log = Path(folder, "server.log")
    with serve(uri, door, log=log) as server:
        say(f"Open {url}", *_side_by_side(args, url), "Ctrl-C ends it.")
        sys.stdout.flush()
        server.wait()
    complain(f"MLflow's server ended; see {log}")
    return FAILED


def _side_by_side(args: argparse.Namespace, url: str) -> list[str]:
    """Where an experiment is named, the address of its runs as charts."""
    from mtlv.tracking.mlflow_server import side_by_side

    return [f"Side by side: {side_by_side(url)}"] if args.config else []
