"""The programme for a GPU at its smallest size: what it finds survives any end, and it goes on from there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from mtlv.data.catalog.openi import _LABELS

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
# A machine without MLflow, and without what draws the comparison page.
BARE = """
import sys
from importlib.machinery import PathFinder

class Bare(PathFinder):
    @classmethod
    def find_spec(cls, name, *rest):
        missing = name.partition(".")[0] in ("mlflow", "vl_convert")
        return None if missing else super().find_spec(name, *rest)

sys.meta_path[sys.meta_path.index(PathFinder)] = Bare
"""
STEPS = ("tests", "speed", "suite", "train")


def python(code, **env):
    whole = os.environ | {"PYTHONPATH": str(BENCHMARKS)} | env
    return subprocess.run([sys.executable, "-c", code], env=whole, capture_output=True, text=True, timeout=60)


# ---- Steps -------------------------------------------------------------------------------------------------


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    import gpu

    monkeypatch.setattr(gpu, "LOOK", 0.05)
    monkeypatch.setattr(gpu, "LEAST", 0)
    return gpu


def programme(gpu, folder, seconds=60.0):
    work = folder / f"work-{time.monotonic_ns()}"
    work.mkdir()
    return gpu.Programme(folder / "out", work, seconds)


def state(found, name):
    return found.state["steps"][name]["state"]


def test_a_step_that_fails_is_told_and_the_next_goes_on(gpu, tmp_path):
    found = programme(gpu, tmp_path)
    found.run("bad", gpu.Step(1, (("-c", "raise SystemExit('out | of order')"), ("-c", "print(6 * 7)"))))
    found.run("good", gpu.Step(1, (("-c", "print('fine')"),)))
    assert state(found, "bad") == "exit code 1"
    assert state(found, "good") == "done"
    log, summary = [(tmp_path / "out" / name).read_text() for name in ("log.txt", "summary.md")]
    assert "out | of order" in log
    assert "42" in log  # what follows in a step may still be of use
    assert "| `bad` | exit code 1 |" in summary
    assert summary.count("fine |") == 1


def test_a_step_that_failed_is_run_again_and_one_that_is_done_is_not(gpu, tmp_path):
    for expected in (1, 2):
        found = programme(gpu, tmp_path)
        found.run("bad", gpu.Step(1, (("-c", "print('bad was run'); raise SystemExit(3)"),)))
        found.run("good", gpu.Step(1, (("-c", "print('good was run')"),)))
        lines = (tmp_path / "out" / "log.txt").read_text().splitlines()
        assert (lines.count("bad was run"), lines.count("good was run")) == (expected, 1)


def test_a_step_is_ended_by_its_limit_with_all_that_it_began(gpu, tmp_path):
    child = "import subprocess, sys, time\nc = [sys.executable, '-c', 'import time; time.sleep(50)']\n"
    begin = f"{child}print(subprocess.Popen(c).pid, flush=True)\ntime.sleep(50)"
    found = programme(gpu, tmp_path)
    begun = time.monotonic()
    found.run("long", gpu.Step(0.03, (("-c", begin), ("-c", "print('never')"))))
    assert 1.5 < time.monotonic() - begun < gpu.GRACE
    assert state(found, "long") == "ended by its limit"
    log = (tmp_path / "out" / "log.txt").read_text()
    assert "never" not in log.splitlines()
    pid = int(log.split()[-1])
    until = time.monotonic() + 10
    while running(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running(pid)


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_the_limit_of_all_steps_holds_for_each(gpu, tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "LEAST", 0.5)
    found = programme(gpu, tmp_path, seconds=1.0)
    found.run("long", gpu.Step(5, (("-c", "import time; time.sleep(50)"),)))
    found.run("late", gpu.Step(5, (("-c", "print('never')"),)))
    assert state(found, "long") == "ended by its limit"
    assert state(found, "late") == "not begun: no time was left"
    assert "not begun" in (tmp_path / "out" / "summary.md").read_text()


def test_what_a_step_has_found_is_saved_while_it_runs(gpu, tmp_path):
    found = programme(gpu, tmp_path)
    (found.work / "store" / "units" / ".being-written").mkdir(parents=True)
    (found.work / "store" / "units" / ".being-written" / "unit.json").write_text("half")
    write = (
        'open(\'journal.jsonl\', \'w\').write(\'{"call": ["a.py", "--only", "b"], "value": {"seconds": 2}}\')'
    )
    look = "import pathlib, sys, time\nuntil = time.monotonic() + 20\nsummary = pathlib.Path(sys.argv[1])\n"
    wait = "while 'a.py --only b' not in summary.read_text() and time.monotonic() < until: time.sleep(0.05)\n"
    code = f"{look}{write}\n{wait}print('seen' if 'a.py --only b | 2' in summary.read_text() else 'not seen')"
    found.save()
    found.run("step", gpu.Step(1, (("-c", code, f"{tmp_path / 'out' / 'summary.md'}"),)))
    assert found.state["steps"]["step"]["told"] == "seen"
    with tarfile.open(tmp_path / "out" / "work.tar.gz") as archive:
        assert archive.getnames() == ["journal.jsonl"]


def test_steps_are_named(gpu):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "gpu.py", "--steps", "tests,sped"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "there is no sped; there are tests, speed, suite, train, inference, many, sweep" in done.stderr


# ---- The journal of benchmarks -----------------------------------------------------------------------------

PEERS = """
import json, sys
from harness import alone, interleaved
def peer(name):
    return lambda: alone([{script!r}, name])
