"""Benchmarks that keep a journal go on where they were cut off, and leave out peers that fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"


def python(code, **env):
    whole = os.environ | {"PYTHONPATH": str(BENCHMARKS)} | env
    return subprocess.run([sys.executable, "-c", code], env=whole, capture_output=True, text=True, timeout=60)


PEERS = """
import json, sys
from harness import alone, interleaved
def peer(name):
    return lambda: alone([{script!r}, name])
print(json.dumps(interleaved({{name: peer(name) for name in ("a", "bad", "slow", "b")}}, 2)))
"""
SCRIPT = """
import sys
if sys.argv[1] == "bad":
    raise SystemExit("no room")
if sys.argv[1] == "slow":
    import time
    time.sleep(8)
with open({count!r}, "a") as file:
    file.write(sys.argv[1])
print(len(open({count!r}).read()))
"""


def test_a_benchmark_goes_on_and_leaves_out_what_fails(tmp_path):
    journal, count, script = tmp_path / "journal.jsonl", tmp_path / "count", tmp_path / "peer.py"
    script.write_text(SCRIPT.format(count=str(count)))
    code, env = (
        PEERS.format(script=str(script)),
        {"MTLV_BENCH_JOURNAL": str(journal), "MTLV_BENCH_PATIENCE": "1"},
    )
    first = python(code, **env)
    assert json.loads(first.stdout.splitlines()[-1]) == {"a": [1, 4], "b": [2, 3]}  # who begins turns
    assert "bad is left out" in first.stdout
    assert "no room" in first.stdout
    assert "slow is left out" in first.stdout
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


@pytest.mark.parametrize(("env", "code"), [({}, 1), ({"MTLV_BENCH_JOURNAL": "journal.jsonl"}, 0)])
def test_a_claim_that_is_not_met_is_a_failure_only_of_the_benchmark_itself(tmp_path, env, code):
    made = "Result('made', 'Made', 's', {'row': {'peer': [1.0]}}, claims=[Claim('fast', 2, 1)])"
    env = env | {"MTLV_BENCH_OUT": str(tmp_path), "PYTHONPATH": f"{BENCHMARKS}{os.pathsep}{ROOT}"}
    done = python(f"import sys\nfrom harness import Claim, Result, publish\nsys.exit(publish({made}))", **env)
    assert done.returncode == code, done.stderr
    assert json.loads((tmp_path / "made.json").read_text())["claims"][0]["verdict"] == "not met"
    assert {path.name for path in tmp_path.iterdir()} == {"made.json"}


def test_a_process_of_a_benchmark_finds_the_packages_of_who_began_it(tmp_path):
    (tmp_path / "carried.py").write_text("NUMBER = 7")
    script = tmp_path / "apart" / "peer.py"
    script.parent.mkdir()
    script.write_text("import carried, mtlv\nprint(carried.NUMBER)")
    code = f"from harness import alone\nprint(alone([{str(script)!r}]))"
    assert python(code, PYTHONPATH=f"{BENCHMARKS}{os.pathsep}{tmp_path}").stdout == "7\n"
