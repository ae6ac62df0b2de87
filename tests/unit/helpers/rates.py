"""Suites of two learning rates on a table, of which one may fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.errors import TrainingError
from mtlv.settings import Suite, load_suite
from mtlv.suite import run


def of_table(folder: Path, data: Path, members: str, epochs: int, seeds: tuple[int, ...] = (0, 1)) -> Suite:
    """A suite on `data` with `tiny`; `members` are the lines of its key of a suite."""
    text = (
        f"{members}seed: {list(seeds)}\nencoder: tiny\n"
        f"data: {{name: table, path: {data}, columns: {{id: id, part: part, labels: [heart, lung, bone]}}}}\n"
        f"training: {{epochs: {epochs}, batch_size: 8, device: cpu, precision: fp32}}\n"
        f"store: {{uri: {folder / 'store'}}}\n"
    )
    (folder / "c.yml").write_text(text, encoding="utf-8")
    return load_suite(folder / "c.yml")


def fail_above(patch: pytest.MonkeyPatch, rate: float) -> None:
    """Let members with a higher learning rate fail."""
    real = run.run_member

    def fails(session, resolved, *rest: object):
        if resolved.member.settings.training.learning_rate > rate:
            raise TrainingError("the loss is not finite")
        return real(session, resolved, *rest)

    patch.setattr(run, "run_member", fails)
