"""Builds a model from settings, for training and serving."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mtlv.plan import HeadSpec, Task

if TYPE_CHECKING:
    from mtlv.data.source import Corpus
    from mtlv.models.lora import LoRA
    from mtlv.models.multitask import MultiTaskModel
    from mtlv.models.pooling import Pooler
    from mtlv.settings.schema import EncoderSettings, ExecutionSettings, HeadSettings
    from mtlv.units.inputs import UnitInputs
    from mtlv.units.job import Job


MOST_TOKENS = 64  # of a label's description


def model_of(job: Job, inputs: UnitInputs) -> MultiTaskModel:
    """Build a unit's model, with the published encoder, and new heads unless some were published with it.

    Raises:
        EncoderError, PlanError: as for `build_model`.
    """
    from mtlv.training.optim import resolve_device

    model = build_model(
        inputs.encoder.module,
        job.unit.model.heads,
        tasks=inputs.tasks,
        features=job.settings.encoder.features,
        choices=job.settings.heads,
        class_weights=job.settings.training.class_weights,
        adversarial=job.settings.training.masking.adversarial,
        marked=marked_entities(inputs.corpus),
        seed=job.unit.draw_seed("heads"),
        dropout=job.settings.encoder.dropout,
        frozen_layers=job.settings.encoder.frozen_layers,
        below=inputs.below,
        lora=lora_of(job.settings.encoder),
        window_pooling=job.settings.data.window_pooling,
        stack=stack_size(job.settings.execution, {resolve_device(job.settings.training.device).type}),
    )
    model.start_from(inputs.encoder.head)
    return model


def stack_size(execution: ExecutionSettings, devices: Collection[str]) -> int | None:
    """Return the most models, or private layers, of a stack; 1 for none, and None for what a GPU allows."""
    if execution.stack == "auto":
        return None if "cuda" in devices else 1
    return execution.stack


def build_model(
    encoder: Any,
    heads: Sequence[HeadSpec],
    *,
    tasks: Mapping[str, Task],
    features: str,
    choices: HeadSettings,
    marked: Mapping[str, int],
    seed: int,
    class_weights: str | None = None,
    adversarial: float = 0.0,
    **more: Any,
) -> MultiTaskModel:
    """Build a model with new heads.

    Args:
        encoder: a Transformers base model, which is copied.
        heads: specification of each head.
        tasks: the tasks by name.
        features: the setting `encoder.features`.
        choices: the settings `heads`.
        marked: maximum number of marked entities per relation task; see `marked_entities`.
        seed: seed of the heads' initial weights.
        class_weights: the setting `training.class_weights`, for training.
        adversarial: the setting `training.masking.adversarial`, for training.
        more: further arguments of `MultiTaskModel`.

    Raises:
        EncoderError: the encoder has fewer layers, or no linear layers of the names in `lora`.
        PlanError: the tasks of a head have different inputs, or a package is missing.
        KeyError: an unknown feature or kind of task.
    """
    from mtlv.models.kinds import kinds_with
    from mtlv.models.multitask import MultiTaskModel

    return MultiTaskModel(
        copy.deepcopy(encoder),
        heads,
        tasks=tasks,
        features=features,
        seed=seed,
        kinds=kinds_with(
            tagging_scheme=choices.tagging_scheme,
            tagging_layer=choices.tagging_layer,
            class_weights=class_weights,
            adversarial=adversarial,
        ),
        relations=_relations(choices.relation_features, marked),
        **more,
    )


def start_from_label_texts(model: MultiTaskModel, inputs: UnitInputs) -> None:
    """Set the weights of each output of yes/no labels and classes to the vector of its description or name.

    Vectors are those that the heads read, less their mean over all tasks of the kind, and as long as weights
    from N(0, 0.02) are in the mean. Heads of several layers, and those that read words, tokens or marked
    entities, keep theirs.
    """
    import torch

    from mtlv.data.batches import PartDocuments
    from mtlv.data.targets import TARGETS
    from mtlv.data.tokens import tokenise
    from mtlv.models.heads import INIT_STD
    from mtlv.training.loop import logits_of

    tokenizer, marked = inputs.encoder.tokenizer, marked_entities(inputs.corpus)
    for (name, spec), head in zip(model.specs.items(), model.heads.values(), strict=True):
        kind, by_token = inputs.tasks[spec.tasks[0]].kind, model.readers[name].by_token
        if not TARGETS[kind].by_class or by_token or spec.layers > 1 or spec.tasks[0] in marked:
            continue
        texts = {task.name: task.classes or (task.description or task.name,) for task in inputs.corpus.tasks}
        of_kind = [text for task in inputs.corpus.tasks if task.kind == kind for text in texts[task.name]]
        tokens = tokenise(of_kind, tokenizer, max_length=MOST_TOKENS, pad=tokenizer.pad_token_id)
        (batch,) = PartDocuments(tokens, {}, np.arange(len(of_kind))).inference(len(of_kind))
        with torch.no_grad():
            vectors = logits_of(model.eval(), batch, [name], read=lambda _, vectors, __: vectors)[name]
            vectors = vectors[np.argsort(batch.index)]
            lengths = (vectors := vectors - vectors.mean(0)).norm(dim=1, keepdim=True).clamp(min=1e-6)
            rows = [of_kind.index(text) for task in spec.tasks for text in texts[task]]
            head.layers[-1].weight.copy_(  # type: ignore[index, union-attr]
                (vectors / lengths)[rows] * INIT_STD * vectors.shape[1] ** 0.5
            )


def lora_of(settings: EncoderSettings) -> LoRA | None:
    """Return the adapters in the settings `encoder`."""
    if settings.lora is None:
        return None
    from mtlv.models.lora import LoRA

    return LoRA(**settings.lora.model_dump())


def _relations(features: str, marked: Mapping[str, int]) -> dict[str, Pooler]:
    from mtlv.models.pooling import RELATION_FEATURES

    make = RELATION_FEATURES.get(features)  # `document`: like every other head
    return {} if make is None else {task: make(count) for task, count in marked.items()}


def marked_entities(corpus: Corpus) -> dict[str, int]:
    """Return the maximum number of marked entities of a document, for each task with marked entities."""
    counts: dict[str, int] = {}
    for source in corpus.members or (corpus,):
        most = max(map(len, source.mentions or ()), default=0)
        counts |= {task.name: most for task in source.tasks if most}
    return counts
