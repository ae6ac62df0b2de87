"""A suite whose labels, ids, texts and names want to be markup, code, paths or commands."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
import yaml
from memory_tracker import MemoryTracker
from rich.console import Console

from mtlv.display.suite import Display
from mtlv.errors import TrackingError
from mtlv.formatting import plain
from mtlv.plan.names import ascii_slug, group_name, slug
from mtlv.settings import load_suite
from mtlv.suite.run import run_suite
from mtlv.tracking.checks import check_key, check_name
from mtlv.tracking.mlflow_reader import _quote, _to_stored_run

LABELS = (
    "<script>alert(1)</script>",
    "[click](javascript:alert(1)) ![x](http://evil.example/p.png)",
    "../../../../tmp/out",
    "\x1b[31mred\x1b]0;title\x07\u202e",
    "it's' OR tags.`x` = '",
)
ORIGIN = "https://evil.example www.evil.example"
MEMBER = "# <img src=x onerror=alert(1)> `code` [a](b)\x1b[2J"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[MemoryTracker, Path, str]:
    """The tracker, the folder it ran in, and what a terminal got."""
    folder = tmp_path_factory.mktemp("hostile") / "deep" / "er"
    folder.mkdir(parents=True)
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", *LABELS])
        for n in range(60):
            bears = [int((n >> i) % 2 == i % 2) for i in range(len(LABELS))]
            writer.writerow([f"../<b>{n}", f"{LABELS[n % 5]} {n} {ORIGIN}", *bears])
    config = {
        "experiment": "../<i>x</i>[2J'",  # control characters are refused
        "data": {"name": "table", "path": "t.csv", "columns": {"id": "id", "labels": list(LABELS)}},
        "encoder": "tiny",
        "grouping": {"k": 2, "features": "label_count"},
        "training": {"epochs": 1, "batch_size": 16},
        "store": {"uri": str(folder / "store")},
        "runs": [{"name": MEMBER, "architecture": "gmtl"}],
    }
    (folder / "c.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    tracker, out = MemoryTracker(), io.StringIO()
    with Display(Console(file=out, force_terminal=False, width=200)) as display:
        run_suite(load_suite(folder / "c.yml"), display, tracker)
    return tracker, folder, out.getvalue()


def test_descriptions_hold_no_links_or_tags_of_names(ran: tuple[MemoryTracker, Path, str]) -> None:
    for run in ran[0].runs.values():
        links = re.findall(r"(?<!\\)\]\(([^)]*)\)", run.description)
        assert all(link.startswith("artifact:") for link in links), links
        assert not re.search(r"(?<!\\)<", run.description)
        assert not re.search(r"(?<!\\)://|www\.", run.description.replace("\\:", ""))
        assert run.description.replace("\n", "").isprintable()


def test_keys_and_files_keep_their_places(ran: tuple[MemoryTracker, Path, str]) -> None:
    tracker, folder, _ = ran
    for run in tracker.runs.values():
        for point in run.points:
            check_key(point.key)
        for name in (*run.files, *run.images):
            check_name(name)
    made = {path.name for path in folder.iterdir()}
    assert made == {"t.csv", "c.yml", "store"}
    assert not Path("/tmp/out").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["er"]


def test_a_terminal_is_given_no_orders(ran: tuple[MemoryTracker, Path, str]) -> None:
    said = ran[2]
    assert said
    assert all(line.isprintable() for line in said.splitlines())


@pytest.mark.parametrize("text", [*LABELS, ORIGIN, MEMBER])
def test_names_of_every_kind(text: str) -> None:
    assert not re.search(r"(?<!\\)[<>\[\]`*]|(?<!\\)://|www\.", plain(text))
    for name in (slug(text), ascii_slug(text), group_name([text]), group_name([text, "b"])):
        check_key(f"val.tasks.f1/{name}")
        check_name(f"report/{name}")
        assert "/" not in name
        assert name.isprintable()


@pytest.mark.parametrize("value", ["it's", "x' OR 1=1", "back\\", "\\' or tags.`a` = '"])
def test_filters_take_nothing_that_ends_a_value(value: str) -> None:
    with pytest.raises(TrackingError, match="contains a quote or a backslash"):
        _quote(value)


@pytest.mark.parametrize("run_id", ["../../x", "a/b", "", "x" * 101, "a' or 'b", "a\nb"])
def test_a_run_id_of_a_store_names_no_folder_elsewhere(run_id: str) -> None:
    from mlflow.entities import Run, RunData, RunInfo

    info = RunInfo(run_id, "1", "u", "FINISHED", 0, 0, "active")
    with pytest.raises(TrackingError, match="a run with an invalid id"):
        _to_stored_run(Run(info, RunData()))
