"""A trained plan read back from a folder: all its networks, as one model that takes texts."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mtlv.errors import DataError, MtlvError, TrackingError, shorten
from mtlv.plan import ModelSpec, Plan, Task, from_json

if TYPE_CHECKING:
    from mtlv.models.multitask import MultiTaskModel

MOST_BYTES = 20_000_000  # of a JSON file
MOST_LAYERS = 100  # of a head
FORMAT = 1
"""Raise it when an older mtlv could no longer read the folder."""
DESCRIPTION, PLAN, ENCODER = "served.json", "plan.json", "encoder"


@dataclass(frozen=True)
class Description:
    """`served.json`: what the networks were trained and judged with.

    Args:
        origin: name of the run that trained them.
        tasks: kind of each task by its name, in the corpus's order.
        thresholds: the least probability that predicts a task, fitted on validation.
        scope: how they were fitted; see `mtlv.evaluation.thresholds`.
        networks: file of each model of the plan, by the model's name.
        encoder: its name.
        tokenizer: digest of how texts become ids.
        features: what the heads read of the encoder.
        max_length: longest text in tokens, special tokens included; the rest is cut off.
        precision: `fp32` or `bf16`, as it was tested.
        mtlv: version that wrote it.
        format: version of the folder.
    """

    origin: str
    tasks: Mapping[str, str]
    thresholds: Mapping[str, float]
    scope: str
    networks: Mapping[str, str]
    encoder: str
    tokenizer: str
    features: str
    max_length: int
    precision: str
    mtlv: str
    format: int = FORMAT

    def as_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The description in `folder`.

        Raises:
            TrackingError: it is not there, is broken, or is of a newer mtlv.
        """
        content = _read_json(folder / DESCRIPTION)
        found = content.get("format") if isinstance(content, dict) else None
        if found != FORMAT:
            raise TrackingError(
                f"the model in {folder} has a format that this mtlv does not know",
                got=found,
                allowed=FORMAT,
                then="use the version of mtlv in its requirements.txt",
            )
        try:
            described = cls(**content)
            _check(described)
        except (TypeError, ValueError) as error:
            raise _broken(folder / DESCRIPTION, error) from error
        return described


def _check(found: Description) -> None:
    """Raises ValueError where a value is of another kind than `Description` says."""
    texts = (found.origin, found.scope, found.encoder, found.tokenizer, found.features, found.precision)
    mappings = (found.tasks, found.networks, found.thresholds)
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(m, dict) for m in mappings):
        raise ValueError("a value of the wrong type")
    if not all(isinstance(text, str) for m in mappings[:2] for text in m.values()):
        raise ValueError("`tasks` or `networks` with a value that is no text")
    if not all(type(limit) in (int, float) and 0 <= limit <= 1 for limit in found.thresholds.values()):
        raise ValueError("`thresholds` with a value outside 0 to 1")
    if type(found.max_length) is not int or found.max_length < 1:
        raise ValueError("`max_length` that is no whole number of 1 or more")
    if any(Path(name).is_absolute() or ".." in Path(name).parts for name in found.networks.values()):
        raise ValueError("`networks` with a file outside the folder")


@dataclass(frozen=True)
class Prediction:
    """What a plan says of N texts.

    Args:
        tasks: names of the T tasks, in the corpus's order.
        probabilities: [N, T].
        thresholds: [T].
    """

    tasks: tuple[str, ...]
    probabilities: NDArray[np.float64]
    thresholds: NDArray[np.float64]

    @property
    def decided(self) -> NDArray[np.bool_]:
        """[N, T], true where the probability is at least the task's threshold."""
        return self.probabilities >= self.thresholds


