"""The settings as types: no default stands here (see `defaults.yml`) and no value is converted.

The description of a key says what it takes; messages about a wrong value quote it as `allowed`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mtlv.variables import variable

Text = Annotated[str, Field(min_length=1, description="text")]
MaybeText = Annotated[str | None, Field(min_length=1, description="text, or null")]
NO_CONTROL = r"^[^\p{Cc}\p{Zl}\p{Zp}\u{202A}-\u{202E}\u{2066}-\u{2069}]*$"
"""Names on pages and terminals: no control characters, nothing that turns the direction of what follows."""
Flag = Annotated[bool, Field(description="true or false")]
Count = Annotated[int, Field(ge=1, description="a whole number of 1 or more")]
MaybeCount = Annotated[int | None, Field(ge=1, description="a whole number of 1 or more, or null")]
Seed = Annotated[int, Field(ge=0, lt=2**31, description="a whole number of 0 or more, below 2147483648")]
Share = Annotated[float, Field(gt=0, lt=1, description="a number above 0 and below 1")]
Fraction = Annotated[float, Field(ge=0, le=1, description="a number from 0 to 1")]
Positive = Annotated[float, Field(gt=0, description="a number above 0")]
# Lists come out of YAML as lists; only the container is turned into a tuple, never its items.
Names = Annotated[tuple[Text, ...], Field(min_length=1, strict=False)]
Weight = Annotated[float, Field(ge=0)]
LENGTHS = Field(ge=4, le=8192, description="a whole number from 4 to 8192")


class Section(BaseModel):
    """A mapping of known keys, all of them present, none of them changed or converted."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        defer_build=True,  # of all at once, at the end of this file
    )


class Columns(Section):
    text: Text
    text_pair: MaybeText
    words: MaybeText
    mentions: MaybeText
    id: MaybeText
    part: MaybeText
    group: MaybeText
    kind: Literal["binary", "multiclass", "regression", "tagging"]
    task: MaybeText
    labels: Annotated[Names | None, Field(description="a list of column names, or null")]
    label_list: MaybeText
    separator: Text
    target: MaybeText
    tags: MaybeText
    classes: Annotated[Names | None, Field(description="a list of class names (numbers in quotes), or null")]
    negative: Annotated[
        tuple[Text, ...], Field(strict=False, description="a list of class names (numbers in quotes)")
    ]
    metric: MaybeText


class Source(Section):
    """One corpus of several; what it leaves out is as in `data`."""

    name: Text
    alias: MaybeText = None
    path: MaybeText = None
    hub: MaybeText = None
    columns: Annotated[Columns | None, Field(description="a mapping, or null")] = None
    labels: Annotated[Names | None, Field(description="a list of label names, or null")] = None
    limit: MaybeCount = None
    max_length: Annotated[int | None, LENGTHS] = None
    batch_size: MaybeCount = None


class Data(Section):
    name: Text
    sources: Annotated[
        tuple[Source, ...] | None,
        Field(
            min_length=2,
            strict=False,
            description="a list of two or more mappings with name, alias, path, hub, columns, labels, limit, "
            "max_length (4 to 8192) and batch_size, or null",
        ),
    ]
    alias: MaybeText
    path: MaybeText
    hub: MaybeText
    labels: Annotated[Names | None, Field(description="a list of label names (numbers in quotes), or null")]
    limit: MaybeCount
    documents: Annotated[int, Field(ge=20, description="a whole number of 20 or more")]
    columns: Columns
    descriptions: Annotated[dict[str, Text], Field(description="a mapping of label name to text")]
    mentions: Literal["dummy", "markers", "original"]
    max_length: Annotated[int, LENGTHS]
    window: MaybeCount
    window_overlap: Annotated[int | None, Field(ge=0, description="a whole number of 0 or more, or null")]
    test_share: Share
    validation_share: Share
    folds: Count
    scheme: Literal["fixed_test", "rotate_test"]
    repeats: Literal["leave_out", "keep"]
    split_seed: Seed

    @model_validator(mode="before")
    @classmethod
    def _whole_columns(cls, given: Any) -> Any:
        """What the columns of a source leave out is as in `columns`."""
        if not isinstance(given, dict) or not isinstance(given.get("sources"), (list, tuple)):
            return given
        return given | {"sources": [_with_columns(one, given.get("columns")) for one in given["sources"]]}

    @property
    def each(self) -> tuple[Data, ...]:
        """The settings of each corpus by itself."""
        if self.sources is None:
            return (self,)
        return tuple(self._of(one) for one in self.sources)

    def _of(self, one: Source) -> Data:
        changes = {key: getattr(one, key) for key in ("name", "alias", "path", "hub", "labels", "limit")}
        own = {key: value for key in ("columns", "max_length") if (value := getattr(one, key)) is not None}
        return self.model_copy(update={**changes, **own, "sources": None})

    @property
    def batch_sizes(self) -> dict[str, int]:
        """Documents per batch of the sources that have their own, by name."""
        sources = zip(self.each, self.sources or (), strict=False)
        return {data.called: one.batch_size for data, one in sources if one.batch_size is not None}

    @property
    def called(self) -> str:
        """What one corpus is called."""
        return self.alias or self.name

    @property
    def title(self) -> str:
        """What the corpora are called."""
        return " + ".join(one.called for one in self.each)


