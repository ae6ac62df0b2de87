"""Groups that follow from the validation scores of other units: `grouping.from`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from listening import Watcher
from memory_tracker import MemoryTracker
from scipy.spatial.distance import pdist, squareform
from scipy.stats import norm, ttest_ind

from mtlv.data.folds import Fold
from mtlv.errors import ConfigError, GroupingError, TrackingError, TrainingError
from mtlv.evaluation.metrics import average_precision
from mtlv.events import ignore
from mtlv.execution.runner import UnitRunner
from mtlv.grouping import best_partition, scale
from mtlv.plan.prediction import Prediction
from mtlv.planning import measured, resolve
from mtlv.planning.check import check_suite
from mtlv.planning.groups import TaskGroups
from mtlv.planning.measured import _need_meetings, group_score, pair_gain, surrogate
from mtlv.planning.preview import NEW, would_run_lines
from mtlv.planning.resolve import resolve_all, resolve_groups
from mtlv.planning.task_vectors import VectorSource
from mtlv.registries import FEATURES
from mtlv.settings import Settings, Suite, load_overrides
from mtlv.settings.describe import dump, flatten
from mtlv.store.local import Store
from mtlv.store.records import UnitRecord
from mtlv.suite.run import SuiteResult, run_suite
from mtlv.units.input_cache import InputCache
from mtlv.units.job import Job

MET = "heart with lung"
BEST = "architecture: gmtl, grouping.method: best"
LABELS = ("heart", "lung", "bone")
PAIRS = ", ".join(
    f"{{name: {one} with {two}, architecture: mtl, tasks: [{one}, {two}]}}"
    for one, two in combinations(LABELS, 2)
)
GAINS = f"{{name: chosen, {BEST}, grouping.features: pair_gain, grouping.from: [stl, '* with *']}}"
BY_PAIRS = f"runs=[{GAINS}, {{name: stl, architecture: stl}}, {PAIRS}]"
SCORES = f"{BEST}, grouping.features: group_score"
RANDOM = ", ".join(
    f"{{name: random {seed}, architecture: gmtl, grouping: {{method: random, seed: {seed}}}}}"
    for seed in range(3)
)
BY_GROUPS = f"runs=[{{name: chosen, {SCORES}, grouping.from: ['random *']}}, {RANDOM}]"
ALONE = "{name: alone, architecture: stl, training.epochs: 2}"
GROUPED = f"name: grouped, start: null, {SCORES}, grouping.from: [alone]"
BY_STAGE = f"stages=[{ALONE}, {{{GROUPED}}}]"
FAST = ("training.epochs=1", "grouping.k=auto")


def groups_of(result: SuiteResult, name: str = "chosen") -> list:
    (member,) = [each for each in result.members if each.resolved.member.name == name]
    return [child.groups.groups for child in member.resolved.children]


def alone_and_together(result: SuiteResult) -> dict[frozenset[str], dict[str, float]]:
    """Average precision on validation, by the tasks of a model."""
    found: dict[frozenset[str], dict[str, float]] = {}
    for member in result.members:
        for outcome in member.outcomes if member.resolved.member.name != "chosen" else ():
            for record in outcome.records:
                tasks = record.validation.tasks.items()
                scores = {name: average_precision(each.targets == 1, each.outputs) for name, each in tasks}
                found[frozenset(scores)] = scores
    return found


Ran = tuple[Suite, SuiteResult, Watcher, MemoryTracker]


@pytest.fixture(scope="module")
def by_pairs(writers: tuple[Callable, Callable], tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return ran(writers, tmp_path_factory.mktemp("pairs"), BY_PAIRS)


@pytest.fixture(scope="module")
def by_groups(writers: tuple[Callable, Callable], tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return ran(writers, tmp_path_factory.mktemp("groups"), BY_GROUPS)


def ran(writers: tuple[Callable, Callable], folder: Path, runs: str) -> Ran:
    write_table, write_suite = writers
    made = write_suite(folder, write_table(folder, "t"), runs, "training.epochs=1")
    watcher, tracker = Watcher(), MemoryTracker()
    return made, run_suite(made, watcher, tracker), watcher, tracker


def test_groups_follow_from_the_gains_of_pairs(by_pairs: Ran) -> None:
    made, result, counter, tracker = by_pairs
    scores = alone_and_together(result)
    gain = {
        frozenset(pair): sum(scores[frozenset(pair)][t] - scores[frozenset((t,))][t] for t in pair)
        for pair in combinations(LABELS, 2)
    }
    best = max(gain, key=gain.get)
    assert {frozenset(group) for group in groups_of(result)[0]} == {best, frozenset(LABELS) - best}
    assert len({round(value, 6) for value in gain.values()}) == 3
    assert result.members[0].name.startswith("chosen"), "in the order of the suite"
    assert counter.trained[:3] == ["stl · heart", "stl · lung", "stl · bone"]
    chosen = result.members[0].resolved.children[0]
    assert "dynamic programming over all groups; no partition is better" in chosen.groups.reason
    assert f"these groups have the value {gain[best]:.4g}," in chosen.groups.reason
    assert len(counter.trained) == 6, "units are shared by key"
    assert len([note for note in counter.notes if note.startswith("`chosen`: ")]) == 1, "told once"
    again = Watcher()
    run_suite(made, again, tracker)
    assert not again.trained


def test_notes_are_told_once_in_all_rounds(suite: Callable, table: Callable) -> None:
    counter = Watcher()
    run_suite(suite(table("t"), BY_GROUPS, *FAST, "data.max_length=4"), counter, MemoryTracker())
    assert sum("truncates" in note for note in counter.notes) == 1
    assert len(set(counter.notes)) == len(counter.notes)


def test_groups_follow_from_random_groups(by_groups: Ran) -> None:
    result = by_groups[1]
    scores = alone_and_together(result)
    value = {group: sum(each.values()) for group, each in scores.items()}
    partitions = [
        groups
        for groups in combinations(value, 2)
        if sorted(name for group in groups for name in group) == sorted(LABELS)
    ]
    best = max(partitions, key=lambda groups: sum(value[group] for group in groups))
    assert {frozenset(group) for group in groups_of(result)[0]} == set(best)
    reason = result.members[0].resolved.children[0].groups.reason
    assert f"these groups have the value {sum(value[group] for group in best):.4g}" in reason


def test_groups_are_explored_and_proposed(suite: Callable, table: Callable) -> None:
    made = suite(table("t"), "explore={partitions: 3, k: 2}", "training.epochs=1")
    with pytest.raises(ConfigError, match=r"needs 3 different groups or more of each task \(got fewer of"):
        check_suite(made)
    made = suite(table("t"), "explore={partitions: 9, k: 2}", "training.epochs=1")
    assert "found after 6 units of drawn 1" in check_suite(made).members[-1].lines[0]
    counter = Watcher()
    result = run_suite(made, counter, MemoryTracker())
    assert len(counter.trained) == 6, "a proposed group that was measured is not trained again"
    assert {tuple(sorted(map(len, groups_of(result, f"drawn {n}")[0]))) for n in range(1, 10)} == {(1, 2)}
    records = {
        record.key: record
        for member in result.members[:-1]
        for outcome in member.outcomes
        for record in outcome.records
    }
    settings, cache = made.members[-1].settings, InputCache()
    view = VectorSource(cache, settings, cache.folds(settings.data)[0], False, list(records.values()))
    value = surrogate.compute(view)
    labels = best_partition(value, k=2).labels
    proposed = {
        frozenset(task for task, label in zip(LABELS, labels, strict=True) if label == k) for k in (0, 1)
    }
    assert {frozenset(group) for group in groups_of(result, "proposed")[0]} == proposed
    for record in records.values():
        for task, scores in record.validation.tasks.items():
            group = np.array([name in record.validation.tasks for name in LABELS])
            measured = average_precision(scores.targets == 1, scores.outputs)
            assert value.scores(group)[LABELS.index(task)] == pytest.approx(measured, abs=0.3)
    found = result.members[-1].resolved.children[0].groups.prediction
    assert found.groups == result.members[-1].resolved.children[0].groups.groups
    assert (found.units, found.epochs, found.alike) == (6, (1, 1), True)
    assert found.seconds == pytest.approx(sum(record.train_seconds for record in records.values()))
    np.testing.assert_allclose(found.effects, value.effects)
    for group in found.groups:
        own = np.isin(LABELS, group)
        np.testing.assert_allclose(found.chosen[own], value.scores(own)[own])
    for number in range(1, 10):
        rows = found.partitions[f"drawn {number}"]
        groups = [tuple(np.array(LABELS)[found.member[row]]) for row in rows]
        assert sorted(groups) == sorted(groups_of(result, f"drawn {number}")[0])
    for record in records.values():
        row = found.row(record.validation.tasks)
        for task, scores in record.validation.tasks.items():
            measured = average_precision(scores.targets == 1, scores.outputs)
            assert found.scores[row, LABELS.index(task)] == pytest.approx(measured)
    as_grouped = replace(view, special_tokens=settings.grouping.special_tokens)
    without = [name for name, each in FEATURES.items() if each.kind == "vectors" and each.cover is None]
    assert list(found.distances) == [*without, "task_vectors", "leep"], "each task was also learned alone"
    for name in without:
        vectors = scale(FEATURES[name].compute(as_grouped), "minmax")
        np.testing.assert_allclose(found.distances[name], squareform(pdist(vectors)))
    np.testing.assert_allclose(found.distances["leep"], -FEATURES["leep"].compute(view).T)
    gains = FEATURES["rank_probe"].compute(as_grouped).gains(found.member)
    assert list(found.gains) == ["rank_probe"]
    np.testing.assert_allclose(found.gains["rank_probe"], gains)
    assert np.nanmax(np.abs(gains[found.member.sum(axis=1) > 1])) > 0
    reason = result.members[-1].resolved.children[0].groups.reason
    assert "; predicted from 6 measured groups, which took " in reason
    assert "every two tasks were together in 1 of them or more" in reason


def test_the_better_half_of_the_drawn_groups_goes_on(suite: Callable, table: Callable) -> None:
    made = suite(table("t"), "explore={partitions: 9, k: 2, seed: 1, halving: [0.5, 1]}", "training.epochs=2")
    assert "found after 6 units of drawn 1" in check_suite(made).members[9].lines[0]
    counter = Watcher()
    result = run_suite(made, counter, MemoryTracker())
    children = {each.resolved.member.name: each.resolved.children[0] for each in result.members}
    value: dict[frozenset[str], float] = {}
    for member in result.members:
        for record in member.outcomes[0].records if member.name.startswith("drawn") else ():
            assert len(record.epochs) == 1
            scores = record.validation.tasks.values()
            value[frozenset(record.validation.tasks)] = sum(
                average_precision(each.targets == 1, each.outputs) for each in scores
            )
    halves = [({name}, set(LABELS) - {name}) for name in LABELS]  # all partitions into two
    halves.sort(key=lambda groups: -sum(value[frozenset(group)] for group in groups))
    for place in range(1, 6):
        groups = children[f"round 2 place {place}"].groups.groups
        wanted = halves[min(place, 3) - 1]
        assert {frozenset(group) for group in groups} == set(map(frozenset, wanted)), "or the last one"
    reason = children["round 2 place 3"].groups.reason
    assert reason.endswith("by a mixed-integer program; 2 partitions are better")
    assert children["round 2 place 2"].groups.prediction is None
    longer = {job.unit.key for name in children if name[:5] == "round" for job in children[name].jobs}
    assert {job.unit.key for job in children["proposed"].jobs} <= longer, "nothing is trained again"
    assert len(counter.trained) == 6 + len(longer)
    found = children["proposed"].groups.prediction
    assert (found.units, found.epochs, found.alike) == (6 + len(longer), (2, 2), True)
    records = {r.key: r.train_seconds for m in result.members for o in m.outcomes for r in o.records}
    assert found.seconds == pytest.approx(sum(records.values()))
    assert children["round 2 predicted"].groups.prediction.units == 6


def test_a_prediction_is_logged_with_its_groups_and_knows_how_they_were_measured(
    suite: Callable, table: Callable
) -> None:
    tracker = MemoryTracker()
    explore = "explore={partitions: 9, k: 2, changes: {training.weight_decay: 0.3}, controls: 4}"
    made = suite(table("t"), explore, "training.epochs=1", "grouping.metric=cosine")
    result = run_suite(made, ignore, tracker)
    children = {each.resolved.member.name: each.resolved.children[0] for each in result.members}
    found = children["proposed"].groups.prediction
    assert not found.alike
    controls = [children[f"random {number}"].groups for number in range(1, 5)]
    assert len({each.groups for each in controls}) > 1
    for each in controls:
        assert sorted(map(len, each.groups)) == sorted(map(len, found.groups))
        assert each.reason.startswith("random groups with the sizes of the best partition: ")
    assert "label_name" in found.distances
    assert "label_count" not in found.distances, "one number has no cosine"
    logged = [
        Prediction.of_json(json.loads(text))
        for run in tracker.runs.values()
        for name, text in run.files.items()
        if name == "grouping/prediction.json"
    ]
    assert len(logged) == 2, "of the fold and of the member, and of no other"
    for each in logged:
        assert each.as_json() == found.as_json()


def test_pairs_predict_alone_and_the_gains_with_errors_of_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    groups = [*((name,) for name in LABELS), *combinations(LABELS, 2)]
    found = {frozenset(g): [dict(zip(g, rng.random(len(g)), strict=True)) for _ in range(2)] for g in groups}
    monkeypatch.setattr(measured, "_scores_of_units", lambda _: found)
    unit = SimpleNamespace(epochs=(1, 2), train_seconds=3.0)

    def predicted(value: str, *groups: tuple[str, ...]) -> Prediction:
        own = SimpleNamespace(grouping=SimpleNamespace(value=value, features="pair_gain"))
        corpus = SimpleNamespace(names=LABELS)
        view: Any = SimpleNamespace(corpus=corpus, settings=own, records=[unit] * 12)
        return pair_gain.predict(view, groups)

    def of(task: str, *group: str) -> list[float]:
        return [each[task] for each in found[frozenset(group)]]

    together = predicted("mean", LABELS)
    alone = [np.mean(of(name, name)) for name in LABELS]
    for value, combined in (("mean", np.mean), ("sum", np.sum)):
        gains = [combined(np.delete(row, at)) for at, row in enumerate(together.effects)]
        np.testing.assert_allclose(predicted(value, LABELS).chosen, np.array(alone) + gains)
    np.testing.assert_allclose(predicted("mean", *((name,) for name in LABELS)).chosen, alone)
    for to, by in permutations(LABELS, 2):
        at = LABELS.index(to), LABELS.index(by)
        assert together.effects[at] == pytest.approx(np.mean(of(to, to, by)) - np.mean(of(to, to)))
        interval = ttest_ind(of(to, to, by), of(to, to), equal_var=False).confidence_interval()
        assert norm.ppf(0.975) * together.errors[at] == pytest.approx((interval.high - interval.low) / 2)
        assert together.together[at] == 2, "one of each seed"
    assert (together.units, together.seconds, together.epochs) == (12, 36.0, (2, 2))
    assert not np.isfinite(together.held_out).any()
    first, rest = together.repeated
    for row, (group, (one, two)) in enumerate(found.items()):
        for at, name in enumerate(LABELS):
            known = (one[name], two[name]) if name in group else (np.nan, np.nan)
            np.testing.assert_array_equal((first[row, at], rest[row, at]), known)
    some = frozenset(groups[0])
    found |= {group: each[:1] for group, each in found.items() if group != some}
    for table in predicted("mean", LABELS).repeated:
        assert np.isfinite(table).any(axis=1).tolist() == [group == some for group in found]
    found[some] = found[some][:1]
    once = predicted("mean", LABELS)
    assert once.repeated is None
    assert np.isnan(once.errors[0, 1]), "a single unit says nothing of errors"
    found |= {group: 2 * each for group, each in found.items()}
    assert predicted("mean", LABELS).errors[0, 1] == 0


def test_what_pairs_and_measured_groups_predict(by_pairs: Ran, by_groups: Ran) -> None:
    of_pairs, found = (
        each[1].members[0].resolved.children[0].groups.prediction for each in (by_pairs, by_groups)
    )
    assert of_pairs.alike
    assert of_pairs.partitions == {}, "nothing is random"
    assert of_pairs.units == 6
    for group in found.groups:
        for name in group:
            at = LABELS.index(name)
            assert found.chosen[at] == found.scores[found.row(group), at]
    assert set(found.partitions) == {f"random {number}" for number in range(3)}
    assert not np.isfinite(found.effects).any()


def test_tasks_that_never_meet_are_refused() -> None:
    names = ("a", "b", "c", "d", "e")
    parts = ("ab", "ac", "ad", "bc", "bd", "cd", "e", "ea", "eb", "ec")
    groups = {frozenset(part) for part in parts}
    with pytest.raises(GroupingError, match=r"got 1 of 10 pairs were never together, such as d with e\)"):
        _need_meetings(names, groups)
    _need_meetings(names, groups | {frozenset("de")})
    with pytest.raises(GroupingError, match=r"got fewer of d\)"):
        _need_meetings(names, groups - {frozenset("cd")})


def test_groups_follow_from_an_earlier_stage(suite: Callable, table: Callable, tmp_path: Path) -> None:
    made, counter = suite(table("t"), BY_STAGE, *FAST, "seed=[0, 1]"), Watcher()
    result = run_suite(made, counter, MemoryTracker())
    assert len(counter.trained) == 2 * (3 + 3)
    assert counter.trained[0] == (
        "GMTL, best groups by group score, alone then grouped · seed 0 · alone · heart"
    )
    (member,) = result.members
    for child in member.resolved.children:
        assert [job.unit.stage for job in child.earlier] == ["alone"] * 3
        assert {job.unit.seed for job in child.earlier} == {child.seed}
        assert len(child.groups.groups) == 3, "only the groups of the stage are known"
    store = Store(tmp_path / "store")
    (again,) = resolve_all(InputCache(store), made.members)
    assert len({job.unit.key for job in again.jobs}) == 12


def test_test_labels_change_no_group_and_validation_labels_do(
    suite: Callable, table: Callable, by_pairs: Ran
) -> None:
    found = {"nothing": by_pairs[1]}
    for flip in ("test", "validation"):
        path, store = table(f"t{flip}", flip=(flip,)), f"store {flip}"
        made = suite(path, BY_PAIRS, "training.epochs=1", store=store)
        found[flip] = run_suite(made, ignore, MemoryTracker())
    reasons = {flip: each.members[0].resolved.children[0].groups.reason for flip, each in found.items()}
    assert groups_of(found["test"]) == groups_of(found["nothing"])
    assert reasons["test"] == reasons["nothing"]
    predicted = {
        flip: each.members[0].resolved.children[0].groups.prediction.as_json() | {"seconds": 0}
        for flip, each in found.items()
    }
    assert predicted["test"] == predicted["nothing"]
    assert predicted["validation"] != predicted["nothing"]
    assert reasons["validation"] != reasons["nothing"]


def test_scores_are_the_mean_over_seeds_of_the_same_fold(suite: Callable, table: Callable) -> None:
    made = suite(table("t"), BY_PAIRS, *FAST, "seed=[0, 1]", "data.folds=2")
    result = run_suite(made, ignore, MemoryTracker())
    members = {each.resolved.member.name: each for each in result.members}

    def score(member: str, fold: int, task: str) -> float:
        records = [
            record
            for child, outcome in zip(
                members[member].resolved.children, members[member].outcomes, strict=True
            )
            for record in outcome.records
            if child.fold.index == fold and task in record.validation.tasks
        ]
        each = [record.validation.tasks[task] for record in records]
        assert len(each) == 2
        return float(np.mean([average_precision(one.targets == 1, one.outputs) for one in each]))

    cache, settings = InputCache(), members["chosen"].resolved.member.settings
    for fold in cache.folds(settings.data):
        records = [
            record
            for name, member in members.items()
            for child, outcome in zip(member.resolved.children, member.outcomes, strict=True)
            for record in outcome.records
            if name != "chosen" and child.fold.index == fold.index
        ]
        view = VectorSource(cache, settings, fold, False, records)
        gains = pair_gain.compute(view)
        assert gains[0, 1] == pytest.approx(
            score(MET, fold.index, "heart") - score("stl", fold.index, "heart")
        )
        assert gains[1, 0] == pytest.approx(score(MET, fold.index, "lung") - score("stl", fold.index, "lung"))
        assert not np.diag(gains).any()
        only = group_score.compute(
            replace(view, records=[r for r in records if len(r.validation.tasks) == 1])
        )
        assert only.groups.tolist() == np.eye(3, dtype=bool).tolist()
        assert only.worth[2] == pytest.approx(score("stl", fold.index, "bone"))


def test_groups_of_a_fold_follow_from_its_own_units(
    suite: Callable, table: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = suite(table("t"), BY_PAIRS, *FAST, "data.folds=2")
    read: dict[int, set[str]] = {}
    real = resolve.resolve_groups

    def seen(cache: InputCache, settings: Settings, fold: Fold, records: Sequence[UnitRecord]) -> TaskGroups:
        read[fold.index] = {record.key for record in records}
        return real(cache, settings, fold, records)

    monkeypatch.setattr(resolve, "resolve_groups", seen)
    result = run_suite(made, ignore, MemoryTracker())
    for fold in range(2):
        children = [child for member in result.members[1:] for child in member.resolved.children]
        own = {job.unit.key for child in children if child.fold.index == fold for job in child.jobs}
        assert read[fold] == own
        assert len(own) == 6


def test_check_says_how_many_units_come_first(suite: Callable, table: Callable) -> None:
    path = table("t")
    found = check_suite(suite(path, BY_PAIRS, "seed=[0, 1]", "grouping.k=auto"))
    of = "stl, heart with lung, heart with bone, lung with bone"
    text = f"by best on pair_gain, found after 12 units of {of}"
    assert text in found.members[0].lines[0]
    assert found.units == 2 * (3 + 3 + 3)
    staged = check_suite(suite(path, BY_STAGE, "seed=[0, 1]", "grouping.k=auto"))
    assert "found after 6 units of alone" in "\n".join(staged.members[0].lines)
    assert staged.units == 2 * (3 + 3)


def test_without_training_the_groups_are_not_known(suite: Callable, table: Callable, tmp_path: Path) -> None:
    made = suite(table("t"), BY_PAIRS, *FAST)
    (tmp_path / "store" / "units").mkdir(parents=True)
    text = r"the groups of `chosen` follow from 6 units not trained yet \(`grouping.from`\)"
    with pytest.raises(GroupingError, match=text):
        resolve_all(InputCache(Store(tmp_path / "store")), made.members)
    head, *lines = would_run_lines(made)
    assert head.endswith("0 of 6 units are in the store and not trained again")
    assert sum(NEW in line for line in lines) == 6
    assert lines[-1] == "  then: the groups of `chosen` follow from these units, and its models"
    staged = would_run_lines(suite(table("t"), BY_STAGE, *FAST))
    assert sum(NEW in line for line in staged) == 3, "units of an earlier stage, which are of no other member"
    settings, cache = made.members[0].settings, InputCache()
    with pytest.raises(GroupingError, match="follow from trained units; train them: `mtlv run CONFIG`"):
        resolve_groups(cache, settings, cache.folds(settings.data)[0])


def test_rerun_trains_the_units_that_groups_follow_from_again(suite: Callable, table: Callable) -> None:
    made = suite(table("t"), BY_PAIRS, *FAST)
    first, counter = run_suite(made, ignore, MemoryTracker()), Watcher()
    second = run_suite(made, counter, MemoryTracker(), if_exists="rerun")
    assert len(counter.trained) == len(set(counter.trained)) >= 6
    assert counter.trained[:3] == ["stl · heart", "stl · lung", "stl · bone"]
    assert groups_of(second) == groups_of(first)
    with pytest.raises(TrackingError, match=r"are in .*store already"):
        run_suite(made, ignore, MemoryTracker(), if_exists="fail")
    left = run_suite(made, counter, MemoryTracker(), if_exists="only-missing")
    assert left.where == ("Nothing is missing: all units are in the store.",)
    staged = suite(table("t"), BY_STAGE, *FAST, store="other")
    run_suite(staged, ignore, MemoryTracker(), if_exists="fail")
    counter = Watcher()
    run_suite(staged, counter, MemoryTracker(), if_exists="rerun")
    assert len(counter.trained) == 6


def test_groups_from_a_member_that_failed(
    suite: Callable, table: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = UnitRunner.train

    def fails(self: UnitRunner, job: Job, *rest: object) -> object:
        if job.unit.model.tasks == ("bone",):
            raise TrainingError("the loss is not finite")
        return real(self, job, *rest)

    monkeypatch.setattr(UnitRunner, "train", fails)
    counter = Watcher()
    result = run_suite(suite(table("t"), BY_PAIRS, *FAST), counter, MemoryTracker())
    assert [each.name for each in result.members] == ["heart with lung", "heart with bone", "lung with bone"]
    assert len(result.failed) == 2
    (warned,) = [text for text in counter.warned if text.startswith("`chosen`")]
    assert "failed, because its groups follow from units that did; the others go on. the loss" in warned
    with pytest.raises(GroupingError, match="follow from 1 unit not trained yet"):
        resolve_all(InputCache(Store(tmp_path / "store")), suite(table("t"), BY_PAIRS, *FAST).members)


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        (GAINS.replace("'* with *'", "pairs"), r"names no earlier stage and no other member.*got pairs"),
        (GAINS.replace("[stl, '* with *']", "[chosen]"), r"no other member of the suite \(got chosen\)"),
        (GAINS.replace("[stl, '* with *']", "[slt, '* with *']"), "did you mean `stl`"),
        (
            GAINS.replace("stl, ", "'tried*', ") + ", {name: tried, tune: {training.warmup: [0.1, 0.2]}}",
            r"names a run that tries values \(`tune`\), of which one is compared later \(got tried\*\)",
        ),
        (GAINS.replace("stl, ", ""), r"model of each task alone.*got none of heart, lung, bone\)"),
        (GAINS.replace("* with *", "heart with lung"), r"got none of heart with bone, lung with bone\)"),
        (
            f"{{name: chosen, {SCORES}, grouping.from: ['heart with lung']}}",
            r"hold every task \(got none with bone\)",
        ),
        (
            GAINS.replace("pair_gain", "label_count").replace(", grouping.from: [stl, '* with *']", ""),
            r"`grouping.method: best` does not take `grouping.features: label_count` \(vectors\); "
            "allowed: .*pair_gain, group_score",
        ),
        (
            GAINS.replace("grouping.method: best", "grouping.method: kmedoids"),
            r"does not take `grouping.features: pair_gain` \(affinity\).*or `grouping.method: best`",
        ),
        (GAINS.replace(", grouping.from: [stl, '* with *']", ""), "measured features read units"),
        (
            "{name: chosen, architecture: gmtl, grouping.features: label_count, grouping.from: [stl]}",
            "measured features read units, and no others do",
        ),
    ],
)
def test_wrong_sources_are_refused(suite: Callable, table: Callable, runs: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        check_suite(suite(table("t"), f"runs=[{runs}, {{name: stl, architecture: stl}}, {PAIRS}]"))


def test_members_with_other_data_and_circles_are_refused(suite: Callable, table: Callable) -> None:
    other = "{name: stl, architecture: stl, data.test_share: 0.3}"
    with pytest.raises(ConfigError, match=r"`grouping.from`: members with other `data`.*got stl"):
        check_suite(suite(table("t"), f"runs=[{{name: x, {SCORES}, grouping.from: [stl]}}, {other}]"))
    two = ", ".join(
        f"{{name: {name}, {SCORES}, grouping.from: [{by}], training.epochs: {epochs}}}"
        for name, by, epochs in (("x", "y", 1), ("y", "x", 2))
    )
    with pytest.raises(ConfigError, match=r"groups would follow from themselves \(got x from y from x\)"):
        check_suite(suite(table("t"), f"runs=[{two}]"))


def test_the_new_settings_are_nowhere_at_their_defaults() -> None:
    settings = load_overrides([]).members[0].settings
    assert {"from", "value"}.isdisjoint(settings.model_dump()["grouping"])
    assert not [key for key in flatten(settings) if key in ("grouping.from", "grouping.value")]
    used = load_overrides(["grouping.from=[x]", "grouping.value=sum"]).members[0].settings
    assert flatten(used)["grouping.from"] == '["x"]'
    assert flatten(used)["grouping.value"] == "sum"


def test_a_logged_config_with_groups_from_a_stage_is_read_back(
    suite: Callable, table: Callable, tmp_path: Path
) -> None:
    from mtlv.settings import load_suite

    made = suite(table("t"), BY_STAGE).members[0].settings
    path = tmp_path / "logged.yml"
    path.write_text(dump(made))
    assert load_suite(path).members[0].settings == made
