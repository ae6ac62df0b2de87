"""What each stage of a member learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtlv.plan.shape import StageShape
from mtlv.registries import ARCHITECTURES

if TYPE_CHECKING:
    from mtlv.planning.resolve import FoldRun
    from mtlv.settings import Settings


def stage_shapes(settings: Settings, fold_run: FoldRun) -> list[StageShape]:
    """Return what each stage of a fold run learned, in order, without those that the last does not need."""
    names = dict.fromkeys(job.unit.stage for job in (*fold_run.earlier, *fold_run.jobs))
    return [_shape(name, fold_run, settings) for name in names]


def _shape(name: str, fold_run: FoldRun, settings: Settings) -> StageShape:
    jobs = [job for job in (*fold_run.earlier, *fold_run.jobs) if job.unit.stage == name]
    models = {job.unit.model.name for job in jobs}  # several teachers of one model are alike
    tasks = {task for job in jobs for task in job.unit.model.tasks}
    texts = {f"{data.called}.text" for data in settings.data.each_source}
    architecture = ARCHITECTURES[jobs[0].settings.architecture.name]
    starts = [job.start_job.unit.stage for job in jobs if job.start_job is not None]
    teachers = [teacher.unit.stage for job in jobs for teacher in job.teachers]
    return StageShape(
        name,
        len(tasks),
        len(models),
        is_grouped=architecture.grouped,
        has_text_only=not tasks.isdisjoint(texts),
        start=next(iter(starts), ""),
        teacher=next(iter(teachers), ""),
    )