def _with_columns(source: Any, columns: Any) -> Any:
    own = source.get("columns") if isinstance(source, dict) else None
    return (
        {**source, "columns": {**columns, **own}}
        if isinstance(own, dict) and isinstance(columns, dict)
        else source
    )


class Encoder(Section):
    name: Annotated[
        str, Field(min_length=1, pattern=NO_CONTROL, description="text without control characters")
    ]
    features: Literal["mean", "cls", "pooler"]
    dropout: Annotated[
        float | None, Field(ge=0, lt=1, description="a number of 0 or more and below 1, or null")
    ]
    frozen_layers: Annotated[int, Field(ge=0, description="a whole number of 0 or more")]
    revision: MaybeText


class Architecture(Section):
    name: Literal["stl", "mtl", "gmtl", "gmhl"]
    head_layers: Annotated[int | None, Field(ge=1, le=8, description="a whole number from 1 to 8, or null")]


class Heads(Section):
    """What heads read and how they see spans."""

    tagging_scheme: Literal["bio", "bioul", "io"]
    tagging_layer: Literal["linear", "bilstm", "crf"]
    relation_features: Literal["document", "cls", "mention", "start"]


class Grouping(Section):
    method: Literal["kmedoids", "kmeans", "agglomerative", "hdbscan", "meanshift", "kde", "given", "random"]
    features: Literal["label_description", "label_name", "document_centroid", "label_count"]
    k: Annotated[
        Literal["auto"] | Annotated[int, Field(ge=1)],
        Field(description="auto, or a whole number of 1 or more"),
    ]
    k_max: Annotated[int, Field(ge=2, description="a whole number of 2 or more")]
    encoder: MaybeText
    special_tokens: Flag
    scaling: Literal["minmax", "l2", "none"]
    metric: Literal["euclidean", "cosine"]
    engine: Literal["builtin", "kmedoids", "scikit-learn-extra"]
    algorithm: Literal["fasterpam", "alternate"]
    init: Literal["build", "heuristic", "random"]
    restarts: Count
    linkage: Literal["average", "complete", "single", "ward"]
    min_cluster_size: Annotated[int, Field(ge=2, description="a whole number of 2 or more")]
    bandwidth: Annotated[float | None, Field(gt=0, description="a number above 0, or null")]
    noise: Literal["own_group", "nearest"]
    groups: Annotated[
        Annotated[tuple[Names, ...], Field(min_length=1, strict=False)] | None,
        Field(description="a list of groups, each a list of label names, or null"),
    ]
    seed: Seed


class Training(Section):
    epochs: Count
    batch_size: Count
    accumulation: Count
    auto_batch: Flag
    gradient_checkpointing: Flag
    learning_rate: Annotated[float, Field(gt=0, le=1, description="a number above 0, at most 1")]
    schedule: Literal["linear", "constant"]
    warmup: Annotated[float, Field(ge=0, lt=1, description="a number of 0 or more and below 1")]
    weight_decay: Annotated[float, Field(ge=0, description="a number of 0 or more")]
    draw: Literal["in_proportion", "uniform", "temperature", "rounds"]
    temperature: Annotated[float, Field(ge=1, description="a number of 1 or more")]
    clip_norm: Annotated[float | None, Field(gt=0, description="a number above 0, or null")]
    head_loss: Literal["sum", "mean", "weighted_sum", "weighted_mean", "loss_proportional"]
    head_weights: Annotated[
        Literal["size"] | dict[str, Weight] | None,
        Field(description="size, a mapping of task name to a number of 0 or more, or null"),
    ]
    task_weights: Annotated[
        dict[str, Positive] | None,
        Field(description="a mapping of task or data set to a number above 0, or null"),
    ]
    select: Literal["last", "best"]
    select_per: Literal["model", "task"]
    patience: MaybeCount
    select_by: Literal["average_precision", "f1_macro", "loss"]
    precision: Literal["auto", "fp32", "bf16"]
    device: Annotated[
        str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="auto, cpu, cuda or cuda:NUMBER")
    ]


