"""Members read back from a store, also while they run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlv.comparison.load.read_runs import groups_of_k, read_runs, with_scores
from mtlv.errors import TrackingError
from mtlv.evaluation.pairs import comparable
from mtlv.evaluation.significance import Interval
from mtlv.plan import Scores, TaskScores
from mtlv.store.scores_file import write_scores
from mtlv.tracking.reader import FOLD, MEMBER, StoredRun

TASKS: dict[str, Any] = {
    "documents": 40,
    "tasks": {
        "heart": {"name": "heart", "support": 9, "documents": 20},
        "a_b": {"name": "a/b", "support": 3, "documents": 40},
    },
    "heads": {},
}
PLAN = [{"heads": [{"tasks": ["heart", "a/b"]}]}]


class Shelf:
    """Two members of one fold each; `files` are the artifacts by run and name."""

    def __init__(self, folder: Path, files: Mapping[str, Sequence[str]], status: str) -> None:
        self.folder, self.held = folder, files
        self.members = [self._run("m0", MEMBER, "FINISHED"), self._run("m1", MEMBER, status)]
        self.folds = {f"m{n}": [self._run(f"f{n}", FOLD, "FINISHED")] for n in (0, 1)}

    def _run(self, number: str, kind: str, status: str) -> StoredRun:
        metrics = {"test/f1_macro": 0.5, "test.tasks.f1/heart": 0.6, "test.tasks.f1/a_b": 0.4}
        tags = {"mtlv.kind": kind, "mtlv.data_digest": "same", "mlflow.parentRunId": number.replace("f", "m")}
        return StoredRun(number, "1", number, status, 0, "", tags=tags, metrics=metrics)

    def runs(self, experiments: Sequence[str], tags: Mapping[str, str]) -> list[StoredRun]:
        return self.folds[tags["mlflow.parentRunId"]]

    def history(self, run_id: str, key: str) -> list[tuple[int, float]]:
        return [(0, 0.1)]

    def page(self, run: StoredRun) -> None:
        return None

    def files(self, wanted: Iterable[tuple[StoredRun, str]]) -> list[Path | None]:
        return [self._file(run, name) if name in self.held.get(run.id, ()) else None for run, name in wanted]

    def _file(self, run: StoredRun, name: str) -> Path:
        path = self.folder / f"{run.id}-{name}"
        path.write_text(json.dumps({"tasks.json": TASKS, "plan.json": PLAN}[name]))
        return path


@pytest.mark.parametrize("status", ["RUNNING", "FAILED"])
def test_tasks_of_a_member_that_has_not_ended_are_those_of_its_fold(tmp_path: Path, status: str) -> None:
    both = ("tasks.json", "plan.json")
    shelf = Shelf(tmp_path, {"m0": both, "f0": both, "f1": both}, status)
    found = read_runs(shelf, shelf.members)  # type: ignore[arg-type]
    ended, going = found.runs
    assert going.plan == ended.plan == ((("heart", "a/b"),),)
    assert going.children[0].tasks == {"heart": {"f1": 0.6}, "a/b": {"f1": 0.4}}
    assert comparable(ended, going)
    shares = {task.name: task.frequency for task in found.tasks}
    assert shares == {"heart": 9 / 20, "a/b": 3 / 40}, "of the documents of a task"
    assert any("more folds may follow" in text for text in found.warnings)


def test_the_interval_of_the_gain_over_a_bag_of_words_is_read(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {}, "FINISHED")
    ends = {"test/bag_of_words_gain_low": -0.1, "test/bag_of_words_gain_high": 0.2}
    shelf.members[0].metrics.update(ends)  # type: ignore[attr-defined]
    first, second = read_runs(shelf, shelf.members).runs  # type: ignore[arg-type]
    assert (first.words_interval, second.words_interval) == (Interval(-0.1, 0.2), None)


def test_imported_predictions_are_no_model_of_their_tasks(tmp_path: Path) -> None:
    both = ("tasks.json", "plan.json")
    shelf = Shelf(tmp_path, {"m0": both, "m1": both}, "FINISHED")
    shelf.members[1].params["predictions"] = "rules.csv"  # type: ignore[index]
    trained, imported = read_runs(shelf, shelf.members).runs  # type: ignore[arg-type]
    assert (trained.is_imported, imported.is_imported) == (False, True)
    assert (len(trained.plan), len(imported.plan)) == (1, 0)


def test_where_a_fold_was_trained_is_read(tmp_path: Path) -> None:
    """Of runs of earlier releases it is unknown."""
    shelf = Shelf(tmp_path, {"m0": ["tasks.json"], "m1": ["tasks.json"]}, "FINISHED")
    fold = shelf.folds["m1"][0]
    shelf.folds["m1"] = [replace(fold, tags={**fold.tags, "mtlv.trained_on": "cpu (2 threads)"})]
    first, second = read_runs(shelf, shelf.members).runs
    assert (first.children[0].trained_on, second.children[0].trained_on) == ("", "cpu (2 threads)")


def test_a_member_without_any_list_of_tasks_is_read(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"m0": ("tasks.json", "plan.json")}, "FINISHED")
    found = read_runs(shelf, shelf.members)  # type: ignore[arg-type]
    assert found.runs[1].plan == ()
    assert found.runs[1].values("test/f1_macro") == [0.5]


def test_scores_are_read_of_the_asked_for_runs_only(tmp_path: Path) -> None:
    heart = {"heart": TaskScores(np.ones(1), np.ones(1), np.ones(1, bool))}

    class Scored(Shelf):
        def _file(self, run: StoredRun, name: str) -> Path:
            if not name.startswith("scores/"):
                return super()._file(run, name)
            path = self.folder / f"{run.id}-{Path(name).name}"
            write_scores(Scores(("u",), Path(name).stem, ("d",), heart), path)
            return path

    both = ("scores/validation.parquet", "scores/test.parquet")
    shelf = Scored(tmp_path, {"f0": both, "f1": both}, "FINISHED")
    found = read_runs(shelf, shelf.members)  # type: ignore[arg-type]
    assert [run.children[0].test for run in found.runs] == [None, None]
    first, second = with_scores(shelf, found, ("r1",)).runs  # type: ignore[arg-type]
    assert first.children[0].test is None
    assert second.children[0].test.ids == second.children[0].validation.ids == ("d",)


class Chosen(Shelf):
    """Members whose groups follow from measured ones."""

    groups: Any = None

    def _run(self, number: str, kind: str, status: str) -> StoredRun:
        run = super()._run(number, kind, status)
        chosen = {"train.heads.chosen_epoch/all": 1.0, "train.tasks.chosen_epoch/a_b": 0.0}
        return replace(run, metrics={**run.metrics, **chosen}, params={"grouping.from": '["drawn *"]'})

    def _file(self, run: StoredRun, name: str) -> Path:
        points = {"val.tasks.average_precision/heart": [[0, 0.1], [1, 0.3]]}
        points["val.tasks.average_precision/a_b"] = [[0, 0.2], [1, 0.4]]
        tasks = {slug: each | {"head": "of all"} for slug, each in TASKS["tasks"].items()}
        content = TASKS | {"tasks": tasks, "heads": {"all": {"name": "of all"}}}
        files = {"tasks.json": content, "curves.json": points, "grouping/groups.json": self.groups}
        path = self.folder / f"{run.id}-{Path(name).name}"
        path.write_text(json.dumps(files[name]))
        return path


def test_whether_groups_were_chosen_for_scores_and_those_of_the_kept_weights_are_read(tmp_path: Path) -> None:
    files = ("tasks.json", "curves.json")
    held = {"m0": files, "f0": (*files, "grouping/groups.json"), "m1": files, "f1": files}
    shelf = Chosen(tmp_path, held, "FINISHED")
    groups = {"groups": [["heart"], ["a/b"]]}
    for written, wanted in ({"measured": False}, False), ({"measured": True}, True), ({}, True):
        shelf.groups = groups | written
        first, second = read_runs(shelf, shelf.members).runs  # type: ignore[arg-type]
        assert first.children[0].measured == wanted, "where it is not written, it may be so"
        assert second.children[0].measured, "its groups are not known"
    assert first.children[0].kept == {"heart": 0.3, "a/b": 0.2}, "of the epoch of the head, or of the task"
    shelf.members = [replace(member, params={}) for member in shelf.members]
    shelf.groups = groups
    assert not read_runs(shelf, shelf.members).runs[0].children[0].measured  # type: ignore[arg-type]


def test_scores_of_kept_weights_are_unknown_without_their_epoch(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"m0": ("tasks.json",)}, "FINISHED")
    assert read_runs(shelf, shelf.members).runs[0].children[0].kept == {}  # type: ignore[arg-type]


STRANGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["tasks", "heads", "documents", "name", "support", "groups", "map", "k", "heart", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


def test_groups_of_each_k_begin_with_their_most_central_task() -> None:
    elbow = {"labels": [[0, 0, 0, 0], [0, 1, 0, 1]], "medoids": [[2], [2, 3]]}
    assert groups_of_k(elbow, ["a", "b", "c", "d"]) == {
        1: (("c", "a", "b", "d"),),
        2: (("c", "a"), ("d", "b")),
    }
    assert groups_of_k({}, ["a"]) == groups_of_k(elbow, []) == {}


OF_RUNS = ("tasks.json", "plan.json", "grouping/groups.json", "grouping/elbow.json", "curves.json")


class Strange(Shelf):
    """Answers with other content than `mtlv` writes."""

    content: str = ""

    def _file(self, run: StoredRun, name: str) -> Path:
        path = self.folder / "strange"
        path.write_text(self.content, encoding="utf-8")
        return path


@given(STRANGE, st.sampled_from(OF_RUNS))
def test_other_content_than_ours_names_the_run(content: Any, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf = Strange(Path(folder), {"m0": (name,), "f0": (name,), "f1": (name,)}, "FINISHED")
        shelf.content = json.dumps(content)
        try:
            read_runs(shelf, shelf.members)  # type: ignore[arg-type]
        except TrackingError as error:
            said = str(error)
        else:
            said = "run `m0`"
        assert "run `m" in said


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000])
def test_an_artifact_that_is_no_json(tmp_path: Path, content: str) -> None:
    shelf = Strange(tmp_path, {"m0": ("tasks.json",)}, "FINISHED")
    shelf.content = content
    with pytest.raises(TrackingError, match=r"`tasks\.json` of run `m0` .* cannot be read"):
        read_runs(shelf, shelf.members)  # type: ignore[arg-type]


def test_params_that_are_no_numbers(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {}, "FINISHED")
    shelf.folds["m0"][0].params["fold"] = "first"  # type: ignore[index]
    with pytest.raises(TrackingError, match=r"params .*of run `f0` .* cannot be read .got ValueError"):
        read_runs(shelf, shelf.members)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet"])
def test_scores_that_are_none(tmp_path: Path, content: bytes) -> None:
    class Torn(Shelf):
        def _file(self, run: StoredRun, name: str) -> Path:
            path = self.folder / "torn.parquet"
            path.write_bytes(content)
            return path

    shelf = Torn(tmp_path, {"f0": ("scores/test.parquet",)}, "FINISHED")
    found = read_runs(shelf, shelf.members)  # type: ignore[arg-type]
    with pytest.raises(TrackingError, match=r"`scores/test\.parquet` of run `f0` .* cannot be read"):
        with_scores(shelf, found, ("r0",))  # type: ignore[arg-type]


class Held(Shelf):
    """Runs that tell how many documents are positive; the test scores of the first fold are in `table`."""

    table: Any = None

    def _run(self, number: str, kind: str, status: str) -> StoredRun:
        run = super()._run(number, kind, status)
        supports = {"test.tasks.support/heart": 1.0, "test.tasks.support/a_b": 2.0}
        return replace(run, metrics={**run.metrics, **supports})

    def _file(self, run: StoredRun, name: str) -> Path:
        if not name.startswith("scores/"):
            return super()._file(run, name)
        path = self.folder / "scores.parquet"
        pyarrow.parquet.write_table(self.table, path)
        return path


def of_scores(split: str = "test", label: str = "heart", **changes: Any) -> Any:
    """Scores of two documents as Parquet, with other columns than `mtlv` writes; None leaves one out."""
    columns: dict[str, Any] = {"id": ["d", "e"]}
    for name, targets in ((label, [1, 0]), ("a/b", [1, 1])):
        columns |= {f"output:{name}": [0.9, 0.2], f"target:{name}": targets, f"mask:{name}": [True, True]}
    columns |= {key if key in ("id", "group") else f"{key}:{label}": cells for key, cells in changes.items()}
    table = pyarrow.table({key: cells for key, cells in columns.items() if cells is not None})
    return table.replace_schema_metadata({"mtlv": json.dumps({"units": ["u"], "split": split})})


def with_table(folder: Path, table: Any) -> Any:
    """The test scores of the first run's fold, which are in `table`."""
    files = ("tasks.json", "plan.json")
    shelf = Held(folder, {"m0": files, "m1": files, "f0": ("scores/test.parquet",)}, "FINISHED")
    shelf.table = table
    return with_scores(shelf, read_runs(shelf, shelf.members), ("r0",)).runs[0].children[0].test  # type: ignore[arg-type]


