"""The report of one run: a single HTML page without scripts, network access or other files.

All text from data, settings or users is escaped; none of it can become markup.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from mtlv.formatting import many
from mtlv.reporting.metric_titles import titled
from mtlv.reporting.suite_table import COLUMNS, Row, shown, used

PICTURES = 3_500_000  # maximum bytes of all figures; with base64 the page stays below 5 MB
STABLE = 0.5  # adjusted Rand index below which a grouping is reported as unstable
WORDS = {"names": "text"}  # columns of text, left-aligned


@dataclass(frozen=True)
class TaskLine:
    """Metrics of one task: means over the run's children."""

    name: str
    support: float  # number of documents counted for `main`
    main: float
    others: Mapping[str, float]  # further metrics by name
    judged_by: str = "f1"  # name of the main metric
    counted: str = "positive"  # description of these documents
    main_std: float | None = None  # standard deviation of `main`; None for one child
    group: str = ""  # number of its group


@dataclass(frozen=True)
class ReportFigure:
    """A PNG to embed in the page."""

    title: str
    path: Path
    caption: str = ""


@dataclass(frozen=True)
class ReportInput:
    """Content of a report."""

    title: str  # such as `gmtl minilm on openi`
    architecture: str
    encoder: str
    dataset: str
    tasks: Sequence[TaskLine]
    rows: Sequence[Row]  # the run's row of the suite's table, followed by others for comparison
    # documents per part (`train`, `validation`, `test`) of one fold
    documents: Mapping[str, int] = field(default_factory=dict)
    generated: bool = False  # whether the documents are generated, not real
    thresholds: bool = True  # whether some tasks have thresholds
    folds: int = 1
    seeds: int = 1
    groups: Sequence[Sequence[str]] = ()  # task names of each group; empty if the architecture has no groups
    groups_reason: str = ""  # reason for k
    # adjusted Rand index to the same grouping with one setting changed
    stability: Mapping[str, float] = field(default_factory=dict)
    pictures: Sequence[ReportFigure] = ()
    settings: Mapping[str, object] = field(default_factory=dict)  # relevant settings by dotted key
    warnings: Sequence[str] = ()  # warnings, shown first
    versions: Mapping[str, str] = field(default_factory=dict)  # versions of packages
    machine: Mapping[str, object] = field(default_factory=dict)  # properties of the machine by name
    created: str = ""  # date as text