class Grid(Section):
    start: Share
    stop: Share
    step: Positive


class Evaluation(Section):
    threshold: Literal["per_plan", "per_task", "fixed"]
    fixed: Fraction
    grid: Grid


class Tracking(Section):
    uri: MaybeText
    models: Literal["all", "best", "none"]
    send_seconds: Annotated[float, Field(ge=0.1, le=3600, description="a number from 0.1 to 3600")]
    flush_seconds: Annotated[float, Field(ge=0, le=86400, description="a number from 0 to 86400")]


class Store(Section):
    uri: Text
    cache: MaybeText
    cache_gb: Positive
    keep_weights: Flag
    checkpoint_seconds: Annotated[float, Field(gt=0, description="a number above 0")]
    checkpoint_steps: Annotated[Count | None, Field(description="a whole number of 1 or more, or null")]


AtOnce = Annotated[
    Literal["auto"] | Annotated[int, Field(ge=1, le=1024)],
    Field(description="auto, or a whole number from 1 to 1024"),
]
Portion = Annotated[
    Literal["auto"] | Annotated[float, Field(ge=0, le=1024)],
    Field(description="auto, or a number from 0 to 1024; a fraction is a share of one"),
]


class Execution(Section):
    """Where units are trained, and how many at once; part of no unit's key."""

    engine: Literal["local", "ray"]
    processes: AtOnce
    threads: AtOnce
    devices_per_unit: Annotated[int, Field(ge=1, le=64, description="a whole number from 1 to 64")]
    address: Annotated[
        Annotated[str, Field(min_length=1)] | None, Field(description="auto, HOST:PORT or null")
    ]
    cpus: Portion
    gpus: Portion
    memory_gb: Annotated[Annotated[float, Field(gt=0)] | None, Field(description="a number above 0, or null")]


Tasks = Annotated[Names | None, Field(description="a list of names of tasks or data sets, or null")]


class Start(Section):
    """Where a stage's weights come from; of an earlier stage."""

    stage: Annotated[str, Field(min_length=1, alias="from", description="the name of an earlier stage")]
    match: Literal["auto", "tasks", "only"]
    carry: Literal["encoder", "encoder_and_heads"]


OF_A_STAGE = ("tasks", "architecture", "grouping", "training")
"""Settings that a stage has of its own."""


class Stage(Section):
    """One of several trainings, one after another; what it leaves out is as at the top of the config."""

    name: Annotated[
        str, Field(min_length=1, max_length=60, pattern=NO_CONTROL, description="text of 1 to 60 characters")
    ]
    tasks: Tasks
    start: Annotated[Start | None, Field(description="a mapping with from, match and carry, or null")]
    architecture: Architecture
    grouping: Grouping
    training: Training


class Settings(Section):
    """Every setting of one member of a suite, checked.

    Of several stages `tasks`, `architecture`, `grouping` and `training` are those of the last.
    """

    experiment: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            pattern=NO_CONTROL,
            description="text of 1 to 200 characters, none of them a control character",
        ),
    ]
    seed: Annotated[
        Seed | Annotated[tuple[Seed, ...], Field(min_length=1, strict=False)],
        Field(description="a whole number of 0 or more, or a list of them"),
    ]
    data: Data
    encoder: Encoder
    architecture: Architecture
    heads: Heads
    tasks: Tasks
    grouping: Grouping
    training: Training
    evaluation: Evaluation
    tracking: Tracking
    store: Store
    execution: Execution
    stages: Annotated[
        tuple[Stage, ...] | None,
        Field(
            min_length=1, strict=False, description="a list of stages, each a mapping with a name, or null"
        ),
    ]

    @property
    def each_stage(self) -> tuple[Settings, ...]:
        """The settings of each training, in order: of one stage these themselves."""
        if self.stages is None:
            return (self,)
        return tuple(
            self.model_copy(update={key: getattr(stage, key) for key in OF_A_STAGE}) for stage in self.stages
        )

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, one child run per fold each."""
        return self.seed if isinstance(self.seed, tuple) else (self.seed,)


# Else Pydantic looks through every installed package for plugins, which takes a tenth of a second.
with variable("PYDANTIC_DISABLE_PLUGINS", "__all__"):
    Settings.model_rebuild()