print(json.dumps(interleaved({{name: peer(name) for name in ("a", "bad", "b")}}, 2)))
"""
SCRIPT = """
import sys
if sys.argv[1] == "bad":
    raise SystemExit("no room")
with open({count!r}, "a") as file:
    file.write(sys.argv[1])
print(len(open({count!r}).read()))
"""


def test_a_benchmark_goes_on_and_leaves_out_what_fails(tmp_path):
    journal, count, script = tmp_path / "journal.jsonl", tmp_path / "count", tmp_path / "peer.py"
    script.write_text(SCRIPT.format(count=str(count)))
    code, env = PEERS.format(script=str(script)), {"MTLV_BENCH_JOURNAL": str(journal)}
    first = python(code, **env)
    assert json.loads(first.stdout.splitlines()[-1]) == {"a": [1, 4], "b": [2, 3]}  # who begins turns
    assert "bad is left out" in first.stdout
    assert "no room" in first.stdout
    whole = journal.read_text()
    journal.write_text(whole[: whole.rindex("{") + 9])  # cut off within the last line
    again = python(code, **env)
    assert json.loads(again.stdout.splitlines()[-1]) == {"a": [1, 5], "b": [2, 3]}
    assert count.read_text() == "abbaa"
    assert python(code, **env).stdout.splitlines()[-1] == again.stdout.splitlines()[-1]


def test_without_a_journal_a_peer_that_fails_ends_the_benchmark(tmp_path):
    script = tmp_path / "peer.py"
    script.write_text(SCRIPT.format(count=str(tmp_path / "count")))
    done = python(PEERS.format(script=str(script)))
    assert done.returncode == 1
    assert "no room" in done.stderr


def test_a_process_of_a_benchmark_finds_the_packages_of_who_began_it(tmp_path):
    (tmp_path / "carried.py").write_text("NUMBER = 7")
    script = tmp_path / "apart" / "peer.py"
    script.parent.mkdir()
    script.write_text("import carried, mtlv\nprint(carried.NUMBER)")
    code = f"from harness import alone\nprint(alone([{str(script)!r}]))"
    assert python(code, PYTHONPATH=f"{BENCHMARKS}{os.pathsep}{tmp_path}").stdout == "7\n"


# ---- The whole ---------------------------------------------------------------------------------------------


def reports(path):
    """80 reports in Open-I's form, four labels each, so that every part has every label."""
    lines = ["uid,MeSH,findings,impression"]
    for row in range(80):
        headings = ";".join(_LABELS[(row + step) % len(_LABELS)][1] for step in (0, 4, 9, 13))
        lines.append(f'{row},"{headings}",Report {row} on the chest.,Signs of {headings.replace(",", "")}.')
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A folder with the reports, and an environment without MLflow."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(BARE)
    reports(folder / "reports.csv")
    quick = {"MTLV_BENCH_QUICK": str(folder / "quick"), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)}
    return folder, os.environ | quick


