"""The report of `mtlv data check` on a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mtlv.data.folds import Fold
from mtlv.data.repeats import repeats_of
from mtlv.data.source import PARTS, Corpus
from mtlv.errors import DataError


@dataclass(frozen=True)
class CorpusCheck:
    """Statistics of a corpus of N documents and its folds, before training.

    Args:
        corpus: the corpus.
        folds: its folds; empty if they could not be made.
        wanted_folds: number of folds in the settings.
        lengths: tokens of each document [N]; None if no tokenizer is available.
        max_length: in tokens.
        pooled: whether longer single texts are cut into windows instead of truncated.
        problem: error if the corpus could not be split; else None.
    """

    corpus: Corpus
    folds: Sequence[Fold] = ()
    wanted_folds: int = 1
    lengths: NDArray[np.int64] | None = None
    max_length: int = 128
    pooled: bool = False
    problem: DataError | None = None

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Return the lines to print."""
        corpus, folds = self.corpus, self.folds
        strata = corpus.strata()
        counts = {name: int(flags.sum()) for name, flags in strata.items()}
        labels = [*corpus.strata(absent=False).values()]
        unlabelled = int((~np.any(labels, axis=0)).sum())
        kinds = Counter(task.kind for task in corpus.tasks)
        made_up = " (generated: no document is real)" if corpus.generated else ""
        rare = [name for name, count in counts.items() if count < self.wanted_folds]
        notes = dict.fromkeys((*corpus.notes, *(folds[0].notes if folds else ())))
        return (
            f"corpus      {corpus.name}{made_up}",
            f"documents   {len(corpus):,}, {unlabelled:,} with no label set",
            "tasks       " + ", ".join(f"{count} {kind}" for kind, count in kinds.items()),
            f"labels      {len(labels)}",
            _repeats_line(corpus),
            _length_line(self.lengths, self.max_length, pooled=self.pooled and corpus.is_of_single_texts),
            *(
                f"fold {fold.index}      " + ", ".join(f"{part} {len(fold.part(part)):,}" for part in PARTS)
                for fold in folds
            ),
            f"rare        labels in fewer documents than folds: {', '.join(rare) or 'none'}",
            *(f"note        {note}" for note in notes),
            "",
            *_table(strata, folds),
        )


def _repeats_line(corpus: Corpus) -> str:
    """Count documents equal to an earlier one: in text, both texts of a pair, or text and mentions."""
    sources = corpus.members or (corpus,)
    documents = repeats_of(sources).documents
    marked = [marks for source in sources for marks in source.mentions or [()] * len(source)]
    duplicates = len(corpus) - len(set(zip(documents.exact.tolist(), marked, strict=True)))
    near = documents.exact.max() - documents.near.max()  # different texts; of pairs, both
    return (
        f"duplicates  {duplicates:,} documents repeat an earlier one exactly; {near:,} texts "
        "differ from an earlier one only in case, spaces or punctuation"
    )


def _length_line(values: NDArray[np.int64] | None, max_length: int, *, pooled: bool) -> str:
    if values is None:
        return "tokens      not counted: no tokenizer available"
    beyond = np.maximum(values - max_length, 0)
    lost = f" ({beyond.sum():,} tokens, {beyond.sum() / values.sum():.0%})" if beyond.any() else ""
    cut = "cut into windows of" if pooled else "truncated at"
    median, p95 = np.percentile(values, [50, 95], method="higher").astype(int)
    return (
        f"tokens      {values.min()} to {values.max()}, median {median}, 95 % up to {p95}; "
        f"{(beyond > 0).sum():,} documents are {cut} {max_length}" + ("" if pooled else lost)
    )


def _table(strata: Mapping[str, NDArray[np.bool_]], folds: Sequence[Fold]) -> list[str]:
    """Return positives per label (or class, type of entity, quarter of the values), per part of a fold."""
    parts = {part: folds[0].part(part) for part in PARTS} if folds else {}
    width = max(len("label"), *map(len, strata))
    head = f"{'label':<{width}}  {'all':>7}" + "".join(f"  {part:>10}" for part in parts)
    rows = [
        f"{name:<{width}}  {flags.sum():>7,}"
        + "".join(f"  {flags[rows_of_part].sum():>10,}" for rows_of_part in parts.values())
        for name, flags in strata.items()
    ]
    return [head + ("  (fold 0)" if parts else ""), *rows]
