"""Groups that follow from the validation scores of other units: `grouping.from`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from listening import Watcher
from memory_tracker import MemoryTracker

from mtlv.data.folds import Fold
from mtlv.errors import ConfigError, GroupingError, TrackingError, TrainingError
from mtlv.evaluation.metrics import average_precision
from mtlv.events import ignore
from mtlv.execution.runner import UnitRunner
from mtlv.planning import resolve
from mtlv.planning.check import check_suite
from mtlv.planning.groups import TaskGroups
from mtlv.planning.measured import group_score, pair_gain
from mtlv.planning.preview import NEW, would_run_lines
from mtlv.planning.resolve import resolve_all, resolve_groups
from mtlv.planning.task_vectors import VectorSource
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


def test_groups_whose_models_were_measured_are_marked(
    by_pairs: Ran, by_groups: Ran, suite: Callable, table: Callable
) -> None:
    for _, result, _, tracker in (by_pairs, by_groups):
        (chosen,) = result.members[0].resolved.children
        assert chosen.groups.measured
        marked = {
            run.spec.name: json.loads(run.files["grouping/groups.json"])["measured"]
            for run in tracker.runs.values()
            if "grouping/groups.json" in run.files
        }
        assert {name for name, measured in marked.items() if measured} == {
            result.members[0].name,
            f"fold 0 · {result.members[0].name}",
        }, "a random group was drawn, not chosen"
    other = suite(table("t"), BY_GROUPS.replace("chosen,", "chosen, training.weight_decay: 0.3,"), *FAST)
    (chosen,) = run_suite(other, ignore, MemoryTracker()).members[0].resolved.children
    assert not chosen.groups.measured, "these models are trained anew"


def test_random_groups_of_the_best_partitions_sizes_are_its_control(suite: Callable, table: Callable) -> None:
    control = f"{{name: control, {SCORES}, grouping.method: random, grouping.from: ['random *']}}"
    control = control.replace("grouping.method: best, ", "")
    made = suite(table("t"), BY_GROUPS.replace("runs=[", f"runs=[{control}, "), *FAST)
    result = run_suite(made, ignore, MemoryTracker())
    sizes = {name: sorted(map(len, groups_of(result, name)[0])) for name in ("control", "chosen")}
    assert sizes["control"] == sizes["chosen"]
    (child,) = next(m for m in result.members if m.resolved.member.name == "control").resolved.children
    assert child.groups.reason.startswith("random groups with the sizes of the best partition: ")


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
    later = f"stages=[{{name: all, architecture: mtl}}, {ALONE[:-1]}, start: all}}, {{{GROUPED}}}]"
    after_one = check_suite(suite(path, later, "grouping.k=auto"))
    assert "found after 4 units of alone" in "\n".join(after_one.members[0].lines), (
        "with what they start from"
    )


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
