"""Which task helps which: scores after an intermediate task, or beside a partner, against the task alone.

No rule is published for the colours of such a matrix or graph, so this is ours. The difference of a cell is
the score with the source minus the baseline of the target, paired by fold and seed; where there are several
folds, the mean over the seeds of each. Its mean has a 95% interval by Student's t over the pairs. A source
`helps` where the interval lies above 0, `harms` where it lies below, is `neutral` where it holds 0, and
`unknown` with fewer than 3 pairs.

One cell in twenty is coloured by chance alone, so each cell has also its p of the paired t-test corrected for
all cells (Holm, 1979). The t-test takes the pairs as independent and their differences as normal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mtlv.evaluation.significance import DECIMALS, Interval, by_fold, holm, paired_t, t_interval

FEWEST = 3  # pairs; a rule on fewer would go by luck
POINTS = 100  # scores are fractions, shown as points
MINUS = "\N{MINUS SIGN}"

Pair = tuple[int, int]
"""Fold and seed, as `Child.pair`."""
Scores = Mapping[Pair, float]
Verdict = Literal["helps", "harms", "neutral", "unknown"]


@dataclass(frozen=True)
class TransferText:
    """How a matrix speaks of its columns.

    Args:
        id: ASCII; begins the ids of blocks and the names of files.
        title: of the whole.
        columns: the heading of all columns.
        partner: what a column is, in a sentence.
        alone: how the baseline was trained.
        after: how a cell was trained.
        arrow: what an arrow goes from and to.
    """

    id: str
    title: str
    columns: str
    partner: str
    alone: str
    after: str
    arrow: str


INTERMEDIATE = TransferText(
    "transfer",
    "Transfer",
    "intermediate task",
    "intermediate task",
    "trained on the target alone",
    "trained on the intermediate task first, then on the target",
    "from the intermediate task to the target",
)
LEARNED_WITH = TransferText(
    "pairs",
    "Pairs of tasks",
    "learned with",
    "partner",
    "learned alone",
    "learned together with the other task",
    "from the task that is added to the task that is measured",
)


@dataclass(frozen=True)
class Transfers:
    """Scores of every target alone and with every source; plain data, whoever trained them.

    A score is the main metric of the target as a fraction (a correlation may be below 0). Scores that are not
    finite and pairs that only one side has do not count. Where source and target are the same there is no
    cell.

    Args:
        targets: names, the rows.
        sources: names, the columns.
        baseline: scores of each target alone; a target may be missing.
        after: scores by (source, target); cells may be missing.
        wording: whether sources come first or beside.

    Raises:
        ValueError: a name comes twice or is in no row or column, a task has itself as source, or a score is
            not a fraction.
    """

    targets: tuple[str, ...]
    sources: tuple[str, ...]
    baseline: Mapping[str, Scores]
    after: Mapping[tuple[str, str], Scores]
    wording: TransferText = INTERMEDIATE

    def __post_init__(self) -> None:
        for what, names in (("`targets`", self.targets), ("`sources`", self.sources)):
            if len(set(names)) != len(names):
                raise ValueError(f"{what} must be different names (got {list(names)})")
        for target in self.baseline:
            _known("`baseline`", target, self.targets)
        for source, target in self.after:
            _known("`after`", source, self.sources)
            _known("`after`", target, self.targets)
            if source == target:
                raise ValueError(f"`after` must not have a task as its own source (got {source!r})")
        for scores in (*self.baseline.values(), *self.after.values()):
            for score in scores.values():
                if abs(score) > 1:  # NaN is not
                    raise ValueError(f"scores must be fractions (got {score:g}); divide percentages by 100")

    @property
    def names(self) -> tuple[str, ...]:
        """All tasks, the targets first."""
        return tuple(dict.fromkeys((*self.targets, *self.sources)))


@dataclass(frozen=True)
class TransferEffect:
    """What a source does to a target; scores, differences and the ends of the interval are fractions.

    Args:
        n: pairs: folds, or seeds where there is one fold.
        baseline, after: means over these pairs.
        mean: of the differences.
        low, high: the 95% interval of the mean; nothing for one pair. All equal differences give one of no
            width.
        p: two-sided, of the paired t-test; nothing for one pair and where all differences are equal.
        p_holm: corrected for all cells of the matrix that have a verdict.
        verdict: by the rule of this file.
    """

    source: str
    target: str
    n: int
    baseline: float
    after: float
    mean: float
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    verdict: Verdict


def from_rows(
    rows: Iterable[Mapping[str, Any]],
    *,
    targets: Sequence[str] = (),
    sources: Sequence[str] = (),
    wording: TransferText = INTERMEDIATE,
) -> Transfers:
    """Transfers of rows with `target`, `source` (None or empty: the target alone), `fold`, `seed`, `score`.

    Without `targets` they stand in the order in which they come first, and without `sources` so do these,
    those that are targets before others. A row whose score is None is left out.

    Raises:
        ValueError: two rows have the same target, source, fold and seed; and as `Transfers`.
    """
    baseline: dict[str, dict[Pair, float]] = {}
    after: dict[tuple[str, str], dict[Pair, float]] = {}
    for row in rows:
        source, target, pair = row["source"], row["target"], (row["fold"], row["seed"])
        cell = after.setdefault((source, target), {}) if source else baseline.setdefault(target, {})
        if pair in cell:
            raise ValueError(f"two rows have target {target!r}, source {source!r}, fold and seed {pair}")
        if row["score"] is not None:
            cell[pair] = float(row["score"])
    rows_of = tuple(targets) or tuple(dict.fromkeys([*baseline, *(target for _, target in after)]))
    first = dict.fromkeys(source for source, _ in after)
    also = tuple(name for name in rows_of if name in first)
    columns = tuple(sources) or tuple(dict.fromkeys((*also, *first)))
    return Transfers(rows_of, columns, baseline, after, wording)


def numbers(cell: TransferEffect | None) -> dict[str, Any]:
    """What is known of a cell; all of it None where it was not measured."""
    return {
        "baseline": cell.baseline if cell else None,
        "after": cell.after if cell else None,
        "difference": cell.mean if cell else None,
        "low": cell.low if cell else None,
        "high": cell.high if cell else None,
        "n": cell.n if cell else None,
        "p": cell.p if cell else None,
        "p_holm": cell.p_holm if cell else None,
        "verdict": cell.verdict if cell else None,
    }


def effects(transfers: Transfers) -> tuple[TransferEffect, ...]:
    """The cells that have at least one pair, row by row, each judged by the rule of this file."""
    cells = {
        (source, target): paired
        for target in transfers.targets
        for source in transfers.sources
        if (paired := _paired(transfers, source, target))[0].size
    }
    p_values = [paired_t(_differences(*paired)).p for paired in cells.values()]
    sizes = [after.size for after, _ in cells.values()]
    corrected = holm([p if n >= FEWEST else None for p, n in zip(p_values, sizes, strict=True)])
    return tuple(
        _effect(*names, *paired, p, p_holm)
        for (names, paired), p, p_holm in zip(cells.items(), p_values, corrected, strict=True)
    )


def baseline_mean(transfers: Transfers, target: str) -> float | None:
    """The target's mean score alone; nothing where it was not measured."""
    known = _finite(transfers.baseline.get(target, {}))
    return fmean(known.values()) if known else None