def test_scores_that_are_as_the_run_says_are_taken(tmp_path: Path) -> None:
    found = with_table(tmp_path, of_scores())
    assert found.ids == ("d", "e")
    assert found.matrix(("heart", "a/b"))[1].tolist() == [[1, 1], [0, 1]]
    assert found.groups is None  # of an earlier release
    assert with_table(tmp_path, of_scores(group=["g", "g"])).groups == ("g", "g")


NAN, INF = float("nan"), float("inf")
NO_SCORES = {
    "a document twice": (of_scores(id=["d", "d"]), "a document twice"),
    "ids that are numbers": (of_scores(id=[1, 2]), "a document id that is not text"),
    "an id missing": (of_scores(id=["d", None]), "a document id that is not text"),
    "groups that are numbers": (of_scores(group=[1, 1]), "a document group that is not text"),
    "a group missing": (of_scores(group=["g", None]), "a document group that is not text"),
    "no ids": (of_scores(id=None), "id"),
    "another part": (of_scores("validation"), "scores of the part `validation`"),
    "a label that the run has not": (
        of_scores(label="lung"),
        "scores of `lung`, which is not a label of the run",
    ),
    "another fold": (of_scores(target=[1, 1]), "label `heart`: 2 positive documents, but 1 in the run"),
    "fewer documents": (of_scores().slice(1), "label `heart`: 0 positive documents, but 1 in the run"),
    "no mask": (of_scores(mask=None), "mask:heart"),
    "a column twice": (
        of_scores().append_column("output:heart", pyarrow.array([0.1, 0.1])),
        "output:heart",
    ),
    "nothing of ours": (pyarrow.table({"x": [1]}), "NoneType"),
    "a strange head": (of_scores().replace_schema_metadata({"mtlv": "[" * 100_000}), "nested too deeply"),
    "another head": (of_scores().replace_schema_metadata({"mtlv": "[]"}), "indices"),
    "NaN": (of_scores(output=[0.9, NAN]), "label `heart`: a number that is not finite"),
    "infinity": (of_scores(output=[-INF, 0.2]), "a number that is not finite"),
    "1e400": (of_scores(output=[float("1e400"), 0.2]), "a number that is not finite"),
    "no output": (of_scores(output=[None, 0.2]), "a number that is not finite"),
    "above 1": (of_scores(output=[0.9, 1.5]), "a probability outside 0 to 1"),
    "texts": (of_scores(output=["0.9", "high"]), "values that are not numbers"),
    "lists": (of_scores(output=[[0.9], [0.1]]), "must be a mapping"),
    "objects": (of_scores(output=[{"a": 0.9}, {"a": 0.1}]), "values that are not numbers"),
    "other targets": (of_scores(target=[7, 0]), "a target that is not 0 or 1"),
    "no target": (of_scores(target=[1, None]), "a number that is not finite"),
    "a mask of texts": (of_scores(mask=["yes", "no"]), "values that are not numbers"),
}