def report_html(run: ReportInput) -> str:
    """Return the page as text.

    Raises:
        OSError: a figure cannot be read.
    """
    parts = [
        _lead(run),
        _warnings(run),
        _headline(run),
        _section("Measured", _measured(run)),
        _section("Groups", _groups(run)),
        _section("Tasks", _tasks(run)),
        _section("Pictures", _pictures(run.pictures)),
        _section("Settings", _pairs(run.settings)),
        _section("Versions and machine", _pairs({**run.versions, **run.machine})),
        f"<footer>Made by mtlv{' on ' + escape(run.created) if run.created else ''}.</footer>",
    ]
    template = Template(files("mtlv.reporting").joinpath("report.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(run.title), body="\n".join(filter(None, parts)))


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{title}</h2>\n{body}\n</section>" if body else ""


def _lead(run: ReportInput) -> str:
    """Return a sentence that describes the run."""
    corpus = f"the generated corpus {run.dataset}" if run.generated else run.dataset
    text = f"{run.architecture[:1].upper()}{run.architecture[1:]}, with the encoder {run.encoder}, "
    text += f"on {many(len(run.tasks), 'task')} of {corpus}"
    if run.documents:
        counts = [f"{count:,} {part}" for part, count in run.documents.items()]
        text += f" ({', '.join(counts)} documents)"
    children = [f"{n} {what}" for n, what in ((run.folds, "folds"), (run.seeds, "seeds")) if n > 1]
    text += f", over {' x '.join(children)}." if children else ", one fold and one seed."
    return f'<p class="lead">{escape(text)}</p>'


def _warnings(run: ReportInput) -> str:
    told = list(run.warnings)
    if run.generated:
        told.insert(0, "The documents are generated: these metrics say nothing about real reports.")
    low = {name: value for name, value in run.stability.items() if value < STABLE}
    if low:
        changes = ", ".join(f"{name} ({value:.2f})" for name, value in low.items())
        told.append(f"The grouping is not stable when one setting changes: {changes}.")
    lines = "".join(f"<p>{escape(line)}</p>" for line in told)
    return f'<div class="warnings" role="note">{lines}</div>' if lines else ""


def _headline(run: ReportInput) -> str:
    """Return the run's own metrics (the first row) in large type."""
    if not run.rows:
        return ""
    cells = [(column, run.rows[0].cells[column.key]) for column in COLUMNS]
    boxes = [
        f'<div class="figure"><b>{escape(shown(cell, column).split(" ± ")[0])}</b>'
        f"<span>{escape(column.title)}</span></div>"
        for column, cell in cells
        if cell.n
    ]
    return f'<div class="figures">{"".join(boxes)}</div>'


def _measured(run: ReportInput) -> str:
    if not run.rows:
        return ""
    body, columns = [], used(run.rows)
    for row in run.rows:
        cells = [(shown(row.cells[c.key], c), "best" if row.cells[c.key].best else "") for c in columns]
        body.append([(row.name, "text"), *cells])
    spread = any(cell.sd is not None for row in run.rows for cell in row.cells.values())
    note = "On the test set."
    if run.thresholds:
        note += " Thresholds were fitted only on validation documents."
    note += " Mean ± standard deviation over the children." if spread else ""
    return f"<p>{note}</p>" + _table(["run", *(column.title for column in columns)], body)


def _groups(run: ReportInput) -> str:
    if not run.groups:
        return ""
    body = [
        [(str(number), ""), (str(len(names)), ""), (", ".join(names), "text")]
        for number, names in enumerate(run.groups, 1)
    ]
    text = f"<p>{escape(run.groups_reason)}</p>" if run.groups_reason else ""
    text += _table(["group", "tasks", "names"], body)
    if run.stability:
        told = "Adjusted Rand index to the same grouping with one setting changed (1: the same, 0: chance):"
        pairs = ", ".join(f"{name} {value:.2f}" for name, value in run.stability.items())
        text += f"<p>{told} {escape(pairs)}.</p>"
    return text


def _tasks(run: ReportInput) -> str:
    """Return a table for each set of tasks with the same metrics."""
    grouped = any(task.group for task in run.tasks)
    alike: dict[tuple[str, ...], list[TaskLine]] = {}
    for task in sorted(run.tasks, key=lambda task: -task.support):
        alike.setdefault((task.counted, task.judged_by, *task.others), []).append(task)
    tables = []
    for (counted, *figures), tasks in alike.items():
        main, *others = map(titled, figures)
        titles = ["task", *(["group"] if grouped else []), counted, main, "", *others]
        tables.append(_table(titles, [_task_cells(task, grouped) for task in tasks]))
    return "\n".join(tables)


def _task_cells(task: TaskLine, grouped: bool) -> list[tuple[str, str]]:
    main = f"{task.main:.3f}" + ("" if task.main_std is None else f" ± {task.main_std:.3f}")
    figures = [(f"{value:.3f}", "") for value in task.others.values()]
    group = [(task.group, "")] if grouped else []
    return [
        (task.name, "text"),
        *group,
        (f"{task.support:g}", ""),
        (main, ""),
        (f"{task.main:.4f}", "bar"),
        *figures,
    ]


def _table(titles: Iterable[str], rows: Iterable[Sequence[tuple[str, str]]]) -> str:
    """Return a table of (text, class) cells; the class `bar` shows the number as a bar."""
    head = "".join(f'<th class="{WORDS.get(title, "")}">{escape(title)}</th>' for title in titles)
    body = "\n".join("<tr>" + "".join(_cell(*cell) for cell in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def _cell(text: str, kind: str) -> str:
    if kind == "bar":
        return f'<td class="bar"><i style="width:{min(1.0, max(0.0, float(text))):.1%}"></i></td>'
    mean, sign, spread = (text, "", "") if kind == "text" else text.partition(" ± ")
    inner = escape(mean) + (f' <span class="sd">± {escape(spread)}</span>' if sign else "")
    return f'<td class="{kind}">{inner}</td>' if kind else f"<td>{inner}</td>"


def _pairs(values: Mapping[str, object]) -> str:
    rows = "\n".join(f"<tr><td>{escape(k)}</td><td>{escape(str(v))}</td></tr>" for k, v in values.items())
    return (
        f'<div class="scroll"><table class="settings"><tbody>\n{rows}\n</tbody></table></div>' if rows else ""
    )


def _pictures(pictures: Sequence[ReportFigure]) -> str:
    """Embed the figures; one that would make the page too large is only named."""
    left, out = PICTURES, []
    for picture in pictures:
        data = picture.path.read_bytes()
        title, caption = escape(picture.title), escape(picture.caption or picture.title)
        if len(data) > left:
            out.append(
                f"<p>{title}: see <code>{escape(picture.path.name)}</code>, too large for this page.</p>"
            )
            continue
        left -= len(data)
        source = f"data:image/png;base64,{base64.b64encode(data).decode()}"
        out.append(f'<figure><img alt="{title}" src="{source}"><figcaption>{caption}</figcaption></figure>')
    return "\n".join(out)
