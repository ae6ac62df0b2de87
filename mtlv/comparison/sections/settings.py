"""Settings that differ between runs, or those of a single run, and warnings if runs are not comparable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mtlv.comparison.blocks import Block, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.parts import join_with_and, of_run
from mtlv.evaluation.compared_runs import ComparedRun, Comparison
from mtlv.evaluation.pairs import tasks_of
from mtlv.evaluation.tuning import Tried
from mtlv.formatting import many

# These identify where a run is stored and which child it is, or change its speed, not its results.
FOR_SPEED = ("training.cuda_graphs", "training.compile")  # the latter was a setting before
NOT_SETTINGS = ("experiment", "fold", "matrix", "runs", "seed", "store.", "tracking.", *FOR_SPEED)
OF_GROUPING, NO_GROUPING = "grouping.", "none"
MOST_NAMED = 6  # maximum runs of a group named in a warning


def build(comparison: Comparison) -> Section | None:
    """Build the section; None without runs."""
    runs = comparison.runs
    if not runs:
        return None
    tried = [_tried(comparison.tried)] if comparison.tried else []
    if len(runs) == 1:
        intro = "The settings that affect the results. The run's config.yml in the tracker has all of them."
        columns = [TableColumn("setting", "setting", "text"), TableColumn("value", "value", "text")]
        rows = [{"setting": key, "value": value} for key, value in sorted(settings_of(runs[0]).items())]
        table = TableBlock("settings", "All settings", "Settings by dotted key.", columns, rows)
        return Section("settings", "Settings", intro, [*tried, table])
    blocks: list[Block] = [TextBlock(text, "warning") for text in warnings(runs)]
    rows = [settings_of(run) for run in runs]
    trained = [row for row, run in zip(rows, runs, strict=True) if not run.is_imported]
    keys = sorted({key for row in trained for key in row})
    differing = [key for key in keys if _differs(key, trained)]
    blocks.append(TextBlock(_in_words(len(keys) - len(differing), differing)))
    if differing:
        blocks.append(_table(runs, rows, differing))
    blocks += tried
    intro = "Only the settings that differ between the runs, to explain differences in metrics."
    return Section("settings", "What differs", intro, blocks)


def settings_of(run: ComparedRun) -> dict[str, str]:
    """Return the settings that affect the run's metrics; those of the grouping only if it has one."""
    return {
        key: "not set" if value == "null" else value
        for key, value in run.params.items()
        if not key.startswith(NOT_SETTINGS)
        and (run.grouping != NO_GROUPING or not key.startswith(OF_GROUPING))
    }


def _differs(key: str, rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether the runs that use a setting differ in it; runs without groups do not use `grouping`."""
    if key.startswith(OF_GROUPING):
        rows = [row for row in rows if key in row]
    return len({row.get(key) for row in rows}) > 1


def _in_words(same: int, differing: Sequence[str]) -> str:
    left = "Storage locations and the seeds of single children are not counted."
    if not differing:
        return f"All {same} settings are the same. {left}"
    settings = "setting differs" if len(differing) == 1 else "settings differ"
    return f"{len(differing)} {settings}, {same} are the same in all runs. {left}"


def _table(
    runs: Sequence[ComparedRun], settings: Sequence[Mapping[str, str]], keys: Sequence[str]
) -> TableBlock:
    columns = [TableColumn("name", "run", "text"), TableColumn("children", "folds × seeds", "text")]
    rows: list[dict[str, Any]] = []
    for run, values in zip(runs, settings, strict=True):
        folds, seeds = ({child.pair[i] for child in run.children} for i in (0, 1))
        row = of_run(run) | {"children": f"{len(folds)} × {len(seeds)}"}
        rows.append(row | {f"setting.{key}": values.get(key) for key in keys})
    return TableBlock(
        "settings",
        "Settings that differ",
        "One column per setting that differs between runs. Empty cell: the run does not have this setting; "
        "settings of a grouping do not apply to runs without groups.",
        [*columns, *(TableColumn(f"setting.{key}", key, "text") for key in keys)],
        rows,
    )


def _tried(tried: Sequence[Tried]) -> TableBlock:
    columns = [
        TableColumn("name", "run", "text"),
        TableColumn("score", "validation", digits=4),
        TableColumn("chosen", "", "text"),
    ]
    rows = [
        {
            "name": trial.name,
            "score": trial.score,
            "chosen": "chosen" if trial.chosen else "" if trial.finished else "not finished",
        }
        for trial in tried
    ]
    return TableBlock(
        "tried",
        "Tried on validation",
        "Runs that try values of settings (tune). Of those that differ in these values alone, the one with "
        "the highest score is compared, of equal ones the first. The score is the mean over tasks, folds and "
        "seeds of the metric that is logged per epoch, such as average precision, of the kept weights.",
        columns,
        rows,
    )


def warnings(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Yield the reasons why runs are not comparable, and the sets of runs that are."""
    for text, kinds in (
        (
            "The runs use different data sets: their metrics are not comparable.",
            [f"data set {run.dataset}" for run in runs],
        ),
        (
            "The runs have different documents, targets or splits: metrics are comparable within a group "
            "only, and no test compares runs of different groups.",
            [f"data {run.data_digest[:8] or 'unknown'}" for run in runs],
        ),
        (
            "The runs learned different tasks: averages over tasks are not comparable.",
            _task_words(runs),
        ),
        (
            "The runs were made with different versions of mtlv, which can affect metrics.",
            [f"version {run.version or 'unknown'}" for run in runs],
        ),
    ):
        groups: dict[str, list[str]] = {}
        for run, kind in zip(runs, kinds, strict=True):
            groups.setdefault(kind, []).append(run.name)
        if len(groups) > 1:
            members = (f"{kind}: {_named(names)}" for kind, names in groups.items())
            yield f"{text} {'; '.join(members)}."


def _task_words(runs: Sequence[ComparedRun]) -> list[str]:
    """Return `20 tasks` or such for each run; different sets of the same size get different words."""
    words: dict[frozenset[str], str] = {}
    for tasks in map(tasks_of, runs):
        if tasks not in words:
            again = sum(len(other) == len(tasks) for other in words)
            words[tasks] = many(len(tasks), "task") + (f" (other set {again})" if again else "")
    return [words[tasks_of(run)] for run in runs]


def _named(names: Sequence[str]) -> str:
    quoted = [f"“{name}”" for name in names[:MOST_NAMED]]
    left = len(names) - len(quoted)
    return join_with_and([*quoted, f"{left} more"] if left else quoted)