@pytest.mark.parametrize("name", NO_SCORES)
def test_scores_that_are_not_as_the_run_says(tmp_path: Path, name: str) -> None:
    table, said = NO_SCORES[name]
    with pytest.raises(TrackingError) as caught:
        with_table(tmp_path, table)
    assert str(caught.value).startswith(
        "the artifact `scores/test.parquet` of run `f0` (f0) cannot be read (got"
    )
    assert said in str(caught.value)
    assert str(caught.value).endswith("leave out that run, or run its config again.")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("content", [b"\xff\xfe{}", '{"documents": "\u00e9"}'.encode("latin-1")])
@pytest.mark.parametrize("name", ["tasks.json", "plan.json", "curves.json"])
def test_an_artifact_that_is_no_utf_8(tmp_path: Path, name: str, content: bytes) -> None:
    class Encoded(Shelf):
        def _file(self, run: StoredRun, name: str) -> Path:
            path = self.folder / "encoded"
            path.write_bytes(content)
            return path

    shelf = Encoded(tmp_path, {"m0": (name,), "f0": (name,)}, "FINISHED")
    with pytest.raises(
        TrackingError,
        match=rf"`{name}` of run `(m|f)0` .* cannot be read .got UnicodeDecodeError: 'utf-8' codec",
    ):
        read_runs(shelf, shelf.members)  # type: ignore[arg-type]


