"""The commands. Everything heavy is imported by the command that needs it; only this file prints."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from mtlv.arguments import parse
from mtlv.errors import ConfigError, MtlvError, masked, shorten
from mtlv.words import many

if TYPE_CHECKING:
    from mtlv.display import Display
    from mtlv.running import Observer
    from mtlv.settings import Suite

OK, FAILED, USER_ERROR, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143
OVERRIDE = re.compile(r"[\w.]+=")  # key=value; a run's name may hold `k=3` too, behind other words

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    0: done. 1: a member of a suite failed, nobody reads the output, MLflow's server ended, or mtlv itself is
    at fault. 2: an error of the user's. 130: Ctrl-C. 143: SIGTERM.
    """
    gc.set_threshold(100_000)  # Python's 700 spends a tenth of the time on going through what stays anyway
    _show_anything()
    try:
        args = parse(argv)
        code = COMMANDS[args.command](args)
        sys.stdout.flush()
        return code
    except ConfigError as error:
        for line in error.problems:  # each begins with its own place
            print(_safe(line), file=sys.stderr)
        return USER_ERROR
    except MtlvError as error:
        for line in error.problems:
            _complain(line)
        return USER_ERROR
    except KeyboardInterrupt as stop:
        _complain("stopped")
        return TERMINATED if stop.args == ("SIGTERM",) else INTERRUPTED
    except BrokenPipeError:
        # Whoever read has gone, such as `head`. Nothing may be written at exit any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            return _own_fault()
        _complain(f"the disk is full: {error}; free room and start again: what was written before is whole")
        return USER_ERROR
    except Exception:
        return _own_fault()
    finally:
        gc.freeze()  # the process ends: to go once more through all that MLflow holds would take a second


def _own_fault() -> int:
    """Show the traceback, which may quote an address: without its password."""
    print(masked(traceback.format_exc()), file=sys.stderr)
    _complain("this is a fault of mtlv itself, not of what it was given; please report the lines above")
    return FAILED


