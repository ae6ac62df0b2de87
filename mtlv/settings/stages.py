"""Completion of the stages of a config: settings that a stage omits are taken from the top of the config."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mtlv.settings.checks import contradictions
from mtlv.settings.draft import Change, Draft, Origin, dotted_key
from mtlv.settings.schema import STAGE_KEYS, Settings, StageSettings


def fill_stages(draft: Draft) -> None:
    """Complete every stage of a draft; stages that are not mappings are left for the schema to report."""
    written = draft.values.get("stages")
    if not isinstance(written, list) or not all(isinstance(stage, dict) for stage in written):
        return
    origin, depth = draft.origin(("stages",))
    assert origin is not None, depth
    stages: list[dict[str, Any]] = []
    for number, stage in enumerate(written):
        before = stages[-1].get("name") if stages else None
        stages.append(_fill_stage(stage, draft, origin.below(number), before))
    draft.values["stages"] = stages


def _fill_stage(written: dict[str, Any], draft: Draft, origin: Origin, before: Any) -> dict[str, Any]:
    inner = draft.copy()
    filled = {key: value for key, value in written.items() if key in ("name", "start")}
    others = {}
    for key, value in written.items():
        if key in filled:
            continue
        if key.partition(".")[0] in STAGE_KEYS:
            inner.apply(Change(key, value, origin.below(key)))
        else:
            others[key] = value  # a key that stages do not have; the schema reports it
    teach = inner.get(("training", "teach"))
    # A teacher's stage is the usual reason for the one before; it often has several models.
    start = filled.get("start", None if before is None or teach is not None else {"from": before})
    filled["start"] = {"from": start} if isinstance(start, str) else start
    return filled | {key: inner.values[key] for key in STAGE_KEYS} | others


def stage_problems(settings: Settings, wrong: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (key, text) of contradictions within a stage or between stages."""
    stages = settings.stages or ()
    private = {stage.name for stage in stages if stage.architecture.private_layers}
    for number, (stage, stage_settings) in enumerate(zip(stages, settings.each_stage, strict=False)):
        place = dotted_key(("stages", number))
        yield from ((f"{place}.name", text) for text in _name_problems(stages[:number], stage))
        yield from (
            (f"{place}.training.{key}", text) for key, text in _teacher_problems(stages[:number], stage)
        )
        if stage.start and private & {stage.name, stage.start.stage}:
            yield f"{place}.start", PRIVATE_LAYERS_PROBLEM
        if not any(key.startswith(place) for key in wrong):
            for key, text in contradictions(stage_settings, wrong):
                if key.partition(".")[0] in STAGE_KEYS:
                    yield f"{place}.{key}", text


PRIVATE_LAYERS_PROBLEM = (
    "with `architecture.private_layers` each head has layers of its own, so such a stage neither starts from "
    "another, nor another from it; write `start: null`"
)


def _name_problems(before: Sequence[StageSettings], stage: StageSettings) -> Iterator[str]:
    names = [other.name for other in before]
    if stage.name in names:
        yield f"the name `{stage.name}` is taken by an earlier stage; give each its own"
    if stage.start is not None and stage.start.stage not in names:
        yield f"`start.from` names no earlier stage (got `{stage.start.stage}`; {_list_earlier(names)})"


def _teacher_problems(before: Sequence[StageSettings], stage: StageSettings) -> Iterator[tuple[str, str]]:
    names, teach = [other.name for other in before], stage.training.teach
    if teach is not None and teach.stage not in names:
        yield "teach", f"`from` names no earlier stage (got `{teach.stage}`; {_list_earlier(names)})"


def _list_earlier(names: Sequence[str]) -> str:
    return f"earlier stages: {', '.join(names)}" if names else "there is no earlier stage"
