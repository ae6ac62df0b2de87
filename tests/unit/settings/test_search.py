"""`search` of a config."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.errors import ConfigError
from mtlv.settings import load_suite

GRID = "over: {training.learning_rate: [1e-5, 3e-5], training.batch_size: [8, 16, 32]}"


def test_members_are_all_combinations(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text(f"search: {{{GRID}, trials: 4, sampler: tpe}}\n", encoding="utf-8")
    suite = load_suite(path)
    assert len(suite.members) == 6
    assert (suite.search.trials, suite.search.sampler, suite.search.seed) == (4, "tpe", 0)
    pairs = {(m.settings.training.learning_rate, m.settings.training.batch_size) for m in suite.members}
    assert len(pairs) == 6


def test_a_part_of_it_can_be_set_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text(f"search: {{{GRID}}}\n", encoding="utf-8")
    suite = load_suite(
        path, ["search.over.training.learning_rate=[2e-5]", "search.over.training.epochs=[1, 2]"]
    )
    assert [m.settings.training.batch_size for m in suite.members] == [8, 8, 16, 16, 32, 32]
    assert [m.settings.training.epochs for m in suite.members] == [1, 2] * 3
    assert {m.settings.training.learning_rate for m in suite.members} == {2e-5}
    other = load_suite({"transfer": {"pairs": [["a", "b"]]}}, ["transfer.seeds=[3, 4]"])
    assert [m.settings.seeds for m in other.members] == [(3, 4)] * 3


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ("3", r"c.yml:1: `search`: got 3; allowed: a mapping of over, trials"),
        ("{trials: 3}", "`search.over`: got null; allowed: a mapping of keys to lists of values"),
        ("{over: {training.epochs: 3}}", "`search.over.training.epochs`: got 3; allowed: a list"),
        ("{over: {training.epoch: [3]}}", "`training.epoch`: unknown key; did you mean"),
        (f"{{{GRID}, trials: 0}}", "`search.trials`: got 0"),
        (f"{{{GRID}, sampler: best}}", "`search.sampler`: got 'best'; allowed: one of grid, random, tpe"),
        (f"{{{GRID}, seed: x}}", "`search.seed`: got 'x'"),
        (f"{{{GRID}, trial: 3}}", "`search.trial`: unknown key; did you mean `search.trials`"),
        ("{over: {seed: [1, 2], training.select: [last, best]}}", "is the same for a whole suite"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, search: str, message: str) -> None:
    path = tmp_path / "c.yml"
    path.write_text(f"search: {search}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_suite(path)
