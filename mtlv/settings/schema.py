"""Types of the settings, without conversion of values.

Defaults are in `defaults.yml`; only sections that are null there have those of their keys here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from mtlv.environ import variable
from mtlv.registries import ARCHITECTURES, BALANCERS, FEATURES, GROUPINGS, OBJECTIVES, OPTIMIZERS
from mtlv.settings.data_schema import DataSettings
from mtlv.settings.model_schema import ArchitectureSettings, EncoderSettings
from mtlv.settings.values import (
    NO_CONTROL,
    Count,
    Flag,
    Fraction,
    MaybeCount,
    MaybeText,
    Names,
    OneOf,
    Positive,
    Seed,
    SettingsSection,
    Share,
    Text,
)

Weight = Annotated[float, Field(ge=0, description="a number of 0 or more")]


class HeadSettings(SettingsSection):
    """Inputs of heads, their encoding of spans, and their first weights."""

    later = {"start": "random"}  # noqa: RUF012

    tagging_scheme: Literal["bio", "bioul", "io"]
    tagging_layer: Literal["linear", "bilstm", "crf"]
    relation_features: Literal["document", "cls", "mention", "mention_mean", "start"]
    start: Literal["random", "label_texts"]


class GroupingSettings(SettingsSection):
    later = {"from": None, "value": "mean", "level": 1}  # noqa: RUF012

    method: Annotated[str, OneOf(GROUPINGS)]
    features: Annotated[str, OneOf(FEATURES)]
    sources: Annotated[
        Names | None,
        Field(alias="from", description="a list of names of earlier stages or of members, or null"),
    ]
    value: Literal["mean", "sum"]
    k: Annotated[
        Literal["auto"] | Annotated[int, Field(ge=1)],
        Field(description="auto, or a whole number of 1 or more"),
    ]
    k_max: Annotated[int, Field(ge=2, description="a whole number of 2 or more")]
    encoder: MaybeText
    special_tokens: Flag
    scaling: Literal["minmax", "l2", "none"]
    metric: Literal["euclidean", "cosine"]
    engine: Literal["builtin", "scikit-learn-extra"]
    algorithm: Literal["fasterpam", "alternate"]
    init: Literal["build", "heuristic", "random"]
    restarts: Count
    linkage: Literal["average", "complete", "single", "ward"]
    min_cluster_size: Annotated[int, Field(ge=2, description="a whole number of 2 or more")]
    bandwidth: Annotated[float | None, Field(gt=0, description="a number above 0, or null")]
    noise: Literal["own_group", "nearest"]
    level: Count
    groups: Annotated[
        Annotated[tuple[Names, ...], Field(min_length=1, strict=False)] | None,
        Field(description="a list of groups, each a list of label names, or null"),
    ]
    seed: Seed


class MaskingSettings(SettingsSection):
    """Masked language modelling; see `mtlv.data.masking` and `mtlv.training.adversarial`."""

    later = {"adversarial": 0.0}  # noqa: RUF012

    rate: Annotated[
        Share | Annotated[tuple[Share, ...], Field(min_length=1, strict=False)],
        Field(description="a number above 0 and below 1, or a list of them, for equal parts of the training"),
    ]
    whole_words: Flag
    masked: Fraction
    random: Fraction
    adversarial: Weight


Temperature = Annotated[float, Field(ge=1)]


class TeachSettings(SettingsSection):
    """A teacher: an earlier stage, from whose models' outputs a stage learns."""

    stage: Annotated[str, Field(min_length=1, alias="from", description="the name of an earlier stage")]
    gold: Annotated[
        Literal["annealed"] | Fraction, Field(description="annealed, or a number from 0 to 1")
    ] = "annealed"
    temperature: Positive = 1.0


FACTOR_RATE = 0.01
"""Default of `training.objective.learning_rate`."""


class ObjectiveSettings(SettingsSection):
    """A balancer of losses."""

    name: Annotated[str, OneOf(BALANCERS)]
    per: Literal["task", "head"]
    learning_rate: Annotated[float, Field(gt=0, le=1, description="a number above 0, at most 1")]


