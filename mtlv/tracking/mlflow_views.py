"""Saved views of MLflow's UI: tags of the experiment, since 3.15.

`mlflow.sharedViewState.ID` contains `{"name", "createdAt", "updatedAt", "state"}`; the state is what the UI
itself saves, compressed. The format is not documented, so views are only written for releases that are known
to read it; these ignore unknown fields, and do not show views that they cannot read.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable

from mtlv.tracking.views import Chart, View

FIRST_RELEASE = (3, 15)  # the first release with saved views
PREFIX = "mlflow.sharedViewState."
MAX_TAG_LETTERS = 20_000  # characters of an experiment's tag
FIXED_TIME_MS = 1_735_689_600_000  # 2025-01-01; a fixed time, so that writing a view again changes nothing
MAX_RUNS = 20  # maximum runs in a chart
NAME = "attributes.`Run Name`"


def view_tags(views: Iterable[View], run_id: Callable[[str], str]) -> dict[str, str]:
    """Return a tag of the experiment for each view; views that are too large for a tag are left out.

    `run_id` returns the id of a run by its uid, empty if there is none.
    """
    tags = {f"{PREFIX}{view.id}": _envelope(view, run_id) for view in views}
    return {key: text for key, text in tags.items() if len(text) <= MAX_TAG_LETTERS}


def reads_views(version: str) -> bool:
    """Whether a server of this MLflow release shows saved views."""
    numbers = version.split(".")[:2]
    return (
        len(numbers) == 2 and all(n.isdigit() for n in numbers) and tuple(map(int, numbers)) >= FIRST_RELEASE
    )


def _envelope(view: View, run_id: Callable[[str], str]) -> str:
    state = json.dumps(view_state(view, run_id), ensure_ascii=False, separators=(",", ":"))
    packed = "deflate;" + base64.b64encode(zlib.compress(state.encode(), 9)).decode()
    return json.dumps(
        {"name": view.name, "createdAt": FIXED_TIME_MS, "updatedAt": FIXED_TIME_MS, "state": packed}
    )


def view_state(view: View, run_id: Callable[[str], str]) -> dict[str, object]:
    """Return the state in the form that the UI saves; see `view_tags`."""
    sections = {name: f"{view.id}-{number}" for number, name in enumerate((*view.sections, *view.closed))}
    charts = [
        _chart(chart, sections[name], f"{sections[name]}-{number}", run_id)
        for name, section in view.sections.items()
        for number, chart in enumerate(section)
    ]
    kind = f"tags.`mtlv.kind` = '{view.kind}'" if view.kind else ""
    return {
        "searchFilter": " and ".join(filter(None, [kind, view.only])),
        "orderByKey": _column(view.best) if view.best else "attributes.start_time",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": [_column(name) for name in view.columns],
        "columnOrder": [NAME, *map(_column, view.columns)],
        "columnWidths": {NAME: 340}  # in pixels, by the title
        | {_column(name): min(180, 40 + 8 * len(name.partition(".")[2])) for name in view.columns},
        "runsHiddenMode": "FIRST_20_RUNS",
        "compareRunCharts": charts,
        "compareRunSections": [
            {"uuid": identity, "name": name, "display": name in view.sections, "deleted": False}
            | {"isReordered": name in view.sections, **_room(view.sections.get(name, ()))}
            for name, identity in sections.items()
        ],
        "isAccordionReordered": bool(view.sections),  # otherwise the UI sorts the sections by name
        "hideEmptyCharts": True,
        "groupBy": None,
    }


def _column(name: str) -> str:
    """Return a column such as `params.k` in the form of the UI."""
    kind, _, key = name.partition(".")
    return f"{kind}.`{key}`"


def _room(charts: tuple[Chart, ...]) -> dict[str, int]:
    """Return charts per row and their height in pixels: MLflow's 3 and 360 would cut off titles."""
    if any(chart.kind == "difference" for chart in charts):
        return {"columns": 1, "cardHeight": 600}
    if any(chart.kind == "image" or (chart.kind == "line" and len(chart.keys) > 1) for chart in charts):
        return {"columns": 2, "cardHeight": 480}
    return {"columns": 2, "cardHeight": 360}


def _chart(chart: Chart, section: str, identity: str, run_id: Callable[[str], str]) -> dict[str, object]:
    specific = {
        "line": _line,
        "bar": lambda keys: {"metricKey": keys[0], "displayName": keys[0]},
        "scatter": lambda keys: {"xaxis": _axis(keys[0]), "yaxis": _axis(keys[1])},
        "image": lambda keys: {"imageKeys": list(keys), "step": 0, "showRunParams": False},
        "difference": lambda keys: {
            "compareGroups": ["Model metrics", "Parameters", "Tags"],
            "chartName": "What differs",
            "showChangeFromBaseline": True,
            "showDifferencesOnly": True,
            "baselineColumnUuid": run_id(keys[0]),
        },
    }[chart.kind](chart.keys)
    shared = {"type": chart.kind.upper(), "uuid": identity, "metricSectionId": section, "deleted": False}
    return {**shared, "runsCountToCompare": MAX_RUNS, "isGenerated": False, **specific}


def _line(keys: tuple[str, ...]) -> dict[str, object]:
    return {
        "metricKey": keys[0],
        "selectedMetricKeys": list(keys),
        "lineSmoothness": 0,
        "xAxisScaleType": "linear",
        "scaleType": "linear",
        "range": {},
        "xAxisKey": "step",
        "selectedXAxisMetricKey": "",
        "yAxisKey": "metric",
        "yAxisExpressions": [],
        "ignoreOutliers": False,
        "useGlobalXaxisKey": True,
        "useGlobalLineSmoothing": True,
    }


def _axis(key: str) -> dict[str, str]:
    if key.startswith("params."):
        return {"key": key.removeprefix("params."), "type": "PARAM"}
    return {"key": key, "type": "METRIC"}