def verdict_of(n: int, interval: Interval | None) -> Verdict:
    """The rule: by how the interval of the mean over n pairs lies to 0."""
    if n < FEWEST or interval is None:
        return "unknown"
    return "helps" if interval.low > 0 else "harms" if interval.high < 0 else "neutral"


def points(value: float, digits: int = 1) -> str:
    """A difference in points with its sign, `+1.5` or `−0.3`; `0.0` has none."""
    text = f"{POINTS * value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", MINUS)


def _known(where: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise ValueError(f"{where} must be of known names (got {name!r}; known: {list(names)})")


def _finite(scores: Scores) -> dict[Pair, float]:
    return {pair: score for pair, score in scores.items() if math.isfinite(score)}


def _paired(
    transfers: Transfers, source: str, target: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores [n] with the source and alone, on the folds and seeds that both have, as `by_fold` has them."""
    after = _finite(transfers.after.get((source, target), {}))
    alone = _finite(transfers.baseline.get(target, {}))
    both = sorted(after.keys() & alone.keys())
    after, alone = ({pair: scores[pair] for pair in both} for scores in (after, alone))
    return np.array(by_fold(after)), np.array(by_fold(alone))


def _differences(after: NDArray[np.float64], alone: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.round(after - alone, DECIMALS)


def _effect(
    source: str,
    target: str,
    after: NDArray[np.float64],
    alone: NDArray[np.float64],
    p: float | None,
    p_holm: float | None,
) -> TransferEffect:
    differences = _differences(after, alone)
    interval = t_interval(differences)
    return TransferEffect(
        source=source,
        target=target,
        n=differences.size,
        baseline=float(alone.mean()),
        after=float(after.mean()),
        mean=float(differences.mean()),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        p=p,
        p_holm=p_holm,
        verdict=verdict_of(differences.size, interval),
    )
