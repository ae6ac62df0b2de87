"""Conclusions from the tests as sentences."""

from __future__ import annotations

from collections.abc import Sequence

from mtlv.comparison.pairwise_tests import PairwiseTest
from mtlv.evaluation.bootstrap import DOCUMENT_RESAMPLES
from mtlv.evaluation.significance import ALPHA, FEWEST, fewest_pairs, smallest_p
from mtlv.formatting import many

SCHEME, FIXED_TEST = "data.scheme", "fixed_test"


def format_signed(value: float) -> str:
    """Format a number as `+0.012` or `−0.012`; what is rounded to zero as `0.000`, without a sign."""
    return f"{value:+.3f}".replace("-", "−") if round(value, 3) else "0.000"


def interval_text(low: float, high: float) -> str:
    """Format an interval as `−0.012 to +0.034`."""
    return f"{format_signed(low)} to {format_signed(high)}"


def p_text(p: float) -> str:
    return f"p = {p:.2g}" if p >= 0.0001 else "p < 0.0001"


def follows(pair: PairwiseTest) -> str:
    """Return the conclusion for one pair: first the tests, then the resampled documents."""
    return " ".join(part for part in (_of_values(pair), _of_documents(pair)) if part)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _word(sign: int) -> str:
    return "better" if sign > 0 else "worse"


def _of_values(pair: PairwiseTest) -> str:
    values, verdict = pair.values, pair.verdict
    if values.n == 1:
        return "One fold and seed: no test is possible."
    if not values.higher and not values.lower:
        return f"Equal for every {pair.over}."
    if values.n < FEWEST:
        return f"Only {many(values.n, pair.over)}: no test is possible."
    if verdict.disagree:
        return f"The tests disagree{_corrected(pair)}: {_disagreement(pair)}."
    if verdict.sign:
        size = f"{_word(verdict.sign)} by {abs(values.mean):.3f}, {_times(pair, verdict.sign)}"
        return f"{_sentence(f'{size}{_which(pair)}{_corrected(pair)}')}{_why_alone(pair)}"
    return _open(pair)


def _times(pair: PairwiseTest, sign: int) -> str:
    count = pair.values.higher if sign > 0 else pair.values.lower
    return f"on {count} of {many(pair.values.n, pair.over)}"


def _corrected(pair: PairwiseTest) -> str:
    return f", corrected for {_pairs(pair.verdict.tests)}" if pair.verdict.tests > 1 else ""


def _which(pair: PairwiseTest) -> str:
    """Name the tests that support the verdict."""
    if pair.verdict.wilcoxon is None:
        return ", by the t-test alone"
    return ", by Wilcoxon's test alone" if pair.verdict.t is None else ": both tests agree"


def _why_alone(pair: PairwiseTest) -> str:
    if pair.verdict.wilcoxon is None:
        return f" {_sentence(_silent(pair))}"
    return f" {_sentence(pair.values.t.reason)}" if pair.verdict.t is None else ""


def _silent(pair: PairwiseTest) -> str:
    """Return the reason why Wilcoxon's test cannot decide."""
    few = f"{many(pair.values.n, 'pair')} are too few for Wilcoxon's test after the correction"
    return pair.values.wilcoxon.reason or few


def _disagreement(pair: PairwiseTest) -> str:
    wilcoxon, t, mean = pair.verdict.wilcoxon or 0, pair.verdict.t or 0, pair.values.mean
    if not wilcoxon:
        return (
            f"{_word(t)} by {abs(mean):.3f} by the t-test, while Wilcoxon's test shows no difference "
            f"({_word(t)} {_times(pair, t)})"
        )
    by_t = f"shows {_word(t)}" if t else "shows no difference"
    direction = f"{_word(wilcoxon)} {_times(pair, wilcoxon)} by Wilcoxon's test"
    return f"{direction}, while the mean is {format_signed(mean)} and the t-test {by_t}"


def _open(pair: PairwiseTest) -> str:
    """Return the conclusion if no test shows a difference after the correction."""
    tests = ((pair.values.wilcoxon.p, "Wilcoxon"), (pair.values.t.p, "t-test"))
    p, name = min(((p, name) for p, name in tests if p is not None), default=(1.0, ""))
    if p <= ALPHA:
        made = _pairs(pair.verdict.tests)
        return f"Undecided: {p_text(p)} ({name}) does not survive the correction for {made}."
    if not pair.verdict.results:
        return f"{_sentence(_silent(pair))} {_sentence(pair.values.t.reason)}"
    if pair.verdict.wilcoxon is None:
        return f"{_sentence(_silent(pair))} The t-test shows no difference, which is not the same as equal."
    return "No difference shown, which is not the same as equal."


def _of_documents(pair: PairwiseTest) -> str:
    if pair.documents is None:
        return ""
    if not pair.documents.main.without_zero:
        return "Other test documents could change the sign."
    others = f" (not corrected for {_pairs(pair.documents.pairs)})" if pair.documents.pairs > 1 else ""
    return f"Other test documents would not change the sign{others}."