class RatesSettings(SettingsSection):
    """Factors on the learning rate of parts of a model."""

    heads: Positive
    layers: Annotated[float, Field(gt=0, le=1, description="a number above 0, at most 1")]


class TrainingSettings(SettingsSection):
    later = {  # noqa: RUF012
        "average_epochs": 1,
        "class_weights": None,
        "cuda_graphs": True,
        "optimizer": "adamw",
        "rates": {"heads": 1.0, "layers": 1.0},
        "teach": None,
        "objective": {"name": "sum", "per": "task", "learning_rate": FACTOR_RATE},
        "masking": {"rate": 0.15, "whole_words": True, "masked": 0.8, "random": 0.1},
    }

    epochs: Count
    budget: MaybeCount
    batch_size: Count
    accumulation: Count
    auto_batch: Flag
    gradient_checkpointing: Flag
    cuda_graphs: Flag
    learning_rate: Annotated[
        Literal["auto"] | Annotated[float, Field(gt=0, le=1)],
        Field(description="auto, or a number above 0, at most 1"),
    ]
    rates: RatesSettings
    optimizer: Annotated[str, OneOf(OPTIMIZERS)]
    schedule: Literal["linear", "cosine", "constant"]
    warmup: Annotated[float, Field(ge=0, lt=1, description="a number of 0 or more and below 1")]
    weight_decay: Weight
    draw: Literal["in_proportion", "uniform", "temperature", "rounds"]
    temperature: Annotated[
        Temperature | Annotated[tuple[Temperature, Temperature], Field(strict=False)],
        Field(description="a number of 1 or more, or two, of the first and the last epoch"),
    ]
    clip_norm: Annotated[float | None, Field(gt=0, description="a number above 0, or null")]
    objective: ObjectiveSettings
    head_loss: Annotated[str, OneOf(OBJECTIVES)]
    head_weights: Annotated[
        Literal["size", "rarity"] | dict[str, Weight] | None,
        Field(description="size, rarity, a mapping of task name to a number of 0 or more, or null"),
    ]
    task_weights: Annotated[
        dict[str, Positive] | None,
        Field(description="a mapping of task or data set to a number above 0, or null"),
    ]
    class_weights: Literal["balanced", "sqrt"] | None
    masking: MaskingSettings
    teach: Annotated[
        TeachSettings | None,
        Field(description="a mapping with from, gold and temperature, or null"),
    ]
    average_epochs: Count
    select: Literal["last", "best"]
    select_per: Literal["model", "task"]
    patience: MaybeCount
    select_by: Literal["average_precision", "f1_macro", "loss"]
    precision: Literal["auto", "fp32", "bf16"]
    device: Annotated[
        str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="auto, cpu, cuda or cuda:NUMBER")
    ]

    @property
    def rate(self) -> float:
        """The learning rate; `auto` is a number when a config is loaded."""
        return float(self.learning_rate)


class GridSettings(SettingsSection):
    start: Share
    stop: Share
    step: Positive


class EvaluationSettings(SettingsSection):
    later = {"bag_of_words": True}  # noqa: RUF012

    threshold: Literal["per_plan", "per_task", "fixed"]
    fixed: Fraction
    grid: GridSettings
    bag_of_words: Flag


class TrackingSettings(SettingsSection):
    uri: MaybeText
    models: Literal["all", "best", "ensemble", "none"]
    send_seconds: Annotated[float, Field(ge=0.1, le=3600, description="a number from 0.1 to 3600")]
    flush_seconds: Annotated[float, Field(ge=0, le=86400, description="a number from 0 to 86400")]


class StoreSettings(SettingsSection):
    uri: Text
    keep_weights: Flag
    checkpoint_seconds: Annotated[float, Field(gt=0, description="a number above 0")]
    checkpoint_steps: Annotated[Count | None, Field(description="a whole number of 1 or more, or null")]

    @property
    def folder(self) -> Path:
        """The store's folder, which may not exist."""
        return Path(self.uri)


