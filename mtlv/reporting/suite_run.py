"""Content of a suite's comparison run: the table of its members, its figure, their groups."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from mtlv import __version__
from mtlv.evaluation.partners import as_markdown as partners_as_markdown
from mtlv.evaluation.partners import best_partners
from mtlv.evaluation.transfer.detection import TransferRun, mean_score, transfers_among
from mtlv.evaluation.transfer.words import not_learned
from mtlv.figures.suite import draw_suite
from mtlv.figures.transfer_graph import draw_helping
from mtlv.figures.transfer_matrix import draw_transfer
from mtlv.formatting import plain
from mtlv.reporting.descriptions import describe_comparison
from mtlv.reporting.member_result import MemberResult, error_bars, judged_by, member_rows
from mtlv.reporting.pictures import log_picture
from mtlv.reporting.suite_table import as_csv, as_markdown
from mtlv.tracking import RunSpec, Tracker
from mtlv.tracking.naming import comparison_run


def comparison_spec(results: Sequence[MemberResult]) -> RunSpec:
    """Return the spec of the run with a suite's comparison."""
    members = [result.resolved for result in results]
    tags = {
        "mtlv.dataset": _distinct(member.member.settings.data.title for member in members),
        "mtlv.data_digest": _distinct(member.data for member in members),
        "mtlv.version": __version__,
    }
    return comparison_run([result.resolved.uid for result in results], tags)


def _distinct(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def write_comparison(tracker: Tracker, run: str, results: Sequence[MemberResult]) -> None:
    """Log the suite's table and figure."""
    rows = member_rows(results)
    tracker.text(run, as_markdown(rows), "comparison.md")
    tracker.text(run, as_csv(rows), "comparison.csv")
    grouped = {result.name: result.resolved.children[0].groups for result in results}
    groups = {name: found.groups for name, found in grouped.items() if found is not None}
    tracker.text(run, json.dumps(groups, indent=1, ensure_ascii=False), "groups.json")
    drawn = ["comparison.png"] if _drawn(tracker, run, results) else []
    files = ["comparison.md", *drawn, *_transfers(tracker, run, results)]
    tracker.describe(run, describe_comparison(results, rows, files))


def _transfers(tracker: Tracker, run: str, results: Sequence[MemberResult]) -> list[str]:
    """Log transfers between tasks learned in sequence or in pairs; return the names of the files."""
    names = []
    with TemporaryDirectory() as folder:
        for found in transfers_among([_learner(result) for result in results]):
            id, title = found.wording.id, f"{found.wording.title} on {results[0].title.split(' on ', 1)[1]}"
            for draw, kind in ((draw_transfer, "matrix"), (draw_helping, "graph")):
                names.append(f"{id}_{kind}.png")
                log_picture(tracker, run, draw(found, Path(folder) / names[-1], title=title))
            names.append(f"{id}.md")
            table = partners_as_markdown(best_partners(found), found)
            left = not_learned(found, plain)
            tracker.text(run, f"{table}\n{left}\n" if left else table, names[-1])
    return names


def _learner(result: MemberResult) -> TransferRun:
    """Return what a member learned and the results of its last stage."""
    known, stages = result.resolved.known, result.resolved.member.settings.each_stage

    def scores(name: str) -> dict[tuple[int, int], float]:
        found = {}
        for child in result.children:
            figures = {task: held.as_dict() for task, held in child.outcome.metrics.tasks.items()}
            value = mean_score(name, known, figures)
            if value is not None:
                found[child.child.fold.index, child.child.seed] = value
        return found

    return TransferRun(
        tuple(stage.tasks or () for stage in stages),
        scores,
        result.learning.nothing,
        together=len(result.resolved.children[0].plan.models) == 1,
    )


def _drawn(tracker: Tracker, run: str, results: Sequence[MemberResult]) -> bool:
    """Draw the suite if its members have the same test documents."""
    tasks = results[0].resolved.tasks
    if len({(result.resolved.data, result.resolved.tasks) for result in results}) > 1:
        return False  # metrics on different test sets are not comparable
    with TemporaryDirectory() as folder:
        macro = [[found.metrics.plan.main for found in result.outcomes] for result in results]
        path = draw_suite(
            [result.name for result in results],
            tasks,
            [[fmean(result.main(task)) for task in tasks] for result in results],
            [fmean(results[0].of_task(task, "support")) for task in tasks],
            [fmean(values) for values in macro],
            Path(folder) / "comparison.png",
            title=f"Test {judged_by(results[0])} on {results[0].title.split(' on ', 1)[1]}",
            micro=_micro(results),
            figure=judged_by(results[0]),
            macro_spread=error_bars(macro),
        )
        log_picture(tracker, run, path)
    return True


def _micro(results: Sequence[MemberResult]) -> list[float] | None:
    """Return the mean micro F1 of each member; None if not all tasks are evaluated jointly."""
    if not all(result.joint for result in results):
        return None
    return [fmean(found.metrics.plan.as_dict()["f1_micro"] for found in r.outcomes) for r in results]
