"""Whatever stands behind `mtlv`, and in the variables it reads: an exit code and words, never a traceback."""

from __future__ import annotations

import io
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mtlv.arguments import parse
from mtlv.cli import main

# Those that train nothing, fetch nothing and listen nowhere; `run` has no config that it could read.
COMMANDS = (
    ["check"],
    ["status"],
    ["compare"],
    ["predict"],
    ["data", "show"],
    ["data", "check"],
    ["run"],
    ["sync"],
    [],
)
OPTIONS = [
    *("--uri", "--path", "--file", "--out", "--last", "--experiment", "--baseline", "--expected", "--column"),
    *("--device", "--store", "--if-exists", "--next", "--port", "--help", "--version", "--", "-"),
]
LONG = "y" * 5000
PLACES = [
    *(".", "..", "/dev/null", "c.yml", "~nobody-here/x", "synthetic", "table", "openi", "1", "-1", "seed=1"),
    *("sqlite:///x.db", "sqlite:///no/x.db", "http://[::1", "file:///tmp", "tracking.uri=http://["),
    *("data=table", "data.path=~nobody-here/x", "encoder=~nobody-here/x"),
]
words = st.text(st.characters(exclude_characters="\0"), max_size=10) | st.sampled_from([*PLACES, LONG])


def call(argv: list[str], config: str = "") -> tuple[int, str]:
    """The exit code and everything said; run in a folder with nothing, or with that `c.yml`."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(out), redirect_stderr(out):
        if config:
            Path("c.yml").write_text(config, encoding="utf-8")
        try:
            code = main(argv)
        except SystemExit as stop:  # argparse's
            code = int(stop.code or 0)
    return code, out.getvalue()


@given(st.sampled_from(COMMANDS), st.lists(words | st.sampled_from(OPTIONS), max_size=4))
@example(["check"], ["~nobody-here/x"])
@example(["data", "check"], ["openi", "--path", "~nobody-here/x"])
@example(["data", "check"], ["table", "data.columns.labels=[a]", "--path", "/dev/null"])
@example(["predict"], ["~nobody-here/x", "a text"])
@example(["predict"], ["x", "--file", "~nobody-here/x.txt"])
@example(["compare"], ["--uri", "http://[::1"])
@example(["check"], ["\udcff"])
@example(["check"], [LONG])
@example(["predict"], [LONG, "a text"])
@example(["predict"], ["x", "--file", f"{LONG}.csv"])
@example(["data", "check"], ["openi", "--path", LONG])
@example(["compare"], ["--uri", f"sqlite:///{LONG}"])
@example(["compare"], ["--expected", LONG])
def test_any_words(command: list[str], more: list[str]) -> None:
    code, said = call([*command, *more])
    assert code in (0, 2), said
    assert said or code == 0
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "home", ["", " ", "~nobody-here", "/dev/null", "/nowhere", "a\nb", "\udcff", "x" * 5000]
)
@pytest.mark.parametrize("argv", [["data", "show", "openi"], ["data", "check", "openi"], ["data", "list"]])
def test_any_place_of_corpora(home: str, argv: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MTLV_DATA", home)
    code, said = call(argv)
    assert code == (2 if "check" in argv else 0)
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["MLFLOW_HTTP_REQUEST_TIMEOUT", "MLFLOW_HTTP_REQUEST_MAX_RETRIES"])
def test_variables_of_mlflow_that_are_no_numbers(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(name, "soon")
    code, said = call(["compare", "--uri", "http://127.0.0.1:1"])
    assert code == 2
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            ["run", "c.yml", "--if-exists", "rerun", "--if-exists", "fail"],
            "--if-exists: given twice, as rerun and fail",
        ),
        (
            ["compare", "--last", "3", "--out", "a", "--last", "4"],
            "--last: given twice, as 3 and 4; keep one",
        ),
        (["predict", "r", "t", "--file", "a.txt", "--file=b.txt"], "--file: given twice, as a.txt and b.txt"),
        (["sync", "--uri", "http://ada:secret@h", "--uri", "http://h"], "as http://***@h and http://h"),
    ],
)
def test_options_that_contradict_each_other(argv: list[str], said: str) -> None:
    code, told = call(argv, config="seed: 3\n")
    assert code == 2
    assert said in told
    assert "secret" not in told


def test_an_option_given_twice_alike_is_taken() -> None:
    args = parse(["compare", "a", "--last", "3", "--no-log", "b", "--last", "3", "--no-log"])
    assert (args.last, args.no_log, args.targets) == (3, True, ["a", "b"])