class ServedPlan:
    """Every network of a plan, ready to predict.

    Args:
        description: see `Description`.
        networks: one per model of the plan, on one device.
        tokenizer: the encoder's.
    """

    def __init__(self, description: Description, networks: Sequence[MultiTaskModel], tokenizer: Any) -> None:
        self.description = description
        self.tokenizer = tokenizer
        self._networks = tuple(networks)

    @classmethod
    def load(cls, folder: Path, *, device: str = "auto") -> Self:
        """The plan in `folder`; nothing is fetched and no pickle is read.

        Args:
            folder: as `mtlv.running.model_files` lays it out.
            device: `auto`, `cpu`, `cuda` or `cuda:N`.

        Raises:
            TrackingError: a file is missing or broken, or the tokenizer reads texts in another way here.
            EncoderError: the encoder's files cannot be read.
            DeviceError: the device is not there.
        """
        from mtlv.models.bare import read_bare, tokenizer_digest
        from mtlv.training.optim import resolve_device

        description = Description.read(folder)
        plan = _read_plan(folder / PLAN, description)
        place = resolve_device(device)
        bare, tokenizer = read_bare(folder / ENCODER)
        if tokenizer_digest(tokenizer) != description.tokenizer:
            raise TrackingError(
                f"the tokenizer of the model in {folder} splits texts in another way here than in training",
                then="install the version of transformers in its requirements.txt",
            )
        longest = getattr(bare.config, "max_position_embeddings", description.max_length)
        if description.max_length > longest:
            fault = ValueError(f"`max_length` {description.max_length}, the encoder reads {longest}")
            raise _broken(folder / DESCRIPTION, fault)
        networks = [_network(copy.deepcopy(bare), model, description, folder) for model in plan.models]
        return cls(description, [network.to(place) for network in networks], tokenizer)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, in the corpus's order."""
        return tuple(self.description.tasks)

    def predict(self, texts: Sequence[str]) -> Prediction:
        """Probabilities of every task for N texts, as the test part was scored.

        Raises:
            DataError: something among `texts` is not text.
        """
        from mtlv.data.batches import Documents
        from mtlv.data.tokens import tokenise
        from mtlv.training.predict import predict

        _need_texts(texts)
        thresholds = np.array([self.description.thresholds[task] for task in self.tasks])
        if not len(texts):
            return Prediction(self.tasks, np.zeros((0, len(self.tasks))), thresholds)
        tokens = tokenise(
            [str(text) for text in texts],  # plain: NumPy's own kind of text is not taken
            self.tokenizer,
            max_length=self.description.max_length,
            pad=self.tokenizer.pad_token_id,
        )
        documents = Documents(tokens, {}, np.arange(len(texts)))
        outputs: dict[str, NDArray[np.float32]] = {}
        for network in self._networks:
            outputs |= predict(network, documents, precision=self._precision)
        probabilities = np.stack([outputs[task] for task in self.tasks], axis=1).astype(np.float64)
        return Prediction(self.tasks, probabilities, thresholds)

    @property
    def _precision(self) -> str:
        """As tested; fp32 where this device does not compute bf16."""
        from mtlv.training.optim import resolve_precision

        device = next(self._networks[0].parameters()).device
        known = self.description.precision
        return known if known == "fp32" else resolve_precision("auto", device)


def _read_json(path: Path) -> Any:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"{path.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _broken(path, error) from error


def _broken(path: Path, error: Exception) -> TrackingError:
    said = getattr(error, "strerror", None) or shorten(str(error))
    return TrackingError(
        f"the model's file {path} cannot be read", got=said, then="get the model again from its run"
    )


def _read_plan(path: Path, description: Description) -> Plan:
    content = _read_json(path)
    try:
        plan = from_json(content)
        plan.check([Task(name, kind) for name, kind in description.tasks.items()])
    except MtlvError as error:
        raise _broken(path, error) from error
    if any(type(head.layers) is not int or not 0 < head.layers <= MOST_LAYERS for head in plan.heads):
        raise _broken(path, ValueError(f"a head without 1 to {MOST_LAYERS} layers"))
    lost = [model.name for model in plan.models if model.name not in description.networks]
    lost += [task for task in plan.tasks if task not in description.thresholds]
    if lost:
        raise _broken(path.parent / DESCRIPTION, ValueError(f"nothing stands for {', '.join(lost)}"))
    return plan


def _network(bare: Any, model: ModelSpec, description: Description, folder: Path) -> MultiTaskModel:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from mtlv.models.multitask import MultiTaskModel

    tasks = {name: Task(name, kind) for name, kind in description.tasks.items()}
    path = folder / description.networks[model.name]
    try:
        network = MultiTaskModel(bare, model.heads, tasks=tasks, features=description.features, seed=0)
    except KeyError as error:
        raise _broken(folder / DESCRIPTION, ValueError(f"the unknown word {error}")) from error
    try:
        network.load_state_dict(load_file(path))  # strict: every weight, and no other
    except (OSError, SafetensorError, RuntimeError) as error:
        raise _broken(path, error) from error
    network.eval()
    return network


def _need_texts(texts: Sequence[object]) -> None:
    wrong = [row for row, text in enumerate(texts) if not _is_text(text)]
    if wrong:
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise DataError(
            f"not every input is text: row {', '.join(map(str, wrong[:5]))}{more} (from 0)",
            got=texts[wrong[0]],
            allowed="a list of texts",
        )


def _is_text(value: object) -> bool:
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:  # half of a pair of surrogates, which JSON can carry
        return False
