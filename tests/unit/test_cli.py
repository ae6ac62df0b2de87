"""The commands: what they print, where, and the exit code."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from mtlv import __version__
from mtlv.arguments import parse
from mtlv.cli import COMMANDS, main
from mtlv.errors import DataError, TrackingError

ROOT = Path(__file__).resolve().parents[2]
HOMES = {
    "compare_store": "mtlv.comparison.compare",
    "check_suite": "mtlv.planning.check",
    "cluster_suite": "mtlv.suite.cluster",
    "run_suite": "mtlv.suite.run",
}
Captured = pytest.CaptureFixture[str]


@dataclass
class Fake:
    """Stands for `run_suite` and its like: keeps what it was given, returns or raises what it is told."""

    result: object = None
    error: BaseException | None = None
    got: tuple = ()
    named: dict[str, object] = field(default_factory=dict)

    def __call__(self, *args: object, **named: object) -> object:
        self.got, self.named = args, named
        if self.error is not None:
            raise self.error
        return self.result


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("c.yml").write_text(
        "architecture: mtl\ntraining: {learning_rate: 2e-4}\n", encoding="utf-8"
    )  # a rate that is chosen is a note
    return "c.yml"


@pytest.fixture(autouse=True)
def _signals_as_they_were() -> object:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def fake(monkeypatch: pytest.MonkeyPatch, name: str, **told: object) -> Fake:
    stand_in = Fake(**told)  # type: ignore[arg-type]
    monkeypatch.setattr(f"{HOMES[name]}.{name}", stand_in)
    return stand_in


def suite_result(**changes: object) -> SimpleNamespace:
    told = {
        "header": ("run", "F1"),
        "rows": (("a\x1b[1m", "0.9"),),
        "warnings": ("Not trained to the end: one.",),
        "where": ("Look here.",),
        "failed": (),
        "members": (),
    }
    return SimpleNamespace(**told | changes)


# ---- Plumbing --------------------------------------------------------------------------------------------


def test_version(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    first, packages, *devices = capsys.readouterr().out.splitlines()
    assert first == f"mtlv {__version__}"
    for name in ("torch", "transformers", "mlflow"):
        assert f"{name} {metadata.version(name)}" in packages
    assert re.fullmatch(r"CPU: \d+ cores?, (no )?fast bf16", devices[0])
    assert len(devices) == 1 + torch.cuda.device_count()


def test_help_names_every_command(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    for command in ("run", "check", "cluster", "data", "ui"):
        assert f"    {command} " in out


@pytest.mark.parametrize(
    "argv", [[], ["rum"], ["run"], ["check", "c.yml", "--fast"], ["data"], ["data", "show", "a", "b=c"]]
)
def test_wrong_usage_is_2(argv: list[str], capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert "usage: mtlv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["runn", "c.yml"], "did you mean `run`?"),
        (["data", "chek"], "did you mean `check`?"),
        (["check", "c.yml", "--epochs", "3"], "change settings by key=value, such as training.epochs=3"),
    ],
)
def test_wrong_usage_names_the_next_step(argv: list[str], hint: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        parse(argv)
    assert capsys.readouterr().err.rstrip().endswith(hint)


def test_no_hint_is_given_where_there_is_none(capsys: Captured) -> None:
    for argv in (["xyzzy"], ["completion", "bash", "--epochs"]):
        with pytest.raises(SystemExit):
            parse(argv)
        assert not re.search("did you mean|key=value, such", capsys.readouterr().err)


def test_config_problems_are_a_line_each_on_stderr(config: str, capsys: Captured) -> None:
    Path(config).write_text("training:\n  epochs: ten\n  epoch: 3\n", encoding="utf-8")
    assert main(["check", config, "zzz"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "c.yml:2: `training.epochs`: got 'ten'; allowed: a whole number of 1 or more",
        "c.yml:3: `training.epoch`: unknown key; did you mean `training.epochs`?",
        "zzz on the command line: not key=value; write for example training.epochs=3",
    ]


def test_a_missing_config_is_said_so(capsys: Captured, config: str) -> None:
    assert main(["run", "gone.yml"]) == 2
    assert capsys.readouterr().err == (
        "gone.yml: no such file; give the path of a config, or an example such as quickstart.yml\n"
    )


def test_other_errors_of_the_user(monkeypatch: pytest.MonkeyPatch, config: str, capsys: Captured) -> None:
    fake(monkeypatch, "run_suite", error=DataError("no documents in `a\x1b[2J`", then="look"))
    assert main(["run", config]) == 2
    captured = capsys.readouterr()
    assert captured.err == "mtlv: no documents in `a\\x1b[2J`; look.\n"
    assert captured.out == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_ctrl_c_is_130_and_sigterm_143_and_a_closed_terminal_129(
    number: signal.Signals, code: int, monkeypatch: pytest.MonkeyPatch, config: str, capsys: Captured
) -> None:
    fake(monkeypatch, "run_suite", error=KeyboardInterrupt())
    assert main(["run", config]) == 130
    said = capsys.readouterr().err
    assert said == f"mtlv: stopped; to go on where it stopped: mtlv run {config}\n"

    def terminated(*_: object, **__: object) -> None:
        signal.raise_signal(number)  # to this thread, which handles it next
        raise AssertionError("the signal was not noticed")

    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
    monkeypatch.setattr(f"{HOMES['run_suite']}.run_suite", terminated)
    assert main(["run", config]) == code


def test_nohup_keeps_a_run_alive(monkeypatch: pytest.MonkeyPatch, config: str) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    fake(monkeypatch, "run_suite", error=KeyboardInterrupt())
    assert main(["run", config]) == 130
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN


@pytest.mark.parametrize("fault", [ZeroDivisionError, OSError])
def test_a_fault_of_ours_is_shown_with_its_place_but_without_passwords(
    fault: type[Exception], monkeypatch: pytest.MonkeyPatch, config: str, capsys: Captured
) -> None:
    fake(monkeypatch, "run_suite", error=fault("ours: http://ada:hunter2@host"))
    assert main(["run", config]) == 1
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert f"{fault.__name__}: ours: http://***@host" in said
    assert said.rstrip().splitlines()[-1].startswith("mtlv: this is a fault of mtlv itself")


# ---- run, check, cluster ---------------------------------------------------------------------------------


def test_run_prints_the_table_and_where_to_look(
    monkeypatch: pytest.MonkeyPatch, config: str, capsys: Captured
) -> None:
    stand_in = fake(monkeypatch, "run_suite", result=suite_result())
    assert main(["run", config, "experiment=e", "training.epochs=3"]) == 0
    suite, observer = stand_in.got
    assert suite.members[0].settings.training.epochs == 3
    assert callable(observer)
    assert capsys.readouterr().out.splitlines() == [
        "Runs go to the experiment `e` in `sqlite:///mlflow.db`",
        "Experiment e",
        "run        F1",
        "a\\x1b[1m  0.9",
        "Not trained to the end: one.",
        "Look here.",
    ]


@pytest.mark.parametrize("members", [("one",), ("one", "two")])
def test_run_ends_with_the_page_of_its_members(
    monkeypatch: pytest.MonkeyPatch, config: str, capsys: Captured, members: tuple[str, ...]
) -> None:
    fake(monkeypatch, "run_suite", result=suite_result(members=members))
    compared = fake(
        monkeypatch, "compare_store", result=SimpleNamespace(lines=("Learn together.", "Open it."))
    )
    assert main(["run", config, "tracking.uri=sqlite:///a.db"]) == 0
    uri, options = compared.got
    assert uri == "sqlite:///a.db"
    assert [suite.path.name for suite in options.query.suites] == [Path(config).name]
    assert capsys.readouterr().out.splitlines()[-3:] == ["Look here.", "Learn together.", "Open it."]

    compared.got = ()
    assert main(["run", config, "--no-compare"]) == 0
    assert compared.got == ()
    compared.error = TrackingError("gone")
    typed = ["training.epochs=3", "tracking.uri=http://me:secret@host"]
    assert main(["run", config, *typed]) == 0, "the run itself has succeeded"
    told = f"gone.; try `mtlv compare {config} training.epochs=3 'tracking.uri=http://***@host'`"
    assert f"the page was not written: {told}" in capsys.readouterr().err


def test_a_member_that_failed_is_told_and_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, config: str, capsys: Captured
) -> None:
    made = fake(monkeypatch, "run_suite", result=suite_result(failed=("`mtl` cannot go on.",)))
    assert main(["run", "--if-exists", "rerun", config]) == 1
    assert made.named == {"if_exists": "rerun", "measures_time": True}
    out, err = capsys.readouterr()
    assert "0.9" in out
    assert err == "mtlv: `mtl` cannot go on.\n"


def test_notes_about_members_go_to_stderr(
    monkeypatch: pytest.MonkeyPatch, config: str, capsys: Captured
) -> None:
    fake(monkeypatch, "run_suite", result=suite_result())
    assert main(["run", config, "matrix.grouping.k=[3, 4]"]) == 0
    assert "note: 1 repeated member left out (" in capsys.readouterr().err


def test_check_prints_trees_once_units_and_warnings(
    monkeypatch: pytest.MonkeyPatch, config: str, capsys: Captured
) -> None:
    tree = ("model a", "  head a (1 layer)")
    members = (
        SimpleNamespace(name="one", lines=tree, units=1, warnings=("mind this",)),
        SimpleNamespace(name="two", lines=tree, units=4, warnings=()),
    )
    fake(monkeypatch, "check_suite", result=SimpleNamespace(members=members, units=5, at_most=True))
    monkeypatch.setattr("mtlv.execution.allocation.cores", lambda: 1)
    assert main(["check", config]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "one: 1 unit",
        "  model a",
        "    head a (1 layer)",
        "  warning: mind this",
        "two: 4 units",
        "  as one",
        "trained by one process of 1 core",
        "results are stored in `mtlv-store`",
        "c.yml: valid; 2 members, up to 5 units to train, experiment `mtlv`",
    ]


@pytest.mark.parametrize(
    ("trials", "said"),
    [(1, "up to 1 of 2 members, up to 2 units"), (2, "2 members, 2 units"), ("null", "2 members, 2 units")],
)
def test_check_counts_no_more_than_the_trials_of_a_search(
    monkeypatch: pytest.MonkeyPatch, config: str, capsys: Captured, trials: object, said: str
) -> None:
    members = [SimpleNamespace(name=name, lines=(), units=1, warnings=()) for name in ("one", "two")]
    fake(monkeypatch, "check_suite", result=SimpleNamespace(members=members, units=2, at_most=False))
    assert main(["check", config, f"search={{over: {{training.epochs: [1, 2]}}, trials: {trials}}}"]) == 0
    assert f"valid; {said} to train" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        ["cluster", "c.yml", "grouping.k=3", "--out", "x"],
        ["cluster", "c.yml", "--out", "x", "grouping.k=3"],
        ["cluster", "--out", "x", "c.yml", "grouping.k=3"],
    ],
)
def test_overrides_may_stand_on_either_side_of_an_option(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, config: str, capsys: Captured
) -> None:
    stand_in = fake(monkeypatch, "cluster_suite", result=SimpleNamespace(lines=("3 groups",)))
    assert main(argv) == 0
    suite, folder, _ = stand_in.got
    assert suite.members[0].settings.grouping.k == 3
    assert folder == Path("x")
    assert capsys.readouterr().out == "3 groups\n"


# ---- data and ui -----------------------------------------------------------------------------------------


def test_data_list_and_show(capsys: Captured) -> None:
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("openi", "ohsumed", "hoc", "table", "synthetic"))
    assert main(["data", "show", "openi"]) == 0
    assert "Cardiomegaly" in capsys.readouterr().out
    assert main(["data", "show", "opni"]) == 2
    assert "`openi`" in capsys.readouterr().err


def test_data_fetch_of_what_is_generated(capsys: Captured) -> None:
    assert main(["data", "fetch", "synthetic"]) == 2
    assert "is generated" in capsys.readouterr().err


def test_data_check_of_a_name_and_of_a_config(capsys: Captured) -> None:
    path = str(ROOT / "config" / "example.csv")
    overrides = ["data.columns.text=report", "data.columns.labels=[urgent]", "encoder=tiny"]
    assert main(["data", "check", "table", "--path", path, *overrides]) == 0
    assert "documents   40" in capsys.readouterr().out
    assert main(["data", "check", str(ROOT / "config" / "table.yml"), "encoder=tiny"]) == 0
    assert "medication" in capsys.readouterr().out
    assert main(["data", "check", "table"]) == 2
    assert "`data.path`: not set" in capsys.readouterr().err


def test_data_check_draws_figures_where_asked(tmp_path: Path, capsys: Captured) -> None:
    path = str(ROOT / "config" / "example.csv")
    check = ["data", "check", "table", "--path", path, "data.columns.text=report", "encoder=tiny"]
    check += ["data.columns.labels=[urgent]", "--figures", str(tmp_path / "figures")]
    assert main([*check, "--no-texts"]) == 0
    assert f"Open {tmp_path / 'figures' / 'data.html'} in a browser" in capsys.readouterr().out
    hidden = (tmp_path / "figures" / "data.html").read_bytes()
    assert main(check) == 0
    assert (tmp_path / "figures" / "data.html").stat().st_size > len(hidden)


def test_data_check_goes_on_without_the_encoder(config: str, capsys: Captured) -> None:
    assert main(["data", "check", "synthetic", "encoder=./none"]) == 0
    captured = capsys.readouterr()
    assert "documents   600" in captured.out
    assert "lengths in tokens are not counted" in captured.err


def test_ui_without_a_store_and_with_a_server(config: str, capsys: Captured) -> None:
    assert main(["ui"]) == 2
    assert capsys.readouterr().err == (
        "mtlv: there are no runs yet: the tracking store `sqlite:///mlflow.db` does not exist; "
        "run `mtlv run CONFIG` first, or use its working folder.\n"
    )
    assert main(["ui", "tracking.uri=http://127.0.0.1:9"]) == 0
    assert capsys.readouterr().out == (
        "The runs are at http://127.0.0.1:9/#/experiments?workflowType=machine_learning\n"
    )


# ---- As a command ----------------------------------------------------------------------------------------


def test_check_imports_nothing_heavy() -> None:
    heavy = {"torch", "transformers", "mlflow", "pandas", "sklearn", "matplotlib", "scipy"}
    script = (
        "import sys; from mtlv.cli import main; code = main(['check', 'config/quickstart.yml']); "
        f"print(sorted({heavy!r} & set(sys.modules)), code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.splitlines()[-1] == "[] 0", done.stderr


def test_a_reader_that_leaves_is_no_traceback() -> None:
    script = f"{sys.executable} -m mtlv data show openi | head -n 1; echo ${{PIPESTATUS[0]}}"
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, cwd=ROOT)
    assert done.stderr == ""


def test_a_terminal_without_utf_8_gets_escapes() -> None:
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "mtlv", "check", "config/gmtl.yml", "nö=1"]
    done = subprocess.run(command, capture_output=True, env=env, cwd=ROOT)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_compare_takes_the_name_of_a_run_that_holds_an_equals_sign(
    config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtlv.comparison import compare

    stand_in = Fake(error=DataError("enough"))
    monkeypatch.setattr(compare, "compare_store", stand_in)
    assert main(["compare", config, "training.epochs=3", "gmtl · k=3 · label_name · minilm"]) == 2
    query = stand_in.got[1].query
    assert query.names == ("gmtl · k=3 · label_name · minilm",)
    assert query.suites[0].members[0].settings.training.epochs == 3


def test_compare_takes_targets_on_both_sides_of_an_option(
    config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtlv.comparison import compare

    stand_in = Fake(error=DataError("enough"))
    monkeypatch.setattr(compare, "compare_store", stand_in)
    assert main(["compare", "one", "--out", "page", config, "training.epochs=3", "two", "--figures"]) == 2
    query = stand_in.got[1].query
    assert stand_in.got[1].figures
    assert query.names == ("one", "two")
    assert query.suites[0].members[0].settings.training.epochs == 3


def test_every_command_of_the_parser_is_there() -> None:
    asked = {"run": ["c.yml"], "check": ["c.yml"], "cluster": ["c.yml"], "predict": ["run", "text"]}
    asked |= {"export": ["c.yml", "--out", "folder"], "init": ["t.csv"], "completion": ["bash"]}
    more = {"data show": ["ohsumed"], "data fetch": ["ohsumed"], "data check": ["ohsumed"]}
    more |= {"store push": ["there"], "store pull": ["there"]}
    for name in COMMANDS:
        assert parse([*name.split(), *(asked | more).get(name, [])]).command == name


@pytest.mark.parametrize("port", ["80000", "0", "-1", "http"])
def test_ui_refuses_a_port_that_cannot_be(port: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["ui", f"--port={port}"])
    assert stop.value.code == 2
    assert "from 1 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "variables", "terminal", "opened"),
    [
        ([], {"DISPLAY": ":0"}, True, True),
        (["--no-browser"], {"DISPLAY": ":0"}, True, False),
        ([], {}, True, False),
        ([], {"DISPLAY": ":0", "SSH_CONNECTION": "a"}, True, False),
        ([], {"DISPLAY": ":0"}, False, False),
    ],
)
def test_ui_opens_a_browser_where_it_would_be_seen(
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    variables: dict[str, str],
    terminal: bool,
    opened: bool,
) -> None:
    seen: list[str] = []
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: terminal, flush=lambda: None, write=len))
    monkeypatch.setattr("webbrowser.open", seen.append)
    monkeypatch.setattr("mtlv.tracking.mlflow_server.link", lambda *_: "http://server/x")
    monkeypatch.setattr("mtlv.tracking.mlflow_server.has_server", lambda _: True)
    assert main(["ui", *options]) == 0
    assert seen == ["http://server/x"] * opened