def finding(tested: Sequence[PairwiseTest]) -> str:
    """Summarize the tests over all pairs of runs."""
    decidable = [pair for pair in tested if pair.verdict.results]
    wilcoxon = [pair for pair in tested if pair.verdict.wilcoxon_holm is not None]
    parts = [
        _differ(decidable) if decidable else "",
        _out_of_reach(wilcoxon) if wilcoxon else _too_few(tested),
        _documents(tested),
    ]
    return " ".join(part for part in parts if part)


def _pairs(count: int) -> str:
    return f"{count} {'pair' if count == 1 else 'pairs'} of runs"


def _differ(decidable: Sequence[PairwiseTest]) -> str:
    different = [pair for pair in decidable if pair.verdict.sign]
    differ = "differs" if len(different) == 1 else "differ"
    text = (
        f"By all tests that can decide, {len(different)} of {_pairs(len(decidable))} {differ} at {ALPHA:g} "
        "after Holm's correction."
    )
    disagreeing = sum(pair.verdict.disagree for pair in decidable)
    if disagreeing:
        text += f" On {_pairs(disagreeing)} the tests disagree."
    if not different:
        return text
    most = max(different, key=lambda pair: abs(pair.values.mean))
    word, size = "above" if most.verdict.sign > 0 else "below", f"{abs(most.values.mean):.3f}"
    return f"{text} Largest difference: “{most.run.name}” is {size} {word} “{most.other.name}”."


def _too_few(tested: Sequence[PairwiseTest]) -> str:
    n = max(pair.values.n for pair in tested)
    if n == 1:
        return "Each run has one fold and one seed, so no test over training runs is possible."
    if n >= fewest_pairs():
        return (
            "Wilcoxon's test cannot decide on any pair of runs: they are equal on too many folds and "
            f"seeds, so that fewer than {fewest_pairs()} differences are left."
        )
    return (
        f"Wilcoxon's test cannot decide on any pair of runs: it needs at least {fewest_pairs()} differences, "
        f"but there are at most {n}, and the smallest possible p with {n} is {smallest_p(n):.3g}. The paired "
        "t-test can, assuming normal differences."
    )


def _out_of_reach(decidable: Sequence[PairwiseTest]) -> str:
    """Return a note if no pair has as many differences as Wilcoxon's test needs after the correction."""
    needed = fewest_pairs(ALPHA / len(decidable))
    if max(pair.values.n for pair in decidable) >= needed:
        return ""
    return (
        f"After the correction for {len(decidable)} pairs of runs, Wilcoxon's test would need {needed} "
        "differences, so only the t-test can decide."
    )


def _documents(tested: Sequence[PairwiseTest]) -> str:
    known = [pair.documents.main for pair in tested if pair.documents is not None]
    if not known:
        return ""
    certain = sum(interval.without_zero for interval in known)
    return (
        f"With resampled test documents, the difference keeps its sign for {certain} of "
        f"{_pairs(len(known))} (about {ALPHA * len(known):.1f} would be expected without real "
        "differences); this covers only the choice of test documents."
    )


def dependence(tested: Sequence[PairwiseTest]) -> str:
    """Describe the values that are paired, and what p-values therefore do not cover."""
    children = [child.pair for pair in tested for child in pair.run.children]
    folds, seeds = ({pair[i] for pair in children} for i in (0, 1))
    texts = []
    if len(folds) > 1:
        if len(seeds) > 1:
            texts.append("The seeds of a fold are averaged: they are not independent folds.")
        fixed = all(pair.run.params.get(SCHEME) == FIXED_TEST for pair in tested)
        texts.append(
            f"{_shared(len(folds), fixed=fixed)}, so their differences are dependent, but both "
            "tests assume independence: the p-values are too small (Nadeau and Bengio, 2003)."
        )
    elif len(seeds) > 1:
        texts.append(
            "The pairs differ only by seed: tests and intervals cover the noise of training on one split, "
            "not another choice of training or test documents."
        )
    return " ".join([*texts, *_of_draws(tested)])


def _of_draws(tested: Sequence[PairwiseTest]) -> list[str]:
    """Describe what intervals over documents cover, and how the documents were resampled."""
    known = [pair.documents for pair in tested if pair.documents is not None]
    if not known:
        return []
    texts = [
        f"The intervals over documents use {DOCUMENT_RESAMPLES:,} resamples of the test documents with "
        "replacement, the same for all runs. They cover the choice of documents in the test set, "
        "not the noise of training."
    ]
    grouped = [draw for draw in known if draw.groups is not None and draw.groups < draw.documents]
    if grouped:
        fewest = min(grouped, key=lambda draw: draw.groups or 0)
        texts.append(
            f"Documents that belong together (of one abstract or file, or with the same text) are drawn "
            f"together: {fewest.groups} groups contain {fewest.documents} documents."
        )
    if any(draw.groups is None for draw in known):
        texts.append(
            "For some runs, made by an earlier release, the documents that belong together "
            "(sentences of one abstract) are not known: they are drawn separately, and the intervals may "
            "be too narrow."
        )
    return texts


def _shared(folds: int, *, fixed: bool) -> str:
    """Describe what the folds have in common; with two folds, their training documents are disjoint."""
    if folds > 2:
        return f"The folds share {'one test set and ' if fixed else ''}many of their training documents"
    return "The folds share one test set" if fixed else "Each fold trains on what the other is tested on"
