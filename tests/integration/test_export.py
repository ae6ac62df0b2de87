"""The model of a run for users without mtlv: with Transformers or ONNX Runtime alone, in its own process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mtlv.cli import main
from mtlv.errors import PlanError

SUITE = """\
data: {name: synthetic, documents: 90, labels: [Enlarged heart, Congestion, Catheter], max_length: 24}
encoder: tiny
training: {epochs: 1, learning_rate: 1e-3, precision: fp32}
runs: [{name: joint, architecture: mtl}, {name: deep, architecture: {name: gmhl, private_layers: 1},
       grouping: {method: given, groups: [[Enlarged heart], [Congestion, Catheter]]}},
       {name: words, architecture: mtl, encoder: {name: tiny, features: attention}}]
"""
TEXTS = ["The heart is enlarged and a catheter is in place.", "Clear."]


@pytest.fixture(scope="module")
def ran(undrawn, here, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    (folder / "c.yml").write_text(SUITE)
    done = here.run(folder, "run", "c.yml", "--no-compare")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(autouse=True)
def _in_folder(ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ran)


def run_example(folder: str, *, without: tuple[str, ...]) -> list[str]:
    """What the example of the model card prints for `TEXTS`, where modules are `without`."""
    (code,) = re.findall(r"```python\n(.*?)```", Path(folder, "README.md").read_text(), re.DOTALL)
    assert '["a text"]' in code
    lines = ["import sys", *(f"sys.modules[{name!r}] = None" for name in without)]
    script = "\n".join([*lines, code.replace('["a text"]', json.dumps(TEXTS))])
    path = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    modules = {"HF_HOME": str(Path("cache").absolute())}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | path | modules
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def predicted() -> list[dict]:
    Path("in.txt").write_text("\n".join(TEXTS))
    assert main(["predict", "joint", "--file", "in.txt", "--out", "out.jsonl"]) == 0
    return [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]


def assert_same(lines: list[str], tolerance: float) -> None:
    rows = predicted()
    assert len(lines) == 3
    for line in lines:
        name, values, decided = re.fullmatch(r"(.+?) \[(.*)\] \[(.*)\]", line).groups()
        told = [row["probabilities"][name] for row in rows]
        assert [float(value) for value in values.split()] == pytest.approx(told, abs=tolerance)
        assert decided.split() == [str(name in row["decided"]) for row in rows]


def test_a_folder_of_transformers_needs_no_mtlv(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from huggingface_hub import ModelCard

    from mtlv.tracking.mlflow_reader import MlflowReader

    assert main(["export", "joint", "--to", "hub", "--out", "hub"]) == 0
    assert "hub: 3 tasks of `joint · fold 0 · seed 0`" in capsys.readouterr().out
    assert_same(run_example("hub", without=("mtlv",)), 1e-5)
    card = ModelCard.load("hub/README.md")
    (run,) = (run for run in MlflowReader(None).runs(["1"], {"mtlv.kind": "fold"}) if "joint" in run.name)
    assert f"| all | mean | {run.metrics['test/f1_macro']:.3f} |" in card.text
    assert Path("hub/environment.txt").read_text().startswith("python==")
    (count,) = re.findall(r"documents: \d+ train, \d+ validation, (\d+) test", card.text)
    assert re.search(rf"\| all \| mean \| .* \| {count} \|", card.text)
    assert "up to 24 tokens" in card.text
    f1 = f"{run.metrics['test.tasks.f1/Catheter']:.3f}"
    low, high = re.search(rf"\| Catheter \| F1 \| {f1} \| ([\d.]+) to ([\d.]+) \|", card.text).groups()
    assert float(low) <= float(f1) <= float(high)
    assert str(ran) not in "".join(
        path.read_text() for path in Path("hub").glob("*.[jtm]*") if "safe" not in path.name
    )
    assert main(["export", "joint", "--to", "hub", "--out", "hub"]) == 2
    assert "`hub` exists already" in capsys.readouterr().err


def test_what_cannot_be_exported_is_refused(
    ran: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["export", "deep", "--to", "hub", "--out", "refused"]) == 2
    assert "cannot be exported (got private layers)" in capsys.readouterr().err
    assert main(["export", "words", "--to", "hub", "--out", "refused"]) == 2
    assert "cannot be exported (got features `attention`)" in capsys.readouterr().err
    assert main(["export", "joint", "--to", "hub", "--out", "refused", "training.epochs=2"]) == 2
    assert "a run is exported as it is; leave out key=value" in capsys.readouterr().err
    monkeypatch.setattr("mtlv.suite.portable.find_spec", lambda name: None if name == "onnxscript" else name)
    assert main(["export", "joint", "--to", "onnx", "--out", "refused"]) == 2
    assert "needs onnxscript; install them: pip install 'mtlv[onnx]'" in capsys.readouterr().err
    assert not [*ran.glob("*refused*")]


@pytest.mark.slow
def test_onnx_decides_as_pytorch_or_is_refused(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    from mtlv.serving.predict import load_plan
    from mtlv.serving.texts import from_arguments
    from mtlv.suite.portable import compare

    assert main(["export", "joint", "--to", "onnx", "--out", "onnx"]) == 0
    printed = capsys.readouterr().out
    (decisions, count) = re.search(r"changes 0 of (\d+) decisions .* on (\d+) documents", printed).groups()
    assert int(decisions) == 3 * int(count) > 30
    assert_same(run_example("onnx", without=("mtlv", "torch", "transformers")), 1e-5)
    plan, texts = load_plan("joint", device="cpu"), from_arguments(TEXTS)
    (head,) = plan.networks[0].model.heads.values()
    is_yes = plan.predict(TEXTS)["Congestion"].decided
    head.layers[-1].bias.data[1] -= 20 if is_yes[0] else -20  # another model, which never or always says yes
    changed = int((is_yes == is_yes[0]).sum())
    with pytest.raises(PlanError, match=f"changes {changed} of 6 decisions.*most for `Congestion`"):
        compare(plan, Path("onnx"), texts, tolerance=0.1)
    assert f"changes {changed} of 6 decisions" in compare(plan, Path("onnx"), texts, tolerance=1.0)
    tasks = {task["name"]: task for task in json.loads(Path("onnx/tasks.json").read_text())}
    assert tasks["Congestion"]["changed_decisions"] == changed
    assert tasks["Congestion"]["largest_change"] > 0.1
    assert tasks["Catheter"]["largest_change"] < 1e-5
