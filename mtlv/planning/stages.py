"""Units of a member on one fold with one seed: for each stage in order, with their initial weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mtlv.data.joined import sources_of
from mtlv.data.texts.lazy import pick
from mtlv.errors import PlanError
from mtlv.formatting import many
from mtlv.models.published_head import head_digest
from mtlv.plan import ModelSpec, Plan, Unit, group_title
from mtlv.seeding import content_key
from mtlv.training.balancing import balancer_of
from mtlv.units.job import Job, each_once

if TYPE_CHECKING:
    from mtlv.data.folds import Fold
    from mtlv.data.source import Corpus
    from mtlv.settings import Member, Settings
    from mtlv.settings.schema import StageSettings
    from mtlv.units.input_cache import InputCache

# Increase it when the same settings give different weights, so that old units are not used for new ones.
ARITHMETIC = 4

NOT_WEIGHTS = (
    "budget",
    "masking",
    "objective",
    "device",
    "precision",
    "auto_batch",
    "gradient_checkpointing",
    "cuda_graphs",
)
"""Training settings that are not part of a unit's key in the given form; the key has the resolved values."""

PARTS = ("train", "validation", "test")
JobsByStage: TypeAlias = dict[str, tuple[Job, ...]]


@dataclass(frozen=True)
class StageBuilder:
    """Common arguments of the units of all stages.

    Args:
        cache: corpora and encoders.
        member: member of a suite.
        fold, seed: fold and seed of the units.
        encoder: digest of the published encoder.
    """

    cache: InputCache
    member: Member
    fold: Fold
    seed: int
    encoder: str

    def stages(self, plans: Sequence[Plan]) -> list[tuple[Job, ...]]:
        """Return the jobs of each stage.

        Args:
            plans: plans of the stages, in order; later stages may be missing.

        Raises:
            PlanError: there is no model to start from, or several.
        """
        settings = self.member.settings
        stages: Sequence[StageSettings | None] = settings.stages or (None,)
        before: JobsByStage = {}
        for stage, stage_settings, plan in zip(stages, settings.each_stage, plans, strict=False):
            spent = self._within_budget(stage_settings, plan)
            jobs = tuple(self._job(stage, spent, model, before) for model in plan.models)
            before["" if stage is None else stage.name] = jobs
        return list(before.values())

    def _within_budget(self, settings: Settings, plan: Plan) -> Settings:
        """Return settings with the epochs that `training.budget` allows each model of a plan.

        Raises:
            PlanError: it allows no epoch.
        """
        budget = settings.training.budget
        counts = None if budget is None else self._counts(settings, plan)
        if budget is None or counts is None:
            return settings
        documents, read = counts
        if budget * documents < read:
            raise PlanError(
                "`training.budget` is less than one epoch of each model",
                got=budget,
                allowed=f"{-(-read // documents)} or more, for {many(len(plan.models), 'model')}",
            )
        training = settings.training.model_copy(update={"epochs": round(budget * documents / read)})
        return settings.model_copy(update={"training": training})

    def _counts(self, settings: Settings, plan: Plan) -> tuple[int, int] | None:
        """Return the number of documents, and of those that the models read in an epoch; None if unknown."""
        inputs, train = self.cache.inputs(settings), self.fold.train
        documents = inputs.count([task for model in plan.models for task in model.tasks], train)
        return documents, sum(inputs.count(model.tasks, train) for model in plan.models)

    def _job(
        self, stage: StageSettings | None, settings: Settings, model: ModelSpec, before: JobsByStage
    ) -> Job:
        teachers, start_job, carry = self._teachers(settings, model, before), None, "encoder"
        if stage is not None and stage.start is not None:
            start_job = self._start(stage, settings, model, before[stage.start.stage])
            carry = stage.start.carry
        unit = Unit(
            stage="train" if stage is None else stage.name,
            model=model,
            fold=self.fold.index,
            seed=self.seed,
            start_key=self.encoder if start_job is None else content_key([start_job.unit.key, carry]),
            data=self._data(model),
            train=self._train(settings, model),
            teachers=tuple(job.unit.key for job in teachers),
        )
        rows = self._rows(settings, model, self.fold)
        return Job(unit, settings, self.fold, self._name(stage, model), rows, start_job, carry, teachers)

    def _start(
        self, stage: StageSettings, settings: Settings, model: ModelSpec, earlier: Sequence[Job]
    ) -> Job:
        """Return the job of an earlier stage from whose weights a model starts."""
        return earlier[match(stage, model, [job.unit.model for job in earlier])]

    def _teachers(self, settings: Settings, model: ModelSpec, before: JobsByStage) -> tuple[Job, ...]:
        """Return the jobs that teach a model: those of the same fold and seed, which saw no other part.

        They are in the order of the tasks of the model.

        Raises:
            PlanError: a task has no teacher.
        """
        teach = settings.training.teach
        if teach is None:
            return ()
        of_task = {task: job for job in before[teach.stage] for task in job.unit.model.tasks}
        if alone := [task.name for task in self.cache.tasks(settings) if task.name not in of_task]:
            raise PlanError(
                f"`training.teach.from`: stage `{teach.stage}` did not learn all tasks that it is to teach",
                got=", ".join(of_task),
                allowed=f"a stage that also learned {', '.join(alone)}",
                then="give both stages the same `tasks`",
            )
        return tuple(each_once(of_task[task] for task in model.tasks))

    def _train(self, settings: Settings, model: ModelSpec) -> dict[str, object]:
        """Return every setting and version that can change the weights of a model."""
        from mtlv.models.kinds import KINDS

        corpus = self.cache.corpus(settings.data)
        kinds = {task.kind: KINDS[task.kind].version for task in corpus.tasks if task.name in model.tasks}
        versions = {kind: version for kind, version in kinds.items() if version}
        predictions = self.cache.inputs(settings).predictions
        return (
            what_shapes_weights(settings, _sources(corpus, model))
            | ({"versions": versions} if versions else {})
            | ({"predictions": predictions.units} if predictions else {})
            | self._masking(settings, corpus, model)
            | _balancing(settings, model)
        )

    def _rows(self, settings: Settings, model: ModelSpec, fold: Fold) -> int | None:
        """Return the number of training documents, or windows, that a model learns from; None if all."""
        if not settings.trains:
            return 0
        rows = self.cache.inputs(settings).count(model.tasks, fold.train)
        return None if rows == len(fold.train) else rows

    def _masking(self, settings: Settings, corpus: Corpus, model: ModelSpec) -> dict[str, object]:
        """Return the settings of masked language modelling and its published head, if a model learns it."""
        read = zip(corpus.members or (corpus,), _sources(corpus, model), strict=True)
        places = [number for number, (source, is_read) in enumerate(read) if is_read and source.masked]
        if not places:
            return {}
        head = self.cache.encoder(settings.encoder, settings.data).head
        masking: dict[str, object] = {"masking": settings.training.masking.model_dump(mode="json")}
        if any(places):  # else the row of the source is that of all sources
            masking["masks"] = "by row of the source"
        return masking | ({"published_head": head_digest(head)} if head else {})

    def _name(self, stage: StageSettings | None, model: ModelSpec) -> str:
        """Return a unit's name: the member, the fold and seed if it has several, the stage and the model."""
        settings = self.member.settings
        parts = [self.member.name]
        parts += [f"fold {self.fold.index}"] if settings.data.folds > 1 else []
        parts += [f"seed {self.seed}"] if len(settings.seeds) > 1 else []
        parts += [stage.name] if stage is not None else []
        return " · ".join([*parts, group_title(model.tasks)])

    def _data(self, model: ModelSpec) -> str:
        """Return a digest of the documents, targets and split of a model; other sources are not included."""
        data = self.member.settings.data
        corpus = self.cache.corpus(data)
        if not corpus.members:
            return content_key([corpus.digest, self.cache.folds_digest(data)])
        numbers = [number for number, is_read in enumerate(_sources(corpus, model)) if is_read]
        key = ("data of", corpus.digest, data.model_dump_json(), self.fold.index, *numbers)

        def content(number: int) -> list[object]:
            source, first, end = sources_of(corpus)[number]
            parts = (self.fold.part(name) for name in PARTS)
            return [source.digest, [pick(corpus.ids, part[(part >= first) & (part < end)]) for part in parts]]

        return self.cache.once(key, lambda: content_key([content(number) for number in numbers]))


