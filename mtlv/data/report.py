"""The report of `mtlv data check` on a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mtlv.data.repeats import repeats_of
from mtlv.data.source import PARTS, Corpus
from mtlv.data.splits import Fold

# Texts -> their lengths in tokens, special tokens included.
Lengths = Callable[[Sequence[str]], Sequence[int]]


@dataclass(frozen=True)
class LengthSummary:
    """Lengths of documents in tokens: minimum, median, 95th percentile, maximum, and number truncated."""

    least: int
    median: int
    p95: int
    most: int
    cut: int
    max_length: int


@dataclass(frozen=True)
class CorpusReport:
    """Statistics of a corpus and its folds."""

    name: str
    generated: bool
    documents: int
    tasks: Mapping[str, int]  # number of tasks by kind
    unlabelled: int  # documents without labels
    duplicates: int  # documents equal to an earlier one: in text, both texts of a pair, or text and mentions
    near: int  # different texts (pairs: both) equal to an earlier one except for case, spaces or punctuation
    sizes: tuple[Mapping[str, int], ...]  # documents by part, per fold
    counts: Mapping[str, int]  # documents by label (or class, type of entity, quarter of the values)
    per_part: Mapping[str, Mapping[str, int]]  # the same in each part of the first fold
    rare: tuple[str, ...]  # labels in `counts` with fewer documents than folds
    lengths: LengthSummary | None  # in tokens; None if no tokenizer was available
    notes: tuple[str, ...]


def inspect(
    corpus: Corpus,
    folds: Sequence[Fold],
    *,
    wanted_folds: int = 1,
    lengths: Lengths | None = None,
    max_length: int = 128,
) -> CorpusReport:
    """Compute statistics of a corpus and its folds, if they could be made, before training."""
    strata = corpus.strata()
    counts = {name: int(flags.sum()) for name, flags in strata.items()}
    notes = (*corpus.notes, *(folds[0].notes if folds else ()))
    per_part = {
        name: {part: int(flags[folds[0].part(part)].sum()) for part in PARTS}
        for name, flags in (strata.items() if folds else ())
    }
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
        per_part=per_part,
        rare=tuple(name for name, count in counts.items() if count < wanted_folds),
        lengths=None if lengths is None else summarise(_lengths(corpus, lengths), max_length),
        notes=tuple(dict.fromkeys(notes)),
    )


def summarise(lengths: Sequence[int], max_length: int) -> LengthSummary:
    """Return minimum, median, 95th percentile and maximum of N lengths, and the number above `max_length`."""
    values = np.asarray(lengths)
    median, p95 = np.percentile(values, [50, 95], method="higher").astype(int).tolist()
    cut = int((values > max_length).sum())
    return LengthSummary(int(values.min()), median, p95, int(values.max()), cut, max_length)


def lines(report: CorpusReport) -> list[str]:
    """Return the lines of the report."""
    made_up = " (generated: no document is real)" if report.generated else ""
    out = [
        f"corpus      {report.name}{made_up}",
        f"documents   {report.documents:,}, {report.unlabelled:,} without labels",
        "tasks       " + ", ".join(f"{count} {kind}" for kind, count in report.tasks.items()),
        f"labels      {len(report.counts)}",
        f"duplicates  {report.duplicates:,} documents repeat an earlier one exactly; {report.near:,} texts "
        "differ from an earlier one only in case, spaces or punctuation",
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
        return "tokens      not counted: no tokenizer available"
    return (
        f"tokens      {lengths.least} to {lengths.most}, median {lengths.median}, 95 % up to {lengths.p95}; "
        f"{lengths.cut:,} documents are truncated at {lengths.max_length}"
    )


def _table(report: CorpusReport) -> list[str]:
    """Return positives per label: in all documents, and in each part of the first fold."""
    parts = list(PARTS) if report.per_part else []
    width = max(len("label"), *(len(name) for name in report.counts))
    head = f"{'label':<{width}}  {'all':>7}" + "".join(f"  {part:>10}" for part in parts)
    rows = [
        f"{name:<{width}}  {count:>7,}" + "".join(f"  {report.per_part[name][part]:>10,}" for part in parts)
        for name, count in report.counts.items()
    ]
    return [head + ("  (fold 0)" if parts else ""), *rows]


def _lengths(corpus: Corpus, lengths: Lengths) -> Sequence[int]:
    """Return the tokens of each document; for a pair, as it is given to the encoder."""
    first = lengths(corpus.texts)
    if corpus.seconds is None:
        return first
    # Both counts include the special tokens around a text; a pair has only one at its beginning.
    return [a + b - 1 for a, b in zip(first, lengths(corpus.seconds), strict=True)]
