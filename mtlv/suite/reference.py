"""Scores of a bag of words beside a run, kept in the store, because they may take a minute."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING

from mtlv.data.source import PARTS
from mtlv.evaluation.reference import ReferenceScores
from mtlv.planning.resolve import FoldRun, ResolvedMember
from mtlv.reporting.plan_result import reference_scores
from mtlv.sealed import read_sealed, write_sealed
from mtlv.seeding import content_key
from mtlv.units.input_cache import InputCache

if TYPE_CHECKING:
    from pathlib import Path

METHOD = 2  # changes with the numbers of `mtlv.units.bag_of_words`


def reference(cache: InputCache, resolved: ResolvedMember, fold_run: FoldRun) -> ReferenceScores | None:
    """Return the test scores of a bag of words on the documents of a fold; None without one."""
    settings = resolved.settings
    if not settings.evaluation.bag_of_words:
        return None
    path = _file(cache, resolved, fold_run)
    stored = None if path is None else read_sealed(path, cache.warn, "it is computed again")
    if stored is not None:
        return None if stored["scores"] is None else ReferenceScores(**stored["scores"])
    parts = cache.bag_of_words(settings, fold_run.fold)
    scores = None if parts is None else reference_scores(*parts, resolved.tasks, settings.evaluation)
    if path is not None:
        with suppress(OSError):  # a full disk: it is computed again
            path.parent.mkdir(exist_ok=True)
            write_sealed(path, {"scores": None if scores is None else asdict(scores)})
    return scores


def _file(cache: InputCache, resolved: ResolvedMember, fold_run: FoldRun) -> Path | None:
    """Return the file of the scores, by all that decides them; None without a store."""
    if cache.store is None:
        return None
    settings = resolved.settings
    corpus = cache.corpus(settings.data)
    key = content_key(
        [
            [METHOD, version("scikit-learn")],
            [source.digest for source in (corpus, *corpus.members)],
            [fold_run.fold.part(part).tolist() for part in PARTS],
            [asdict(task) for task in resolved.tasks],
            settings.evaluation.model_dump(mode="json"),
        ]
    )
    return cache.store.references / f"{key}.json"
