"""Suites on corpora of other kinds than yes/no labels, each in its authors' format, made up here."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from listening import Watcher
from made_up import CORPORA, PARTS, chemprot, conll, sources_of
from memory_tracker import MemoryTracker

from mtlv import cli
from mtlv.errors import ConfigError, GroupingError
from mtlv.evaluation.scoring import task_figures
from mtlv.events import ignore
from mtlv.plan import Task
from mtlv.reporting.mlflow_views import ready_views
from mtlv.settings import Suite, load_suite
from mtlv.suite.keep_models import validation_title
from mtlv.suite.run import SuiteResult, run_suite


@pytest.fixture(scope="module", params=CORPORA)
def ran(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, SuiteResult, MemoryTracker]:
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "data").mkdir()
    make, main = CORPORA[request.param]
    suite = suite_of(folder, make(folder / "data"), "training.epochs=20")
    tracker = MemoryTracker()
    return main, run_suite(suite, ignore, tracker), tracker


def suite_of(folder: Path, name: str, *changes: str) -> Suite:
    (folder / "c.yml").write_text("matrix: {architecture: [stl, mtl]}\n")
    given = [f"data.name={name}", f"data.path={folder / 'data'}", "encoder=tiny", "training.batch_size=4"]
    given += [
        "training.learning_rate=2e-3",
        "training.device=cpu",
        "training.precision=fp32",
        "data.max_length=32",
    ]
    return load_suite(folder / "c.yml", [*given, f"store.uri={folder / 'store'}", *changes])


def test_it_learns_and_its_figures_can_be_had_again_from_the_scores(ran: tuple) -> None:
    main, result, _ = ran
    (found,) = result.members[0].outcomes
    (task,) = result.members[0].resolved.tasks
    assert task.main_metric == main
    again = task_figures(task, found.test.tasks[task.name])
    assert found.metrics.tasks[task.name].as_dict() == {**again, "support": PARTS["test"]}
    assert again[main] > 0.6
    assert found.metrics.plan.as_dict() == {"score": again[main]}


def test_runs_hold_figures_by_name_and_one_score(ran: tuple) -> None:
    main, result, tracker = ran
    (task,) = result.members[0].resolved.task_names
    for run in tracker.runs.values():
        assert run.status == "FINISHED"
        keys = {point.key for point in run.points}
        if run.spec.kind in ("fold", "suite member"):
            assert {"test/score", "val/score", f"test.tasks.{main}/{task}", "train/loss"} <= keys
            assert f"val.tasks.{main}/{task}" in keys
        assert not {"test/f1_macro", "val/f1_macro", "val/average_precision_macro"} & keys
        assert not any("threshold" in key or key.startswith("val.heads.") for key in keys)


def test_no_point_stands_twice(ran: tuple) -> None:
    _, _, tracker = ran
    for run in tracker.runs.values():
        places = [(point.key, point.step) for point in run.points]
        assert len(places) == len(set(places))


def test_pages_name_the_figure_and_its_documents(ran: tuple) -> None:
    main, result, tracker = ran
    assert result.header[:2] == ("run", "score")
    parent = next(run for run in tracker.runs.values() if run.spec.kind == "suite member")
    fold = next(run for run in tracker.runs.values() if run.spec.kind == "fold")
    assert "**Test score" in parent.description
    assert "test score **" in fold.description
    assert "threshold" not in fold.description
    assert "report/classification_report.txt" not in fold.files
    columns = json.loads(parent.files["report/per_task.json"])["columns"]
    assert columns[:4] == ["task", "judged_by", "value", "value_std"]
    assert main not in columns


def test_a_kept_model_is_chosen_by_macro_f1_or_the_main_metric() -> None:
    yes, number = Task("a"), Task("s", "regression", main_metric="pearson")
    assert validation_title([yes, Task("b")]) == "macro F1"
    assert validation_title([number]) == "Pearson"
    assert validation_title([yes, number]) == "main metric"


def test_a_second_run_trains_nothing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    suite = suite_of(tmp_path, conll(tmp_path / "data"), "training.epochs=1")
    first = run_suite(suite, ignore, MemoryTracker())
    watcher = Watcher()
    second = run_suite(suite, watcher, MemoryTracker())
    assert watcher.trained == []
    assert second.rows == first.rows


def test_groups_by_labels_need_labels(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    changes = ("matrix.architecture=[gmtl]", "grouping.features=label_count", "grouping.k=1")
    suite = suite_of(tmp_path, conll(tmp_path / "data"), *changes)
    with pytest.raises(GroupingError, match="needs yes/no labels"):
        run_suite(suite, ignore, MemoryTracker())


def test_how_mentions_are_shown_makes_other_units(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    name = chemprot(tmp_path / "data")
    keys = set()
    for shown in ("dummy", "markers", "original"):
        suite = suite_of(tmp_path, name, "training.epochs=1", f"data.mentions={shown}")
        result = run_suite(suite, ignore, MemoryTracker())
        keys |= {job.unit.key for member in result.members for job in member.resolved.jobs}
    assert len(keys) == 3


class TestSeveralCorpora:
    """Three kinds and three sources in one config."""

    @pytest.fixture(scope="class")
    def mixed(self, tmp_path_factory: pytest.TempPathFactory) -> tuple[SuiteResult, MemoryTracker]:
        tracker = MemoryTracker()
        return run_suite(sources_of(tmp_path_factory.mktemp("mixed")), ignore, tracker), tracker

    def test_one_model_or_one_for_each_on_the_same_documents(self, mixed: tuple) -> None:
        result, tracker = mixed
        stl, mtl = (member.resolved for member in result.members)
        assert [len(list(each.jobs)) for each in (stl, mtl)] == [3, 1]
        assert stl.data == mtl.data
        (whole,) = mtl.jobs
        assert sum(job.documents for job in stl.jobs) == whole.documents
        (epoch, *_) = result.members[1].outcomes[0].records[0].epochs
        assert 2 * epoch.documents == whole.documents
        assert len(epoch.heads) == 3
        assert {run.status for run in tracker.runs.values()} == {"FINISHED"}
        assert result.header[:3] == ("run", "score", "training s")

    def test_the_score_is_the_mean_over_the_sources(self, mixed: tuple) -> None:
        for member in mixed[0].members:
            (found,) = member.outcomes
            mains = [found.metrics.tasks[task.name].main for task in member.resolved.tasks]
            assert found.metrics.plan.main == pytest.approx(np.mean(mains))
            masks = [found.test.tasks[name].mask for name in member.resolved.task_names]
            assert np.sum(masks, axis=0).tolist() == [1] * len(found.test.ids)

    def test_tags_and_titles_name_all_corpora(self, mixed: tuple) -> None:
        _, tracker = mixed
        run = next(run for run in tracker.runs.values() if run.spec.kind == "suite member")
        assert run.tags["mtlv.dataset"] == "conll + biosses + chemprot"

    def test_data_check_tells_of_each_corpus(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        suite = sources_of(tmp_path)
        assert cli.main(["data", "check", str(suite.path), "encoder=tiny"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[1] for line in lines if line.startswith("corpus ")] == list(CORPORA)

    def test_the_list_of_tasks_says_how_each_is_judged(self, mixed: tuple) -> None:
        result, tracker = mixed
        known = {task.name: task for task in result.members[0].resolved.tasks}
        run = next(run for run in tracker.runs.values() if run.spec.kind == "fold")
        held = json.loads(run.files["tasks.json"])
        documents = {each["source"]: each["documents"] for each in held["tasks"].values()}
        assert len(documents) > 1
        assert sum(documents.values()) == held["documents"], "each source's test documents, not those of all"
        for each in held["tasks"].values():
            task = known[each["name"]]
            assert (each["kind"], each["main_metric"], each["source"]) == (
                task.kind,
                task.main_metric,
                task.source,
            )
            assert (tuple(each["classes"]), tuple(each["negative"])) == (task.classes, task.negative)

    def test_a_corpus_twice_is_refused(self, tmp_path: Path) -> None:
        suite = sources_of(tmp_path, "conll", "conll")
        with pytest.raises(ConfigError, match=r"a task .*twice in `data\.sources`"):
            run_suite(suite, ignore, MemoryTracker())

    @pytest.mark.parametrize("draw", ["uniform", "temperature", "rounds"])
    def test_other_draws_train_other_units(self, draw: str, tmp_path: Path) -> None:
        suite = sources_of(tmp_path, changes=(f"training.draw={draw}", "matrix.architecture=[mtl]"))
        result = run_suite(suite, ignore, MemoryTracker())
        assert result.failed == ()
        (record,) = result.members[0].outcomes[0].records
        first = record.epochs[0]
        assert first.documents > 0
        if draw == "rounds":  # each step has every head once
            assert first.loss == pytest.approx(sum(first.heads.values()), rel=1e-5)


def test_ready_views_of_members_with_macro_f1_and_with_a_score_show_both() -> None:
    known = {"mtl": (Task("a"),), "stl": (Task("s", "regression", main_metric="pearson"),)}
    members = [
        SimpleNamespace(
            uid=f"u-{name}",
            tasks=tasks,
            children=(),
            settings=SimpleNamespace(architecture=SimpleNamespace(name=name)),
        )
        for name, tasks in known.items()
    ]
    for chosen, baseline in ((members, "u-stl"), (members[:1], "u-mtl")):
        views = {view.name: view for view in ready_views(chosen)}  # type: ignore[arg-type]
        (differences,) = views["Compare"].sections["What differs"]
        assert differences.keys == (baseline,), "one model per task, or else the first member"
    table, compared = (view for view in ready_views(members) if view.name in ("Runs", "Compare"))  # type: ignore[arg-type]
    assert {"metrics.test/f1_macro", "metrics.test/score"} <= set(table.columns)
    bars = {key for chart in compared.sections["Test"] for key in chart.keys}
    assert {"test/f1_macro", "test/f1_micro", "test/score"} <= bars


def test_ready_views_show_the_figures_that_members_are_judged_by(ran: tuple, tmp_path: Path) -> None:
    main, result, _ = ran
    resolved = [member.resolved for member in result.members]
    views = {view.name: view for view in ready_views(resolved)}
    (task,) = result.members[0].resolved.task_names
    assert "metrics.test/score" in views["Runs"].columns
    assert f"metrics.test.tasks.{main}/{task}" in views["Tasks"].columns
    keys = {
        key for view in views.values() for charts in view.sections.values() for c in charts for key in c.keys
    }
    assert {"test/score", "val/score", f"val.tasks.{main}/{task}"} <= keys
    assert not any(
        "f1_macro" in key and not key.startswith("val.heads") for key in keys if main != "f1_macro"
    )
