"""Views are the tags that MLflow's page reads: their envelope, their state, their limits."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from mtlv.tracking import Chart, View
from mtlv.tracking.mlflow_views import MAX_TAG_LETTERS, reads_views, view_state, view_tags

VIEW = View(
    "Heads",
    "suite member",
    ("tags.mtlv.architecture", "params.k", "metrics.test/f1_macro"),
    {
        "First": (
            Chart("line", ("val.heads.f1_macro/a", "val.heads.f1_macro/b")),
            Chart("bar", ("test/f1",)),
        ),
        "Second": (
            Chart("scatter", ("params.k", "test/f1")),
            Chart("image", ("pictures/elbow",)),
            Chart("difference", ("u1",)),
        ),
    },
    ("train", "val"),
    "tags.`mtlv.grouping` != 'none'",
)


def unpacked(tag: str) -> dict:
    """As the page does it: base64 after `deflate;`, then zlib."""
    assert tag.startswith("deflate;")
    return json.loads(zlib.decompress(base64.b64decode(tag.removeprefix("deflate;"))))


def test_the_envelope_has_what_the_page_demands() -> None:
    (key, text), *_ = view_tags((VIEW,), str).items()
    assert key == "mlflow.sharedViewState.mtlv-heads"
    envelope = json.loads(text)
    assert envelope["name"] == "Heads"
    assert isinstance(envelope["createdAt"], int)
    assert isinstance(envelope["updatedAt"], int)
    assert unpacked(envelope["state"]) == view_state(VIEW, str)


def test_writing_a_view_again_writes_the_same() -> None:
    assert view_tags((VIEW,), str) == view_tags((VIEW,), str)


def test_charts_get_room_for_their_text() -> None:
    lines, pictures = (Chart("line", ("a/x", "a/y")),), (Chart("image", ("pictures/elbow",)),)
    sections = {"Heads": lines, "Pictures": pictures, "Bars": (Chart("bar", ("x",)),)}
    sections["What differs"] = (Chart("difference", ("u1",)),)
    state = view_state(View("A", sections=sections), str)["compareRunSections"]
    room = {section["name"]: section.get("columns") for section in state}
    assert room == {"Heads": 2, "Pictures": 2, "Bars": 2, "What differs": 1}


def test_the_state_of_a_view() -> None:
    state = view_state(VIEW, str)
    assert state["searchFilter"] == "tags.`mtlv.kind` = 'suite member' and tags.`mtlv.grouping` != 'none'"
    assert state["selectedColumns"] == ["tags.`mtlv.architecture`", "params.`k`", "metrics.`test/f1_macro`"]
    sections = state["compareRunSections"]
    assert [(s["name"], s["display"]) for s in sections] == [
        ("First", True),
        ("Second", True),
        ("train", False),
        ("val", False),
    ]
    first, second = sections[0]["uuid"], sections[1]["uuid"]
    charts = state["compareRunCharts"]
    assert [(c["type"], c["metricSectionId"]) for c in charts] == [
        ("LINE", first),
        ("BAR", first),
        ("SCATTER", second),
        ("IMAGE", second),
        ("DIFFERENCE", second),
    ]
    assert charts[0]["selectedMetricKeys"] == ["val.heads.f1_macro/a", "val.heads.f1_macro/b"]
    assert charts[2]["xaxis"] == {"key": "k", "type": "PARAM"}
    assert charts[2]["yaxis"] == {"key": "test/f1", "type": "METRIC"}
    assert charts[3]["imageKeys"] == ["pictures/elbow"]
    assert len({chart["uuid"] for chart in charts}) == len(charts)


def test_a_view_of_all_runs_filters_none() -> None:
    assert view_state(View("Runs"), str)["searchFilter"] == ""


def test_a_view_is_sorted_by_its_best_run_or_the_newest() -> None:
    for view, key in (
        (View("A", best="metrics.test/f1"), "metrics.`test/f1`"),
        (View("A"), "attributes.start_time"),
    ):
        state = view_state(view, str)
        assert (state["orderByKey"], state["orderByAsc"]) == (key, False)


def test_differences_are_from_a_run_with_the_id_of_its_uid() -> None:
    view = View("A", sections={"What differs": (Chart("difference", ("u1",)),)})
    (chart,) = view_state(view, {"u1": "r1"}.get)["compareRunCharts"]
    assert chart["baselineColumnUuid"] == "r1"


def test_a_view_that_no_tag_can_hold_is_left_out() -> None:
    import random

    rng = random.Random(0)
    keys = tuple("".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=60)) for _ in range(1000))
    huge = View("Huge", sections={"All": (Chart("line", keys),)})
    tags = view_tags((huge, VIEW), str)
    assert list(tags) == ["mlflow.sharedViewState.mtlv-heads"]
    assert all(len(text) <= MAX_TAG_LETTERS for text in tags.values())


@pytest.mark.parametrize(
    ("release", "read"),
    [("3.17.2", True), ("3.15.0", True), ("4.0", True), ("3.9.1", False), ("2.22.0", False), ("", False)],
)
def test_only_releases_that_read_views_get_them(release: str, read: bool) -> None:
    assert reads_views(release) is read
