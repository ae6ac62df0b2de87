"""What makes results worth trusting: seeds, order, the test part, and the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from listening import Watcher, interrupt
from memory_tracker import MemoryTracker
from safetensors.numpy import load_file

from mtlv.data import catalog
from mtlv.errors import TrackingError
from mtlv.events import NoteGiven, ignore
from mtlv.execution.local import LocalExecutor
from mtlv.execution.runner import UnitRunner
from mtlv.planning.check import check_suite
from mtlv.planning.groups import NO_PRIVATE
from mtlv.planning.resolve import resolve
from mtlv.settings import Suite
from mtlv.store.local import Store
from mtlv.store.scores_file import read_scores, write_scores
from mtlv.suite.cluster import cluster_suite
from mtlv.suite.run import run_suite
from mtlv.tracking.tracker import Metric
from mtlv.units import corpora
from mtlv.units.input_cache import InputCache
from mtlv.units.job import needed_keys

ALL = "matrix.architecture=[stl, mtl, gmtl, gmhl]"


def weights(root: Path) -> dict[str, dict[str, np.ndarray]]:
    return {path.parent.name: load_file(path) for path in sorted(root.glob("units/*/model.safetensors"))}


def same(ours: dict, theirs: dict) -> bool:
    return ours.keys() == theirs.keys() and all(
        np.array_equal(ours[key][name], theirs[key][name]) for key in ours for name in ours[key]
    )


def test_two_runs_with_one_seed_are_equal_bit_for_bit_in_any_order_of_units(
    table: Callable, suite: Callable, tmp_path: Path
) -> None:
    path = table("t")
    run_suite(suite(path, ALL, store="one"), ignore, MemoryTracker())
    made: Suite = suite(path, ALL, store="two")
    kept = Store(tmp_path / "two")
    cache = InputCache(kept)
    jobs = [job for member in made.members for job in resolve(cache, member).jobs]
    executor = LocalExecutor(UnitRunner(cache.inputs, kept, ignore, needed_keys(jobs)), jobs)
    for job in reversed(jobs):
        executor.run(job, lambda *_: None)
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    assert same(one, two)
    # A group of one task is the same unit under GMTL as under STL: trained once.
    assert 3 + 1 + 2 + 1 - 1 <= len(one) <= 3 + 1 + 2 + 1


def test_a_table_is_read_and_split_once_by_the_check_and_the_run(
    table: Callable, suite: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    load, split = catalog.load, corpora.make_folds
    monkeypatch.setattr(catalog, "load", lambda *args: calls.append("read") or load(*args))
    monkeypatch.setattr(corpora, "make_folds", lambda *a, **k: calls.append("split") or split(*a, **k))
    run_suite(suite(table("t"), ALL), ignore, MemoryTracker())
    assert calls == ["read", "split"]


def test_another_seed_gives_other_weights(table: Callable, suite: Callable, tmp_path: Path) -> None:
    path = table("t")
    run_suite(suite(path, "seed=[0, 1]"), ignore, MemoryTracker())
    one, two = weights(tmp_path / "store").values()
    assert not np.array_equal(
        one["encoder.embeddings.word_embeddings.weight"], two["encoder.embeddings.word_embeddings.weight"]
    )


def choices(result: object) -> list:
    """Everything that is chosen: groups, epochs, thresholds, and the validation scores behind them."""
    out = []
    for member in result.members:
        for child, found in zip(member.resolved.children, member.outcomes, strict=True):
            out.append(None if child.groups is None else child.groups.groups)
            out.append([record.chosen_epoch for record in found.records])
            out.append(found.thresholds.values)
            out.append({name: scores.outputs.tolist() for name, scores in found.validation.tasks.items()})
            out.append({name: scores.outputs.tolist() for name, scores in found.test.tasks.items()})
    return out


@pytest.mark.parametrize("features", ["label_description", "document_centroid", "label_count"])
def test_test_labels_change_no_group_no_epoch_and_no_threshold(
    table: Callable, suite: Callable, features: str
) -> None:
    changes = (
        "matrix.architecture=[mtl, gmtl]",
        "training.select=best",
        "evaluation.threshold=per_task",
        f"grouping.features={features}",
    )
    honest = run_suite(suite(table("honest"), *changes), ignore, MemoryTracker())
    flipped = run_suite(
        suite(table("flipped", flip=("test",)), *changes, store="other"), ignore, MemoryTracker()
    )
    assert choices(honest) == choices(flipped)
    f1 = [result.members[0].outcomes[0].metrics.plan.f1_macro for result in (honest, flipped)]
    assert f1[0] != f1[1]  # the labels did differ


def test_validation_labels_do_choose(table: Callable, suite: Callable) -> None:
    change = "evaluation.threshold=per_task"
    honest = run_suite(suite(table("honest"), change), ignore, MemoryTracker())
    flipped = run_suite(
        suite(table("flipped", flip=("validation",)), change, store="other"), ignore, MemoryTracker()
    )
    thresholds = [result.members[0].outcomes[0].thresholds.values for result in (honest, flipped)]
    assert thresholds[0] != thresholds[1]


def test_a_second_run_trains_nothing_and_tells_the_tracker_the_same(table: Callable, suite: Callable) -> None:
    made = suite(table("t"), ALL)
    first, second, before, watcher = MemoryTracker(), MemoryTracker(), Watcher(), Watcher()
    run_suite(made, before, first)
    run_suite(made, watcher, second)
    assert len(watcher.found) == 6  # gmtl's group of one label is that label's stl
    assert not before.stored
    assert set(watcher.stored) == set(watcher.found)
    assert sum(watcher.stored.values()) == before.documents
    assert not watcher.ended

    def points(tracker: MemoryTracker) -> dict[str, set[Metric]]:
        """What each run has, but for what is logged while a model trains."""
        return {
            key: {point for point in run.points if not point.key.startswith("running/")}
            for key, run in tracker.runs.items()
        }

    assert points(first) == points(second)


def test_a_setting_that_shapes_weights_makes_a_new_unit_and_others_do_not(
    table: Callable, suite: Callable
) -> None:
    path, cache = table("t"), InputCache()

    def keys(*changes: str) -> list[str]:
        return [job.unit.key for job in resolve(cache, suite(path, *changes).members[0]).jobs]

    assert keys() == keys("evaluation.threshold=fixed") == keys("store.keep_weights=false")
    for change in (
        "training.epochs=3",
        "training.learning_rate=2e-3",
        "encoder.features=cls",
        "data.max_length=9",
    ):
        assert keys() != keys(change)


def test_best_keeps_the_best_epoch_on_validation(table: Callable, suite: Callable) -> None:
    changes = (
        "training.select=best",
        "training.select_by=loss",
        "training.epochs=4",
        "training.learning_rate=3e-2",
    )
    result = run_suite(suite(table("t"), *changes), ignore, MemoryTracker())
    (record,) = result.members[0].outcomes[0].records
    targets = np.stack([task.targets for task in record.validation.tasks.values()], axis=1)
    curve = np.stack([np.stack(list(outputs.values()), axis=1) for outputs in record.curve])
    p = np.clip(curve.astype(float), 1e-7, 1 - 1e-7)
    losses = -(targets * np.log(p) + (1 - targets) * np.log(1 - p)).mean((1, 2))
    assert record.chosen_epoch == int(losses.argmin())
    kept = np.stack([task.outputs for task in record.validation.tasks.values()], axis=1)
    assert np.array_equal(kept, curve[record.chosen_epoch])


def test_an_interrupted_run_is_marked_killed(table: Callable, suite: Callable) -> None:
    tracker = MemoryTracker()
    with pytest.raises(KeyboardInterrupt):
        run_suite(suite(table("t")), Watcher(interrupt), tracker)
    assert {run.status for run in tracker.runs.values()} == {"KILLED"}


def test_a_failing_run_is_marked_failed(table: Callable, suite: Callable) -> None:
    def fail() -> None:
        raise ValueError("boom")

    tracker = MemoryTracker()
    with pytest.raises(ValueError, match="boom"):
        run_suite(suite(table("t")), Watcher(fail), tracker)
    assert {run.status for run in tracker.runs.values()} == {"FAILED"}


def test_scores_survive_the_disk(table: Callable, suite: Callable, tmp_path: Path) -> None:
    result = run_suite(suite(table("t")), ignore, MemoryTracker())
    scores = result.members[0].outcomes[0].test
    write_scores(scores, tmp_path / "x.parquet")
    back = read_scores(tmp_path / "x.parquet")
    assert (back.units, back.part, back.ids) == (scores.units, scores.part, scores.ids)
    for name, task in scores.tasks.items():
        assert np.array_equal(task.outputs, back.tasks[name].outputs)
        assert np.array_equal(task.targets, back.tasks[name].targets)
        assert np.array_equal(task.mask, back.tasks[name].mask)


def test_an_unwritable_store_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        TrackingError, match=r"`store.uri`: .*file/store cannot be written .*choose another folder"
    ):
        Store(tmp_path / "file" / "store")


def test_counts_are_grouped_by_every_method_that_takes_them(table: Callable, suite: Callable) -> None:
    from mtlv.planning.resolve import resolve_groups

    cache = InputCache()
    for method, k in (
        ("kmedoids", 2),
        ("kmeans", 2),
        ("agglomerative", 2),
        ("meanshift", "auto"),
        ("kde", "auto"),
    ):
        made = suite(
            table("t"),
            "architecture=gmtl",
            "grouping.features=label_count",
            f"grouping.method={method}",
            f"grouping.k={k}",
        )
        settings = made.members[0].settings
        groups = resolve_groups(cache, settings, cache.folds(settings.data)[0])
        assert sorted(name for group in groups.groups for name in group) == ["bone", "heart", "lung"]
        assert "scaling l2" not in groups.stability


def test_run_and_cluster_tell_of_the_vectors_of_many_texts(
    table: Callable, suite: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtlv.planning.task_vectors.MANY", 0)
    made = suite(table("t"), "architecture=gmtl", "grouping.features=document_centroid")
    for do in (
        lambda callback: run_suite(made, callback, MemoryTracker()),
        lambda callback: cluster_suite(made, tmp_path, callback),
    ):
        told: list[str] = []
        do(lambda event, told=told: told.append(event.text) if isinstance(event, NoteGiven) else None)
        assert any(text.startswith("computing the vectors of ") for text in told)


@pytest.mark.parametrize(
    ("change", "different"),
    [("tasks: [heart, lung]", 2), ("encoder.weights: random", 2), ("training.epochs: 3", 1)],
)
def test_cluster_groups_once_for_each_difference_that_groups_follow_from(
    table: Callable, suite: Callable, tmp_path: Path, change: str, different: int
) -> None:
    runs = f"runs=[{{name: a, architecture: gmtl}}, {{name: b, architecture: gmtl, {change}}}]"
    made = suite(table("t"), runs, "grouping.k=2", "grouping.features=label_name")
    found = cluster_suite(made, tmp_path / "out", ignore)
    assert len(found.groups) == len(list((tmp_path / "out").iterdir())) == different


def test_members_with_the_same_groups_share_a_note(table: Callable, suite: Callable) -> None:
    members = (
        "runs=[{name: a, architecture: gmtl}, {name: b, architecture: gmhl}, {name: c, architecture: mtl}]"
    )
    told: list[str] = []
    run_suite(
        suite(table("t"), members, "grouping.k=2", "grouping.features=label_count", "training.epochs=1"),
        lambda event: told.append(event.text) if isinstance(event, NoteGiven) else None,
        MemoryTracker(),
    )
    (of_groups,) = (text for text in told if "groups; " in text)
    assert of_groups.startswith("`a`, `b`: 2 groups; k = 2 is set; the elbow recommends ")
    assert len(set(told)) == len(told)


@pytest.mark.parametrize(("length", "told"), [(4, True), (64, False)])
def test_truncated_documents_are_noted(
    table: Callable, suite: Callable, tmp_path: Path, length: int, told: bool
) -> None:
    notes: list[str] = []
    run_suite(
        suite(table("t"), "architecture=mtl", "training.epochs=1", f"data.max_length={length}"),
        lambda event: notes.append(event.text) if isinstance(event, NoteGiven) else None,
        MemoryTracker(),
    )
    found = [note for note in notes if note.startswith("`data.max_length` truncates ")]
    assert len(found) == told
    assert all(
        text in note for note in found for text in ("50 of 60 documents", "tokens", "`data.window_pooling`")
    )


@pytest.mark.parametrize(("architecture", "told"), [("mtl", True), ("gmhl", False)])
def test_private_layers_without_effect_are_noted(
    table: Callable, suite: Callable, tmp_path: Path, architecture: str, told: bool
) -> None:
    notes: list[str] = []
    layers = f"architecture={{name: {architecture}, private_layers: 1}}"
    planned = suite(table("t"), layers, "training.epochs=1", "grouping.k=2")
    assert (NO_PRIVATE in check_suite(planned).members[0].warnings) == told
    run_suite(
        planned,
        lambda event: notes.append(event.text) if isinstance(event, NoteGiven) else None,
        MemoryTracker(),
    )
    assert any(NO_PRIVATE in note for note in notes) == told


def test_no_password_reaches_params(table: Callable, suite: Callable) -> None:
    from mtlv.reporting.metrics import params

    made = suite(table("t"), "tracking.uri=http://user:hunter2@127.0.0.1:9")
    assert "hunter2" not in str(params(made.members[0].settings))


def test_members_with_different_numbers_of_seeds_are_compared(table: Callable, suite: Callable) -> None:
    members = "runs=[{architecture: stl, seed: [0, 1]}, {architecture: mtl, seed: 0}]"
    tracker = MemoryTracker()
    run_suite(suite(table("t"), members, "training.epochs=1"), ignore, tracker)
    (run,) = (run for run in tracker.runs.values() if run.spec.kind == "comparison")
    assert run.status == "FINISHED"
    assert "comparison.md" in run.files