def _show_anything() -> None:
    """Names may hold what the terminal has no letters for."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _say(*lines: str) -> None:
    for line in lines:
        print(_safe(line))


def _complain(line: str) -> None:
    print(f"mtlv: {_safe(line)}", file=sys.stderr)


def _safe(text: str) -> str:
    """Names come from files; a terminal must not obey what they hold."""
    return shorten(text, sys.maxsize)


# ---- Commands --------------------------------------------------------------------------------------------


def _check(args: argparse.Namespace) -> int:
    from mtlv.settings import load_suite

    suite = load_suite(args.config, args.overrides)
    from mtlv.running import check_suite

    found = check_suite(suite)
    seen: dict[tuple[str, ...], str] = {}
    told: set[str] = set()
    for member in found.members:
        _say(f"{member.name}: {many(member.units, 'unit')}")
        if member.lines in seen:
            _say(f"  as {seen[member.lines]}")
        else:
            seen[member.lines] = member.name
            _say(*(f"  {line}" for line in member.lines))
        _say(*(f"  warning: {warning}" for warning in member.warnings if warning not in told))
        told |= set(member.warnings)
    _say(*(f"note: {note}" for note in suite.notes))
    members, units = many(len(found.members), "member"), many(found.units, "unit")
    from mtlv.running.share import share_lines
    from mtlv.running.store_place import place_of

    _say(*share_lines(suite.members[0].settings.execution, found.units))
    _say(f"results go to {place_of(suite.members[0].settings).words}")
    _say(f"{args.config}: fine; {members}, {units} to train, experiment `{suite.experiment}`")
    return OK


def _run(args: argparse.Namespace) -> int:
    from mtlv.display import table
    from mtlv.settings import load_suite

    suite = load_suite(args.config, args.overrides)
    from mtlv.running import run_suite

    signal.signal(signal.SIGTERM, _terminated)
    with _display() as display:
        for note in suite.notes:
            display.note(note)
        result = run_suite(suite, cast("Observer", display), if_exists=args.if_exists)
    if result.rows:
        table(_console(), result.header, result.rows, title=f"Experiment {suite.experiment}")
    _say(*result.where)
    for problem in result.failed:
        _complain(problem)
    return FAILED if result.failed else OK


def _status(args: argparse.Namespace) -> int:
    from mtlv.display import duration
    from mtlv.running.status import status_lines
    from mtlv.running.store_place import place_of

    if args.next and args.config is None:
        raise ConfigError(["`--next` needs a config: `mtlv status CONFIG --next`"])
    suite = _suite_or_defaults(args)
    settings = suite.members[0].settings
    store = place_of(settings) if args.store is None else replace(place_of(settings), uri=args.store)
    _say(*status_lines(store, suite.path if args.config else None, duration))
    if args.next:
        from mtlv.running.would_run import would_run_lines

        _say(*would_run_lines(suite))
    return OK


def _sync(args: argparse.Namespace) -> int:
    from mtlv.running.store_place import Place
    from mtlv.running.sync import sync_store
    from mtlv.settings import load_overrides

    settings = load_overrides([]).members[0].settings
    lines = sync_store(
        Place(args.store or settings.store.uri).folder,
        args.uri,
        lambda text: _complain(f"warning: {text}"),
        patience=settings.tracking.flush_seconds if args.wait is None else args.wait,
        set_aside=args.set_aside,
    )
    _say(*lines)
    return OK


def _cluster(args: argparse.Namespace) -> int:
    from mtlv.settings import load_suite

    suite = load_suite(args.config, args.overrides)
    from mtlv.running import cluster_suite

    signal.signal(signal.SIGTERM, _terminated)
    with _display() as display:
        result = cluster_suite(suite, args.out, cast("Observer", display))
    _say(*result.lines)
    return OK


def _clean(args: argparse.Namespace) -> int:
    from mtlv.running.cleaning import clean_lines
    from mtlv.running.store_place import place_of
    from mtlv.settings import load_overrides, load_suite

    suites = [load_suite(name, []) for name in args.configs]
    first = suites[0] if suites else load_overrides([])
    store = place_of(first.members[0].settings)
    if args.store is not None:
        store = replace(store, uri=args.store)
    _say(*clean_lines(store, suites, delete=args.yes))
    return OK


def _compare(args: argparse.Namespace) -> int:
    from mtlv.running import comparing
    from mtlv.settings import load_overrides, load_suite

    overrides = [text for text in args.targets if OVERRIDE.match(text) and not _is_config(text)]
    targets = [text for text in args.targets if text not in overrides]
    suites = tuple(load_suite(name, overrides) for name in targets if _is_config(name))
    names = tuple(name for name in targets if not _is_config(name))
    first = suites[0] if suites else load_overrides(overrides)
    stores = {suite.members[0].settings.tracking.uri for suite in suites}
    if len(stores) > 1 and args.uri is None:
        raise ConfigError(
            ["the configs have different `tracking.uri`: name the store of them all by `--uri`"]
        )
    ask = comparing.Ask(
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
    from mtlv.display import table

    table(_console(), *result.table, title=result.comparison.title)
    for warning in result.comparison.warnings:
        _complain(f"warning: {warning}")
    for note in result.notes:
        _complain(f"note: {note}")
    _say(*result.lines)
    return OK


def _predict(args: argparse.Namespace) -> int:
    from mtlv.errors import DataError
    from mtlv.running.texts import from_file, given

    if bool(args.texts) == (args.file is not None):
        what = "texts were given and `--file` too" if args.texts else "no text was given"
        raise DataError(what, then="write the text behind the run, or name a file: `--file reports.txt`")
    if args.file is None:
        texts = given(args.texts, text_pair=args.pair, words=args.words, mentions=args.mentions)
    else:
        texts = from_file(args.file, args.column)
    from mtlv.running.answers import check_target, write_answers

    out = None if args.out is None else check_target(args.out)
    from mtlv.running import predict_texts
    from mtlv.running.predicting import Place

    place = Place(args.run, args.uri, args.experiment)
    answers = predict_texts(place, texts, tasks=args.task, device=args.device)
    if out is not None:
        write_answers(answers, out)
        _say(f"{out}: {many(len(texts), 'text')}, {many(len(answers.found.tasks), 'task')}")
        return OK
    from mtlv.display import table

    table(_console(), answers.header, answers.rows, title=answers.origin, left=answers.text_columns)
    return OK


def _data_list(args: argparse.Namespace) -> int:  # noqa: ARG001
    from mtlv.running.corpora import list_lines

    _say(*list_lines())
    return OK


def _data_show(args: argparse.Namespace) -> int:
    from mtlv.running.corpora import show_lines

    _say(*show_lines(args.name))
    return OK


def _data_fetch(args: argparse.Namespace) -> int:
    from mtlv.display import Download
    from mtlv.running.corpora import fetch_lines

    with Download(_console(stderr=True), args.name) as download:
        lines = fetch_lines(args.name, args.to, progress=download.update)
    _say(*lines)
    return OK


def _data_check(args: argparse.Namespace) -> int:
    from mtlv.running.corpora import check_corpus
    from mtlv.settings import load_overrides, load_suite

    overrides = list(args.overrides)
    if args.path is not None:
        overrides.append(f"data.path={_quoted(str(args.path))}")
    if _is_config(args.name):
        suite = load_suite(args.name, overrides)
    else:
        suite = load_overrides([f"data.name={_quoted(args.name)}", *overrides])
    problem: MtlvError | None = None
    different = {
        data.model_dump_json(): (data, member.settings)
        for member in suite.members
        for data in member.settings.data.each
    }
    for number, (data, settings) in enumerate(different.values()):
        found = check_corpus(data, lengths=partial(_lengths, settings))
        _say(*([""] if number else []), *found.lines)
        problem = problem or found.problem
    if problem is not None:
        raise problem
    return OK


def _lengths(settings: Any, corpus: Any) -> Any:
    from mtlv.errors import EncoderError
    from mtlv.running.lengths import token_lengths

    try:
        return token_lengths(settings, corpus)
    except EncoderError as error:
        _complain(f"lengths in tokens are left out: {error}")
        return None


def _ui(args: argparse.Namespace) -> int:
    from mtlv.running.page import Door, has_server, link, serve

    door = Door(args.port, args.host, open_to_all=args.no_auth)
    suite = _suite_or_defaults(args)
    uri = suite.members[0].settings.tracking.uri
    url = link(uri, suite.experiment if args.config else None, door)
    if has_server(uri):
        _say(f"The runs are at {url}", *_side_by_side(args, url))
        return OK
    signal.signal(signal.SIGTERM, _terminated)  # else its server would outlive this command
    _say("Starting MLflow's page (about 10 seconds) ...")
    sys.stdout.flush()
    log = Path(
        tempfile.mkdtemp(prefix="mtlv-ui-"), "server.log"
    )  # a name that nobody could have made a link of
    with serve(uri, door, log=log) as server:
        _say(f"Open {url}", *_side_by_side(args, url), "Ctrl-C ends it.")
        sys.stdout.flush()
        server.wait()
    _complain(f"MLflow's server ended; see {log}")
    return FAILED


def _side_by_side(args: argparse.Namespace, url: str) -> list[str]:
    """Where an experiment is named, the address of its runs as charts."""
    from mtlv.running.page import side_by_side

    return [f"Side by side: {side_by_side(url)}"] if args.config else []


def _suite_or_defaults(args: argparse.Namespace) -> Suite:
    """The suite of `args.config`; without one, the defaults with the overrides."""
    from mtlv.settings import load_overrides, load_suite

    if args.config and "=" in args.config and not _is_config(args.config):
        args.overrides, args.config = [args.config, *args.overrides], None
    return load_suite(args.config, args.overrides) if args.config else load_overrides(args.overrides)


# ---- Helpers ---------------------------------------------------------------------------------------------


def _quoted(text: str) -> str:
    """Text as a YAML scalar that stays text."""
    return "'" + text.replace("'", "''") + "'"


def _is_config(name: str) -> bool:
    return name.endswith((".yml", ".yaml")) or os.path.isfile(name)


def _console(*, stderr: bool = False) -> Any:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, emoji=False, markup=False)


def _display() -> Display:
    from mtlv.display import Display

    return Display(_console(stderr=True))


def _terminated(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """A cluster's scheduler asks for the end: leave as for Ctrl-C, so that the run is closed."""
    raise KeyboardInterrupt("SIGTERM")


COMMANDS: dict[str, Command] = {
    "run": _run,
    "check": _check,
    "status": _status,
    "sync": _sync,
    "cluster": _cluster,
    "clean": _clean,
    "compare": _compare,
    "predict": _predict,
    "data list": _data_list,
    "data show": _data_show,
    "data fetch": _data_fetch,
    "data check": _data_check,
    "ui": _ui,
}


if __name__ == "__main__":
    sys.exit(main())
