"""Data sets of runs, for MLflow's data set columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtlv.data import catalog
from mtlv.data.texts.lazy import pick
from mtlv.seeding import content_key
from mtlv.tracking import DataPart

if TYPE_CHECKING:
    from mtlv.data.folds import Fold
    from mtlv.data.source import Corpus
    from mtlv.planning.resolve import ResolvedMember
    from mtlv.settings.data_schema import DataSettings

ROLES = {"train": "training", "validation": "validation", "test": "test"}


def fold_parts(data: DataSettings, corpus: Corpus, fold: Fold) -> tuple[DataPart, ...]:
    """Return the three parts of a fold; folds with the same test part share its digest."""
    out = []
    for part, role in ROLES.items():
        ids = pick(corpus.ids, fold.part(part))
        digest = content_key([corpus.digest, ids])
        out.append(DataPart(f"{corpus.name} {part}", digest, role, _source(data), len(ids), corpus.names))
    return tuple(out)


def corpus_part(data: DataSettings, corpus: Corpus, resolved: ResolvedMember) -> DataPart:
    """Return all data of a member's folds; the digest is that of the tag `mtlv.data_digest`."""
    role = f"{data.folds} folds" if data.folds > 1 else "train, validation and test"
    return DataPart(corpus.name, resolved.data, role, _source(data), len(corpus), corpus.names)


def _source(data: DataSettings) -> str:
    """Return the user's own file or data set, or the source address of the corpus."""
    return ", ".join(
        source.path or source.hub or catalog.card(source.name).address for source in data.each_source
    )
