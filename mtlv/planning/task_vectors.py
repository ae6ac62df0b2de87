"""Features of tasks, used to group them, and their vectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import GroupingError
from mtlv.evaluation.scoring import SCORING
from mtlv.formatting import list_first
from mtlv.grouping import GroupValue
from mtlv.grouping.methods import Kind
from mtlv.registries import first_sentence

if TYPE_CHECKING:
    from mtlv.data.folds import Fold
    from mtlv.data.source import Corpus
    from mtlv.plan import Task
    from mtlv.settings.schema import Settings
    from mtlv.store.records import UnitRecord
    from mtlv.units.input_cache import InputCache


MANY = 500  # texts, whose vectors take long enough to say so


@dataclass(frozen=True)
class VectorSource:
    """The data from which features are made: documents of a fold, and validation scores on it.

    Args:
        cache: shared corpora and encoders.
        settings: settings of the suite member.
        fold: fold whose training and validation parts may be read.
        special_tokens: whether means of token vectors include special tokens.
        records: of the finished units in `grouping.from`, of the same fold.
    """

    cache: InputCache
    settings: Settings
    fold: Fold
    special_tokens: bool
    records: Sequence[UnitRecord] = ()

    @property
    def corpus(self) -> Corpus:
        """The documents, with the tasks to learn."""
        return replace(self.cache.corpus(self.settings.data), tasks=self.cache.tasks(self.settings))

    def embed(self, texts: tuple[str, ...]) -> NDArray[np.float32]:
        """Return vectors [n, H] of texts from the published encoder of the grouping."""
        from mtlv.training.embed import embed_texts

        settings = self.settings
        encoder_settings, other = settings.encoder, settings.grouping.encoder
        if other is not None:
            published = {"name": other, "revision": None, "weights": "published", "vocabulary": None}
            encoder_settings = encoder_settings.model_copy(update=published)
        encoder = self.cache.encoder(encoder_settings, settings.data)

        def embedded() -> NDArray[np.float32]:
            if len(texts) > MANY:
                how = "with" if self.special_tokens else "without"  # stability needs both
                self.cache.note(f"computing the vectors of {len(texts):,} texts {how} special tokens")
            return embed_texts(
                encoder, texts, special_tokens=self.special_tokens, max_length=settings.data.max_length
            )

        key = ("vectors", encoder.digest, texts, self.special_tokens, settings.data.max_length)
        return self.cache.once(key, embedded)


Compute = Callable[[VectorSource], NDArray[np.float32] | NDArray[np.float64] | GroupValue]
Cover = Callable[[Sequence[str], Collection[frozenset[str]]], None]
Fits = Callable[[Sequence["Task"]], None]


@dataclass(frozen=True)
class TaskFeature:
    """A choice of `grouping.features`.

    Args:
        compute: function of a `VectorSource` that returns a row for each of T tasks [T, D], or another kind.
        embedded: whether an encoder makes them, so that special tokens matter.
        kind: what `compute` returns.
        cover: for features of finished units: function of the names of T tasks and the groups of tasks that
            units learned together, that raises an error if a group is missing.
        weights: whether it reads the weights of these units.
        fits: function of the tasks that raises an error if they cannot have it; None if only `compute` knows.
    """

    compute: Compute
    embedded: bool = False
    kind: Kind = "vectors"
    cover: Cover | None = None
    weights: bool = False
    fits: Fits | None = None

    @property
    def title(self) -> str:
        """A line for users: what `compute` returns, by its docstring."""
        return first_sentence(self.compute.__doc__).removeprefix("Return ")


def task_feature(**choices: Any) -> Callable[[Compute], TaskFeature]:
    """Convert the decorated function to a `TaskFeature` with these choices."""
    return partial(TaskFeature, **choices)


def need_one_source(features: str, reads: str, instead: str, tasks: Sequence[Task]) -> None:
    """Raise an error if tasks are of several data sets.

    Args:
        features: the feature.
        reads: what it reads, for which tasks need the same documents.
        instead: a feature that does not.
        tasks: the tasks.
    """
    sources = list(dict.fromkeys(task.source for task in tasks))
    if len(sources) > 1:
        raise GroupingError(
            f"`grouping.features: {features}` {reads}",
            got=f"tasks of {list_first(sources)}",
            then=f"set `grouping.features: {instead}`, or `tasks` of one data set",
        )


@task_feature(embedded=True)
def label_name(view: VectorSource) -> NDArray[np.float32]:
    """Return the vectors of the labels' names [T, H]."""
    return view.embed(view.corpus.names)


@task_feature(embedded=True)
def label_description(view: VectorSource) -> NDArray[np.float32]:
    """Return the vectors of the labels' descriptions [T, H].

    Raises:
        GroupingError: a label has no description.
    """
    bare = [task.name for task in view.corpus.tasks if not task.description]
    if bare:
        raise GroupingError(
            "`grouping.features: label_description` needs a description of every label",
            got=f"none for {', '.join(bare)}",
            then="write them under `data.descriptions`, or set `grouping.features: label_name`",
        )
    groups_follow = view.settings.grouping.features == "label_description"  # else it is only compared
    if groups_follow and all(task.description == task.name for task in view.corpus.tasks):
        note = "labels are grouped by their names, because `data.descriptions` has no descriptions of them"
        view.cache.once(("no descriptions", view.corpus.digest), lambda: view.cache.note(note))
    return view.embed(tuple(task.description for task in view.corpus.tasks))


@task_feature(embedded=True)
def document_centroid(view: VectorSource) -> NDArray[np.float32]:
    """Return the mean vector [T, H] of the training documents with each label.

    Raises:
        GroupingError: a task is not a yes/no label.
    """
    need_labels(view, "document_centroid")
    vectors = view.embed(tuple(view.corpus.texts))[view.fold.train]  # [n, H]
    bears = view.corpus.matrix()[view.fold.train].astype(np.float32)  # [n, T]
    return (bears.T @ vectors) / bears.sum(0)[:, None]


@task_feature()
def label_count(view: VectorSource) -> NDArray[np.float32]:
    """Return the number of training documents with each label [T, 1].

    Raises:
        GroupingError: a task is not a yes/no label.
    """
    need_labels(view, "label_count")
    return view.corpus.matrix()[view.fold.train].sum(0, dtype=np.float32)[:, None]


_need_both = partial(need_one_source, "label_cooccurrence", "counts documents with both labels", "label_name")


@task_feature(fits=_need_both)
def label_cooccurrence(view: VectorSource) -> NDArray[np.float64]:
    """Return the correlation (phi) of each label with every other over the training documents [T, T].

    Raises:
        GroupingError: a task is not a yes/no label, or the labels are of several data sets.
    """
    need_labels(view, "label_cooccurrence")
    _need_both(view.corpus.tasks)
    columns = view.corpus.matrix()[view.fold.train].T.astype(np.float64)
    varied = columns.std(axis=1) > 0  # a label that all or no documents have is correlated with none
    correlations = np.eye(len(columns))
    correlations[np.ix_(varied, varied)] = np.atleast_2d(np.corrcoef(columns[varied]))
    return correlations


def need_labels(view: VectorSource, features: str, method: str = "") -> None:
    """Raise an error if a task is not a yes/no label.

    Args:
        view: the tasks.
        features: the feature that needs labels.
        method: end of the sentence that names other features.
    """
    others = [task.name for task in view.corpus.tasks if not SCORING[task.kind].counts_positive]
    if others:
        raise GroupingError(
            f"`grouping.features: {features}` needs yes/no labels",
            got=f"other tasks: {', '.join(others)}",
            then=f"set `grouping.features: label_description` or `label_name`{method}",
        )
