"""A trained plan loaded from a folder: all its networks, as one model that predicts texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mtlv.data.targets import TARGETS, targets_with
from mtlv.disk import digest_of, tensor_bytes
from mtlv.errors import DataError, MtlvError, TrackingError, nearest, shorten
from mtlv.formatting import list_first, many
from mtlv.models.encoder_config import read_bare, tokenizer_digest
from mtlv.plan import ModelSpec, Plan, Task, from_json, mean_outputs
from mtlv.plan.tagging import SCHEMES
from mtlv.plan.temperature import least_confidence
from mtlv.sealed import CHANGED
from mtlv.serving.inputs import InputSchema, ServedTask
from mtlv.serving.kinds import ANSWERS, TaskPrediction
from mtlv.serving.manifest import DESCRIPTION, ModelManifest, broken, read_json_file
from mtlv.serving.read_inputs import Query, QueryDocuments, read_documents
from mtlv.serving.texts import InputTexts
from mtlv.settings.schema import HeadSettings
from mtlv.units.input_cache import tokens_of
from mtlv.units.inputs import UnitInputs
from mtlv.units.model import build_model

if TYPE_CHECKING:
    from mtlv.models.encoder import Encoder
    from mtlv.models.multitask import MultiTaskModel

MOST_LAYERS = 100  # maximum layers of a head
MOST_HEADER = 10_000_000  # maximum bytes of names in a file of weights
PLAN, ENCODER = "plan.json", "encoder"


@dataclass(frozen=True)
class Network:
    """A model and the tasks it predicts; its other heads have separate networks."""

    model: MultiTaskModel
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class Prediction:
    """Predictions of a plan for N rows."""

    predictions: tuple[TaskPrediction, ...]  # of each of T tasks, in the order of the corpus
    notes: tuple[str, ...] = ()  # on texts that were not read, or not to the end

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks."""
        return tuple(prediction.task.name for prediction in self.predictions)

    def __getitem__(self, task: str) -> TaskPrediction:
        return self.predictions[self.tasks.index(task)]


