"""Features of tasks: how well a model that learned one task alone suits each other task, without training."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtlv.data.joined import sources_of
from mtlv.data.targets import TARGETS
from mtlv.errors import GroupingError
from mtlv.formatting import list_first, many
from mtlv.plan import Task
from mtlv.planning.task_vectors import (
    Compute,
    TaskFeature,
    VectorSource,
    need_one_source,
    task_feature,
)
from mtlv_lab import measures
from mtlv_lab.changed_weights import alone, each_alone, weights_alone

if TYPE_CHECKING:
    from mtlv.models.encoder import Encoder

Score = Callable[[NDArray[np.float32], NDArray[np.int64]], float]
Pairs = NDArray[np.float64]


def of_classes(feature: str, tasks: Sequence[Task]) -> None:
    """Raise an error if a task has no class per text."""
    unfit = [task.name for task in tasks if not TARGETS[task.kind].by_class]
    if unfit:
        raise GroupingError(
            f"`grouping.features: {feature}` needs a class per text",
            got=f"other tasks: {list_first(unfit)}",
            then="set `grouping.features: task_vectors`",
        )


def _of_one_source(tasks: Sequence[Task]) -> None:
    of_classes("leep", tasks)
    need_one_source("leep", "reads outputs of each model for the documents of all tasks", "log_me", tasks)


def of_encoders(feature: str) -> Callable[[Compute], TaskFeature]:
    """Convert the decorated function to a feature by the encoders of models of each task alone."""
    return task_feature(
        kind="affinity",
        embedded=True,
        cover=partial(each_alone, feature),
        weights=True,
        fits=partial(of_classes, feature),
    )


@of_encoders("h_score")
def h_score(view: VectorSource) -> Pairs:
    """Return how much higher the H-score of a task is with the encoder that learned another [T, T].

    Rows receive, columns give: the H-score of the vectors of a task's training documents, minus that with the
    published encoder; the diagonal is 0. See `mtlv_lab.measures`.

    Raises:
        GroupingError: a task was not learned alone, or has no class per text, or weights were not kept.
    """
    return _gain_over_published(view, "h_score", measures.h_score)


@of_encoders("log_me")
def log_me(view: VectorSource) -> Pairs:
    """Return how much higher the LogME of a task is with the encoder that learned another [T, T].

    As `h_score`, with the evidence per document of a linear model, in nats.

    Raises:
        GroupingError: as for `h_score`.
    """
    return _gain_over_published(view, "log_me", measures.log_me)


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
        column = names.index(giver)
        count[column] += 1
        for row, name in enumerate(names):
            known = labels[name].mask
            outputs = record.validation.tasks[giver].outputs[known]
            total[row, column] += _excess_leep(outputs, labels[name].targets[known])
    means = total / count
    np.fill_diagonal(means, 0.0)
    return means


def _gain_over_published(view: VectorSource, feature: str, score: Score) -> Pairs:
    """Return the scores of all tasks with the encoder of each [T, T], minus those with the published one."""
    names, settings = view.corpus.names, view.settings
    of_classes(feature, view.corpus.tasks)
    weights = weights_alone(view, feature)
    encoder = view.cache.encoder(settings.encoder, settings.data)
    view.cache.note(f"computing {feature}: the training documents' vectors by {many(len(weights), 'model')}")
    total, count = np.zeros((len(names), len(names))), np.zeros(len(names))
    for giver, path in weights:
        total[:, names.index(giver)] += _scores(view, encoder.with_weights(path), score)
        count[names.index(giver)] += 1
    gains = total / count - _scores(view, encoder, score)[:, None]
    np.fill_diagonal(gains, 0.0)
    return gains


def _scores(view: VectorSource, encoder: Encoder, score: Score) -> NDArray[np.float64]:
    """Return the score of each task [T] with the vectors of its training documents, as models read them."""
    known = rows_and_labels(view)
    rows = np.unique(np.concatenate([part for part, _ in known]))
    vectors = vectors_of(view, encoder, rows)
    return np.array([score(vectors[np.searchsorted(rows, part)], labels) for part, labels in known])


def vectors_of(view: VectorSource, encoder: Encoder, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the vectors [n, H] of n documents, in order, as models read them.

    On a CPU, the output of layers that are frozen in training is computed once for all encoders.
    """
    from mtlv.training.embed import embed
    from mtlv.training.optim import resolve_device

    device = resolve_device(view.settings.training.device)
    module = copy.deepcopy(encoder.module).to(device)
    if view.settings.encoder.frozen_layers and device.type == "cpu":
        module = _above_frozen(view, module) or module
    tokens = view.cache.tokens(encoder, view.settings.data)
    return embed(
        replace(encoder, module=module), tokens, tokens.rows(rows), special_tokens=view.special_tokens
    )


def _above_frozen(view: VectorSource, module: Any) -> Any:
    """Return an encoder that reads the output of frozen layers from the cache.

    None if its lowest layers are not those of the published encoder, because its unit has trained them.
    """
    import torch

    from mtlv.models.fast.frozen_cache import AboveFrozen

    settings = view.settings
    published, count = view.cache.encoder(settings.encoder, settings.data), settings.encoder.frozen_layers
    above = AboveFrozen(module, count, view.cache.below(published, settings, "fp32"))
    weights, known = module.state_dict(), published.module.state_dict()
    frozen = [name for name, weight in module.named_parameters() if not weight.requires_grad]
    same = all(torch.equal(weights[name], known[name]) for name in frozen)
    return above if same and above.can_be_kept else None


def _excess_leep(outputs: NDArray, labels: NDArray[np.int64]) -> float:
    """Return LEEP of outputs [N] or [N, Z], plus the entropy of the labels [N]."""
    probabilities = np.asarray(outputs, dtype=np.float64)
    if probabilities.ndim == 1:
        probabilities = np.stack([1 - probabilities, probabilities], axis=1)
    return measures.leep(probabilities, labels) - measures.leep(np.ones((len(labels), 1)), labels)


def rows_and_labels(
    view: VectorSource, part: str = "train"
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the rows of each task's documents of a part of the fold, and their labels."""
    corpus, documents = view.corpus, view.fold.part(part)
    sources, parts = sources_of(corpus), []
    for name in corpus.names:
        first, end = next((first, end) for source, first, end in sources if name in source.names)
        rows = documents[(documents >= first) & (documents < end)]
        rows = rows[corpus.known(name)[rows]]
        parts.append((rows, corpus.targets[name][rows]))
    return parts