def match(stage: StageSettings, model: ModelSpec, models: Sequence[ModelSpec]) -> int:
    """Return the index of the model of an earlier stage that a model starts from.

    Args:
        stage: the later stage.
        model: model of its plan.
        models: models of the earlier stage.

    Raises:
        PlanError: there is none, or several.
    """
    assert stage.start is not None
    how, name = stage.start.match, stage.start.stage
    if how == "only" or (how == "auto" and len(models) == 1):
        numbers = list(range(len(models)))
        why = "its one model"
    else:
        numbers = [n for n, earlier in enumerate(models) if set(model.tasks) <= set(earlier.tasks)]
        why = f"the model that learned {', '.join(model.tasks)}"
    if len(numbers) != 1:
        raise PlanError(
            f"stage `{stage.name}` starts from {why} of stage `{name}`, which has {len(numbers)} of those",
            then="give the stages tasks and architectures that fit, or set `start.match`",
        )
    layers = {head.tasks: head.layers for head in models[numbers[0]].heads}
    others = [head for head in model.heads if layers.get(head.tasks, head.layers) != head.layers]
    if others and stage.start.carry == "encoder_and_heads":
        raise PlanError(
            f"stage `{stage.name}` starts from the heads of stage `{name}`, which have other layers",
            got=f"{others[0].layers} for {others[0].name}, {layers[others[0].tasks]} before",
            then="give both stages the same `architecture.head_layers`, or set `start.carry: encoder`",
        )
    return numbers[0]


