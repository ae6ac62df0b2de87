"""What a suite writes for people who open its runs: words, columns, views, data sets, tables, pictures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from memory_tracker import MemoryRun, MemoryTracker

from mtlv.environment import processor
from mtlv.events import ignore
from mtlv.figures.palette import RUNS
from mtlv.formatting import plain
from mtlv.reporting import descriptions, markdown
from mtlv.reporting.markdown import LONGEST
from mtlv.reporting.mlflow_views import RUNNING, ready_views
from mtlv.suite.run import run_suite
from mtlv.tracking import View
from mtlv.tracking.mlflow_pages import with_links

TASKS = ("heart", "lung", "bone")


@dataclass(frozen=True)
class Made:
    """A suite that ran, seen from the tracker, and the views that it made."""

    tracker: MemoryTracker
    views: tuple[View, ...]

    def of_kind(self, kind: str) -> list[MemoryRun]:
        return [run for run in self.tracker.runs.values() if run.spec.kind == kind]

    def member(self, architecture: str) -> MemoryRun:
        found = [r for r in self.of_kind("suite member") if r.tags["mtlv.architecture"] == architecture]
        return found[0]

    def children(self, parent: MemoryRun) -> list[MemoryRun]:
        return [run for run in self.tracker.runs.values() if run.spec.parent == parent.spec.uid]


@pytest.fixture(scope="module")
def made(writers: tuple[Callable, Callable], tmp_path_factory: pytest.TempPathFactory) -> Made:
    """stl and gmtl with 2 seeds on a table of 60 documents."""
    write_table, write_suite = writers
    folder = tmp_path_factory.mktemp("pages")
    tracker = MemoryTracker()
    changes = ("matrix.architecture=[stl, gmtl]", "seed=[0, 1]")
    result = run_suite(write_suite(folder, write_table(folder, "t"), *changes), ignore, tracker)
    return Made(tracker, ready_views([member.resolved for member in result.members]))


def test_parents_say_what_was_found_first_then_what_was_run(made: Made) -> None:
    parent = made.member("gmtl")
    text = parent.description
    macro = parent.last("test/f1_macro")
    assert text.startswith(f"**Test F1 macro {macro:.4f} ± {parent.last('test/f1_macro_std'):.4f}, F1 micro ")
    assert "(mean ± standard deviation over 2 seeds)" in text
    assert "**Grouped multi-task learning** (one model for each group of tasks) of 3 tasks of `table`" in text
    assert "2 models with 2 heads in each of 2 seeds; 2 epochs; documents: 36 train, 12 validation" in text
    assert "**2 groups** by `kmedoids` on `label_description`" in text
    assert "All on one page: the run `comparison of ...`" in text.split("\n\n")[0]
    assert f"| {macro:.4f} ± " in text
    for name in (part.split(")")[0] for part in text.split("](artifact:")[1:]):
        assert name in parent.files, name


def test_children_say_it_shortly(made: Made) -> None:
    for child in made.children(made.member("stl")):
        macro = child.last("test/f1_macro")
        assert child.description.startswith(f"Fold 0, seed {child.params['seed']} of **STL**: test F1 ")
        assert f"**{macro:.4f}**" in child.description
        for name in (part.split(")")[0] for part in child.description.split("](artifact:")[1:]):
            assert any(file == name or file.startswith(f"{name}/") for file in child.files), name


def test_the_comparison_has_the_suites_table_and_tags(made: Made) -> None:
    (run,) = made.of_kind("comparison")
    assert "2 members of a suite on the test part" in run.description
    assert all(plain(parent.spec.name) in run.description for parent in made.of_kind("suite member"))
    assert run.tags["mtlv.dataset"] == "table"
    assert run.tags["mtlv.data_digest"] == made.member("stl").tags["mtlv.data_digest"]
    assert run.tags["mtlv.version"]


def test_descriptions_fit(made: Made) -> None:
    assert all(len(run.description) <= LONGEST for run in made.tracker.runs.values())
    assert markdown.cut(["x" * 9000]).endswith(" …")
    assert len(markdown.cut(["x" * 9000])) == LONGEST


def test_a_long_table_says_what_it_leaves_out() -> None:
    table = "| run |\n| --- |\n" + "| a run of a long sweep |\n" * 1000
    text = markdown.fitting(table)
    assert len(text) < LONGEST
    kept = text.count("long sweep")
    assert text.endswith(f"... and {1000 - kept} more in `comparison.md`")


def test_names_from_data_are_no_markup() -> None:
    text = descriptions._names([f"<b>[{n}](artifact:x)" for n in range(6)])
    assert "<b>" not in text.replace("\\<", "")
    assert with_links(text, "1", "r") == text


def test_names_params_and_colours_tell_runs_apart(made: Made) -> None:
    parents = made.of_kind("suite member")
    assert [run.spec.colour for run in parents] == list(RUNS[:2])
    for parent in parents:
        names = sorted(run.spec.name for run in made.children(parent))
        assert names == [f"fold 0 · seed {seed} · {parent.spec.name}" for seed in (0, 1)]
    grouped = made.member("gmtl")
    assert {run.params["k"] for run in (grouped, *made.children(grouped))} == {"2"}
    assert made.member("stl").params["k"] == str(len(TASKS)), "its models, for charts over k"


def test_parents_have_the_mean_curves_of_their_children(made: Made) -> None:
    for parent in made.of_kind("suite member"):
        children = made.children(parent)
        keys = ["train/loss", "val/f1_macro", "val/f1_micro", "val/average_precision_macro"]
        keys += [f"val.tasks.f1/{task}" for task in TASKS]
        keys += [f"val.heads.f1_macro/{head}" for head in json.loads(parent.files["tasks.json"])["heads"]]
        for key in keys:
            curves = [{p.step: p.value for p in child.history(key)} for child in children]
            for point in parent.history(key):
                assert point.value == pytest.approx(sum(c[point.step] for c in curves) / len(curves))
            assert sorted(p.step for p in parent.history(key)) == [0, 1], key


def test_data_sets_of_parents_and_children(made: Made) -> None:
    digest = made.member("stl").tags["mtlv.data_digest"]
    for parent in made.of_kind("suite member"):
        (whole,) = parent.data.values()
        assert (whole.name, whole.digest, whole.documents, whole.tasks) == ("table", digest, 60, TASKS)
        for child in made.children(parent):
            parts = {part.role: part for part in child.data.values()}
            assert {role: part.documents for role, part in parts.items()} == {
                "training": 36,
                "validation": 12,
                "test": 12,
            }
            assert len({part.name for part in parts.values()}) == 3
    tests = {part.digest for run in made.of_kind("fold") for part in run.data.values() if part.role == "test"}
    assert len(tests) == 1, "all saw the same test documents"


def test_per_task_tables_hold_the_figures(made: Made) -> None:
    for run in (*made.of_kind("suite member"), *made.of_kind("fold")):
        content = json.loads(run.files["report/per_task.json"])
        rows = {row[0]: dict(zip(content["columns"], row, strict=True)) for row in content["data"]}
        assert tuple(rows) == TASKS
        assert content["columns"][1] == "f1", "what MLflow's table compares when it opens"
        for task in TASKS:
            assert rows[task]["f1"] == pytest.approx(run.last(f"test.tasks.f1/{task}"), abs=5e-5)


def test_pictures_stand_in_the_root_and_in_the_grid(made: Made) -> None:
    parent = made.member("gmtl")
    for name in ("elbow", "task_map", "per_task_f1"):
        assert parent.images[f"pictures/{name}"] == parent.files[f"{name}.png"]
    fold = made.children(parent)[0]
    assert "per_task_f1.png" in fold.files
    assert not fold.images, "charts are of members"


def test_views_show_what_is_tracked(made: Made) -> None:
    views = {view.name: view for view in made.tracker.views}
    assert list(views) == ["Runs", "Folds", "Compare", "Tasks", "Heads", "Elbow"]
    links = [f"[{name}]({'view' if view.sections else 'table'}:{view.id})" for name, view in views.items()]
    assert all(link in made.tracker.description for link in links)
    parents = made.of_kind("suite member")
    metrics = {point.key for run in parents for point in run.points}
    for view in views.values():
        for chart in (chart for charts in view.sections.values() for chart in charts):
            if chart.kind == "image":
                assert all(any(key in run.images for run in parents) for key in chart.keys)
            if chart.kind == "difference":
                assert chart.keys == (made.member("stl").spec.uid,), "the others differ from it"
            for key in chart.keys if chart.kind not in ("image", "difference") else ():
                name = key.removeprefix("params.")
                assert name in metrics or any(name in run.params for run in parents), key
        for column in view.columns:
            kind, _, key = column.partition(".")
            runs = parents if view.kind else made.tracker.runs.values()
            held = {"tags": "tags", "params": "params"}.get(kind)
            assert key in metrics or any(key in getattr(run, held) for run in runs if held), column


def test_every_section_that_mlflow_makes_is_known_to_the_views(made: Made) -> None:
    keys = {point.key for run in made.tracker.runs.values() for point in run.points}
    for view in (view for view in made.views if view.sections):
        assert {key.rsplit("/", 1)[0] for key in keys} <= set(view.closed)


def test_views_have_scores_first_and_tags_last(made: Made) -> None:
    for view in made.views:
        kinds = [name.partition(".")[0] for name in view.columns]
        assert kinds == sorted(kinds), view.name  # metrics, params, tags
        assert kinds[0] == "metrics"
        assert kinds[-1] == "tags"


def test_the_members_are_sorted_by_their_score_and_say_it_shortly(made: Made) -> None:
    views = {view.name: view for view in made.tracker.views}
    assert (views["Runs"].kind, views["Runs"].best) == ("suite member", "metrics.test/f1_macro")
    assert (views["Folds"].kind, views["Folds"].best) == ("", ""), "otherwise MLflow does not nest them"
    for run in (*made.of_kind("suite member"), *made.of_kind("fold")):
        spread = run.params.get("fold") is None
        score = f"{run.last('test/f1_macro'):.3f}" + (
            f" ± {run.last('test/f1_macro_std'):.3f}" if spread else ""
        )
        assert (run.tags["mtlv.score"], run.tags["mtlv.state"]) == (score, "done")
        if not spread:
            assert run.tags["mtlv.trained_on"].startswith(f"{processor()} (")
            assert run.last("cost/documents") > 0


def test_charts_of_a_running_suite_are_first_until_it_ends(made: Made) -> None:
    titles = [
        list(next(view for view in views if view.name == "Compare").sections)
        for views in (made.views, made.tracker.views)
    ]
    assert titles[0][0] == titles[1][-1] == RUNNING
    assert sorted(titles[0]) == sorted(titles[1])


def test_the_experiment_links_the_comparison(made: Made) -> None:
    (comparison,) = made.of_kind("comparison")
    link = f"[comparison of 2 runs](page:{comparison.spec.uid})"
    assert link in made.tracker.description.splitlines()[0], "MLflow collapses the other lines"