def test_params_of_any_length_are_kept(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {}, "FINISHED")
    shelf.members[0] = replace(shelf.members[0], params={"data.labels": "x" * 6000})
    found = read_runs(shelf, shelf.members)  # type: ignore[arg-type]
    assert found.runs[0].params["data.labels"] == "x" * 6000


SPANS = pyarrow.list_(
    pyarrow.struct([("start", pyarrow.int32()), ("end", pyarrow.int32()), ("type", pyarrow.string())])
)
KINDS: dict[str, Any] = {
    "heart": {"kind": "multiclass", "classes": ["x", "y"], "main_metric": "accuracy", "source": "a"},
    "a/b": {"kind": "tagging", "classes": ["X"], "main_metric": "entity_f1", "source": "b"},
}


class Mixed(Held):
    """Runs with a task of classes and one of spans."""

    def _run(self, number: str, kind: str, status: str) -> StoredRun:
        told = {"test/score": 0.75, "test.tasks.accuracy/heart": 0.5, "test.tasks.support/heart": 2.0}
        return replace(super()._run(number, kind, status), metrics=told | {"test.tasks.entity_f1/a_b": 1.0})

    def _file(self, run: StoredRun, name: str) -> Path:
        path = super()._file(run, name)
        if name == "tasks.json":
            tasks = {slug: each | KINDS[each["name"]] for slug, each in TASKS["tasks"].items()}
            path.write_text(json.dumps(TASKS | {"tasks": tasks}))
        return path