@contextmanager
def begun(bare, out):
    """The programme, in a process that is ended by SIGTERM unless it has ended."""
    folder, env = bare
    command = [sys.executable, BENCHMARKS / "gpu.py", "--out", out, "--data", folder / "reports.csv"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def cut_off(bare, out, reached):
    """The results as they were on disk at the moment in which `reached` holds of the summary."""
    with begun(bare, out) as process:
        until = time.monotonic() + 90
        while not reached(summary(out)):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < until
            time.sleep(0.05)
        kept = out.with_name(f"{out.name}-kept")
        shutil.copytree(out, kept)
    return kept


def summary(out):
    path = out / "summary.json"
    return json.loads(path.read_text()) if path.exists() else {"calls": [], "rounds": []}


def units(out):
    with tarfile.open(out / "work.tar.gz") as archive:
        names = [name for name in archive.getnames() if name.endswith("unit.json")]
        return {name: archive.extractfile(name).read() for name in names}


@pytest.mark.slow
def test_the_programme_is_cut_off_twice_and_goes_on(bare, tmp_path):
    folder, _ = bare
    none = python("import mlflow", PYTHONPATH=str(folder))
    assert "No module named 'mlflow'" in none.stderr
    first = cut_off(bare, tmp_path / "out", lambda found: len(found["calls"]) == 2)
    second = cut_off(
        bare, shutil.copytree(first, tmp_path / "again"), lambda found: len(found["rounds"]) >= 5
    )
    assert {path.name for path in second.iterdir()} >= {
        "log.txt",
        "summary.json",
        "summary.md",
        "work.tar.gz",
    }

    out = shutil.copytree(second, tmp_path / "last")
    with begun(bare, out) as process:
        told, _ = process.communicate(timeout=90)
        assert process.returncode == 0, (out / "log.txt").read_text()
    found, log = summary(out), (out / "log.txt").read_text()
    assert {name: step["state"] for name, step in found["steps"].items()} == dict.fromkeys(STEPS, "done")
    assert told.endswith((out / "summary.md").read_text() + "\n")
    assert log.count("== python -m pytest") == 1  # done before it was cut off
    assert log.count("== python") < 10
    assert found["calls"][:2] == summary(first)["calls"]
    calls = [json.dumps(line["call"]) for line in found["calls"]]
    assert len(set(calls)) == len(calls)

    assert found["rounds"][:5] == summary(second)["rounds"][:5]
    rounds = [(line["round"], line["architecture"]) for line in found["rounds"]]
    names = ("mtl", "gmhl", "gmtl", "stl")
    assert rounds == [(f"fold {fold}, seed 0", name) for fold in (0, 1) for name in names]
    kept, last = units(second), units(out)
    assert len(kept) >= 1 + 1 + 19
    assert all(last[name] == content for name, content in kept.items())  # no model was trained twice
    check_table(found["rounds"], told)


def check_table(rounds, told):
    """The means, and the differences to single-task models fold by fold, by hand."""
    assert "Means of 2 whole rounds" in told
    of = {
        name: [r["metrics"]["f1_macro"] for r in rounds if r["architecture"] == name]
        for name in ("mtl", "stl")
    }
    (row,) = [line for line in told.splitlines() if line.startswith("| `mtl` |")]
    cells = [cell.strip() for cell in row.split("|")]
    (low, high), gains = sorted(of["mtl"]), [m - s for m, s in zip(of["mtl"], of["stl"], strict=True)]
    assert cells[3] == f"{(low + high) / 2:.4f} ({(high - low) / 2**0.5:.4f})"
    assert cells[8] == f"{sum(gains) / 2:.4f} ({abs(gains[0] - gains[1]) / 2**0.5:.4f})"
    assert all(line["tasks"].keys() == {name for name, _, _ in _LABELS} for line in rounds)
