"""Groups that follow from the surrogate: what is needed, and a whole suite with its page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from listening import Watcher
from mtlv_lab.measured_runs import predictions_of
from mtlv_lab.surrogate import need_meetings, surrogate

from mtlv.comparison.compare import ComparisonOptions, compare_store
from mtlv.comparison.load.select_runs import RunQuery
from mtlv.comparison.sections import each_section
from mtlv.errors import ConfigError, GroupingError
from mtlv.grouping import best_partition
from mtlv.planning.check import check_suite
from mtlv.planning.task_vectors import VectorSource
from mtlv.registries import FEATURES, SECTIONS
from mtlv.settings import load_suite
from mtlv.suite.run import run_suite
from mtlv.units.input_cache import InputCache

LABELS = ("heart", "lung", "bone")
DRAWN = (
    "{name: drawn, architecture: gmtl, grouping.method: random_even, grouping.k: 2, "
    "matrix: {grouping.seed: [SEEDS]}}"
)
PROPOSED = (
    "{name: proposed, architecture: gmtl, grouping.method: best, "
    "grouping.features: surrogate, grouping.from: ['drawn *']}"
)


def runs(count: int) -> str:
    seeds = ", ".join(map(str, range(count)))
    return f"runs=[{DRAWN.replace('SEEDS', seeds)}, {PROPOSED}]"


def test_the_lab_is_found_by_its_entry_points() -> None:
    assert FEATURES["surrogate"] is surrogate
    assert list(SECTIONS)[-1] == "predicted", "after those of mtlv"
    for name in ("probe_weights", "rank_probe", "task_vectors", "h_score", "log_me", "leep", "merge_gain"):
        assert FEATURES.title(name), "each has a line for users"


def test_tasks_that_never_meet_are_refused() -> None:
    names = ("a", "b", "c", "d", "e")
    parts = ("ab", "ac", "ad", "bc", "bd", "cd", "e", "ea", "eb", "ec")
    groups = {frozenset(part) for part in parts}
    with pytest.raises(GroupingError, match=r"got 1 of 10 pairs were never together, such as d with e\)"):
        need_meetings(names, groups)
    need_meetings(names, groups | {frozenset("de")})
    with pytest.raises(GroupingError, match=r"got fewer of d\)"):
        need_meetings(names, groups - {frozenset("cd")})


def test_groups_are_predicted_and_the_page_says_so(suite: Callable, table: Callable, tmp_path: Path) -> None:
    fast = ("training.epochs=1", f"tracking.uri=sqlite:///{tmp_path}/runs.db")
    with pytest.raises(ConfigError, match=r"needs 3 different groups or more of each task \(got fewer of"):
        check_suite(suite(table("t"), runs(2), *fast))
    made = suite(table("t"), runs(9), *fast)
    assert "found after 6 units of drawn 0" in check_suite(made).members[-1].lines[0]
    watcher = Watcher()
    result = run_suite(made, watcher)
    records = {
        record.key: record
        for member in result.members[:-1]
        for outcome in member.outcomes
        for record in outcome.records
    }
    assert len(records) == 6
    settings, cache = made.members[-1].settings, InputCache()
    view = VectorSource(cache, settings, cache.folds(settings.data)[0], False, list(records.values()))
    value = surrogate.compute(view)
    labels = best_partition(value, k=2).labels
    chosen = result.members[-1].resolved.children[0].groups
    proposed = {
        frozenset(task for task, label in zip(LABELS, labels, strict=True) if label == group)
        for group in set(labels)
    }
    assert set(map(frozenset, chosen.groups)) == proposed
    assert re.search(r"; predicted from 6 measured groups, which took .* to train;", chosen.reason)
    assert "every two tasks were together in 1 of them or more" in chosen.reason

    ask = ComparisonOptions(RunQuery(), out=tmp_path / "page", texts=False, log=False)
    comparison = compare_store(f"sqlite:///{tmp_path}/runs.db", ask).comparison
    run = next(one for one in comparison.runs if one.name.startswith("proposed"))
    (prediction,) = predictions_of(comparison, run).values()
    assert set(map(frozenset, prediction.groups)) == proposed
    order = [LABELS.index(name) for name in prediction.tasks]
    np.testing.assert_allclose(prediction.effects, value.effects[np.ix_(order, order)], atol=1e-9)
    assert (prediction.units, len(prediction.scores), prediction.alike) == (6, 6, True)
    section = list(each_section(comparison))[-1]
    assert section.id == "predicted"


def test_the_config_is_possible() -> None:
    path = Path(__file__).resolve().parents[1] / "config.yml"
    overrides = ["data.name=synthetic", "data.documents=120", "encoder=tiny"]
    found = check_suite(load_suite(path, overrides))
    assert (
        "by best on surrogate, found after" in next(m for m in found.members if m.name == "proposed").lines[0]
    )
