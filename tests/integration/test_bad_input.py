"""Bad input of every kind: a clear message on stderr, exit code 2, no traceback, nothing half-made."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

TABLE = """\
experiment: own
data:
  name: table
  path: t.csv
  columns: {text: text, labels: [a, b]}
encoder: tiny
architecture: mtl
"""
GROUPED = """\
data: synthetic
encoder: tiny
architecture: gmtl
grouping:
"""
HEART = "[Enlarged heart, Congestion, Pleural effusion]"
LUNG = "[Hyperinflation, Emphysema, Lung scarring]"


@dataclass(frozen=True)
class Case:
    """One bad input.

    Args:
        config: of `c.yml`; empty takes the small one that runs.
        says: what stderr must hold.
        argv: overrides.
        files: further files by name.
        checked: whether `mtlv check` sees it too.
    """

    says: tuple[str, ...]
    config: str = ""
    argv: tuple[str, ...] = ()
    files: dict[str, str | bytes] = field(default_factory=dict)
    checked: bool = True


def table(content: str | bytes, *says: str) -> Case:
    return Case(says, TABLE, files={"t.csv": content})


def rows(count: int) -> str:
    return "text,a,b\n" + "".join(f"text number {i},{i % 2},{i % 3 % 2}\n" for i in range(count))


RARE = "text,a,b\n" + "".join(f"text number {i},{i % 2},{int(i == 7)}\n" for i in range(40))

CASES = {
    "several problems": Case(
        (
            "c.yml:3: `data.folds`: got 'two'; allowed: a whole number of 1 or more",
            "c.yml:4: `data.foldz`: unknown key; did you mean `data.folds`?",
            "c.yml:5: `encoderr`: unknown key; did you mean `encoder`?",
            "c.yml:7: `training.epochs`: got 0; allowed: a whole number of 1 or more",
            "c.yml:8: `training.schedule`: got 'linaer'; allowed: one of linear, cosine, constant; "
            "did you mean `linear`?",
            "c.yml:9: `training.device`: got 'gpu'; allowed: auto, cpu, cuda or cuda:NUMBER",
        ),
        "data:\n  name: synthetic\n  folds: two\n  foldz: 2\nencoderr: tiny\n"
        "training:\n  epochs: 0\n  schedule: linaer\n  device: gpu\n",
    ),
    "no YAML": Case(("c.yml:2:9: not YAML",), "data: synthetic\nseed: [1}\n"),
    "k above the tasks": Case(
        ("c.yml:5: `grouping.k` is above the number of tasks (got 10); allowed: auto, or 1 to 9",),
        GROUPED + "  k: 10\n",
    ),
    "k of several members": Case(
        ("`grouping.k` is above the number of tasks (got 10)", "c.yml:7:", "(got 11)"),
        "data: synthetic\nencoder: tiny\narchitecture: gmhl\nmatrix:\n  grouping.k:\n    - 10\n    - 11\n",
    ),
    "groups miss and repeat": Case(
        ("c.yml:6: `grouping.groups`: a label may stand in one group only; in several: Congestion",),
        GROUPED + f"  method: given\n  groups: [{HEART}, [Congestion]]\n",
    ),
    "groups miss": Case(
        ("c.yml:6: `grouping.groups`", "missing `Catheter`, `Pacemaker`, `Sternal wires`"),
        GROUPED + f"  method: given\n  groups: [{HEART}, {LUNG}]\n",
    ),
    "groups with an unknown label": Case(
        ("c.yml:6: `grouping.groups`", "unknown task `Cathether`, did you mean `Catheter`?"),
        GROUPED + f"  method: given\n  groups: [{HEART}, {LUNG}, [Cathether, Pacemaker, Sternal wires]]\n",
    ),
    "unknown labels": Case(
        (
            "on the command line: `data.labels`: corpus `synthetic` has no label `Emphysemia`, `Xyz`",
            "`Emphysema`?",
        ),
        "data: synthetic\nencoder: tiny\n",
        ("data.labels=[Emphysemia, Catheter, Xyz]",),
    ),
    "unknown corpus": Case(("c.yml:1: `data.name`", "got openj", "did you mean `openi`?"), "data: openj\n"),
    "weights of no task": Case(
        ("c.yml:4: `training.head_weights` names no task: `Cathether`", "did you mean `Catheter`?"),
        "data: synthetic\ntraining:\n  head_loss: weighted_sum\n  head_weights: {Cathether: 2.0}\n",
    ),
    "no file": Case(("c.yml:4: nothing is at `data.path` (got t.csv)",), TABLE),
    "empty corpus": table("text,a,b\n", "`t.csv` has no row"),
    "no text": table("text,a,b\n,1,0\n,0,1\n", "column `text` is empty in all rows"),
    "missing columns": table(
        "Text,a\nx,1\n", "`t.csv` has no column `text`", "did you mean `Text`?", "`t.csv` has no column `b`"
    ),
    "cells that are not 0 or 1": table(
        "text,a,b\nx,1,0\ny,maybe,1\nz,0,3\nw,2,1\n",
        "`t.csv` line 3, column `a` is not 0 or 1 (got 'maybe'); allowed: 0, 1, true, false, yes, no; "
        "also at line 5",
        "`t.csv` line 4, column `b` is not 0 or 1 (got '3')",
    ),
    "invalid row": table(
        "text,a,b\nx,1,0\ny, and z,1,0\n", "`t.csv` has an invalid row at line 3 (got 4 fields)"
    ),
    "open quote": table('text,a,b\nx,1,0\n"y,1,0\n', "`t.csv` has an invalid row at line 3"),
    "unreadable bytes": Case(
        ("unreadable bytes at line 3", "UTF-8"),
        TABLE,
        ("data.columns.encoding=utf-8",),
        {"t.csv": b"text,a,b\nx,1,0\ncaf\xe9,0,1\n"},
    ),
    "label without a document": table(
        "text,a,b\n" + "".join(f"t{i},{i % 2},0\n" for i in range(30)),
        "column `b` is always 0",
        "`data.columns.labels`",
    ),
    "label without a positive in training": Case(
        ("a label has no positives in the training part of fold", "(got b: 1 in all)"),
        TABLE.replace("name: table", "name: table\n  folds: 2"),
        files={"t.csv": RARE},
    ),
    "missing encoder folder": Case(
        ("c.yml:7: `encoder.name`: there is no folder with an encoder (got ./none)",),
        argv=("encoder.features=mean",),
        config="experiment: small\ndata:\n  name: synthetic\n  documents: 120\n"
        "architecture: mtl\ntraining: {epochs: 1}\nencoder: ./none\n",
    ),
    "encoder folder without an encoder": Case(
        ("`encoder.name`", "contains no config.json"),
        argv=("encoder=./empty",),
        checked=False,
        files={"empty/readme.txt": "nothing"},
    ),
    "unknown encoder": Case(
        ("`encoder.name`: `biobrt` is no known encoder", "did you mean `biobert`?"),
        argv=("encoder=biobrt",),
    ),
    "two missing encoders": Case(
        ("`biobert` is not on this machine", "`scibert` is not on this machine"),
        argv=("matrix.encoder=[biobert, scibert, tiny]",),
        checked=False,
    ),
    "longer than the encoder reads": Case(
        ("`data.max_length` is more than encoder `tiny` can read (got 600); allowed: up to 512",),
        argv=("data.max_length=600",),
    ),
    "a folder as the tracking store": Case(
        ("`tracking.uri` is a folder", "sqlite:///mlflow.db"), argv=("tracking.uri=file:///tmp/runs",)
    ),
    "an unknown tracking scheme": Case(
        ("`tracking.uri`", "unknown scheme"), argv=("tracking.uri=ftp://h/x",)
    ),
    "a tracking store that is no database": Case(
        ("the tracking store `sqlite:///bad.db` cannot be written", "not a database"),
        argv=("tracking.uri=sqlite:///bad.db",),
        files={"bad.db": b"this is no database, whatever its name says" * 30},
        checked=False,
    ),
    "a tracking store without a folder": Case(
        ("the folder of the tracking store",), argv=("tracking.uri=sqlite:///no/x.db",), checked=False
    ),
    "an unwritable store": Case(
        # Below a file nothing can be made, not even by root, for whom permissions do not count.
        ("`store.uri`: file.txt/store cannot be written",),
        argv=("store.uri=file.txt/store",),
        files={"file.txt": "a file"},
        checked=False,
    ),
}


def refused(done, *says: str) -> None:
    """Exit code 2 with all of `says` on stderr, and no traceback."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for text in says:
        assert text in done.stderr


