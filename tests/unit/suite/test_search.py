"""The best of a grid on validation."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import rates
from memory_tracker import MemoryTracker

from mtlv.errors import ConfigError
from mtlv.events import ignore
from mtlv.settings import Suite, load_suite, value_at
from mtlv.settings.suite_schema import SearchSettings
from mtlv.suite.run import run_suite
from mtlv.suite.search import search_members

OVER = {"training.learning_rate": [1e-5, 1e-3, 5e-3], "training.batch_size": [8, 16]}


@pytest.fixture
def members(tmp_path: Path) -> tuple:
    (tmp_path / "c.yml").write_text(f"search: {{over: {json.dumps(OVER)}}}\n", encoding="utf-8")
    return load_suite(tmp_path / "c.yml").members


def tried(search: SearchSettings, members: tuple, value: Callable[[int], float | None]) -> list[int]:
    numbers = []

    def run(number: int) -> float | None:
        numbers.append(number)
        return value(number)

    search_members(search, members, run)
    return numbers


@pytest.mark.parametrize("sampler", ["grid", "random", "tpe"])
def test_each_combination_is_tried_once(members: tuple, sampler: str) -> None:
    assert sorted(tried(SearchSettings(over=OVER, sampler=sampler), members, float)) == list(range(6))


@pytest.mark.parametrize("sampler", ["grid", "random", "tpe"])
def test_so_many_trials_and_the_same_again(members: tuple, sampler: str) -> None:
    search = SearchSettings(over=OVER, trials=4, sampler=sampler, seed=3)
    first = tried(search, members, float)
    assert len(first) == len(set(first)) == 4
    assert tried(search, members, float) == first


def test_rates_of_parts_and_optimizers_are_searched_with_their_defaults(tmp_path: Path) -> None:
    """Dumps of settings leave out these defaults."""
    over = {
        "training.rates.heads": [1, 5],
        "training.rates.layers": [0.9, 1],
        "training.optimizer": ["adamw", "sgd"],
    }
    (tmp_path / "c.yml").write_text(f"search: {{over: {json.dumps(over)}}}\n", encoding="utf-8")
    members = load_suite(tmp_path / "c.yml").members
    assert sorted(tried(SearchSettings(over=over, sampler="tpe"), members, float)) == list(range(8))
    assert [value_at(members[2].settings, key) for key in over] == [1, 1, "adamw"]
    assert members[0].name == "MTL, 1x rate of heads, 0.9x rate of layers, optimizer adamw"
    assert members[7].name == "MTL, 5x rate of heads, 1x rate of layers, optimizer sgd"


def test_a_trial_that_failed_is_not_tried_again(members: tuple) -> None:
    assert (
        len(tried(SearchSettings(over=OVER, sampler="tpe"), members, lambda n: None if n % 2 else 1.0)) == 6
    )


def of_table(folder: Path, data: Path, sampler: str = "grid", epochs: int = 2) -> Suite:
    search = f"search: {{sampler: {sampler}, over: {{training.learning_rate: [1e-12, 5e-3]}}}}\n"
    return rates.of_table(folder, data, search, epochs)


def test_the_best_on_validation_is_named_with_the_mean_over_its_seeds(
    tmp_path: Path, table: Callable
) -> None:
    tracker = MemoryTracker()
    result = run_suite(of_table(tmp_path, table("t"), epochs=8), ignore, tracker)
    best = max(result.trials, key=lambda trial: trial.value)
    assert "learning rate 0.005" in best.name
    assert best.runs == 2
    assert result.where[0] == (
        f"Best on validation of 2 trials: {best.name} (F1 macro {best.value:.4f}, mean of 2 runs)"
    )
    run = next(run for run in tracker.runs.values() if run.spec.kind == "comparison")
    listed = json.loads(run.files["search.json"])
    assert [each["name"] for each in listed] == [best.name, *({t.name for t in result.trials} - {best.name})]


def test_test_labels_choose_nothing(tmp_path: Path, writers: tuple) -> None:
    write_table, _ = writers
    plain, flipped = (
        run_suite(of_table(folder, write_table(folder, "t", flip=flip)), ignore, MemoryTracker())
        for folder, flip in ((tmp_path / "a", ()), (tmp_path / "b", ("test",)))
        if not folder.mkdir()
    )
    assert [each.value for each in plain.trials] == [each.value for each in flipped.trials]
    assert plain.rows != flipped.rows


def test_without_the_package_nothing_is_trained(
    tmp_path: Path, table: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **kwargs: object) -> object:
        if name == "optuna":
            raise ImportError(name)
        return real(name, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    tracker = MemoryTracker()
    with pytest.raises(ConfigError, match=r"needs the package optuna: pip install 'mtlv\[search\]'"):
        run_suite(of_table(tmp_path, table("t"), "tpe"), ignore, tracker)
    assert not tracker.runs


def test_a_member_that_fails_leaves_the_others(
    tmp_path: Path, table: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates.fail_above(monkeypatch, 1e-3)
    result = run_suite(of_table(tmp_path, table("t")), ignore, MemoryTracker())
    assert len(result.failed) == 1
    assert len(result.trials) == 1
