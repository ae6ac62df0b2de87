"""The answer: which tasks to learn together, why, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

from mtlv.comparison.blocks import Block, GroupsBlock, Section, TableBlock, TableColumn, TextBlock
from mtlv.comparison.parts import finite_mean, join_with_and, learned_nothing, of_run, open_ends
from mtlv.comparison.parts.costs import DOCUMENTS, SECONDS, cost_unit
from mtlv.comparison.parts.random_groups import compare_with_random, random_figure
from mtlv.comparison.parts.shared_groups import colours, numbering
from mtlv.comparison.ranking import (
    MARGIN,
    Standing,
    by_runs,
    following,
    interval_of,
    is_decided_by_tests,
    is_shown_worse,
    recommend,
    score_runs,
    standings,
)
from mtlv.comparison.sections.answer.advice import describe_advice
from mtlv.comparison.sections.answer.gains import gains, in_brackets, not_shown, score_text, way_of
from mtlv.comparison.sections.answer.pictures import key_figures
from mtlv.comparison.verdict_words import format_signed, interval_text
from mtlv.evaluation.chance import against_random
from mtlv.evaluation.compared_runs import NOT_TRAINED, ComparedRun, Comparison, is_random
from mtlv.evaluation.pairs import comparable, different_tasks
from mtlv.evaluation.random_factors import describe_factors, has_random_factors
from mtlv.evaluation.transfer import INTERMEDIATE, LEARNED_WITH
from mtlv.formatting import list_first, many
from mtlv.reporting.learned_words import NOTHING, beside_words, next_step, none_is_useful
from mtlv.reporting.metric_titles import plan_title

TITLE = "What to learn together"
SHOWN, ON_DOCUMENTS = "shown to be worse", "worse on these test documents"
TRANSFERS = (INTERMEDIATE.id, LEARNED_WITH.id)
CAPTION = (
    "Recommended: the run with the fewest models, then the cheapest training, of all that are not shown to "
    f"be worse than the best and at most {MARGIN:g} below it; if the best are controls, below the best of "
    "the others. Mean ± standard deviation (ddof 1) of the score over the folds and seeds of a run. "
    "Difference: to the highest score, over the folds and seeds of both runs, with a 95% interval over "
    "resampled test documents where their scores are known. A run is shown to be worse by the tests over "
    "folds and seeds. If these cannot decide, as with few of them, it is worse on these test documents if "
    "that interval is below 0; another seed may change this. Documents are counted in each epoch in which "
    "a model reads them. Costs are totals of all models and earlier stages, which runs may share."
)


def build(comparison: Comparison) -> Section | None:
    """Build the section; None for a single run, runs of different tasks, and runs without scores."""
    if len(comparison.runs) < 2 or different_tasks(comparison):
        return None
    ranked = standings(comparison)
    trained = [run for run in comparison.runs if not run.is_imported]
    if not ranked and (not trained or any(run not in learned_nothing(comparison) for run in trained)):
        return None
    if not ranked:
        best = next(standing for standing in score_runs(comparison) if standing.run in trained)
        words = beside_words(map(comparison.learning, trained)) + _beside(comparison, best)
        return Section("answer", TITLE, "", [TextBlock(NOTHING + words, "finding")])
    if all(standing.is_behind_words for standing in ranked):
        return _none_is_useful(comparison, ranked)
    chosen = recommend(ranked)
    if chosen is None:
        return _no_answer(comparison, ranked[0])
    gained = _gains(comparison, ranked, chosen) + score_text(comparison, ranked, chosen.run)
    reason = _why(comparison, ranked, chosen) + gained + _tried(comparison) + _beside(comparison, chosen)
    advice = _advice(comparison, ranked, chosen.run) + not_shown(comparison, ranked, chosen.run)
    groups = [_groups(comparison, chosen.run)] if chosen.run.groups else []
    grouped = [row["task"] for block in groups for row in block.rows]
    blocks: list[Block] = [TextBlock(advice, "answer"), *groups, *key_figures(comparison, grouped)]
    blocks += [TextBlock(reason, "finding")]
    chance = _chance(comparison, ranked, chosen.run) + _factors(comparison, ranked)
    if len(chosen.run.children) <= 1:
        chance += f" “{chosen.run.name}” was trained once: intervals cover other test documents, not another "
        chance += "split or seed."
    sure = f"{chance}{open_ends(comparison)}"
    blocks += [TextBlock(f"How sure is that?{sure}")] if sure else []
    blocks += random_figure(comparison)
    return Section("answer", TITLE, "", [*blocks, _table(comparison, ranked, chosen)])


def _tried(comparison: Comparison) -> str:
    """Say that values, such as learning rates, were chosen for each run."""
    tried = comparison.tried
    if not tried:
        return ""
    kept = many(sum(trial.chosen for trial in tried), "run")
    return f" The values of {kept} were chosen on validation, among {len(tried)} that were trained."


def _beside(comparison: Comparison, chosen: Standing) -> str:
    """Compare the best imported predictions with a run, and name the runs that cannot be compared with it."""
    text, scored = "", score_runs(comparison)
    for best in [one for one in scored if one.run.is_imported and comparable(one.run, chosen.run)][:1]:
        pair = by_runs(comparison).get(frozenset((best.run.key, chosen.run.key)))
        difference = _lower(replace(best, pair=pair), chosen, f"“{chosen.run.name}”")
        interval = in_brackets(interval_of(best.run, pair)) if pair else ""
        text = f" “{best.run.name}” ({NOT_TRAINED}) has {best.mean:.3f}, {difference}{interval}."
    names = [f"“{run.name}”" for run in comparison.runs if run.mains and not comparable(run, chosen.run)]
    why = "they have other documents or splits (such as by `data.folds`)"
    return f"{text} Not compared, because {why}: {list_first(names)}." if names else text


def _no_answer(comparison: Comparison, only: Standing) -> Section:
    text = f"Only “{only.run.name}” ({plan_title(comparison)} {only.mean:.3f}) can be ranked."
    if len(learned_nothing(comparison)) == len(comparison.runs) - 1:
        text += " The others predict no better than a constant answer: train longer."
    text += _beside(comparison, only)
    blocks: list[Block] = [TextBlock("There is no answer yet.", "answer"), TextBlock(text, "finding")]
    blocks += random_figure(comparison)
    return Section("answer", TITLE, "", [*blocks, _table(comparison, [only], None)])


def _none_is_useful(comparison: Comparison, ranked: Sequence[Standing]) -> Section:
    best = ranked[0]
    learning = comparison.learning(best.run)
    nothing = [f"“{run.name}”" for run in learned_nothing(comparison)]
    reason = f"Next: {next_step(learning)}."
    if nothing:
        reason += f" No better than a constant answer: {list_first(nothing)}."
    reason += _tried(comparison) + open_ends(comparison) + _beside(comparison, best)
    blocks: list[Block] = [TextBlock(none_is_useful(best.run.name, learning), "answer")]
    blocks += [*key_figures(comparison), TextBlock(reason, "finding"), *random_figure(comparison)]
    return Section("answer", TITLE, "", [*blocks, _table(comparison, ranked, None)])


def answer_of(sections: Sequence[Section]) -> str:
    """Return the answer in words, or else what was found about transfers; empty if no section has either."""
    for section in sections:
        if section.id == "answer":
            return " ".join(block.text for block in section.blocks if isinstance(block, TextBlock))
    findings = [
        (section.title, block.text)
        for section in sections
        if section.id.partition("_")[0] in TRANSFERS
        for block in section.blocks
        if isinstance(block, TextBlock) and block.tone == "finding"
    ]
    return " ".join(f"{title}: {text}" if len(findings) > 1 else text for title, text in findings)


def _advice(comparison: Comparison, ranked: Sequence[Standing], run: ComparedRun) -> str:
    """Return what to do: to train longer, if that may change which run is recommended.

    It may if the recommended run was not trained to the end, or a run of fewer models, which learn slower
    than models of fewer tasks. A perfect score cannot change.
    """
    fewer = [standing.run for standing in ranked if len(standing.run.plan) < len(run.plan)]
    perfect = [standing.run.key for standing in ranked if f"{standing.mean:.3f}" == "1.000"]
    what = describe_advice(run)
    if all(comparison.learning(other).ended for other in [run, *fewer] if other.key not in perfect):
        return f"{what}."
    return f"Train longer before you decide. So far: {what[0].lower()}{what[1:]}."


def _why(comparison: Comparison, ranked: Sequence[Standing], chosen: Standing) -> str:
    best, title = ranked[0], plan_title(comparison)
    if not chosen.best:
        random = ", whose groups are random" if is_random(best.run) else ""
        random += ", whose factors on losses are random" if has_random_factors(best.run) else ""
        lower = _lower(chosen, best, f"the best run, “{best.run.name}”{random}")
        return (
            f"“{chosen.run.name}” has a {title} of {chosen.mean:.3f}, {lower}{_between(chosen)}, "
            f"with {_cheaper(comparison, chosen, best)}."
        )
    second = following(ranked)
    qualifier = "" if second is ranked[1] else " that is not a control"
    # Runs that learned nothing or cannot be compared are not among those that are ranked.
    run = "run" if len(ranked) == len(comparison.runs) else "ranked run"
    text = f"“{best.run.name}” has the highest {title}, {best.mean:.3f}. "
    if all(standing.worse for standing in ranked[1:]):
        tested = all(standing.tested for standing in ranked[1:])
        text += f"Every other {run} is {SHOWN if tested else ON_DOCUMENTS}: the next{qualifier}"
    else:
        cheaper = [standing for standing in ranked if standing.cost[:2] < best.cost[:2]]
        if all(standing.mean < best.mean for standing in cheaper):
            text += f"Every cheaper {run} scored lower" if cheaper else f"No {run} is cheaper"
        else:
            text += f"No cheaper {run} scored higher"
        text += f". The next best{qualifier}"
    return f"{text}, “{second.run.name}”, is {_lower(second, best)}{_between(second)}."


def _gains(comparison: Comparison, ranked: Sequence[Standing], chosen: Standing) -> str:
    """Return the gains over the other ways to learn the tasks, but for that of the run that `_why` names."""
    named = [following(ranked)] if chosen.best else ranked[:1]
    ways = {way_of(standing.run) for standing in named if not standing.control}
    others = [standing for standing in ranked if not standing.control and way_of(standing.run) not in ways]
    return gains(chosen, others, by_runs(comparison))


def _lower(standing: Standing, best: Standing, other: str = "") -> str:
    """Compare a run with the best, as in "0.005 lower than `other`".

    Both differences are given if those over all folds and seeds and over those of both runs are not the same.
    """
    total_gap = best.mean - standing.mean
    gap = -standing.difference if standing.pair else total_gap
    if abs(gap - total_gap) < 0.001:
        return _by(gap if total_gap else 0.0, other)
    comma = "," if other else ""
    return f"{_by(total_gap, other)}{comma} over all folds and seeds, and {_by(gap)} over those of both runs"


def _by(gap: float, other: str = "") -> str:
    if gap == 0:
        return f"equal to {other}" if other else "equal"
    if gap < -0.0005:
        text = f"{-gap:.3f} higher"
    else:
        text = f"{gap:.3f} lower" if gap >= 0.0005 else "less than 0.001 lower"
    return f"{text} than {other}" if other else text


def _between(standing: Standing) -> str:
    """Return what is known of a difference: its interval, and whether it is shown."""
    parts = []
    if interval := standing.interval:
        parts.append(f"95% interval of the difference {interval_text(*interval)}")
    if standing.worse is None:
        parts.append("not tested")
    elif not standing.worse and not (standing.pair and standing.difference == 0):
        parts.append("not shown to be more than chance")
    return f" ({', '.join(parts)})" if parts else ""


def _cheaper(comparison: Comparison, standing: Standing, best: Standing) -> str:
    parts = []
    models, most = len(standing.run.plan), len(best.run.plan)
    if models != most:
        parts.append(f"{many(models, 'model')} instead of {most}")
    if 0 < best.training < inf and standing.training < inf:
        parts.append(f"{standing.training / best.training:.0%} of the {cost_unit(comparison).what}")
    return join_with_and(parts) if parts else "the same cost"


def _chance(comparison: Comparison, ranked: Sequence[Standing], chosen: ComparedRun) -> str:
    """Compare the best grouping that has random controls with them, and say if the chosen one has none."""
    text = ""
    if chosen.groups and not is_random(chosen) and against_random(comparison, chosen) is None:
        text = (
            f" No run has random groups of the same sizes and training as “{chosen.name}” "
            "(`grouping.method: random`), so its groups may be no better than chance."
        )
    tests = (against_random(comparison, standing.run) for standing in ranked)
    return text + next((f" {compare_with_random(test)}" for test in tests if test), "")


def _factors(comparison: Comparison, ranked: Sequence[Standing]) -> str:
    """Compare the best run with a balancer with random factors."""
    pairs = by_runs(comparison)

    def better(run: ComparedRun, control: ComparedRun) -> str:
        pair = pairs.get(frozenset((run.key, control.key)))
        if pair is None or not is_shown_worse(control, pair):
            return "not shown to be better than"
        return "better than" if is_decided_by_tests(pair) else "better on these test documents than"

    return describe_factors([standing.run for standing in ranked], comparison.runs, better)


def _groups(comparison: Comparison, run: ComparedRun) -> GroupsBlock:
    """Return the groups with the numbers and colours that they have in all figures."""
    assert run.groups is not None
    numbers = numbering(comparison)
    numbered = [(numbers.number(run, tasks, n), tasks) for n, tasks in enumerate(run.groups.groups, 1)]
    rows = [
        of_run(run) | {"group": number, "colour": colours([number])[0], "task": task}
        for number, tasks in sorted(numbered, key=lambda pair: int(pair[0]))
        for task in tasks
    ]
    return GroupsBlock("answer_groups", f"The groups of “{run.name}”", rows)


def _table(comparison: Comparison, ranked: Sequence[Standing], chosen: Standing | None) -> TableBlock:
    columns = [
        TableColumn("name", "run", kind="text"),
        TableColumn("score", plan_title(comparison), best="high", spread="score_sd"),
        TableColumn("difference", "difference to the best", kind="text"),
        TableColumn("models", "models", digits=0, best="low"),
        *dict.fromkeys((DOCUMENTS.column, cost_unit(comparison).column)),
        TableColumn("verdict", "verdict", kind="text"),
    ]
    rows = [_row(standing, chosen) for standing in ranked]
    unranked = [run for run in comparison.runs if run not in [standing.run for standing in ranked]]
    rows += [of_run(run) | _costs(run) | _left_out(comparison, run) for run in unranked]
    filled = [column for column in columns if any(row.get(column.key) not in (None, "") for row in rows)]
    return TableBlock("answer", "All runs", CAPTION, filled, rows)


def _row(standing: Standing, chosen: Standing | None) -> dict[str, Any]:
    difference = format_signed(standing.difference) if standing.pair else ""
    difference += in_brackets(standing.interval)
    worse = SHOWN if standing.tested else ON_DOCUMENTS
    verdict = {True: worse, False: "not shown to be worse", None: "not tested"}[standing.worse]
    verdict = "highest score" if standing.best else verdict
    verdict = f"recommended: {verdict}" if standing is chosen else verdict
    verdict = f"{verdict} ({standing.control})" if standing.control else verdict
    row = {"score": standing.mean, "score_sd": standing.sd, "difference": difference, "verdict": verdict}
    return of_run(standing.run) | _costs(standing.run) | row | {"control": bool(standing.control)}


def _costs(run: ComparedRun) -> dict[str, Any]:
    costs = {unit.key: finite_mean(unit.values(run)) for unit in (DOCUMENTS, SECONDS)}
    return {"models": len(run.plan) or None} | costs


def _left_out(comparison: Comparison, run: ComparedRun) -> dict[str, Any]:
    if run.is_imported:
        return {"score": finite_mean(run.mains), "verdict": NOT_TRAINED}
    if run in learned_nothing(comparison):
        return {"verdict": "learned nothing"}
    return {"verdict": "not finished" if run.status != "FINISHED" else "no comparable score"}
