"""What follows from the tests, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from mtlv.compare.tested import Tested
from mtlv.evaluation.bootstrap import DOCUMENT_RESAMPLES
from mtlv.evaluation.significance import ALPHA, fewest_pairs, smallest_p

SCHEME, FIXED_TEST = "data.scheme", "fixed_test"


def signed(value: float) -> str:
    """`+0.012` or `−0.012`."""
    return f"{value:+.3f}".replace("-", "−")


def p_text(p: float) -> str:
    return f"p = {p:.2g}" if p >= 0.0001 else "p < 0.0001"


def follows(pair: Tested) -> str:
    """What follows for one pair, over folds and seeds first, then over test documents."""
    return " ".join(part for part in (_of_values(pair), _of_documents(pair)) if part)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _better(pair: Tested) -> str:
    return f"{'Better' if pair.values.mean > 0 else 'Worse'} by {abs(pair.values.mean):.3f}"


def _of_values(pair: Tested) -> str:
    values = pair.values
    if values.n == 1:
        return "One fold and seed: no test is possible."
    if values.wilcoxon.statistic is None:
        return "Equal on every fold and seed."
    if values.wilcoxon.p is None:
        return f"{_sentence(values.wilcoxon.reason)} {_of_t(pair)}"
    if pair.wilcoxon_holm is not None and pair.wilcoxon_holm <= ALPHA:
        agrees = pair.t_holm is not None and pair.t_holm <= ALPHA
        return f"{_better(pair)}; {'both tests agree' if agrees else 'the t-test does not confirm it'}."
    if values.wilcoxon.p <= ALPHA:
        return f"Undecided: {p_text(values.wilcoxon.p)} does not survive the correction for all pairs."
    return "No difference shown, which is not the same as equal."


def _of_t(pair: Tested) -> str:
    if pair.t_holm is None:
        return _sentence(pair.values.t.reason)
    if pair.t_holm > ALPHA:
        return "The t-test shows no difference."
    return f"{_better(pair)} by the t-test alone."


def _of_documents(pair: Tested) -> str:
    if pair.documents is None:
        return ""
    if not pair.documents.main.without_zero:
        return "Other test documents could turn the sign."
    return "Other test documents would not turn the sign."


def finding(tested: Sequence[Tested]) -> str:
    """What the tests say over all pairs of runs."""
    decidable = [pair for pair in tested if pair.wilcoxon_holm is not None]
    parts = [_wilcoxon(decidable) if decidable else _too_few(tested), _t(tested), _documents(tested)]
    return " ".join(part for part in parts if part)


def _pairs(count: int) -> str:
    return f"{count} {'pair' if count == 1 else 'pairs'} of runs"


def _too_few(tested: Sequence[Tested]) -> str:
    n = max(pair.values.n for pair in tested)
    if n == 1:
        return "Each run has one fold and one seed, so no test over training runs is possible."
    if n >= fewest_pairs():
        return (
            "Wilcoxon's test cannot decide on any pair of runs: they are equal on so many folds and seeds "
            f"that fewer than {fewest_pairs()} differences are left."
        )
    return (
        f"Wilcoxon's test cannot decide on any pair of runs: it needs at least {fewest_pairs()} differences, "
        f"there are {n} at most, and the smallest p that {n} can give is {smallest_p(n):.3g}."
    )


def _wilcoxon(decidable: Sequence[Tested]) -> str:
    found = [pair for pair in decidable if pair.wilcoxon_holm is not None and pair.wilcoxon_holm <= ALPHA]
    differ = "differs" if len(found) == 1 else "differ"
    text = (
        f"{len(found)} of {_pairs(len(decidable))} {differ} by Wilcoxon's test at {ALPHA:g} after Holm's "
        "correction."
    )
    if found:
        most = max(found, key=lambda pair: abs(pair.values.mean))
        word = "above" if most.values.mean > 0 else "below"
        size = f"{abs(most.values.mean):.3f}"
        return f"{text} The largest: “{most.run.name}” stands {size} {word} “{most.other.name}”."
    most_pairs = max(pair.values.n for pair in decidable)
    needed = fewest_pairs(ALPHA / len(decidable))
    if most_pairs < needed:
        text += f" After a correction over {len(decidable)} it would take {needed} differences to reach it."
    return text


def _t(tested: Sequence[Tested]) -> str:
    known = [pair.t_holm for pair in tested if pair.t_holm is not None]
    if not known:
        return ""
    found = sum(p <= ALPHA for p in known)
    text = f"The paired t-test, which takes the differences as normal, finds {found} of {_pairs(len(known))}"
    return f"{text} different."


def _documents(tested: Sequence[Tested]) -> str:
    known = [pair.documents.main for pair in tested if pair.documents is not None]
    if not known:
        return ""
    apart = sum(interval.without_zero for interval in known)
    return (
        f"With the test documents drawn anew, the difference keeps its sign for {apart} of "
        f"{_pairs(len(known))}; that covers the choice of test documents only."
    )


def dependence(tested: Sequence[Tested]) -> str:
    """What the pairs of values are pairs of, and so what a p-value does not cover."""
    children = [child.pair for pair in tested for child in pair.run.children]
    folds, seeds = ({pair[i] for pair in children} for i in (0, 1))
    texts = []
    if len(folds) > 1:
        fixed = all(pair.run.params.get(SCHEME) == FIXED_TEST for pair in tested)
        texts.append(
            f"{_shared(len(folds), fixed=fixed)}, so their differences depend on each other, while both "
            "tests take them as independent: the p-values are too small (Nadeau and Bengio, 2003)."
        )
    elif len(seeds) > 1:
        texts.append(
            "The pairs differ by seed alone: they cover the noise of training on one split, not another "
            "choice of training or test documents."
        )
    if any(pair.documents is not None for pair in tested):
        texts.append(
            f"The intervals over documents draw the test documents anew, {DOCUMENT_RESAMPLES:,} times with "
            "replacement and the same for all runs. They cover which documents happened to be in the test "
            "set, not the noise of training."
        )
    return " ".join(texts)


def _shared(folds: int, *, fixed: bool) -> str:
    """What the folds have in common; the training documents of two have nothing in common."""
    if folds > 2:
        return f"The folds share {'one test set and ' if fixed else ''}many of their training documents"
    return "The folds share one test set" if fixed else "Each fold trains on what the other is tested on"
