"""Each grouping beside random groupings with groups of the same sizes."""

from __future__ import annotations

from typing import Any

from mtlv.comparison.blocks import FigureBlock, TableBlock, TableColumn
from mtlv.comparison.parts import capital, of_run
from mtlv.comparison.parts.channels import GREY, dots, label, number, of_rows, run_axis, run_names, tip
from mtlv.comparison.parts.heatmap import CELL
from mtlv.evaluation.chance import ENOUGH, LEVEL, AgainstRandom, against_random
from mtlv.evaluation.compared_runs import Comparison, mean_and_sd
from mtlv.figures.palette import run_colour
from mtlv.reporting.metric_titles import plan_title

TITLE = "Groups and random groups"
FEWEST = 3  # random groupings in the figure; fewer show no spread
CAPTION = (
    "Random groupings have the same sizes, folds, seeds and training. p = (1 + those that are as good or "
    f"better) / (1 + all): it can be 0.05 or less only with {ENOUGH} or more."
)


def random_table(comparison: Comparison) -> list[TableBlock]:
    """Build a table of the runs that have random controls; [] without any."""
    rows = [_row(test) for test in _tests(comparison)]
    columns = [
        TableColumn("name", "run", kind="text"),
        TableColumn("score", plan_title(comparison)),
        TableColumn("random", "mean of random groups", spread="random_sd"),
        TableColumn("best", "best random groups"),
        TableColumn("controls", "random groupings", digits=0),
        TableColumn("as_good", "as good or better", digits=0),
        TableColumn("p", "p", digits=3),
    ]
    return [TableBlock("random_groups", TITLE, CAPTION, columns, rows)] if rows else []


def random_figure(comparison: Comparison) -> list[FigureBlock]:
    """Build a figure of the runs that have enough random controls; [] without any."""
    rows = [row for test in _tests(comparison) if len(test.scores) >= FEWEST for row in _dots(test)]
    title = plan_title(comparison)
    caption = f"{capital(title)} of a run (filled) and of its random groupings (hollow)."
    return [FigureBlock("random_groups", TITLE, caption, _spec(comparison, title), rows)] if rows else []


def _tests(comparison: Comparison) -> list[AgainstRandom]:
    return [test for run in comparison.runs if (test := against_random(comparison, run))]


def compare_with_random(test: AgainstRandom) -> str:
    """Say whether chance could have done as well."""
    name, count = test.run.name, len(test.scores)
    groupings = f"random grouping{'s' if count > 1 else ''} of the same sizes"
    if test.better:
        return f"The groups of “{name}” are better than chance (p = {_p(test)}, {count} {groupings})."
    if test.p <= LEVEL:
        return (
            f"The groups of “{name}” are not shown to be better than chance, although p = {_p(test)} "
            f"({count} {groupings}): some of their models were chosen for their validation scores, and may "
            "have been lucky. Train all with another seed."
        )
    if test.as_good:
        return (
            f"The groups of “{name}” are not shown to be better than chance: {test.as_good} of {count} "
            f"{groupings} {'is' if test.as_good == 1 else 'are'} as good or better (p = {_p(test)}"
            f"{f'; {test.same} of them drew the same groups' if test.same else ''})."
        )
    needed = f"{ENOUGH} are needed"
    if test.possible <= ENOUGH:
        needed = f"only {test.possible} groupings have these sizes, and {ENOUGH + 1} are needed"
    return (
        f"The groups of “{name}” are better than {count} {groupings}, which is too few to rule out chance "
        f"(p = {_p(test)}; {needed})."
    )


def _p(test: AgainstRandom) -> str:
    """Return p with as many digits as tell it from the level: with 18 controls, it is 0.053 at least."""
    return f"{test.p:.{2 if test.p >= 0.1 else 3}f}"


def _row(test: AgainstRandom) -> dict[str, Any]:
    mean, spread = mean_and_sd(test.scores)
    return of_run(test.run) | {
        "score": test.score,
        "random": mean,
        "random_sd": spread,
        "best": max(test.scores),
        "controls": len(test.scores),
        "as_good": test.as_good,
        "p": test.p,
    }


def _dots(test: AgainstRandom) -> list[dict[str, Any]]:
    """Return rows that all follow the switch of the run, as its table does."""
    row = {"run": test.run.key, "of": test.run.name}
    return [
        *(
            row | {"name": run.name, "score": score, "own": False}
            for run, score in zip(test.controls, test.scores, strict=True)
        ),
        row | {"name": test.run.name, "score": test.score, "own": True},
    ]


def _spec(comparison: Comparison, title: str) -> dict[str, Any]:
    x = number(
        "score",
        title=f"{title} on the test set",
        scale={"zero": False, "padding": 12},
        axis={"format": ".4~f", "tickCount": 6, "labelOverlap": True},
    )
    hollow = {"type": "point", "filled": False, "size": 110, "strokeWidth": 2, "color": GREY}
    colour = run_colour(comparison) | {"legend": None}
    return {
        "width": "container",
        "height": {"step": CELL + 10},
        "encoding": {
            "x": x,
            "y": label("of", sort=run_names(comparison), axis=run_axis()),
            "tooltip": [tip("name", "run"), tip("score", title, ".4f")],
        },
        "layer": [
            of_rows("!datum.own", {"mark": hollow}),
            of_rows("datum.own", {"mark": dots(110), "encoding": {"color": colour}}),
        ],
    }
