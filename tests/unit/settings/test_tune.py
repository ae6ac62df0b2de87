"""`tune` of a config: values to try for each run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mtlv.errors import ConfigError
from mtlv.settings import Suite, load_suite

RATES = "tune: {training.learning_rate: [1e-4, 2e-4]}\n"


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Suite]:
    def made(text: str, *changes: str) -> Suite:
        path = tmp_path / "c.yml"
        path.write_text(text, encoding="utf-8")
        return load_suite(path, changes)

    return made


def told(suite: Suite) -> list[tuple]:
    """Name, learning rate, and the only run of each member."""
    return [(each.name, each.settings.training.learning_rate, *each.tuned) for each in suite.members]


def runs(suite: Suite) -> list:
    """The only run of each member."""
    return [run for each in suite.members for run in each.tuned]


def test_each_run_has_a_member_for_each_value(load) -> None:
    suite = load(
        f"{RATES}runs: [{{name: one, architecture: mtl}}, {{name: each, architecture: stl, seed: [0, 1]}}]\n"
    )
    assert told(suite) == [
        ("one, 0.0001", 1e-4, 0),
        ("one, 0.0002", 2e-4, 0),
        ("each, 0.0001", 1e-4, 1),
        ("each, 0.0002", 2e-4, 1),
    ]
    assert [member.settings.architecture.name for member in suite.members] == ["mtl", "mtl", "stl", "stl"]


def test_a_run_may_have_a_value_or_a_tune_of_its_own(load) -> None:
    suite = load(
        f"{RATES}runs:\n"
        "- {name: fixed, training.learning_rate: 3e-4}\n"
        "- {name: section, training: {learning_rate: 4e-4}}\n"
        "- {name: own, architecture: stl, tune: {training.learning_rate: [5e-4], training.epochs: [1, 2]}}\n"
        "- {name: random, architecture: gmtl, matrix: {grouping.seed: [1, 2]}}\n"
    )
    assert told(suite) == [
        ("fixed", 3e-4, None),
        ("section", 4e-4, None),
        ("own, 0.0005, 1", 5e-4, 2),
        ("own, 0.0005, 2", 5e-4, 2),
        ("random 1, 0.0001", 1e-4, 3),
        ("random 1, 0.0002", 2e-4, 3),
        ("random 2, 0.0001", 1e-4, 4),
        ("random 2, 0.0002", 2e-4, 4),
    ]


def test_a_grid_and_a_single_run_are_tuned(load) -> None:
    grid = load(f"{RATES}matrix: {{architecture: [stl, mtl]}}\n")
    assert runs(grid) == [0, 0, 1, 1]
    assert len({each.name for each in grid.members}) == 4
    single = load(RATES, "tune.training.epochs=[3, 4]")
    assert runs(single) == [0] * 4
    assert {each.settings.training.epochs for each in single.members} == {3, 4}


def test_a_value_of_the_command_line_replaces_those_to_try(load) -> None:
    text = f"{RATES}runs: [{{name: one}}, {{name: each, architecture: stl}}]\n"
    for change in ("training.learning_rate=1e-3", "training={learning_rate: 1e-3}"):
        suite = load(text, change)
        assert told(suite) == [("one", 1e-3, None), ("each", 1e-3, None)]
        assert suite.notes == ()
    both = load(f"{RATES}", "tune.training.epochs=[3, 4]", "training.learning_rate=1e-3")
    assert runs(both) == [0, 0]


def test_a_run_may_try_nothing(load) -> None:
    suite = load(f"{RATES}runs: [{{name: one, tune: null}}, {{name: each, architecture: stl}}]\n")
    assert runs(suite) == [None, 1, 1]


def test_a_key_inside_a_section_to_try_is_that_of_a_run(load) -> None:
    text = "tune: {training: [{learning_rate: 1e-3}, {learning_rate: 2e-3, epochs: 9}]}\n"
    suite = load(f"{text}runs: [{{name: a, training.epochs: 2}}, {{name: b}}]\n")
    assert suite.members[0].settings.training.epochs == 2
    assert runs(suite) == [None, 1, 1]


def test_a_key_of_two_that_a_run_sets_is_not_tried(load) -> None:
    text = "tune: {training.learning_rate: [1e-4, 2e-4], training.epochs: [1, 2]}\n"
    members = load(f"{text}runs: [{{name: a, training.epochs: 5}}, {{name: b, architecture: stl}}]\n").members
    assert [each.settings.training.epochs for each in members] == [5, 5, 1, 2, 1, 2]


def test_repeated_runs_are_left_out_together(load) -> None:
    suite = load(f"{RATES}matrix: {{architecture: [mtl, gmtl], grouping.k: [2, 3]}}\n")
    assert runs(suite) == [0, 0, 2, 2, 3, 3]
    assert "2 repeated members left out" in suite.notes[0]


def test_a_value_may_be_that_of_several_runs(load) -> None:
    suite = load(
        "runs: [{name: a, tune: {training.learning_rate: [1e-4, 2e-4]}}, "
        "{name: b, training.learning_rate: 2e-4}, "
        "{name: c, tune: {training.learning_rate: [2e-4, 3e-4]}}]\n"
    )
    assert [(each.name, each.tuned) for each in suite.members] == [
        ("a, 0.0001", (0,)), ("a, 0.0002", (0, None, 2)), ("c, 0.0003", (2,)),
    ]  # fmt: skip
    every = load(
        "runs: [{name: a, tune: {training.learning_rate: [1e-4, 2e-4]}}, "
        "{name: b, training.learning_rate: 1e-4}, {name: c, training.learning_rate: 2e-4}]\n"
    )
    assert [each.tuned for each in every.members] == [(0, None), (0, None)], "both are shown in any case"
    short = load("tune: {training.warmup: [0, 0.1]}\nruns: [{training.epochs: 2}, {}]\n", "training.epochs=1")
    assert [each.tuned for each in short.members] == [(0,), (0,)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tune: 3", "c.yml:1: `tune`: got 3; allowed: a mapping of keys to lists of values"),
        ("tune: {training.epochs: 3}", "`tune.training.epochs`: got 3; allowed: a list"),
        ("tune: {training.epoch: [3]}", "`training.epoch`: unknown key; did you mean"),
        ("tune: {training.select: [last, best]}", "is the same for a whole suite"),
        (f"{RATES}search: {{over: {{training.epochs: [1]}}}}", "`tune`: given together with `search`"),
        (f"{RATES}transfer: {{pairs: all}}", "`tune`: given together with `transfer`"),
        (
            f"{RATES}runs: [{{training.learning_rate: 1e-3}}]",
            "`tune.training.learning_rate`: every run has a",
        ),
        (
            "runs: [{tune: {training.epochs: []}}]",
            r"`runs.0..tune.training.epochs`: got \[\]; allowed: a list",
        ),
        (
            "runs: [{training.epochs: 2, tune: {training.epochs: [1]}}]",
            "`runs.0..tune.training.epochs`: the same as",
        ),
        (
            "runs: [{matrix: {training.epochs: [2]}, tune: {training.epochs: [1]}}]",
            "`runs.0..tune.training.epochs`: the same as",
        ),
        ("tune: {seed: [0, 1]}", "`tune.seed`: changes what is validated, so its values cannot be compared"),
        ("tune: {data.limit: [90, 99]}", "`tune.data.limit`: changes what is validated"),
        ("tune: {data: [{limit: 90}]}", "`tune.data`: changes what is validated"),
        (f"matrix: {{seed: [0]}}\nruns: [{{}}]\n{RATES}", "`tune`: given together with"),
        (
            f"{RATES}runs: [{{tune: {{training.epochs: [1]}}}}]",
            "`tune.training.learning_rate`: every run has a",
        ),
        (
            f"runs: [{{tune: {{training.epochs: {[*range(1, 1002)]}}}}}]",
            "got 1001; allowed: at most 1000 combinations",
        ),
    ],
)
def test_what_is_wrong_is_named(load, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(f"{text}\n")
