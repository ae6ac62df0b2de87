"""What a suite tracks and says of training that has not ended, and of tasks that were not learned."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from memory_tracker import MemoryRun, MemoryTracker

from mtlv.data.folds import Fold
from mtlv.evaluation.bootstrap import document_interval, document_weights, resample_scores
from mtlv.evaluation.learned import TrainingEnd
from mtlv.events import ignore
from mtlv.formatting import plain
from mtlv.settings import load_suite
from mtlv.settings.schema import Settings
from mtlv.suite.run import SuiteResult, run_suite
from mtlv.units.input_cache import InputCache

TASKS = ("heart", "lung", "bone")
PARTS = ("train", "train", "train", "validation", "test")


@dataclass(frozen=True)
class Ran:
    """A suite that ran, and what it tracked."""

    result: SuiteResult
    tracker: MemoryTracker

    def of_kind(self, kind: str) -> list[MemoryRun]:
        return [run for run in self.tracker.runs.values() if run.spec.kind == kind]


def constant(run: MemoryRun, task: str) -> float:
    return run.last(f"test.tasks.constant/{task}")


@pytest.fixture(scope="module")
def ran(writers: tuple[Callable, Callable], tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """stl with 2 seeds and 2 epochs."""
    write_table, write_suite = writers
    folder, tracker = tmp_path_factory.mktemp("learned"), MemoryTracker()
    suite = write_suite(folder, write_table(folder, "t"), "architecture=stl", "seed=[0, 1]")
    return Ran(run_suite(suite, ignore, tracker), tracker)


def test_the_end_of_training_is_judged_by_the_validation_curves_of_all_folds(ran: Ran) -> None:
    curves = [child.history("val/f1_macro") for child in ran.of_kind("fold")]
    assert len(curves) == 2
    rise = sum(last.value - first.value for first, last in curves) / 2
    (member,) = ran.result.members
    assert member.learning.end == TrainingEnd(pytest.approx(rise))


def test_the_constant_answer_is_scored_on_the_test_documents(ran: Ran) -> None:
    for child in ran.of_kind("fold"):
        for task in TASKS:
            p = child.last(f"test.tasks.support/{task}") / 12
            assert constant(child, task) == pytest.approx(2 * p / (1 + p))


def test_a_parent_has_the_mean_of_the_constant_answers(ran: Ran) -> None:
    (parent,), children = ran.of_kind("suite member"), ran.of_kind("fold")
    key = "test.tasks.constant/lung"
    assert parent.last(key) == pytest.approx(sum(child.last(key) for child in children) / 2)


def test_a_bag_of_words_is_tracked_beside_the_score(ran: Ran) -> None:
    """The texts have a word for each label, so they find nearly all."""
    (parent,), children = ran.of_kind("suite member"), ran.of_kind("fold")
    (member,) = ran.result.members
    reached = {run.last("test/bag_of_words") for run in (parent, *children)}
    assert len(reached) == 1, "the seed of training changes nothing"
    assert reached.pop() > 0.8
    own = sum(child.last("test/f1_macro") for child in children) / 2
    assert member.learning.beside == pytest.approx((own, parent.last("test/bag_of_words")))
    keys = [f"test.tasks.bag_of_words/{task}" for task in TASKS]
    of_tasks = [[run.last(key) for key in keys] for run in (parent, *children)]
    assert of_tasks[0] == of_tasks[1] == of_tasks[2]
    assert sum(of_tasks[0]) / 3 == pytest.approx(parent.last("test/bag_of_words"))


def test_the_gain_over_a_bag_of_words_has_the_interval_of_a_pair_of_runs(ran: Ran) -> None:
    """The same resamples as for two runs, of which one has the outputs of the bag of words."""
    (parent,) = ran.of_kind("suite member")
    (member,) = ran.result.members
    known, draws = member.resolved.tasks, []
    for outcome in member.outcomes:
        weights = document_weights(outcome.test.ids, outcome.test.groups)
        draws.append(resample_scores(outcome.test, known, outcome.thresholds.values, weights).main)
    words = [np.array(child.reference.draws) for child in member.children if child.reference]
    assert words[0].mean() == pytest.approx(parent.last("test/bag_of_words"), abs=0.1)
    interval = document_interval(draws, words, groups=len(set(member.outcomes[0].test.groups)))
    ends = [parent.last(f"test/bag_of_words_gain_{end}") for end in ("low", "high")]
    assert ends == pytest.approx([interval.low, interval.high])
    own, reached = member.learning.beside or (0.0, 0.0)
    assert ends[0] <= own - reached <= ends[1]


def test_a_bag_of_words_is_computed_once_for_its_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"encoder": "tiny", "data.name": "synthetic", "data.documents": 90, "data.folds": 3}
    settings |= {"training.epochs": 1, "store.uri": str(tmp_path / "store"), "training.precision": "fp32"}
    computed: list[int] = []
    scores = InputCache.bag_of_words

    def counted(cache: InputCache, settings: Settings, fold: Fold) -> object:
        computed.append(fold.index)
        return scores(cache, settings, fold)

    def scores_of(**changes: str | int) -> list[float]:
        tracker = MemoryTracker()
        run_suite(load_suite({}, {**settings, **changes}), ignore, tracker)
        return [run.last("test/bag_of_words") for run in tracker.runs.values() if run.spec.kind == "fold"]

    monkeypatch.setattr(InputCache, "bag_of_words", counted)
    first = scores_of()
    assert (len(set(first)) > 1, sorted(computed)) == (True, [0, 1, 2])
    assert scores_of() == first  # of the store
    assert scores_of(**{"data.max_length": 40, "architecture": "mtl"}) == first  # the same texts
    assert sorted(computed) == [0, 1, 2]
    scores_of(**{"evaluation.threshold": "fixed"})
    assert sorted(computed) == [0, 0, 1, 1, 2, 2]


def test_a_bag_of_words_can_be_switched_off(table: Callable, suite: Callable) -> None:
    tracker = MemoryTracker()
    run_suite(suite(table("t"), "evaluation.bag_of_words=false", "training.epochs=1"), ignore, tracker)
    assert not any(run.history("test/bag_of_words") for run in tracker.runs.values())


def test_tasks_no_better_than_always_yes_are_named(table: Callable, suite: Callable) -> None:
    """A rate of nothing leaves the model as it was: it says yes or no to every document."""
    tracker = MemoryTracker()
    changes = ("training.learning_rate=1e-12", "training.epochs=1", "evaluation.threshold=fixed")
    result = run_suite(suite(table("t"), *changes, "matrix.architecture=[stl, mtl]"), ignore, tracker)
    runs = Ran(result, tracker)
    for parent, member in zip(runs.of_kind("suite member"), result.members, strict=True):
        lost = [task for task in TASKS if not parent.last(f"test.tasks.f1/{task}") > constant(parent, task)]
        assert [each.task.name for each in member.learning.unlearned] == lost
        precisions = [each.average_precision for each in member.learning.unlearned]
        assert precisions == [parent.last(f"test.tasks.average_precision/{task}") for task in lost]
        assert lost
        assert member.learning.end == TrainingEnd(None)
        said = f"Not trained to the end: {plain(member.name)} (one epoch)"
        assert said in parent.description.split("\n\n")[0]
        assert ("Nothing was learned" in parent.description) == (len(lost) == 3)
    (comparison,) = runs.of_kind("comparison")
    assert "Not trained to the end: " in comparison.description
    best = comparison.description.partition("Highest F1 macro: ")[2].partition(". ")[0]
    assert all(member.name not in best for member in result.members if member.learning.nothing)


def test_the_constant_class_is_that_of_training(tmp_path: Path) -> None:
    """Of the training documents most are `left`, of the test documents most are `right`."""
    with (tmp_path / "t.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text", "part", "side"])
        for n in range(60):
            part = PARTS[n % 5]
            common, rare = ("left", "right") if part == "train" else ("right", "left")
            side = rare if n % 4 == 0 else common
            rows.writerow([n, f"report {n} on the {side} side", part, side])
    (tmp_path / "c.yml").write_text("architecture: mtl\n")
    columns = "{id: id, part: part, target: side, kind: multiclass, metric: accuracy}"
    given = ["data.name=table", f"data.path={tmp_path / 't.csv'}", f"data.columns={columns}", "encoder=tiny"]
    given += [
        "training.device=cpu",
        "training.precision=fp32",
        "training.epochs=1",
        f"store.uri={tmp_path / 'store'}",
    ]
    tracker = MemoryTracker()
    run_suite(load_suite(tmp_path / "c.yml", given), ignore, tracker)
    (child,) = Ran(None, tracker).of_kind("fold")
    assert child.last("test.tasks.constant/side") == pytest.approx(3 / 12)