AtOnce = Annotated[
    Literal["auto"] | Annotated[int, Field(ge=1, le=1024)],
    Field(description="auto, or a whole number from 1 to 1024"),
]
Portion = Annotated[
    Literal["auto"] | Annotated[float, Field(ge=0, le=1024)],
    Field(description="auto, or a number from 0 to 1024; a fraction is a share of one"),
]


class ExecutionSettings(SettingsSection):
    """Where units are trained, and how many at the same time; not part of a unit's key."""

    engine: Literal["local", "ray"]
    processes: AtOnce
    threads: AtOnce
    stack: AtOnce
    address: Annotated[
        Annotated[str, Field(min_length=1)] | None, Field(description="auto, HOST:PORT or null")
    ]
    cpus: Portion
    gpus: Portion
    memory_gb: Annotated[Annotated[float, Field(gt=0)] | None, Field(description="a number above 0, or null")]


Tasks = Annotated[Names | None, Field(description="a list of names of tasks or data sets, or null")]


class StartSettings(SettingsSection):
    """Origin of a stage's initial weights: an earlier stage."""

    stage: Annotated[str, Field(min_length=1, alias="from", description="the name of an earlier stage")]
    match: Literal["auto", "tasks", "only"] = "auto"
    carry: Literal["encoder", "encoder_and_heads"] = "encoder"


STAGE_KEYS = ("tasks", "architecture", "grouping", "training")
"""Settings that each stage has separately."""


class StageSettings(SettingsSection):
    """One of several trainings, one after another; omitted settings are those at the top of the config."""

    name: Annotated[
        str, Field(min_length=1, max_length=60, pattern=NO_CONTROL, description="text of 1 to 60 characters")
    ]
    tasks: Tasks
    start: Annotated[StartSettings | None, Field(description="a mapping with from, match and carry, or null")]
    architecture: ArchitectureSettings
    grouping: GroupingSettings
    training: TrainingSettings


class Settings(SettingsSection):
    """All settings of one member of a suite, checked.

    With several stages, `tasks`, `architecture`, `grouping` and `training` are those of the last.
    """

    later = {"predictions": None}  # noqa: RUF012

    experiment: Annotated[
        Annotated[str, Field(min_length=1, max_length=200, pattern=NO_CONTROL)] | None,
        Field(description="text of 1 to 200 characters, none of them a control character, or null"),
    ]
    seed: Annotated[
        Seed | Annotated[tuple[Seed, ...], Field(min_length=1, strict=False)],
        Field(description="a whole number of 0 or more, or a list of them"),
    ]
    data: DataSettings
    encoder: EncoderSettings
    architecture: ArchitectureSettings
    heads: HeadSettings
    tasks: Tasks
    predictions: MaybeText
    grouping: GroupingSettings
    training: TrainingSettings
    evaluation: EvaluationSettings
    tracking: TrackingSettings
    store: StoreSettings
    execution: ExecutionSettings
    stages: Annotated[
        tuple[StageSettings, ...] | None,
        Field(
            min_length=1, strict=False, description="a list of stages, each a mapping with a name, or null"
        ),
    ]

    @property
    def each_stage(self) -> tuple[Settings, ...]:
        """The settings of each training, in order; with one stage, only these settings."""
        if self.stages is None:
            return (self,)
        return tuple(
            self.model_copy(update={key: getattr(stage, key) for key in STAGE_KEYS}) for stage in self.stages
        )

    @property
    def trains(self) -> bool:
        """Whether models are trained, and predictions not imported."""
        return ARCHITECTURES[self.architecture.name].trains

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds; there is one child run per seed and fold."""
        return self.seed if isinstance(self.seed, tuple) else (self.seed,)


# Otherwise Pydantic searches all installed packages for plugins, which takes a tenth of a second.
with variable("PYDANTIC_DISABLE_PLUGINS", "__all__"):
    Settings.model_rebuild()
