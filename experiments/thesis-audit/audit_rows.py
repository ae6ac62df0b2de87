"""Rows of the audit: honest runs, each defect compared with its honest twin, and all defects together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from audit_training import Defects

from mtlv.data import catalog
from mtlv.evaluation.metrics import evaluate
from mtlv.evaluation.thresholds import fit_thresholds, grid_values
from mtlv.grouping import group
from mtlv.plan import Scores
from mtlv.planning.groups import grouping_spec
from mtlv.planning.resolve import FoldRun, resolve
from mtlv.settings import Member, Settings, Suite
from mtlv.training.embed import embed_texts
from mtlv.units.input_cache import InputCache

THESIS_GRID = grid_values(0.4, 0.9, 0.1)
THESIS_RATE = {
    "learning_rate": 2e-5,
    "schedule": "constant",
    "warmup": 0.0,
    "weight_decay": 0.0,
    "clip_norm": None,
}
NO_DEFECT = Defects()
METRICS = ("f1_macro", "f1_micro", "subset_accuracy", "hamming_score")


@dataclass(frozen=True)
class Scoring:
    """How metrics are computed from scores; by default as the package does.

    Args:
        chosen_on: part on which the threshold is chosen: `validation`, or `test` (a defect).
        thesis_grid: whether thresholds are 0.4, 0.5, ..., 0.9 instead of the config's grid.
        swapped: whether subset accuracy and Jaccard score are in each other's column.
    """

    chosen_on: str = "validation"
    thesis_grid: bool = False
    swapped: bool = False


@dataclass(frozen=True)
class Row:
    """A row of the audit's table.

    Args:
        id: unique id, by which other rows refer to it as their twin.
        title: title in the table.
        member: name of the config's run that is trained.
        twin: id of the row without the defect; None for an honest run.
        defects, scoring: the defects in training and in scoring.
        codes: whether groups are computed from the class codes.
        training: changes to the training settings, the same for row and twin.
        section: heading above the row.
        extra: whether it is trained after the other rows.
    """

    id: str
    title: str
    member: str
    twin: str | None = None
    defects: Defects = NO_DEFECT
    scoring: Scoring = Scoring()
    codes: bool = False
    training: tuple[tuple[str, Any], ...] = ()
    section: str = "honest"
    extra: bool = False


def rows() -> tuple[Row, ...]:
    """Return all rows, each after its twin."""
    return (*_honest(), *_heads(), *_thresholds(), *_order(), *_columns(), *_groups(), *_together())


def _honest() -> list[Row]:
    return [
        Row("mtl", "MTL", "mtl"),
        Row("gmhl", "GMHL, linear heads, groups by names", "gmhl"),
        Row("gmtl-names", "GMTL, groups by names", "gmtl names"),
        Row("gmtl-random", "GMTL, random groups of the same sizes", "gmtl random"),
        Row("gmtl-descriptions", "GMTL, groups by descriptions", "gmtl descriptions", extra=True),
    ]


def _heads() -> list[Row]:
    frozen, out = Defects(frozen_heads=True), []
    rates: list[tuple[str, str, dict[str, Any]]] = [
        ("", "the audit's learning rate", {}),
        ("-3e-4", "learning rate 3e-4", {"learning_rate": 3e-4}),
        ("-1e-4", "learning rate 1e-4", {"learning_rate": 1e-4}),
        ("-thesis", "the thesis's: 2e-5, constant, no decay, no clipping", THESIS_RATE),
    ]
    for tail, name, training in rates:
        shared = {
            "training": tuple(training.items()),
            "section": "heads that never train",
            "extra": bool(training),
        }
        if training:
            out.append(Row(f"gmhl{tail}", f"GMHL, heads trained ({name})", "gmhl", **shared))
        title = f"GMHL, heads frozen ({name})"
        out.append(Row(f"gmhl{tail}-frozen", title, "gmhl", f"gmhl{tail}", frozen, **shared))
    return out


def _thresholds() -> list[Row]:
    out, section = [], "threshold chosen on test labels"
    for twin, name in (("mtl", "MTL"), ("gmhl", "GMHL"), ("gmtl-names", "GMTL")):
        base = next(row for row in _honest() if row.id == twin)
        own, six = Scoring("test"), Scoring("test", thesis_grid=True)
        right = Scoring(thesis_grid=True)
        out += [
            replace(
                base, id=f"{twin}-test", title=f"{name}, on test", twin=twin, scoring=own, section=section
            ),
            replace(
                base,
                id=f"{twin}-six",
                title=f"{name}, on validation, 0.4-0.9",
                scoring=right,
                section=section,
            ),
            replace(
                base,
                id=f"{twin}-test-six",
                title=f"{name}, on test, 0.4-0.9",
                twin=f"{twin}-six",
                scoring=six,
                section=section,
            ),
        ]
    return out


def _order() -> list[Row]:
    section = "training data in file order"
    once, folders = Defects(order="once"), Defects(order="folders")
    return [
        Row(
            "mtl-once",
            "MTL, permuted once: the same batches every epoch",
            "mtl",
            "mtl",
            once,
            section=section,
        ),
        Row(
            "mtl-folders",
            "MTL, as the archive has them: class by class",
            "mtl",
            "mtl",
            folders,
            section=section,
            extra=True,
        ),
    ]


def _columns() -> list[Row]:
    swapped, section = Scoring(swapped=True), "two columns swapped"
    return [
        Row("gmhl-swapped", "GMHL, columns swapped", "gmhl", "gmhl", scoring=swapped, section=section),
        Row(
            "gmtl-swapped",
            "GMTL, columns swapped",
            "gmtl names",
            "gmtl-names",
            scoring=swapped,
            section=section,
        ),
    ]


def _groups() -> list[Row]:
    codes, control = "groups from class codes", "no random-group control"
    return [
        Row(
            "gmtl-codes",
            "GMTL, groups by codes C01..C23",
            "gmtl names",
            "gmtl-names",
            codes=True,
            section=codes,
        ),
        Row(
            "claim",
            "GMTL by names, against MTL: the claim without a control",
            "gmtl names",
            "mtl",
            section=control,
        ),
        Row("control", "GMTL by names, against random groups", "gmtl names", "gmtl-random", section=control),
        Row("chance", "GMTL in random groups, against MTL", "gmtl random", "mtl", section=control),
    ]


def _together() -> list[Row]:
    section, once = "all together", Defects(order="once")
    wrong = Scoring("test", thesis_grid=True, swapped=True)
    both = replace(once, frozen_heads=True)
    grid = Scoring("test", thesis_grid=True)
    return [
        Row("mtl-all", "MTL", "mtl", "mtl", once, grid, section=section),
        Row("gmhl-all", "GMHL", "gmhl", "gmhl", both, wrong, codes=True, section=section),
        Row("gmtl-all", "GMTL", "gmtl names", "gmtl-names", once, wrong, codes=True, section=section),
    ]


def child_of(row: Row, seed: int, suite: Suite, cache: InputCache) -> FoldRun:
    """Return the units of a row with one seed.

    Raises:
        MtlvError: an error in data, encoder, groups or device.
    """
    member = next(m for m in suite.members if m.name == row.member)
    settings = member.settings.model_copy(update={"seed": seed})
    training = settings.training.model_copy(update=dict(row.training))
    # Each seed draws its own random groups, so that the spread over seeds includes that of the draw.
    drawn = {"seed": seed} if settings.grouping.method == "random" else {}
    update: dict[str, Any] = {"training": training, "grouping": settings.grouping.model_copy(update=drawn)}
    settings = settings.model_copy(update=update)
    if row.codes:
        given = {"method": "given", "groups": code_groups(settings, cache)}
        grouping = settings.grouping.model_copy(update=given)
        settings = settings.model_copy(update={"grouping": grouping})
    return resolve(cache, Member(member.name, settings, {})).children[0]


def code_groups(settings: Settings, cache: InputCache) -> tuple[tuple[str, ...], ...]:
    """Return groups with the thesis's mistake on OHSUMED: the codes C01, C02, ... are embedded, not names."""
    corpus = cache.corpus(settings.data)
    code = {label.name: label.code for label in catalog.card(settings.data.name).labels}
    encoder = cache.encoder(settings.encoder, settings.data)
    raw = embed_texts(
        encoder,
        [code[name] for name in corpus.names],
        special_tokens=settings.grouping.special_tokens,
        max_length=settings.data.max_length,
    )
    found = group(raw, grouping_spec(settings, corpus.tasks))
    return tuple(tuple(corpus.names[i] for i in members) for members in found.groups())


Figures = dict[str, float]


def figures(
    validation: Scores, test: Scores, *, names: tuple[str, ...], scoring: Scoring, settings: Settings
) -> Figures:
    """Return the metrics on the test part and the threshold, with the scoring of a row."""
    own = settings.evaluation.grid
    grid = THESIS_GRID if scoring.thesis_grid else grid_values(own.start, own.stop, own.step)
    chosen_on = _CHOSEN_ON[scoring.chosen_on](validation, test)
    fitted = fit_thresholds(
        chosen_on, names, scope=settings.evaluation.threshold, fixed=settings.evaluation.fixed, grid=grid
    )
    plan = evaluate(test, names, fitted.values).plan.as_dict()
    if scoring.swapped:
        plan["subset_accuracy"], plan["hamming_score"] = plan["hamming_score"], plan["subset_accuracy"]
    return {**{metric: plan[metric] for metric in METRICS}, "threshold": fitted.values[names[0]]}


# The package refuses to fit on test scores, so the defect has to label them as validation scores.
_CHOSEN_ON: dict[str, Callable[[Scores, Scores], Scores]] = {
    "validation": lambda validation, _: validation,
    "test": lambda _, test: replace(test, part="validation"),
}
