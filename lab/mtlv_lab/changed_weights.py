"""The feature of tasks that is read from the weights of finished units: what training changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import GroupingError
from mtlv.formatting import list_first
from mtlv.planning.task_vectors import VectorSource, task_feature
from mtlv.store.records import UnitRecord


def each_alone(feature: str, names: Sequence[str], groups: Collection[frozenset[str]]) -> None:
    """Raise an error if a task was not learned alone."""
    missing = [name for name in names if frozenset((name,)) not in groups]
    if missing:
        raise GroupingError(
            f"`grouping.features: {feature}` needs a model of each task alone",
            got=f"none of {list_first(missing)}",
            then="name a member or stage with `architecture: stl` in `grouping.from`",
        )


def alone(view: VectorSource, feature: str) -> list[tuple[str, UnitRecord]]:
    """Return the units that learned one task, with its name; several of a task if there are several seeds.

    Raises:
        GroupingError: a task was not learned alone.
    """
    names = view.corpus.names
    pairs = [(next(iter(record.validation.tasks)), record) for record in view.records]
    pairs = [(name, record) for name, record in pairs if name in names and len(record.validation.tasks) == 1]
    each_alone(feature, names, {frozenset((name,)) for name, _ in pairs})
    return pairs


def weights_alone(view: VectorSource, feature: str) -> list[tuple[str, Path]]:
    """Return the files of the weights of the units that learned one task, with its name; see `alone`.

    Raises:
        GroupingError: a task was not learned alone, or some weights were not kept.
    """
    store = view.cache.store
    units = alone(view, feature)
    paths = [(name, None if store is None else store.weights(record.key)) for name, record in units]
    lost = [name for name, path in paths if path is None]
    if lost:
        raise GroupingError(
            f"`grouping.features: {feature}` reads weights that were not kept",
            got=f"none of {list_first(lost)}",
            then="train them again with `store.keep_weights: true`: `mtlv run CONFIG --if-exists rerun`",
        )
    return [(name, path) for name, path in paths if path is not None]


@task_feature(cover=partial(each_alone, "task_vectors"), weights=True)
def task_vectors(view: VectorSource) -> NDArray[np.float64]:
    """Return the cosine of each task's change of the encoder, learned alone, with every other [T, T].

    The change is that of all weights, from the published ones to those after training; the mean over the
    units of a task, such as those of several seeds. Source: Ilharco et al., "Editing models with task
    arithmetic" (ICLR 2023).

    Raises:
        GroupingError: a task was not learned alone, weights were not kept, or the encoder did not change.
    """
    names, weights = view.corpus.names, weights_alone(view, "task_vectors")
    encoder = view.cache.encoder(view.settings.encoder, view.settings.data)
    mean = np.array([[float(task == name) for task, _ in weights] for name in names])
    mean /= mean.sum(axis=1, keepdims=True)
    paths = [path for _, path in weights]
    products = mean @ products_of_changes(encoder.module.state_dict(), paths) @ mean.T
    length = np.sqrt(np.diag(products))
    if not length.all():
        raise GroupingError(
            "`grouping.features: task_vectors`: training did not change the encoder",
            got=list_first([name for name, norm in zip(names, length, strict=True) if not norm]),
            then="lower `encoder.frozen_layers`, or take other features",
        )
    return np.asarray(products / np.outer(length, length))


def products_of_changes(start: Mapping[str, Any], paths: Sequence[Path]) -> NDArray[np.float64]:
    """Return the dot products [n, n] of the changes of an encoder's weights in n models.

    Layer by layer, so that memory holds n times the largest. Adapters count as what they change.

    Args:
        start: weights of the encoder before training.
        paths: safetensors files of models with this encoder.
    """
    import torch
    from safetensors import safe_open

    from mtlv.models.lora import merge_adapters
    from mtlv.models.transfer_weights import ENCODER

    total = np.zeros((len(paths), len(paths)))
    with ExitStack() as stack:
        files = [stack.enter_context(safe_open(path, "pt")) for path in paths]
        parts: dict[str, list[str]] = {}
        for name in files[0].keys():  # noqa: SIM118
            parts.setdefault(name.rpartition(".")[0], []).append(name)
        for names in parts.values():
            if not names[0].startswith(ENCODER):
                continue
            states = [merge_adapters({name: file.get_tensor(name) for name in names}) for file in files]
            for name in states[0]:
                before = start[name.removeprefix(ENCODER)].cpu().float()
                changes = torch.stack([(state[name].float() - before).flatten() for state in states])
                total += (changes @ changes.T).double().numpy()
    return total
