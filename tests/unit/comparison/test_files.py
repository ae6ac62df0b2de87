from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from mtlv.comparison.blocks import (
    Baseline,
    Disagreement,
    DocumentRow,
    FigureBlock,
    Section,
    TableBlock,
    TableColumn,
    TextBlock,
)
from mtlv.comparison.files import own_folder, write_figures, write_page
from mtlv.comparison.page import page_html
from mtlv.evaluation.compared_runs import Comparison
from mtlv.formatting import csv_text

SPEC = {
    "mark": "bar",
    "width": "container",
    "encoding": {"x": {"field": "name"}, "y": {"field": "delta", "type": "quantitative"}},
}


def blocks_of(comparison: Comparison) -> Section:
    rows = [
        {"run": run.key, "name": run.name, "f1": run.values("test/f1_macro")[0]} for run in comparison.runs
    ]
    return Section(
        "one",
        "One",
        "",
        [
            TextBlock("words"),
            TableBlock(
                "runs", "Runs", "", [TableColumn("name", "run", "text"), TableColumn("f1", "F1")], rows
            ),
            FigureBlock("gain", "Gain", "", SPEC, rows, Baseline("f1", ())),
            FigureBlock("broad", "Broad", "", SPEC, rows, wide=True),
            FigureBlock("nothing", "Nothing", "", SPEC, [{"run": "r9", "name": "unknown"}]),
            Disagreement(
                "documents", "Documents", "", {("r0", "r1"): [DocumentRow("d", 0.5, [("t", 0, 1, True)])]}
            ),
        ],
    )


@pytest.fixture(scope="module")
def comparison(comparison_of: Callable[..., Comparison]) -> Comparison:
    return comparison_of(runs=3)


@pytest.fixture(scope="module")
def written(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comparison")
    section = blocks_of(comparison)
    paths = [*write_page(comparison, [section], folder), *write_figures(comparison, [section], folder)]
    assert sorted(paths) == sorted(path for path in folder.rglob("*") if path.is_file())
    return folder


def test_all_files_are_there(written: Path):
    names = sorted(str(path.relative_to(written)) for path in written.rglob("*") if path.is_file())
    pictures = [f"figures/{name}.{kind}" for name in ("broad", "gain") for kind in ("csv", "png", "svg")]
    assert names == ["compare.html", "comparison.json", *pictures, "figures/nothing.csv", "tables/runs.csv"]


def test_a_page_replaces_that_of_the_same_runs_and_tasks_only(written: Path, comparison: Comparison):
    second = written.with_name(f"{written.name}_2")
    assert own_folder(written, comparison) == written
    assert own_folder(written, replace(comparison, tasks=comparison.tasks[1:])) == second
    assert own_folder(written, replace(comparison, runs=comparison.runs[1:])) == second
    shutil.copytree(written, second)
    assert own_folder(written, replace(comparison, runs=comparison.runs[1:])).name == f"{written.name}_3"
    (second / "comparison.json").write_text("{", encoding="utf-8")
    assert own_folder(second, comparison).name == f"{second.name}_2", "it is not a page of these"


def test_pictures_are_drawn(written: Path):
    png = (written / "figures/gain.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    narrow = int.from_bytes(png[16:20], "big") / 2
    wide = int.from_bytes((written / "figures/broad.png").read_bytes()[16:20], "big") / 2
    assert 760 <= narrow <= 800
    assert 1100 <= wide <= 1140
    svg = (written / "figures/gain.svg").read_text()
    assert svg.count('aria-roledescription="bar"') in (0, 3)
    assert "Gain" in svg
    assert "var(--" not in svg


def test_csv_has_every_row_with_all_digits(written: Path, comparison: Comparison):
    for path in ("tables/runs.csv", "figures/gain.csv"):
        rows = list(csv.DictReader(StringIO((written / path).read_text())))
        assert [float(row["f1"]) for row in rows] == [
            run.values("test/f1_macro")[0] for run in comparison.runs
        ]


def test_csv_quotes_what_has_to_be():
    rows = [{"a": 'say "no", then\nleave', "b": None}, {"a": "x", "c": float("nan")}]
    assert csv_text(rows) == 'a,b,c\n"say ""no"", then\nleave",,\nx,,\n'
    assert csv_text([]) == "\n"


def test_json_is_strict_and_has_all_numbers(written: Path, comparison: Comparison):
    def refuse(name: str):
        raise AssertionError(name)

    data = json.loads((written / "comparison.json").read_text(), parse_constant=refuse)
    assert (data["format"], data["baseline"], data["shown"]) == (1, "r0", ["r0", "r1", "r2"])
    for run, read in zip(comparison.runs, data["runs"], strict=True):
        assert read["params"] == dict(run.params)
        for child, of_child in zip(run.children, read["children"], strict=True):
            assert of_child["metrics"] == dict(child.metrics)
            assert of_child["tasks"] == {name: dict(figures) for name, figures in child.tasks.items()}
    gain = data["sections"][0]["blocks"][2]
    assert gain["columns"]["f1"] == [run.values("test/f1_macro")[0] for run in comparison.runs]
    kinds = [block["kind"] for block in data["sections"][0]["blocks"]]
    assert kinds == ["text", "table", "figure", "figure", "figure", "disagreement"]


def test_the_page_is_the_same(written: Path, comparison: Comparison):
    assert (written / "compare.html").read_text() == page_html(comparison, [blocks_of(comparison)])
