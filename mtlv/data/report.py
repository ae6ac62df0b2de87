"""What `mtlv data check` says about a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlv.data.repeats import repeats_of
from mtlv.data.source import PARTS, Corpus
from mtlv.data.splits import Fold

# Texts -> their lengths in tokens, special tokens included.
Lengths = Callable[[Sequence[str]], Sequence[int]]


@dataclass(frozen=True)
class LengthSummary:
    """Lengths of documents in tokens: least, median, 95th percentile, most, and how many are cut."""

    least: int
    median: int
    p95: int
    most: int
    cut: int
    max_length: int


@dataclass(frozen=True)
class CorpusReport:
    """Figures of a corpus and its folds.

    Args:
        name, generated: of the corpus.
        documents: N.
        tasks: kind -> how many.
        unlabelled: documents with none of the labels.
        duplicates: documents that equal an earlier one: its text, both texts of a pair, or text and mentions.
        near: different texts (of pairs: both) that equal an earlier one but for case, blanks or punctuation.
        sizes: part -> documents, per fold.
        counts: label (or class, type of entity, quarter of the values) -> documents that have it.
        per_part: the same in each part of the first fold.
        rare: those of `counts` with fewer documents than there are folds.
        lengths: in tokens; None where no tokenizer was at hand.
        notes: of the corpus and its folds.
    """

    name: str
    generated: bool
    documents: int
    tasks: Mapping[str, int]
    unlabelled: int
    duplicates: int
    near: int
    sizes: tuple[Mapping[str, int], ...]
    counts: Mapping[str, int]
    per_part: Mapping[str, Mapping[str, int]]
    rare: tuple[str, ...]
    lengths: LengthSummary | None
    notes: tuple[str, ...]


def inspect(
    corpus: Corpus,
    folds: Sequence[Fold],
    *,
    wanted_folds: int = 1,
    lengths: Lengths | None = None,
    max_length: int = 128,
) -> CorpusReport:
    """Count what is worth knowing before training.

    Args:
        corpus: N documents, T tasks.
        folds: as made for it; may be empty where they could not be made.
        wanted_folds: how many were asked for.
        lengths: counts tokens.
        max_length: where documents are cut, in tokens.
    """
    strata = corpus.strata()
    counts = {name: int(flags.sum()) for name, flags in strata.items()}
    notes = (*corpus.notes, *(folds[0].notes if folds else ()))
    sources = corpus.members or (corpus,)
    documents = repeats_of(sources).documents
    marked = [marks for each in sources for marks in each.mentions or [()] * len(each)]
    return CorpusReport(
        name=corpus.name,
        generated=corpus.generated,
        documents=len(corpus),
        tasks=Counter(task.kind for task in corpus.tasks),
        unlabelled=int((~np.any(list(strata.values()), axis=0)).sum()),
        duplicates=len(corpus) - len(set(zip(documents.exact.tolist(), marked, strict=True))),
        near=int(documents.exact.max() - documents.near.max()),
        sizes=tuple({part: len(fold.part(part)) for part in PARTS} for fold in folds),
        counts=counts,
        per_part=_per_part(strata, folds[0]) if folds else {},
        rare=tuple(name for name, count in counts.items() if count < wanted_folds),
        lengths=None if lengths is None else summarise(_lengths(corpus, lengths), max_length),
        notes=tuple(dict.fromkeys(notes)),
    )


def summarise(lengths: Sequence[int], max_length: int) -> LengthSummary:
    """Least, median, 95th percentile and most of N lengths, and how many are above `max_length`."""
    values = np.asarray(lengths)
    median, p95 = np.percentile(values, [50, 95], method="higher").astype(int).tolist()
    cut = int((values > max_length).sum())
    return LengthSummary(int(values.min()), median, p95, int(values.max()), cut, max_length)


def lines(report: CorpusReport) -> list[str]:
    """The report as text, a line each."""
    made_up = " (generated: no document is real)" if report.generated else ""
    out = [
        f"corpus      {report.name}{made_up}",
        f"documents   {report.documents:,}, {report.unlabelled:,} with none of the labels",
        "tasks       " + ", ".join(f"{count} {kind}" for kind, count in report.tasks.items()),
        f"labels      {len(report.counts)}",
        f"duplicates  {report.duplicates:,} documents repeat an earlier one exactly; {report.near:,} texts "
        "differ from an earlier one only in case, blanks or punctuation",
        _length_line(report.lengths),
    ]
    for index, sizes in enumerate(report.sizes):
        out.append(f"fold {index}      " + ", ".join(f"{part} {size:,}" for part, size in sizes.items()))
    rare = ", ".join(report.rare) if report.rare else "none"
    out.append(f"rare        labels in fewer documents than folds: {rare}")
    out += [f"note        {note}" for note in report.notes]
    return [*out, "", *_table(report)]


def _length_line(lengths: LengthSummary | None) -> str:
    if lengths is None:
        return "tokens      not counted: no tokenizer at hand"
    return (
        f"tokens      {lengths.least} to {lengths.most}, median {lengths.median}, 95 % up to {lengths.p95}; "
        f"{lengths.cut:,} documents are cut at {lengths.max_length}"
    )


def _table(report: CorpusReport) -> list[str]:
    """Positives per label: all, and in each part of the first fold."""
    parts = list(PARTS) if report.per_part else []
    width = max(len("label"), *(len(name) for name in report.counts))
    head = f"{'label':<{width}}  {'all':>7}" + "".join(f"  {part:>10}" for part in parts)
    rows = [
        f"{name:<{width}}  {count:>7,}" + "".join(f"  {report.per_part[name][part]:>10,}" for part in parts)
        for name, count in report.counts.items()
    ]
    return [head + ("  (fold 0)" if parts else ""), *rows]


def _per_part(strata: Mapping[str, NDArray[np.bool_]], fold: Fold) -> dict[str, dict[str, int]]:
    return {
        name: {part: int(flags[fold.part(part)].sum()) for part in PARTS} for name, flags in strata.items()
    }


def _lengths(corpus: Corpus, lengths: Lengths) -> Sequence[int]:
    """Tokens of each document; of a pair as it is given to the encoder."""
    first = lengths(corpus.texts)
    if corpus.seconds is None:
        return first
    # Both counts have the token before a text and the one behind it; a pair begins once.
    return [a + b - 1 for a, b in zip(first, lengths(corpus.seconds), strict=True)]