def _balancing(settings: Settings, model: ModelSpec) -> dict[str, object]:
    """Return the settings of the balancer of a model, if it has several losses to balance."""
    chosen = settings.training.objective
    balancer = balancer_of(chosen.name, chosen.per, model.heads)
    if balancer.plain:
        return {}
    parts: dict[str, object] = {"name": chosen.name, "per": chosen.per}
    parts |= {"learning_rate": chosen.learning_rate} if balancer.learns else {}
    parts |= {"version": balancer.version} if balancer.version > 1 else {}
    return {"objective": parts}


def _sources(corpus: Corpus, model: ModelSpec) -> list[bool]:
    """Return, for each source of a corpus, whether a model learns from it."""
    return [not set(model.tasks).isdisjoint(source.names) for source in corpus.members or (corpus,)]


def what_shapes_weights(settings: Settings, read: Sequence[bool]) -> dict[str, object]:
    """Return every setting that can change a unit's weights.

    Args:
        settings: settings of the unit's stage.
        read: for each source, whether the unit learns from it.
    """
    from mtlv.training.optim import resolve_device, resolve_precision

    training = settings.training.model_dump(mode="json")
    kept = {key: value for key, value in training.items() if key not in NOT_WEIGHTS}
    if "teach" in kept:  # the unit has the keys of the teachers
        kept["teach"] = {key: kept["teach"][key] for key in ("gold", "temperature")}
    device = resolve_device(settings.training.device)
    precision = resolve_precision(settings.training.precision, device)
    batch_sizes = settings.data.batch_sizes
    sources = [
        [one.called, one.max_length, batch_sizes.get(one.called)]
        for one, here in zip(settings.data.each_source, read, strict=True)
        if here
    ]
    return (
        kept
        | {
            "arithmetic": ARITHMETIC,
            "precision": precision,
            "features": settings.encoder.features,
            "dropout": settings.encoder.dropout,
            "frozen_layers": settings.encoder.frozen_layers,
            "heads": settings.heads.model_dump(mode="json"),
            "sources": sources,
            "mentions": settings.data.mentions,
            "window": [settings.data.window, settings.data.window_overlap],
        }
        | ({} if (pooling := settings.data.window_pooling) is None else {"window_pooling": pooling})
        | ({} if settings.encoder.lora is None else {"lora": settings.encoder.lora.model_dump(mode="json")})
    )