class ServedPlan:
    """Every network of a plan, ready to predict: one per model, or several from different epochs."""

    def __init__(self, description: ModelManifest, networks: Sequence[Network], encoder: Encoder) -> None:
        self.description = description
        self.encoder = encoder
        self.networks = tuple(networks)

    @classmethod
    def load(cls, folder: Path, *, device: str = "auto") -> Self:
        """Load the plan from `folder`, without downloads or pickles.

        Args:
            folder: folder in the layout of `mtlv.serving.package`.
            device: `auto`, `cpu`, `cuda` or `cuda:N`.

        Raises:
            TrackingError: a file is missing or invalid, or the tokenizer splits texts differently here.
            EncoderError: the encoder's files cannot be read.
            DeviceError: the device is unknown, or not available.
        """
        from mtlv.models.encoder import Encoder
        from mtlv.training.optim import resolve_device

        description = ModelManifest.read(folder)
        place = resolve_device(device, "the device")
        bare, tokenizer = read_bare(folder / ENCODER)
        if tokenizer_digest(tokenizer) != description.tokenizer:
            raise TrackingError(
                f"the tokenizer of the model in {folder} splits texts differently here than in training",
                then="install the version of transformers in its requirements.txt",
            )
        _need_positions(folder, description, bare)
        networks = [
            Network(_network(bare, model, part, folder, file).to(place), tasks)
            for part, plan in _read_plans(folder, description)
            for model in plan.models
            for file, tasks in _files(model, part).items()
        ]
        encoder = Encoder(description.encoder, bare, tokenizer, description.tokenizer)
        return cls(description, networks, encoder)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks that texts can be asked for, in the order of the corpus."""
        known = self.description.tasks.items()
        return tuple(name for name, served in known if TARGETS[served.task.kind].has_targets)

    def predict(
        self,
        texts: Sequence[str] | InputTexts,
        *,
        tasks: Collection[str] | None = None,
        calibrated: bool = False,
        abstain: float | None = None,
        explain: bool = False,
    ) -> Prediction:
        """Predict N texts, in the same way as the test part was predicted.

        Rows that are empty or lack an input of a task have no answer, which is noted.

        Args:
            texts: N texts, or texts with the other inputs of the tasks.
            tasks: names of the tasks to predict; None is all.
            calibrated: whether probabilities are given at the temperatures fitted on validation, of tasks
                that have one.
            abstain: wanted share of wrong decisions; those below the limit from validation are not made.
            explain: whether words with the largest attention weights are given.

        Raises:
            DataError: no row is text or has the inputs of a task, a task does not exist, or none has a
                temperature, a limit for that error, or weights of tokens.
        """
        if explain and self.description.models > 1:
            what = f"`explain`: each of the {self.description.models} models has its own weights of words"
            raise DataError(what, then="run the config with `tracking.models: all`, and ask a fold's run")
        if isinstance(texts, InputTexts):
            inputs = texts
        else:
            inputs = InputTexts(tuple(texts), tuple(range(len(texts))), "row")
        served_tasks = [self.description.tasks[name] for name in self._task_names(tasks)]
        predictions: dict[str, TaskPrediction] = {}
        notes = dict.fromkeys(self._calibration_notes(served_tasks) if calibrated else ())
        least = {} if abstain is None else self._least_confidences(served_tasks, abstain)
        if lost := [name for name, value in least.items() if value > 1]:
            notes[f"abstained from all of {list_first(lost, 3)}: no limit keeps this error"] = None
        for schema, schema_tasks, documents in self._read(inputs, served_tasks):
            by_task, truncated = self._ask(documents, schema, schema_tasks, len(inputs), explain)
            predictions |= by_task
            if documents.split and schema.agreement is not None:
                note = f"texts are split into words by the rule `{schema.rule}`, as in {schema.agreement:.0%}"
                notes[f"{note} of the training documents; to give the words themselves, use `words`"] = None
            notes |= dict.fromkeys(documents.notes)
            if truncated:
                note = f"{many(truncated, 'text')} longer than the {schema.max_length} tokens that the model"
                notes[f"{note} reads: the rest was not read"] = None
        if explain and not any(prediction.attended for prediction in predictions.values()):
            raise DataError(
                "`explain`: no task weighs the tokens of its texts",
                got=f"`encoder.features: {self.description.features}`",
                then="train a model with `encoder.features: attention`",
            )
        names = [served.task.name for served in served_tasks]
        ordered = [replace(predictions[name], least=least.get(name)) for name in names]
        if calibrated:
            temperatures = self.description.temperatures
            ordered = [replace(one, temperature=temperatures.get(one.task.name, 1.0)) for one in ordered]
        return Prediction(tuple(ordered), tuple(notes))

    def _calibration_notes(self, served_tasks: Sequence[ServedTask]) -> list[str]:
        """Return a note if some of the tasks with probabilities have no temperature.

        Raises:
            DataError: none has one.
        """
        names = [served.task.name for served in served_tasks if ANSWERS[served.task.kind].probable]
        if not names:
            raise DataError("`calibrated`: no task has probabilities", then="leave `calibrated` out")
        lost = [name for name in names if name not in self.description.temperatures]
        if len(lost) == len(names):
            raise DataError(
                f"`calibrated`: the model has no temperature of {list_first(names, 3)}",
                allowed=", ".join(self.description.temperatures) or None,
                then="leave `calibrated` out; it needs errors on validation, and a model of this version or "
                "later",
            )
        why = "no temperature could be fitted on validation"
        return [f"not calibrated: {list_first(lost, 3)}; {why}"] if lost else []

    def _least_confidences(self, served_tasks: Sequence[ServedTask], error: float) -> dict[str, float]:
        """Return the confidence that each task with probabilities needs; infinity if none keeps the error.

        Raises:
            DataError: the error is no share, or no task has a limit for it.
        """
        if not 0 < error < 1:
            raise DataError("`abstain`", got=error, allowed="a share above 0 and below 1, such as 0.05")
        known = self.description.limits
        names = [served.task.name for served in served_tasks if ANSWERS[served.task.kind].probable]
        least = {name: least_confidence(known.get(name, ()), error) for name in names}
        if all(value is None for value in least.values()):
            lowest = min((known[name][-1][0] for name in names if known.get(name)), default=None)
            raise DataError(
                f"`abstain` {error:g}: no limit of the model keeps this error",
                allowed=None if lowest is None else f"{ceil(lowest * 1000) / 1000:g} or more",
                then="a lower error needs more validation documents; numbers, tags, and models of earlier "
                "versions have no limits",
            )
        return {name: inf if value is None else value for name, value in least.items()}

    def _task_names(self, tasks: Collection[str] | None) -> list[str]:
        """Return the tasks that are named, by themselves or by their data set."""
        sources = {name: self.description.tasks[name].task.source for name in self.tasks}
        for name in tasks or ():
            if name not in sources and name not in sources.values():
                raise DataError(
                    f"the model has no task `{shorten(name)}`",
                    allowed=", ".join(self.tasks),
                    then=nearest(name, self.tasks),
                )
        return [name for name, source in sources.items() if tasks is None or {name, source} & {*tasks}]

    def _read(
        self, inputs: InputTexts, served_tasks: Sequence[ServedTask]
    ) -> list[tuple[InputSchema, list[Task], QueryDocuments]]:
        """Return the documents as tasks with the same inputs read them.

        Raises:
            DataError: no row has an input; contains those of all tasks.
        """
        documents, errors = [], []
        for schema in dict.fromkeys(served.schema for served in served_tasks):
            tasks = [served.task for served in served_tasks if served.schema == schema]
            try:
                query = Query(inputs, schema, tasks[0].name, self.description.columns)
                documents.append((schema, tasks, read_documents(query)))
            except DataError as error:
                errors.append(error)
        if errors:
            raise DataError.all_of(errors)
        return documents

    def _ask(
        self, documents: QueryDocuments, schema: InputSchema, tasks: Sequence[Task], count: int, explain: bool
    ) -> tuple[dict[str, TaskPrediction], int]:
        """Return the predictions of tasks with the same inputs, and the number of truncated documents."""
        rows = documents.rows
        empty = np.setdiff1d(np.arange(count), rows)
        by_task, attended, truncated = (
            self._outputs(documents, schema, tasks, explain) if len(rows) else ({}, {}, 0)
        )
        predictions = {}
        for task in tasks:
            outputs = ANSWERS[task.kind].none(task, count)
            if len(rows) == count and count:
                outputs = by_task[task.name]
            elif len(rows):
                outputs[rows] = by_task[task.name]
            threshold = float(self.description.thresholds.get(task.name, 0.0))
            words = {int(rows[place]): words for place, words in attended.get(task.name, {}).items()}
            predictions[task.name] = TaskPrediction(
                task, outputs, threshold, documents.words(count), empty=empty, attended=words
            )
        return predictions, truncated

    def _outputs(
        self, documents: QueryDocuments, schema: InputSchema, tasks: Sequence[Task], explain: bool
    ) -> tuple[dict[str, NDArray], dict[str, Mapping[int, Mapping[str, float]]], int]:
        """Return outputs and weights of words by task for the readable documents, and how many of these were
        truncated.

        Networks without requested tasks are not run.
        """
        from mtlv.serving.explain import attended_words

        scheme = SCHEMES[self.description.heads["tagging_scheme"]]
        requested = {task.name for task in tasks}
        tasks_of_networks = [_tasks_to_run(network, requested) for network in self.networks]
        known = self.description.tasks
        corpus = documents.corpus([known[name].task for names in tasks_of_networks for name in names])
        windows = schema.window, schema.window_overlap, schema.window_pooling
        tokens = tokens_of(self.encoder, corpus, schema.max_length, schema.shown, *windows)
        inputs = UnitInputs(corpus, tokens, self.encoder, targets_with(scheme))
        by_task: dict[str, list[NDArray]] = {}
        attended: dict[str, Mapping[int, Mapping[str, float]]] = {}
        for network, names in zip(self.networks, tasks_of_networks, strict=True):
            parts = inputs.parts(names, np.arange(len(corpus)))
            network_outputs = inputs.outputs(network.model, parts, precision=self.precision)
            for name in network_outputs.keys() & set(network.tasks):
                by_task.setdefault(name, []).append(network_outputs[name])
            for part in parts if explain else ():
                how = {"tokenizer": self.encoder.tokenizer, "precision": self.precision}
                words = attended_words(network.model, part, network_outputs, **how)
                attended |= {name: places for name, places in words.items() if name in network.tasks}
        outputs = {name: mean_outputs(of) if len(of) > 1 else of[0] for name, of in by_task.items()}
        return outputs, attended, tokens.truncated

    @property
    def precision(self) -> str:
        """Return the precision of the test; fp32 if this device does not support bf16."""
        from mtlv.training.optim import resolve_precision

        device = next(self.networks[0].model.parameters()).device
        known = self.description.precision
        return known if known == "fp32" else resolve_precision("auto", device)


def _need_positions(folder: Path, description: ModelManifest, bare: Any) -> None:
    for served in description.tasks.values():
        length = served.schema.max_length
        longest = getattr(bare.config, "max_position_embeddings", length)
        if length > longest:
            fault = ValueError(f"`max_length` {length}, the encoder reads {longest}")
            raise broken(folder / DESCRIPTION, fault)


def _read_plans(folder: Path, description: ModelManifest) -> list[tuple[ModelManifest, Plan]]:
    """Return the descriptions and plans of the models that are averaged, or of the only one."""
    parts, known = [(description, _read_plan(folder / PLAN, description))], description.tasks.values()
    for number in range(1, description.models):
        place = folder / str(number)
        part = ModelManifest.read(place)
        if [served.task for served in part.tasks.values()] != [served.task for served in known]:
            raise broken(place / DESCRIPTION, ValueError("other tasks than the first model"))
        parts.append((part, _read_plan(place / PLAN, part)))
    return parts


def _read_plan(path: Path, description: ModelManifest) -> Plan:
    content = read_json_file(path)
    try:
        plan = from_json(content)
        plan.check([served.task for served in description.tasks.values()])
    except MtlvError as error:
        raise broken(path, error) from error
    if any(type(head.private) is not int or not 0 <= head.private <= MOST_LAYERS for head in plan.heads):
        raise broken(path, ValueError(f"a head without 0 to {MOST_LAYERS} private layers"))
    if any(type(head.layers) is not int or not 0 < head.layers <= MOST_LAYERS for head in plan.heads):
        raise broken(path, ValueError(f"a head without 1 to {MOST_LAYERS} layers"))
    lost = [model.name for model in plan.models if model.name not in description.networks]
    lost += [name for name in description.thresholded if name not in description.thresholds]
    if lost:
        raise broken(path.parent / DESCRIPTION, ValueError(f"no entry for {', '.join(lost)}"))
    return plan


def _files(model: ModelSpec, description: ModelManifest) -> dict[str, tuple[str, ...]]:
    """Return the files of a model's networks, with the tasks that each predicts."""
    usual, tasks_by_file = description.networks[model.name], dict[str, tuple[str, ...]]()
    for task in model.tasks:
        file = description.task_files.get(task, usual)
        tasks_by_file[file] = (*tasks_by_file.get(file, ()), task)
    return tasks_by_file


