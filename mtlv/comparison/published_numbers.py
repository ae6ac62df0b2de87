"""Published numbers from a CSV file, each matched with a run."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from mtlv.errors import DataError, MtlvError, nearest
from mtlv.evaluation.compared_runs import ComparedRun, Published
from mtlv.evaluation.metrics import SHOWN_OF_TASKS, PlanMetrics

NEEDED = ("row", "metric", "value")
ALSO = ("spread", "note")
TAGS = ("run", "architecture", "encoder", "dataset")
OF_TASKS = ("f1", *SHOWN_OF_TASKS, "support_share")
OF_KINDS = (  # metrics of tasks that are not yes/no, and of plans with some of them
    "score",
    *("accuracy", "f1_micro", "f1_macro", "f1_micro_positive"),
    *("pearson", "spearman"),
    *("entity_f1", "entity_precision", "entity_recall", "word_f1_macro"),
)
FRACTIONS = frozenset({field.name for field in fields(PlanMetrics)} | {*OF_TASKS, *OF_KINDS})
MOST_ERRORS = 50  # wrong lines in an error
TEST = "p_"  # before the p-value of a test
BEFORE = ("", "test/", "time/", "cost/")  # possible prefixes of a tracked metric's name


def read_expected(path: Path, runs: Sequence[ComparedRun]) -> tuple[Published, ...]:
    """Read published numbers from a CSV file with a header, in UTF-8.

    Columns: `row` (its name in the paper), `metric`, `value`; `spread` and `note` if there are any. All
    others select the run: `run` (its name), `architecture`, `encoder`, `dataset`, or the key of a setting
    such as `grouping.k`. An empty cell there matches any run. A number that matches no run, or several, has
    no measured value, and its note says so.

    A metric is a test metric (`f1_macro`, `score`), of a task (`f1/TASK`, `pearson/TASK`), or of the
    cost (`train_seconds`: of one fold, in seconds). Scores and p-values (`p_wilcoxon/f1_macro`) are fractions
    in [0, 1]: divide percentages of a paper by 100.

    Raises:
        DataError: the file cannot be read, a column is missing or unknown, or a value is not a number or not
            a fraction; reports all wrong lines at once, as `FILE:LINE`.
    """
    lines = _lines(path)
    if not lines:
        raise DataError(f"`{path}` is empty", allowed=f"a header with the columns {', '.join(NEEDED)}")
    header = [name.strip() for name in lines[0][1]]
    _check_header(path, header, runs)
    numbers: list[Published] = []
    errors: list[MtlvError] = []
    for number, cells in lines[1:]:
        try:
            numbers.append(_published(f"{path}:{number}", header, cells, runs))
        except DataError as error:
            errors.append(error)
    if errors:
        if len(errors) > MOST_ERRORS:
            errors[MOST_ERRORS:] = [DataError(f"`{path}`: and {len(errors) - MOST_ERRORS} more wrong lines")]
        raise DataError.all_of(errors)
    return tuple(numbers)


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Return rows that are not empty, with the number of their last line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            return [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"`{path}` cannot be read: {reason}", then="give a CSV file in UTF-8") from None


def _check_header(path: Path, header: Sequence[str], runs: Sequence[ComparedRun]) -> None:
    missing = [name for name in NEEDED if name not in header]
    if missing:
        raise DataError(
            f"`{path}` has no column {', '.join(f'`{name}`' for name in missing)}",
            got=", ".join(header),
            allowed=f"a header with {', '.join(NEEDED)}",
        )
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled:
        raise DataError(f"`{path}` has a duplicate column", got=", ".join(doubled))
    known = {*NEEDED, *ALSO, *TAGS, *(key for run in runs for key in run.params)}
    for name in header:
        if "." not in name and name not in known:  # a key with a dot may be a setting that no run here has
            raise DataError(
                f"`{path}` has an unknown column",
                got=name or "a column without a name",
                allowed=f"{', '.join((*NEEDED, *ALSO, *TAGS))}, or the key of a setting",
                then=nearest(name, known),
            )


def _published(
    place: str, header: Sequence[str], cells: Sequence[str], runs: Sequence[ComparedRun]
) -> Published:
    if len(cells) != len(header):
        raise DataError(f"`{place}` has {len(cells)} cells", allowed=f"{len(header)}, as in the header")
    row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
    for name in ("row", "metric"):
        if not row[name]:
            raise DataError(f"`{place}`: `{name}` is empty")
    share = is_fraction(row["metric"])
    value = _number(place, "value", row["value"], share=share)
    spread = _number(place, "spread", row["spread"], share=share) if row.get("spread") else None
    selection = {key: cell for key, cell in row.items() if key not in (*NEEDED, *ALSO) and cell}
    fitting = [run for run in runs if fits(run, selection)]
    if len(fitting) == 1:
        return Published(row["row"], row["metric"], value, spread, fitting[0].key, row.get("note", ""))
    why = f"not measured: {_why(len(fitting), selection, runs)}"
    note = "; ".join(part for part in (row.get("note", ""), why) if part)
    return Published(row["row"], row["metric"], value, spread, None, note)


def _why(fitting: int, selection: Mapping[str, str], runs: Sequence[ComparedRun]) -> str:
    if fitting:
        return f"{fitting} runs match"
    unknown = [key for key in selection if key not in TAGS and not any(key in run.params for run in runs)]
    return f"no run has the setting `{unknown[0]}`" if unknown else "no run matches"


def _number(place: str, column: str, text: str, *, share: bool) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"`{place}`: `{column}` is not a number", got=text or "nothing")
    if share and not 0 <= value <= 1:
        raise DataError(
            f"`{place}`: `{column}` is not a fraction",
            got=text,
            allowed="0 to 1",
            then="divide percentages by 100",
        )
    return value


def is_fraction(metric: str) -> bool:
    """Whether the metric lies in [0, 1]: scores, shares and p-values do; counts and times do not."""
    figure = metric.removeprefix("test/").partition("/")[0]
    return figure in FRACTIONS or figure.startswith(TEST)


def metric_values(run: ComparedRun, metric: str) -> list[float]:
    """Return the values of a metric as named in the CSV file, one per child that has it."""
    for before in BEFORE:
        if run.values(before + metric):
            return run.values(before + metric)
    figure, _, task = metric.partition("/")
    return run.of_task(task, figure)


def fits(run: ComparedRun, selection: Mapping[str, str]) -> bool:
    """Whether the run has all wanted tags and settings; numbers are compared as numbers."""
    tags = (run.name, run.architecture, run.encoder, run.dataset)
    values = {**run.params, **dict(zip(TAGS, tags, strict=True))}
    return all(key in values and _same(values[key], value) for key, value in selection.items())


def _same(left: str, right: str) -> bool:
    if left == right:
        return True
    try:
        return float(left) == float(right)
    except ValueError:
        return False
