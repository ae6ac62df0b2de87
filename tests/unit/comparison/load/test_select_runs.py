"""Which runs a user means: by config, id, name, experiment."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from shelf import Shelf, stored

from mtlv.comparison.load.select_runs import SETTINGS, RunQuery, choose, unique_names
from mtlv.errors import TrackingError
from mtlv.settings import Suite, default_settings
from mtlv.settings.identity import settings_key
from mtlv.settings.names import distinguish
from mtlv.tracking.reader import COMPARISON, FOLD, StoredRun

A = stored("aaaaaa1", "stl", at=1)
B = stored("bbbbbb1", "mtl", at=2)
C = stored("bbbbbb2", "mtl", at=3)
CHILD = stored("cccccc1", "mtl · fold 0", kind=FOLD, at=2, **{"mlflow.parentRunId": B.id})
SIDE = stored("dddddd1", "compare", kind=COMPARISON, at=4)
SHELF = Shelf(A, B, C, CHILD, SIDE)


def ids(wanted, shelf=SHELF):
    return [run.id for run in choose(shelf, wanted).runs]


def test_everything_of_the_only_experiment_the_oldest_first():
    assert ids(RunQuery()) == [A.id, B.id, C.id]
    assert ids(RunQuery(experiment="first")) == [A.id, B.id, C.id]
    assert ids(RunQuery(last=2)) == [B.id, C.id]


def test_runs_by_id_by_its_beginning_and_by_name_in_the_order_asked_for():
    assert ids(RunQuery(names=(C.id, "aaaaaa", "stl"))) == [C.id, A.id]
    assert ids(RunQuery(names=("mtl",))) == [C.id], "of two with one name the newest"


def test_the_beginning_of_a_name_is_enough_in_capitals_or_not():
    shelf = Shelf(
        A,
        B,
        C,
        stored("eeeeee1", "GMTL · k=4", at=5),
        stored("eeeeee2", "gmhl", at=6),
        stored("ffffff1", "mtl · big", at=7),
    )
    assert ids(RunQuery(names=("STL", "gmt", "MTL")), shelf) == [A.id, "eeeeee1".ljust(32, "0"), C.id]
    with pytest.raises(TrackingError, match="begin with `gm`; allowed: `gmhl`, `GMTL · k=4`; give more"):
        choose(shelf, RunQuery(names=("gm",)))


def test_a_fold_stands_for_its_member():
    assert ids(RunQuery(names=(CHILD.id,))) == [B.id]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (RunQuery(names=("bbbbbb",)), "`bbbbbb` is the prefix of 2 run ids"),
        (RunQuery(names=("mtk",)), "there is no run `mtk` in the store"),
        (RunQuery(names=("mtk",)), "did you mean `mtl`?"),
        (RunQuery(names=(SIDE.id,)), "is a comparison"),
        (RunQuery(experiment="frist"), "there is no experiment `frist`"),
        (RunQuery(experiment="frist"), "did you mean `first`?"),
    ],
)
def test_what_cannot_be_found_is_named_with_the_next_step(wanted, said):
    with pytest.raises(TrackingError) as error:
        choose(SHELF, wanted)
    assert said in str(error.value)


def test_several_experiments_want_a_name():
    other = stored("eeeeee1", "gmtl", experiment="2", at=9)
    shelf = Shelf(A, other, experiments={"second": "2", "first": "1", "empty": "3"})
    with pytest.raises(TrackingError, match="several experiments") as error:
        choose(shelf, RunQuery())
    assert "--experiment second" in str(error.value)
    assert "empty" not in str(error.value)
    assert ids(RunQuery(last=1), shelf) == [other.id]
    assert ids(RunQuery(names=("gmtl",)), shelf) == [other.id]
    twin = Shelf(
        A, stored("abcdef1", "stl", experiment="2"), experiments={"second": "2", "empty": "3", "first": "1"}
    )
    with pytest.raises(TrackingError, match="several experiments have the name `stl`") as error:
        choose(twin, RunQuery(names=("stl",)))
    assert "allowed: `--experiment second`, `--experiment first`" in str(error.value)
    assert ids(RunQuery(names=("stl",), experiment="first"), twin) == [A.id]
    with pytest.raises(TrackingError, match="no run `gmtl`"):
        choose(shelf, RunQuery(names=("gmtl",), experiment="first"))


def test_an_empty_store_says_so():
    with pytest.raises(TrackingError, match="no runs to compare"):
        choose(Shelf(), RunQuery())


def suite_of(*members):
    return Suite("first", members, Path("c.yml"))


def member(name, settings, *tuned):
    return SimpleNamespace(name=name, settings=settings, tuned=tuned or (None,))


def test_runs_that_try_values_are_known_by_their_suites():
    settings = default_settings()
    other = settings.model_copy(update={"seed": 7})
    run = stored("ffffff1", "mtl", at=5, **{SETTINGS: settings_key(settings)})
    suites = suite_of(member("a", settings, 3, 4), member("b", other, 3)), suite_of(member("c", settings, 0))
    chosen = choose(Shelf(run), RunQuery(suites=suites))
    assert (chosen.asked, chosen.tuned) == (set(), {run.id: [(0, 3), (0, 4), (1, 0)]})
    missing = "`b` of c.yml has not been run and is not shown"
    assert chosen.warnings == [f"{missing}, and may be better on validation than its alternatives"]
    chosen = choose(Shelf(run), RunQuery(suites=suites, names=("mtl",)))
    assert chosen.asked == {run.id}


def test_a_suite_stands_for_its_members_by_their_settings():
    settings = default_settings()
    other = settings.model_copy(update={"seed": 7})
    elsewhere = settings.model_copy(update={"store": settings.store.model_copy(update={"uri": "other"})})
    assert settings_key(settings) == settings_key(elsewhere)
    run = stored("ffffff1", "mtl · minilm", at=5, **{SETTINGS: settings_key(settings)})
    suite = suite_of(member("mtl", elsewhere), member("late", other))
    chosen = choose(Shelf(run, A), RunQuery(suites=(suite,)))
    assert (chosen.asked, chosen.tuned) == ({run.id}, {run.id: []})
    assert [each.id for each in chosen.runs] == [run.id]
    assert chosen.warnings == ["`late` of c.yml has not been run and is not shown"]
    said = (
        "none of its 2 members is in experiment `first` with these settings; run it first: "
        "`mtlv run c.yml 'seed=[0, 7]'`; or, if it ran with other `key=value`, repeat them after "
        "`mtlv compare c.yml`; or give `--experiment first` instead of the config."
    )
    typed = replace(suite, overrides=("seed=[0, 7]",))
    with pytest.raises(TrackingError, match=re.escape(said)):
        choose(Shelf(A), RunQuery(suites=(typed,)))
    with pytest.raises(TrackingError, match="experiment `first` is not in the store"):
        choose(Shelf(A, experiments={"x": "9"}), RunQuery(suites=(suite,)))


def test_runs_of_one_name_are_told_apart_by_their_settings() -> None:
    def run(number: int, name: str, **params: str) -> StoredRun:
        return replace(stored(f"{number}", name, at=number), params={"tracking.uri": f"{number}"} | params)

    runs = [
        run(1, "MTL", **{"encoder.name": "bert", "training.epochs": "2"}),
        run(2, "MTL", **{"encoder.name": "bert", "training.epochs": "3"}),
        run(3, "STL", **{"encoder.name": "tiny"}),
        run(4, "GMTL", **{"training.cuda_graphs": "False"}),
        run(5, "GMTL", **{"training.cuda_graphs": "False"}),
    ]
    assert unique_names(runs) == ["MTL, 2 epochs", "MTL, 3 epochs", "STL", "GMTL", "GMTL (2)"]


def test_a_path_is_told_by_its_file_and_only_if_no_name_differs() -> None:
    def told(*paths: str, **names: str) -> list[str]:
        values = [{"data.path": path} for path in paths]
        if names:
            values = [
                each | {"data.alias": alias} for each, alias in zip(values, names.values(), strict=True)
            ]
        return distinguish(["run"] * len(paths), values)

    assert told("/x/north.csv", "/x/south.csv") == ["run, path north.csv", "run, path south.csv"]
    assert told("/x/north.csv", "null") == ["run, path north.csv", "run, no path"]
    assert all("…" in name or "/" in name for name in told("/x/one/t.csv", "/x/two/t.csv"))
    assert told("/x/a.csv", "/x/b.csv", one="north", two="south") == ["run, alias north", "run, alias south"]
