"""Features of tasks: how well a model that learned one task alone suits each other task, without training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtlv.data.joined import begins
from mtlv.data.targets import TARGETS
from mtlv.errors import GroupingError
from mtlv.evaluation import transferability as measures
from mtlv.formatting import enumerated
from mtlv.plan import Task
from mtlv.planning.changed_weights import alone, each_alone, weights_of
from mtlv.planning.task_vectors import Compute, TaskFeature, VectorSource, task_feature

if TYPE_CHECKING:
    from mtlv.models.encoder import Encoder

Score = Callable[[NDArray[np.float32], NDArray[np.int64]], float]
Pairs = NDArray[np.float64]


def _of_classes(feature: str, tasks: Sequence[Task]) -> None:
    unfit = [task.name for task in tasks if not TARGETS[task.kind].by_class]
    if unfit:
        raise GroupingError(
            f"`grouping.features: {feature}` needs a class per text",
            got=f"other tasks: {enumerated(unfit)}",
            then="set `grouping.features: task_vectors`",
        )


def _of_one_source(tasks: Sequence[Task]) -> None:
    _of_classes("leep", tasks)
    sources = list(dict.fromkeys(task.source for task in tasks))
    if len(sources) > 1:
        raise GroupingError(
            "`grouping.features: leep` reads outputs of each model for the documents of all tasks",
            got=f"tasks of {enumerated(sources)}",
            then="set `grouping.features: log_me`, or `tasks` of one data set",
        )


def _of_encoders(feature: str) -> Callable[[Compute], TaskFeature]:
    """Convert the decorated function to a feature by the encoders of models of each task alone."""
    return task_feature(
        kind="affinity",
        embedded=True,
        cover=partial(each_alone, feature),
        weights=True,
        fits=partial(_of_classes, feature),
    )


@_of_encoders("h_score")
def h_score(view: VectorSource) -> Pairs:
    """Return how much higher the H-score of a task is with the encoder that learned another [T, T].

    Rows receive, columns give: the H-score of the vectors of a task's training documents, minus that with the
    published encoder; the diagonal is 0. See `mtlv.evaluation.transferability`.

    Raises:
        GroupingError: a task was not learned alone, or has no class per text, or weights were not kept.
    """
    return _over_published(view, "h_score", measures.h_score)


@_of_encoders("log_me")
def log_me(view: VectorSource) -> Pairs:
    """Return how much higher the LogME of a task is with the encoder that learned another [T, T].

    As `h_score`, with the evidence per document of a linear model, in nats.

    Raises:
        GroupingError: as for `h_score`.
    """
    return _over_published(view, "log_me", measures.log_me)


@task_feature(kind="affinity", cover=partial(each_alone, "leep"), fits=_of_one_source)
def leep(view: VectorSource) -> Pairs:
    """Return what the outputs of the model that learned another task say of a task's labels [T, T], in nats.

    Rows receive, columns give: LEEP of the outputs on validation documents, plus the entropy of the labels;
    the diagonal is 0. Any two tasks must have the same documents.

    Raises:
        GroupingError: a task was not learned alone, has no class per text, or has other documents.
    """
    names = view.corpus.names
    _of_one_source(view.corpus.tasks)
    records = alone(view, "leep")
    total, count = np.zeros((len(names), len(names))), np.zeros(len(names))
    labels = {name: record.validation.tasks[name] for name, record in records}
    for giver, record in records:
        outputs = np.asarray(record.validation.tasks[giver].outputs, dtype=np.float64)
        outputs = np.stack([1 - outputs, outputs], axis=1) if outputs.ndim == 1 else outputs
        column = names.index(giver)
        count[column] += 1
        for row, name in enumerate(names):
            scores = labels[name]
            without = measures.leep(np.ones((len(scores.targets), 1)), scores.targets)
            total[row, column] += measures.leep(outputs, scores.targets) - without
    found = total / count
    np.fill_diagonal(found, 0.0)
    return found


def _over_published(view: VectorSource, feature: str, score: Score) -> Pairs:
    """Return the scores of all tasks with the encoder of each [T, T], minus those with the published one."""
    from mtlv.training.embed import embed_texts

    names, settings = view.corpus.names, view.settings
    _of_classes(feature, view.corpus.tasks)
    known = _rows_and_labels(view)
    records = alone(view, feature)
    paths = weights_of(view, feature, records)
    encoder = view.cache.encoder(settings.encoder, settings.data)
    rows = np.unique(np.concatenate([own for own, _ in known]))
    texts = [view.corpus.texts[row] for row in rows]

    def scores(of: Encoder) -> NDArray[np.float64]:
        vectors = embed_texts(
            of, texts, special_tokens=view.special_tokens, max_length=settings.data.max_length
        )
        return np.array([score(vectors[np.searchsorted(rows, own)], labels) for own, labels in known])

    total, count = np.zeros((len(names), len(names))), np.zeros(len(names))
    for (giver, _), path in zip(records, paths, strict=True):
        total[:, names.index(giver)] += scores(encoder.trained(path))
        count[names.index(giver)] += 1
    found = total / count - scores(encoder)[:, None]
    np.fill_diagonal(found, 0.0)
    return found


def _rows_and_labels(view: VectorSource) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the rows of each task's training documents, and their labels."""
    corpus, train = view.corpus, view.fold.train
    members = corpus.members or (corpus,)
    found = []
    for name in corpus.names:
        number = next(at for at, each in enumerate(members) if name in each.names)
        first, end = begins(members)[number : number + 2]
        rows = train[(train >= first) & (train < end)]
        found.append((rows, corpus.targets[name][rows]))
    return found