def _tasks_to_run(network: Network, requested: Collection[str]) -> list[str]:
    """Return all tasks of the heads that are needed; heads predict all their tasks."""
    needed = set(network.tasks) & set(requested)
    return [name for head in network.model.specs.values() if needed & set(head.tasks) for name in head.tasks]


def _network(
    bare: Any, model: ModelSpec, description: ModelManifest, folder: Path, file: str
) -> MultiTaskModel:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from mtlv.models.lora import merge_adapters

    tasks = {name: served.task for name, served in description.tasks.items()}
    marked = {name: served.schema.mentions for name, served in description.tasks.items()}
    try:
        network = build_model(
            bare,
            model.heads,
            tasks=tasks,
            features=description.features,
            choices=HeadSettings.model_validate(HeadSettings.later | dict(description.heads)),
            marked={name: most for name, most in marked.items() if most},
            seed=0,
            window_pooling=next(iter(served.schema.window_pooling for served in description.tasks.values())),
        )
    except (KeyError, TypeError) as error:
        raise broken(folder / DESCRIPTION, ValueError(f"the unknown value {error}")) from error
    except ValueError as error:  # raised by Pydantic
        raise broken(folder / DESCRIPTION, ValueError("`heads` with an unknown value")) from error
    try:
        most = MOST_HEADER + 2 * tensor_bytes(network.state_dict())  # with those of LoRA
        if (size := (folder / file).stat().st_size) > most:
            raise ValueError(f"{size:,} bytes, more than {most:,}")
        if digest_of(folder / file) != description.sha256[file]:
            raise ValueError(CHANGED)
        network.load_state_dict(merge_adapters(load_file(folder / file)))  # strict: exactly these weights
    except (OSError, ValueError, SafetensorError, RuntimeError) as error:
        raise broken(folder / file, error) from error
    network.eval()
    return network
