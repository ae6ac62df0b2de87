"""The answer: which tasks to learn together, why, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from mtlv.comparison.blocks import Block, GroupsBlock, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.ranking import (
    MARGIN,
    Standing,
    by_runs,
    following,
    is_shown_worse,
    recommend,
    standings,
    tests_decide,
)
from mtlv.comparison.sections.bag_of_words import not_shown, score_text
from mtlv.comparison.sections.gains import gains, in_brackets, way_of
from mtlv.comparison.sections.parts import finite_mean, join_with_and, learned_nothing, of_run, open_ends
from mtlv.comparison.sections.random_groups import in_words as in_words_of_chance
from mtlv.comparison.sections.random_groups import random_figure
from mtlv.comparison.sections.shared_groups import colours, numbering
from mtlv.comparison.sections.stages import in_words
from mtlv.comparison.sections.times import KEY, training
from mtlv.comparison.verdicts import format_signed, interval_text
from mtlv.evaluation.chance import against_random
from mtlv.evaluation.comparison import ComparedRun, Comparison, is_random
from mtlv.evaluation.pairs import comparable, different_tasks
from mtlv.evaluation.random_factors import has_random_factors
from mtlv.evaluation.random_factors import in_words as in_words_of_factors
from mtlv.evaluation.transfer import INTERMEDIATE, LEARNED_WITH
from mtlv.formatting import list_first, many
from mtlv.reporting.learned_words import (
    NOTHING,
    beside_words,
    next_step,
    none_is_useful,
)
from mtlv.reporting.metric_titles import plan_title

TITLE = "What to learn together"
SHOWN, ON_DOCUMENTS = "shown to be worse", "worse on these test documents"
TRANSFERS = (INTERMEDIATE.id, LEARNED_WITH.id)
VARIED = ("stages", "training.patience", "data.sources")
CAPTION = (
    "Recommended: the run with the fewest models, then the shortest training, of all that are not shown to "
    f"be worse than the best and at most {MARGIN:g} below it; if the best are controls, below the best of "
    "the others. Mean ± standard deviation (ddof 1) of the score over the folds and seeds of a run. "
    "Difference: to the highest score, over the folds and seeds of both runs, with a 95% interval over "
    "resampled test documents where their scores are known. A run is shown to be worse by the tests over "
    "folds and seeds. If these cannot decide, as with few of them, it is worse on these test documents if "
    "that interval is below 0; another seed may change this. A pass is an epoch of one model over the "
    "training documents. Passes and training time are the totals of all models, time with that of earlier "
    "stages, which runs may share."
)


def build(comparison: Comparison) -> Section | None:
    """Build the section; None for a single run, runs of different tasks, and runs without scores."""
    if len(comparison.runs) < 2 or different_tasks(comparison):
        return None
    found = standings(comparison)
    if not found and len(learned_nothing(comparison)) < len(comparison.runs):
        return None
    if not found:
        words = beside_words([comparison.learning(run) for run in comparison.runs])
        return Section("answer", TITLE, "", [TextBlock(NOTHING + words, "finding")])
    if all(each.is_behind_words for each in found):
        return _none_is_useful(comparison, found)
    chosen = recommend(found)
    if chosen is None:
        return _no_answer(comparison, found[0])
    gained = _gains(comparison, found, chosen) + score_text(comparison, found, chosen.run)
    reason = (
        _why(comparison, found, chosen) + gained + _tried(comparison) + _elsewhere(comparison, chosen.run)
    )
    advice = _advice(comparison, found, chosen.run) + not_shown(comparison, found, chosen.run)
    blocks: list[Block] = [TextBlock(advice, "answer")]
    blocks += [_groups(comparison, chosen.run)] if chosen.run.groups else []
    blocks += [TextBlock(reason, "finding")]
    chance = _chance(comparison, found, chosen.run) + _factors(comparison, found)
    sure = f"{chance}{_sure(chosen)}{open_ends(comparison)}"
    blocks += [TextBlock(f"How sure is that?{sure}")] if sure else []
    blocks += random_figure(comparison)
    return Section("answer", TITLE, "", [*blocks, _table(comparison, found, chosen)])


def _tried(comparison: Comparison) -> str:
    """Say that values, such as learning rates, were chosen for each run."""
    tried = comparison.tried
    if not tried:
        return ""
    kept = many(sum(each.chosen for each in tried), "run")
    return f" The values of {kept} were chosen on validation, among {len(tried)} that were trained."


def _elsewhere(comparison: Comparison, chosen: ComparedRun) -> str:
    """Name the runs that cannot be compared with the chosen one."""
    names = [f"“{run.name}”" for run in comparison.runs if run.mains and not comparable(run, chosen)]
    why = "they have other documents or splits (such as by `data.folds`)"
    return f" Not compared, because {why}: {list_first(names)}." if names else ""


def _no_answer(comparison: Comparison, only: Standing) -> Section:
    said = f"Only “{only.run.name}” ({plan_title(comparison)} {only.mean:.3f}) can be ranked."
    if len(learned_nothing(comparison)) == len(comparison.runs) - 1:
        said += " The others predict no better than a constant answer: train longer."
    said += _elsewhere(comparison, only.run)
    blocks: list[Block] = [TextBlock("There is no answer yet.", "answer"), TextBlock(said, "finding")]
    blocks += random_figure(comparison)
    return Section("answer", TITLE, "", [*blocks, _table(comparison, [only], None)])


def _none_is_useful(comparison: Comparison, found: Sequence[Standing]) -> Section:
    best = found[0]
    learning = comparison.learning(best.run)
    nothing = [f"“{run.name}”" for run in learned_nothing(comparison)]
    reason = f"Next: {next_step(learning)}."
    if nothing:
        reason += f" No better than a constant answer: {list_first(nothing)}."
    reason += _tried(comparison) + open_ends(comparison) + _elsewhere(comparison, best.run)
    blocks: list[Block] = [TextBlock(none_is_useful(best.run.name, learning), "answer")]
    blocks += [TextBlock(reason, "finding"), *random_figure(comparison)]
    return Section("answer", TITLE, "", [*blocks, _table(comparison, found, None)])


def answer_of(sections: Sequence[Section]) -> str:
    """Return the answer in words, or else what was found about transfers; empty if no section has either."""
    for each in sections:
        if each.id == "answer":
            return " ".join(block.text for block in each.blocks if isinstance(block, TextBlock))
    found = [
        (each.title, block.text)
        for each in sections
        if each.id.partition("_")[0] in TRANSFERS
        for block in each.blocks
        if isinstance(block, TextBlock) and block.tone == "finding"
    ]
    return " ".join(f"{title}: {text}" if len(found) > 1 else text for title, text in found)


def _advice(comparison: Comparison, found: Sequence[Standing], run: ComparedRun) -> str:
    """Return what to do: to train longer, if that may change which run is recommended.

    It may if the recommended run was not trained to the end, or a run of fewer models, which learn slower
    than models of fewer tasks. A perfect score cannot change.
    """
    fewer = [each.run for each in found if len(each.run.plan) < len(run.plan)]
    perfect = [each.run.key for each in found if f"{each.mean:.3f}" == "1.000"]
    what = in_words(run)
    if all(comparison.learning(each).ended for each in [run, *fewer] if each.key not in perfect):
        return f"{what}."
    return f"Train longer before you decide. So far: {what[0].lower()}{what[1:]}."


def _why(comparison: Comparison, found: Sequence[Standing], chosen: Standing) -> str:
    best, title = found[0], plan_title(comparison)
    if not chosen.best:
        random = ", whose groups are random" if is_random(best.run) else ""
        random += ", whose factors on losses are random" if has_random_factors(best.run) else ""
        lower = _lower(chosen, best, f"the best run, “{best.run.name}”{random}")
        return (
            f"“{chosen.run.name}” has a {title} of {chosen.mean:.3f}, {lower}{_between(chosen)}, "
            f"with {_cheaper(chosen.run, best.run)}."
        )
    second = following(found)
    own = "" if second is found[1] else " that is not a control"
    # Runs that learned nothing or cannot be compared are not among those that are ranked.
    run = "run" if len(found) == len(comparison.runs) else "ranked run"
    said = f"“{best.run.name}” has the highest {title}, {best.mean:.3f}. "
    if all(each.worse for each in found[1:]):
        tested = all(each.tested for each in found[1:])
        said += f"Every other {run} is {SHOWN if tested else ON_DOCUMENTS}: the next{own}"
    else:
        kinds = ["is not a control"] if any(each.control for each in found) else []
        kinds += ["is better than a bag of words"] if any(each.is_behind_words for each in found) else []
        aside = f" that {join_with_and(kinds)}" if kinds else ""
        cheaper = any(each.cost[:2] < best.cost[:2] for each in found)
        said += f"No cheaper {run}{aside} is as good" if cheaper else f"No {run} is cheaper"
        said += f". The next best{own}"
    return f"{said}, “{second.run.name}”, is {_lower(second, best)}{_between(second)}."


def _gains(comparison: Comparison, found: Sequence[Standing], chosen: Standing) -> str:
    """Return the gains over the other ways to learn the tasks, but for that of the run that `_why` names."""
    named = [following(found)] if chosen.best else found[:1]
    said = {way_of(each.run) for each in named if not each.control}
    others = [each for each in found if not each.control and way_of(each.run) not in said]
    return gains(chosen, others, by_runs(comparison))


def _lower(each: Standing, best: Standing, other: str = "") -> str:
    """Compare a run with the best, as in "0.005 lower than `other`".

    Both differences are given if those over all folds and seeds and over those of both runs are not the same.
    """
    whole = best.mean - each.mean
    gap = -each.difference if each.pair else whole
    if abs(gap - whole) < 0.001:
        return _by(gap if whole else 0.0, other)
    comma = "," if other else ""
    return f"{_by(whole, other)}{comma} over all folds and seeds, and {_by(gap)} over those of both runs"


def _by(gap: float, other: str = "") -> str:
    if gap == 0:
        return f"equal to {other}" if other else "equal"
    if gap < -0.0005:
        said = f"{-gap:.3f} higher"
    else:
        said = f"{gap:.3f} lower" if gap >= 0.0005 else "less than 0.001 lower"
    return f"{said} than {other}" if other else said


def _between(each: Standing) -> str:
    """Return what is known of a difference: its interval, and whether it is shown."""
    parts = []
    if interval := each.interval:
        parts.append(f"95% interval of the difference {interval_text(*interval)}")
    if each.worse is None:
        parts.append("not tested")
    elif not each.worse and not (each.pair and each.difference == 0):
        parts.append("not shown to be more than chance")
    return f" ({', '.join(parts)})" if parts else ""


def _cheaper(run: ComparedRun, best: ComparedRun) -> str:
    parts = []
    if len(run.plan) != len(best.plan):
        parts.append(f"{many(len(run.plan), 'model')} instead of {len(best.plan)}")
    own_passes, other_passes = passes(run), passes(best)
    if own_passes and other_passes and own_passes != other_passes:
        parts.append(f"{own_passes} passes over the documents instead of {other_passes}")
    own, other = run.seconds, best.seconds
    if own and other and fmean(other) > 0:
        parts.append(f"{fmean(own) / fmean(other):.0%} of the training time")
    return join_with_and(parts) if parts else "the same cost"


def _chance(comparison: Comparison, found: Sequence[Standing], chosen: ComparedRun) -> str:
    """Compare the best grouping that has random controls with them, and say if the chosen one has none."""
    said = ""
    if chosen.groups and not is_random(chosen) and against_random(comparison, chosen) is None:
        said = (
            f" No run has random groups of the same sizes and training as “{chosen.name}” "
            "(`grouping.method: random`), so its groups may be no better than chance."
        )
    compared = (against_random(comparison, each.run) for each in found)
    return said + next((f" {in_words_of_chance(each)}" for each in compared if each), "")


def _factors(comparison: Comparison, found: Sequence[Standing]) -> str:
    """Compare the best run with a balancer with random factors."""
    pairs = by_runs(comparison)

    def better(run: ComparedRun, control: ComparedRun) -> str:
        pair = pairs.get(frozenset((run.key, control.key)))
        if pair is None or not is_shown_worse(control, pair):
            return "not shown to be better than"
        return "better than" if tests_decide(pair) else "better on these test documents than"

    return in_words_of_factors([each.run for each in found], comparison.runs, better)


def _sure(chosen: Standing) -> str:
    if len(chosen.run.children) > 1:
        return ""
    return (
        f" “{chosen.run.name}” was trained once, so intervals cover the choice of test documents, and not "
        "that of the split and the seed."
    )


def _groups(comparison: Comparison, run: ComparedRun) -> GroupsBlock:
    """Return the groups with the numbers and colours that they have in all figures."""
    assert run.groups is not None
    given = numbering(comparison)
    numbered = [(given.number(run, tasks, n), tasks) for n, tasks in enumerate(run.groups.groups, 1)]
    rows = [
        of_run(run) | {"group": number, "colour": colours([number])[0], "task": task}
        for number, tasks in sorted(numbered, key=lambda each: int(each[0]))
        for task in tasks
    ]
    return GroupsBlock("answer_groups", f"The groups of “{run.name}”", rows)


def _table(comparison: Comparison, found: Sequence[Standing], chosen: Standing | None) -> TableBlock:
    columns = [
        TableColumn("name", "run", kind="text"),
        TableColumn("score", plan_title(comparison), best="high", spread="score_sd"),
        TableColumn("difference", "difference to the best", kind="text"),
        TableColumn("models", "models", digits=0, best="low"),
        TableColumn("passes", "passes", digits=0, best="low"),
        training(comparison),
        TableColumn("verdict", "verdict", kind="text"),
    ]
    rows = [_row(each, chosen) for each in found]
    unranked = [run for run in comparison.runs if run not in [each.run for each in found]]
    rows += [of_run(run) | _costs(run) | {"verdict": _left_out(comparison, run)} for run in unranked]
    filled = [each for each in columns if any(row.get(each.key) not in (None, "") for row in rows)]
    return TableBlock("answer", "All runs", CAPTION, filled, rows)


def _row(each: Standing, chosen: Standing | None) -> dict[str, Any]:
    difference = format_signed(each.difference) if each.pair else ""
    difference += in_brackets(each.interval)
    worse = SHOWN if each.tested else ON_DOCUMENTS
    verdict = {True: worse, False: "not shown to be worse", None: "not tested"}[each.worse]
    verdict = "highest score" if each.best else verdict
    verdict = f"recommended: {verdict}" if each is chosen else verdict
    verdict = f"{verdict} ({each.control})" if each.control else verdict
    row = {"score": each.mean, "score_sd": each.sd, "difference": difference, "verdict": verdict}
    return of_run(each.run) | _costs(each.run) | row


def _costs(run: ComparedRun) -> dict[str, Any]:
    return {"models": len(run.plan) or None, "passes": passes(run), KEY: finite_mean(run.seconds)}


def passes(run: ComparedRun) -> int | None:
    """Return how often all models together read the training documents.

    None if settings alone do not say it: with stages, early stopping, several corpora or missing labels.
    """
    models = len(run.plan)
    some = run.params.get("data.columns.missing_labels", "error") != "error"
    if not models or some or any(run.params.get(key, "null") != "null" for key in VARIED):
        return None
    budget = run.params.get("training.budget", "null")
    epochs = run.params.get("training.epochs", "0") if budget == "null" else round(float(budget) / models)
    return models * int(epochs) or None


def _left_out(comparison: Comparison, run: ComparedRun) -> str:
    if run in learned_nothing(comparison):
        return "learned nothing"
    return "not finished" if run.status != "FINISHED" else "no comparable score"
