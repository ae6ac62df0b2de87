"""`training.budget`: so many passes over the training documents by all models of an architecture together."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from made_up import sources_of
from memory_tracker import MemoryTracker

from mtlv.errors import MtlvError
from mtlv.events import ignore
from mtlv.planning.check import check_suite
from mtlv.planning.resolve import ResolvedMember, resolve
from mtlv.reporting.descriptions import describe_plan
from mtlv.settings import Suite
from mtlv.suite.run import run_suite
from mtlv.units.input_cache import InputCache

EVERY = "matrix.architecture=[stl, mtl, gmtl]"


def by_architecture(suite: Suite) -> dict[str, ResolvedMember]:
    found = (resolve(InputCache(), member) for member in suite.members)
    return {each.member.settings.architecture.name: each for each in found}


def epochs(member: ResolvedMember) -> list[int]:
    return [job.settings.training.epochs for job in member.children[0].jobs]


def test_each_model_gets_an_equal_share(table: Callable, suite: Callable) -> None:
    found = by_architecture(suite(table("t"), EVERY, "training.budget=12"))
    assert {name: epochs(member) for name, member in found.items()} == {
        "stl": [4, 4, 4],
        "gmtl": [6, 6],
        "mtl": [12],
    }
    documents = [sum(job.documents for job in member.jobs) for member in found.values()]
    assert len(set(documents)) == 1


def test_a_share_is_rounded_to_whole_epochs(table: Callable, suite: Callable) -> None:
    shares = {3: 1, 4: 1, 5: 2, 10: 3, 11: 4}
    for budget, each in shares.items():
        found = by_architecture(suite(table("t"), "architecture=stl", f"training.budget={budget}"))
        assert epochs(found["stl"]) == [each] * 3


def test_units_are_those_of_the_same_number_of_epochs(table: Callable, suite: Callable) -> None:
    path = table("t")

    def keys(*changes: str) -> list[str]:
        member = by_architecture(suite(path, "architecture=stl", *changes))["stl"]
        return [job.unit.key for job in member.jobs]

    assert keys("training.budget=12") == keys("training.epochs=4") != keys("training.epochs=5")


def test_a_model_that_reads_one_of_several_sources_passes_over_that_one(tmp_path: Path) -> None:
    """Single-task models of separate corpora read each document once per epoch, together."""
    changes = ("training.budget=5", "matrix.architecture=[stl, mtl]")
    found = by_architecture(sources_of(tmp_path, changes=changes))
    assert set(epochs(found["stl"])) == set(epochs(found["mtl"])) == {5}


def test_sources_that_no_model_of_the_stage_reads_do_not_count(tmp_path: Path) -> None:
    suite = sources_of(tmp_path, changes=("training.budget=5", "tasks=[conll]"), more="architecture: mtl")
    assert epochs(by_architecture(suite)["mtl"]) == [5]


def emptied(path: Path, *, every: dict[str, int]) -> Path:
    """Empty the cells of a column but for one in so many rows."""
    rows = list(csv.DictReader(path.open(newline="")))
    for name, step in every.items():
        for number, row in enumerate(rows):
            row[name] = row[name] if number % step == 1 else ""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


UNKNOWN = "data.columns={labels: [heart, lung, bone], id: id, part: part, missing_labels: unknown}"


def test_documents_without_a_known_label_do_not_count(table: Callable, suite: Callable) -> None:
    """Of 36 training documents, 18, 12 and 36 have a known label: a model of all reads all."""
    path = emptied(table("t"), every={"heart": 2, "lung": 3})
    found = by_architecture(suite(path, EVERY, UNKNOWN, "training.budget=22"))
    assert [job.documents / epochs(found["stl"])[0] for job in found["stl"].jobs] == [18, 12, 36]
    grouped = sum(job.documents / epochs(found["gmtl"])[0] for job in found["gmtl"].jobs)
    assert {name: set(epochs(member)) for name, member in found.items()} == {
        "stl": {12},  # 22 x 36 / 66
        "gmtl": {round(22 * 36 / grouped)},
        "mtl": {22},
    }
    read = {name: sum(job.documents for job in member.jobs) for name, member in found.items()}
    assert read["stl"] == read["mtl"] == 22 * 36
    assert read["gmtl"] == pytest.approx(22 * 36, rel=0.03)


def test_documents_of_which_no_label_is_known_are_read_by_none(table: Callable, suite: Callable) -> None:
    path = emptied(table("t"), every={"heart": 3, "lung": 3, "bone": 3})
    for name, wanted in {"stl": 4, "mtl": 12}.items():
        found = by_architecture(suite(path, f"architecture={name}", UNKNOWN, "training.budget=12"))[name]
        assert epochs(found) == [wanted] * len([*found.jobs])
        assert sum(job.documents for job in found.jobs) == 12 * 12


def test_a_budget_below_the_number_of_models_may_do_where_labels_are_missing(
    table: Callable, suite: Callable
) -> None:
    path = emptied(table("t"), every={"heart": 3, "lung": 3})
    made = suite(path, "architecture=stl", UNKNOWN, "training.budget=2")  # 12 + 12 + 36 documents
    assert check_suite(made).units == 3
    assert epochs(by_architecture(made)["stl"]) == [1, 1, 1]
    with pytest.raises(MtlvError, match=r"less than one epoch.*got 1\); allowed: 2 or more, for 3 models"):
        by_architecture(suite(path, "architecture=stl", UNKNOWN, "training.budget=1"))


def test_less_than_an_epoch_of_each_model_is_refused(table: Callable, suite: Callable) -> None:
    with pytest.raises(MtlvError, match=r"less than one epoch.*got 2\); allowed: 3 or more, for 3 models"):
        by_architecture(suite(table("t"), "architecture=stl", "training.budget=2"))


def test_a_check_refuses_it_where_one_corpus_is_read(
    table: Callable, suite: Callable, tmp_path: Path
) -> None:
    with pytest.raises(MtlvError, match=r"less than one epoch.*got 2\); allowed: 3 or more, for 3 models"):
        check_suite(suite(table("t"), "architecture=stl", "training.budget=2"))
    assert check_suite(suite(table("t"), "architecture=stl", "training.budget=3")).units == 3
    several = sources_of(
        tmp_path, changes=("training.budget=1", "architecture=stl"), more="architecture: mtl"
    )
    assert check_suite(several).units == epochs(by_architecture(several)["stl"]).count(1) > 1


def test_a_run_says_how_many_epochs_each_model_had(table: Callable, suite: Callable) -> None:
    made = suite(table("t"), "architecture=stl", "training.budget=6")
    text = describe_plan(by_architecture(made)["stl"], generated=False)
    assert "2 epochs of each model (`training.budget: 6`)" in text
    tracker = MemoryTracker()
    run_suite(made, ignore, tracker)
    assert any(run.params.get("epochs") == "2" for run in tracker.runs.values())
