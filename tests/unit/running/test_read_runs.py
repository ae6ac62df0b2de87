"""Members read back from a store, also while they run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlv.compare.pairs import comparable
from mtlv.errors import TrackingError
from mtlv.plan import Scores, TaskScores
from mtlv.running.read_runs import read_runs, with_scores
from mtlv.running.store import write_scores
from mtlv.tracking.reader import FOLD, MEMBER, StoredRun

TASKS: dict[str, Any] = {
    "documents": 40,
    "tasks": {"heart": {"name": "heart", "support": 9}, "a_b": {"name": "a/b", "support": 3}},
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
    assert any("more folds may follow" in text for text in found.warnings)


def test_a_member_without_any_list_of_tasks_is_read(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, {"m0": ("tasks.json", "plan.json")}, "FINISHED")
    found = read_runs(shelf, shelf.members)  # type: ignore[arg-type]
    assert found.runs[1].plan == ()
    assert found.runs[1].values("test/f1_macro") == [0.5]


def test_scores_are_read_of_the_asked_for_runs_only(tmp_path: Path) -> None:
    scores = Scores(("u",), "test", ("d",), {"heart": TaskScores(np.ones(1), np.ones(1), np.ones(1, bool))})

    class Scored(Shelf):
        def _file(self, run: StoredRun, name: str) -> Path:
            if not name.startswith("scores/"):
                return super()._file(run, name)
            path = self.folder / f"{run.id}.parquet"
            write_scores(scores, path)
            return path

    both = ("scores/validation.parquet", "scores/test.parquet")
    shelf = Scored(tmp_path, {"f0": both, "f1": both}, "FINISHED")
    found = read_runs(shelf, shelf.members)  # type: ignore[arg-type]
    assert [run.children[0].test for run in found.runs] == [None, None]
    first, second = with_scores(shelf, found, ("r1",)).runs  # type: ignore[arg-type]
    assert first.children[0].test is None
    assert second.children[0].test.ids == second.children[0].validation.ids == ("d",)


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
    with pytest.raises(TrackingError, match=r"run `f0` .*not as `mtlv` writes them .got ValueError"):
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