def of_kinds(classes: Any = ((0.9, 0.1), (0.2, 0.8)), targets: Any = (0, 0), end: int = 2) -> Any:
    flat = pyarrow.array(np.array(classes, np.float32).ravel())
    spans = pyarrow.array([[{"start": 0, "end": end, "type": "X"}], []], SPANS)
    columns = {
        "id": ["d", "e"],
        "output:heart": pyarrow.FixedSizeListArray.from_arrays(flat, len(classes[0])),
        "target:heart": list(targets),
        "mask:heart": [True, True],
        "output:a/b": spans,
        "target:a/b": spans,
        "mask:a/b": [True, True],
    }
    head = {"mtlv": json.dumps({"units": ["u"], "split": "test"})}
    return pyarrow.table(columns).replace_schema_metadata(head)


def mixed_scores(folder: Path, table: Any) -> Any:
    files = ("tasks.json", "plan.json")
    shelf = Mixed(folder, {"m0": files, "m1": files, "f0": ("scores/test.parquet",)}, "FINISHED")
    shelf.table = table
    found = read_runs(shelf, shelf.members)  # type: ignore[arg-type]
    return found, with_scores(shelf, found, ("r0",)).runs[0].children[0]  # type: ignore[arg-type]


def test_tasks_of_other_kinds_come_with_how_they_are_judged(tmp_path: Path) -> None:
    found, child = mixed_scores(tmp_path, of_kinds())
    tasks = {task.name: task for task in found.tasks}
    assert (tasks["heart"].kind, tasks["heart"].main_metric) == ("multiclass", "accuracy")
    assert (tasks["heart"].classes, tasks["a/b"].source) == (("x", "y"), "b")
    assert child.main == 0.75
    assert child.test.tasks["heart"].outputs.shape == (2, 2)
    assert child.test.tasks["a/b"].outputs[0][0].type == "X"


NOT_THEIRS = {
    "other targets": (of_kinds(targets=(0, 1)), "label `heart`: accuracy 1.0000, but 0.5000 in the run"),
    "one class": (of_kinds(classes=((1.0,), (1.0,)), targets=(1, 1)), "label `heart`: accuracy 0.0000"),
    "a span of half a million millions": (of_kinds(end=2**31 - 1), "label `a/b`: an invalid span"),
    "a span without words": (of_kinds(end=0), "label `a/b`: an invalid span"),
    "probabilities of yes and no": (of_scores(), "label `heart`: not scores of the kind `multiclass`"),
}


@pytest.mark.parametrize("name", NOT_THEIRS)
def test_scores_of_other_kinds_that_are_not_as_the_run_says(tmp_path: Path, name: str) -> None:
    table, said = NOT_THEIRS[name]
    with pytest.raises(TrackingError) as caught:
        mixed_scores(tmp_path, table)
    assert said in str(caught.value)


def test_a_task_that_two_runs_judge_differently_is_refused(tmp_path: Path) -> None:
    class Other(Mixed):
        def _file(self, run: StoredRun, name: str) -> Path:
            return super()._file(run, name) if run.id == "m0" else Shelf._file(self, run, name)

    files = ("tasks.json", "plan.json")
    shelf = Other(tmp_path, {"m0": files, "m1": files}, "FINISHED")
    with pytest.raises(TrackingError, match=r"`m1` has another task `heart` .*binary by f1.*multiclass"):
        read_runs(shelf, shelf.members)  # type: ignore[arg-type]
