"""Command-line arguments of every command; `mtlv.cli` runs the commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from mtlv._version import __version__
from mtlv.errors import nearest, shorten
from mtlv.formatting import safe

CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the nearest choice, as Python's do from 3.14."""

    def error(self, message: str) -> NoReturn:
        wrong = CHOICE.search(message)
        hint = nearest(wrong[1], re.findall(r"[\w-]+", wrong[2])) if wrong else ""
        super().error(f"{message}; {hint}" if hint else message)


class _Once(argparse.Action):
    """Store a value as argparse does, but refuse a different second value for the same option."""

    value: Any = None

    def __call__(self, _: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if option_string is not None and self.value not in (None, values):
            both = f"{shorten(str(self.value))} and {shorten(str(values))}"
            raise argparse.ArgumentError(self, f"given twice, as {both}; keep one of them")
        self.value = values
        setattr(namespace, self.dest, values)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line. `command` in the result is a key of `cli.COMMANDS`.

    Raises:
        SystemExit: with exit code 2 if the arguments are wrong, and 0 after `--help` and `--version`.
    """
    parser = command_parser()
    args, rest = parser.parse_known_args(argv)
    # After an option, argparse accepts no more positional arguments; add those that follow it here.
    more = next((name for name in ("overrides", "targets", "texts") if hasattr(args, name)), "")
    late = [text for text in rest if not text.startswith("-") and ("=" in text or more != "overrides")]
    if len(late) < len(rest) or (late and not more):
        hint = "; change settings by key=value, such as training.epochs=3" if more == "overrides" else ""
        parser.error(f"unrecognized arguments: {' '.join(safe(text) for text in rest)}{hint}")
    if late:
        setattr(args, more, [*getattr(args, more), *late])
    return args


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of every command."""
    parser = _Parser(
        prog="mtlv",
        description="Which text tasks should be learned together? Cluster, train, compare, track.",
        epilog="Start with: mtlv init TABLE, or, without one, mtlv run quickstart.yml",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"mtlv {__version__}",
        help="show the version, packages and devices",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_init(commands)
    _add_run(commands)
    _with_config(_add(commands, "check", "validate a config and show its plan, without training"))
    _add_status(commands)
    _add_sync(commands)
    cluster = _add(commands, "cluster", "group the tasks without training: elbow plot, map, groups")
    _with_config(cluster)
    cluster.add_argument("--out", type=Path, metavar="FOLDER", help="where to write (default: mtlv-clusters)")
    _add_clean(commands)
    _add_compare(commands)
    _add_predict(commands)
    _add_export(commands)
    _add_store(commands)
    _add(commands, "schema", "print the JSON Schema of a config file, for editors")
    shell = _add(commands, "completion", "print a script that completes commands and options in a shell")
    shell.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell that reads it")
    _add_data(commands)
    _add_ui(commands)
    return parser


def _add_init(commands: Any) -> None:
    init = _add(commands, "init", "look at a table, and write a config that runs")
    init.add_argument(
        "table",
        type=Path,
        metavar="TABLE",
        help="table: a file such as .csv, .tsv, .jsonl, .json, .xlsx or .parquet, or a folder "
        "with one for each of train, dev and test",
    )
    init.add_argument(
        "--out", type=Path, metavar="FILE", help="config to write (default: TABLE's name, .yml)"
    )
    init.add_argument(
        "--minutes",
        type=_whole,
        metavar="N",
        default=15,
        help="minutes of training on this machine that the config may take, for a table (default: 15)",
    )
    init.add_argument("--text", metavar="COLUMN", help="column of the texts (default: that with the longest)")
    init.add_argument(
        "--labels",
        metavar="COLUMNS",
        help="columns to learn, separated by commas; names with commas in double quotes (default: all that "
        "can be)",
    )
    init.add_argument(
        "--columns",
        metavar="NAMES",
        help="names of the columns of a file without a header, separated by commas",
    )
    init.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first row has the names of the columns (default: if it looks like names)",
    )


def _add_run(commands: Any) -> None:
    run = _add(commands, "run", "train, evaluate and track the models of a config")
    _with_config(run)
    run.add_argument(
        "--if-exists",
        choices=("resume", "rerun", "only-missing", "fail"),
        default="resume",
        help="what to do with units trained before: continue them (resume, the default), train them again in "
        "new runs (rerun), run only members with missing units (only-missing), or stop with an error (fail)",
    )
    run.add_argument(
        "--no-compare",
        dest="compare",
        action="store_false",
        help="do not write the page of the members at the end, as `mtlv compare CONFIG` does",
    )


def _add_status(commands: Any) -> None:
    status = _add(commands, "status", "show the progress of the running or last suite, unit by unit")
    _with_config(status, required=False)
    _with_store(status, "the config's, or mtlv-store")
    status.add_argument("--watch", action="store_true", help="show it again every few seconds, until it ends")
    status.add_argument("--next", action="store_true", help="also show what `mtlv run` would do now, and why")


def _add_clean(commands: Any) -> None:
    clean = _add(commands, "clean", "list files of a store that nothing needs; delete them with --yes")
    clean.add_argument(
        "configs", metavar="CONFIG", nargs="*", default=[], help="keep only the units of these configs"
    )
    _with_store(clean, "the configs', or mtlv-store")
    clean.add_argument("--yes", action="store_true", help="delete the listed files")


def _add_store(commands: Any) -> None:
    store = commands.add_parser(
        "store", help="copy trained units to and from another place", allow_abbrev=False
    )
    parts = store.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, text in (
        ("push", "copy finished units from the store to an address"),
        ("pull", "copy finished units from an address to the store"),
    ):
        copy = _add(parts, f"store {name}", text)
        copy.add_argument(
            "address", metavar="ADDRESS", help="a folder, s3://BUCKET/PREFIX, gs://..., or similar"
        )
        copy.add_argument("--suite", metavar="CONFIG", help="copy only the units of this config")
        _with_store(copy, "the config's, or mtlv-store")


def _add_export(commands: Any) -> None:
    export = _add(commands, "export", "write a trained model, or its encoder, for programs without mtlv")
    export.add_argument(
        "config", metavar="CONFIG_OR_RUN", help="a YAML file for the encoder; else a run, as for predict"
    )
    _with_overrides(export)
    export.add_argument("--out", type=Path, metavar="FOLDER", required=True, help="folder to create")
    export.add_argument(
        "--to",
        choices=("encoder", "hub", "onnx"),
        default="encoder",
        help="the encoder of a trained unit for Transformers (default), or the model of a run with its heads "
        "for Transformers (hub) or ONNX Runtime (onnx)",
    )
    export.add_argument("--stage", metavar="NAME", help="encoder: the unit's stage, if there are several")
    export.add_argument(
        "--unit", metavar="TEXT", help="encoder: part of the unit's name, if not the only one"
    )
    export.add_argument("--int8", action="store_true", help="onnx: quantize the weights to 8 bits")
    export.add_argument(
        "--tolerance", type=float, default=1e-4, help="onnx: largest change (default: 0.0001)"
    )
    _with_store_of_runs(export)


def _add_ui(commands: Any) -> None:
    page = _add(commands, "ui", "open the MLflow UI on the runs")
    _with_config(page, required=False)
    page.add_argument(
        "--port", type=partial(_whole, most=65535), default=5000, help="port to listen on (default: 5000)"
    )
    page.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    page.add_argument("--no-browser", dest="browser", action="store_false", help="do not open a browser")
    page.add_argument(
        "--no-auth",
        action="store_true",
        help="allow access from other machines (`--host`) without a password",
    )


def _add_sync(commands: Any) -> None:
    sync = _add(commands, "sync", "upload what runs could not send while the MLflow server was unreachable")
    _with_store(sync, "mtlv-store")
    sync.add_argument("--uri", help="tracking address to upload to, instead of the runs' own")
    sync.add_argument(
        "--wait", type=_seconds, metavar="SECONDS", help="give up after this time without a successful upload"
    )
    sync.add_argument(
        "--set-aside", action="store_true", help="put rejected records aside and upload those after them"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 86400")
    return seconds


def _whole(text: str, *, most: int = 10**6) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {most}")
    return int(text)


def _add_compare(commands: Any) -> None:
    compare = _add(commands, "compare", "compare runs on one page, with figures and tables")
    compare.add_argument(
        "targets",
        metavar="CONFIG_OR_RUN",
        nargs="*",
        default=[],
        help="configs, run ids or run names; key=value changes the configs; default: all runs of the store",
    )
    compare.add_argument(
        "--experiment", metavar="NAME", help="all runs of this experiment, or the named ones in it"
    )
    compare.add_argument("--last", type=_whole, metavar="N", help="only the newest N runs")
    compare.add_argument(
        "--baseline", metavar="RUN", help="run that differences refer to (default: the STL run)"
    )
    compare.add_argument("--expected", type=Path, metavar="CSV", help="published numbers to compare with")
    compare.add_argument("--out", type=Path, metavar="FOLDER", help="where to write (default: mtlv-compare/)")
    compare.add_argument(
        "--figures",
        action="store_true",
        help="also write each figure as SVG, PNG and CSV, each table as CSV",
    )
    compare.add_argument("--title", help="title of the page")
    compare.add_argument("--note", type=Path, metavar="FILE", help="your notes on top of the page (Markdown)")
    compare.add_argument(
        "--uri", help="tracking address (default: the config's, MLFLOW_TRACKING_URI, or mlflow.db here)"
    )
    compare.add_argument("--data", metavar="PATH", help="path of the corpus, if it has moved since the runs")
    compare.add_argument("--no-texts", action="store_true", help="leave the documents' texts out of the page")
    compare.add_argument(
        "--no-log", action="store_true", help="write files only, log nothing to the tracking store"
    )


def _add_predict(commands: Any) -> None:
    predict = _add(commands, "predict", "predict texts with the trained model of a run")
    predict.add_argument("run", metavar="RUN", help="run id (or its first digits), run name, uid, or folder")
    predict.add_argument("texts", metavar="TEXT", nargs="*", default=[], help="text to predict, in quotes")
    predict.add_argument(
        "--file", type=Path, help="file of texts: .txt (one per line), .csv, .tsv, .jsonl or .parquet"
    )
    behind = "; once per TEXT"
    predict.add_argument("--pair", metavar="TEXT", action="append", help=f"second text of a pair{behind}")
    predict.add_argument("--words", metavar="JSON", action="append", help=f"words of a text{behind}")
    predict.add_argument(
        "--mentions",
        metavar="JSON",
        action="append",
        help=f"marked entities of a text as [[start, end, role], ...], in characters{behind}",
    )
    predict.add_argument("--task", metavar="NAME", action="append", help="predict only this task; repeatable")
    predict.add_argument(
        "--calibrated",
        action="store_true",
        help="give probabilities at the temperature fitted on validation; decisions stay the same",
    )
    predict.add_argument(
        "--abstain",
        type=float,
        metavar="ERROR",
        help="decide only what is sure enough that at most this share of decisions, such as 0.05, is wrong",
    )
    predict.add_argument(
        "--explain",
        action="store_true",
        help="name the words with most attention (models with `encoder.features: attention`)",
    )
    predict.add_argument(
        "--column", help="column of the file that holds the texts (default: as in training, or text)"
    )
    predict.add_argument(
        "--out", type=Path, metavar="FILE", help="write the predictions to this .csv or .jsonl file"
    )
    _with_store_of_runs(predict)
    predict.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N (default: auto)")


def _add_data(commands: Any) -> None:
    data = commands.add_parser("data", help="list, show, fetch and check corpora", allow_abbrev=False)
    parts = data.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add(parts, "data list", "list the corpora of the catalog")
    _add(parts, "data show", "show a corpus: source, licence, citation, labels").add_argument("name")
    fetch = _add(parts, "data fetch", "download a corpus from its source")
    fetch.add_argument("name")
    fetch.add_argument(
        "--to", type=Path, metavar="FOLDER", help="where to save it (default: where runs look for it)"
    )
    check = _add(parts, "data check", "count documents, labels, lengths and duplicates")
    check.add_argument("name", metavar="CONFIG_OR_NAME", help="a config file, or a name from the catalog")
    check.add_argument("--path", type=Path, help="file or folder to read")
    check.add_argument(
        "--figures", type=Path, metavar="FOLDER", help="also draw lengths, labels and a map of the documents"
    )
    check.add_argument("--no-texts", action="store_true", help="leave texts out of the figures")
    _with_overrides(check)


def _add(commands: Any, command: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        command.split()[-1], help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False
    )
    parser.set_defaults(command=command)
    parser.register("action", None, _Once)
    return parser


def _with_config(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    parser.add_argument("config", metavar="CONFIG", nargs=None if required else "?", help="a YAML file")
    _with_overrides(parser)


def _with_store_of_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--uri", help="tracking address (default: MLFLOW_TRACKING_URI, or sqlite:///mlflow.db)"
    )
    parser.add_argument("--experiment", metavar="NAME", help="look for the run only in this experiment")


def _with_store(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--store", type=_folder, metavar="FOLDER", help=f"folder of the store (default: {default})"
    )


def _folder(text: str) -> Path:
    if "://" in text:
        raise argparse.ArgumentTypeError(
            f"{shorten(text)!r} is an address, not a folder; `mtlv store pull` copies its units to a folder"
        )
    return Path(text)


def _with_overrides(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "overrides",
        metavar="key=value",
        nargs="*",
        default=[],
        help="change a key of the config, such as training.epochs=3 or 'matrix.architecture=[stl, mtl]'",
    )