def nothing_half_made(folder: Path, statuses: list[str]) -> None:
    """No run was opened, no unit kept."""
    assert statuses == []
    assert list(folder.glob("mtlv-store/units/*")) == []


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused(name, small, here, run_statuses):
    case = CASES[name]
    if case.config:
        (small / "c.yml").write_text(case.config, encoding="utf-8")
    for file, content in case.files.items():
        (small / file).parent.mkdir(exist_ok=True)
        (small / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = here.run(small, "run", "c.yml", *case.argv)
    refused(done, *case.says)
    assert done.stdout == ""
    nothing_half_made(small, run_statuses(small))
    checked = here.run(small, "check", "c.yml", *case.argv)
    if case.checked:
        refused(checked, *case.says)
    else:
        assert checked.returncode == 0, checked.stderr


def test_each_problem_has_a_line_of_its_own(small, mtlv):
    case = CASES["several problems"]
    (small / "c.yml").write_text(case.config, encoding="utf-8")
    done = mtlv.run(small, "run", "c.yml")
    assert done.returncode == 2
    assert done.stderr.splitlines() == list(case.says)


def test_a_tokenizer_without_a_pad_token(small, here, run_statuses):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2Model, PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({"<unk>": 0, "the": 1}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>").save_pretrained(small / "gpt")
    GPT2Model(GPT2Config(vocab_size=2, n_embd=8, n_layer=1, n_head=1)).save_pretrained(small / "gpt")
    done = here.run(small, "run", "c.yml", "encoder=./gpt")
    refused(done, "the tokenizer of `encoder.name` `./gpt` has neither a pad token")
    nothing_half_made(small, run_statuses(small))


@pytest.mark.parametrize("device", ["cuda", "cuda:7"])
def test_cuda_that_is_not_there(device, small, here, run_statuses):
    import torch

    if torch.cuda.is_available() and (device == "cuda" or torch.cuda.device_count() > 7):
        pytest.skip("the device is there")
    done = here.run(small, "run", "c.yml", f"training.device={device}")
    refused(done, "`training.device`", f"got {device}", "allowed: auto, cpu", "CUDA devices here")
    nothing_half_made(small, run_statuses(small))


def test_a_server_that_is_away_is_named_at_once_and_told_by_sync(small, here, run_statuses):
    with socket.socket() as taken:  # bound, never listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        uri = f"http://user:secret@127.0.0.1:{taken.getsockname()[1]}"
        begun = time.monotonic()
        done = here.run(small, "run", "c.yml", f"tracking.uri={uri}", "tracking.flush_seconds=1")
        refused(here.run(small, "sync", "--uri", uri), "cannot be reached", "start it")
    assert done.returncode == 0, done.stderr
    first, *_, last = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert "the tracking server `http://***@127.0.0.1" in first
    assert "cannot be reached" in first
    assert "`mtlv sync --store mtlv-store` uploads them" in last
    assert "secret" not in done.stderr + done.stdout
    assert not any(b"user:secret" in path.read_bytes() for path in small.rglob("*") if path.is_file())
    assert time.monotonic() - begun < 120, "without MLflow's minutes of retries"
    assert not (small / "mlflow.db").exists()
    refused(here.run(small, "sync"), "a user or password", "give the whole address with `--uri`")
    there = f"sqlite:///{small / 'mlflow.db'}"
    assert "uploaded to" in here.run(small, "sync", "--uri", there).stdout
    assert set(run_statuses(small)) == {"FINISHED"}
    assert "nothing to upload" in here.run(small, "sync").stdout


def test_a_catalogued_corpus_that_is_not_here_is_a_warning_of_check(small, here, monkeypatch):
    monkeypatch.setenv("MTLV_DATA", str(small / "nowhere"))
    done = here.run(small, "check", "c.yml", "data=openi")
    assert done.returncode == 0, done.stderr
    assert "warning: it cannot run yet: nothing is at the place of corpus `openi`" in done.stdout
    assert "run `mtlv data fetch openi`" in done.stdout
    refused(here.run(small, "run", "c.yml", "data=openi"), "run `mtlv data fetch openi`")


def test_a_member_that_cannot_be_trained_is_marked_failed_and_the_others_go_on(small, here, run_statuses):
    """A loss that is not finite shows only while it trains, when runs are open."""
    done = here.run(
        small,
        "run",
        "c.yml",
        f"tracking.uri=sqlite:///{small / 'mlflow.db'}",
        "matrix.training.head_weights=[{Catheter: 1e39}, {Catheter: 1}]",
        "training.head_loss=weighted_sum",
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "the training loss is not finite in step" in done.stderr
    assert "(documents " in done.stderr
    assert sorted(run_statuses(small)) == ["FAILED"] * 2 + ["FINISHED"] * 3  # one is the page of the member


def test_help_for_a_json_table(small, here):
    (small / "c.yml").write_text(TABLE.replace("t.csv", "t.jsonl"), encoding="utf-8")
    (small / "t.jsonl").write_text(json.dumps({"text": "x", "a": 1, "b": 0}) + "\n{oops\n", encoding="utf-8")
    refused(here.run(small, "check", "c.yml"), "`t.jsonl` has invalid JSON at line 2")
