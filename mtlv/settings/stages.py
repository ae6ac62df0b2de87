"""Completion of the stages of a config: settings that a stage omits are taken from the top of the config."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mtlv.settings.checks import contradictions
from mtlv.settings.draft import Change, Draft, Origin, dotted
from mtlv.settings.schema import OF_A_STAGE, Settings, StageSettings

START = {"match": "auto", "carry": "encoder"}


def fill_stages(draft: Draft) -> None:
    """Complete every stage of a draft; stages that are not mappings are left for the schema to report."""
    given = draft.values.get("stages")
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        return
    stages: list[dict[str, Any]] = []
    for number, each in enumerate(given):
        before = stages[-1].get("name") if stages else None
        stages.append(_whole(each, draft, _origin(draft, number), before))
    draft.values["stages"] = stages


def _whole(given: dict[str, Any], draft: Draft, origin: Origin, before: Any) -> dict[str, Any]:
    inner = draft.copy()
    own = {key: value for key, value in given.items() if key in ("name", "start")}
    others = {}
    for key, value in given.items():
        if key in own:
            continue
        if key.partition(".")[0] in OF_A_STAGE:
            inner.apply(Change(key, value, origin.below(key)))
        else:
            others[key] = value  # a key that stages do not have; the schema reports it
    start = own.get("start", None if before is None else {"from": before})
    if isinstance(start, str):
        start = {"from": start}
    own["start"] = START | start if isinstance(start, dict) else start
    return own | {key: inner.values[key] for key in OF_A_STAGE} | others


def _origin(draft: Draft, number: int) -> Origin:
    origin, depth = draft.origin(("stages",))
    assert origin is not None, depth
    return origin.below(number)


def stage_problems(settings: Settings, wrong: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (key, text) of contradictions within a stage or between stages."""
    stages = settings.stages or ()
    for number, (stage, own) in enumerate(zip(stages, settings.each_stage, strict=False)):
        place = dotted(("stages", number))
        yield from ((f"{place}.name", text) for text in _name_problems(stages[:number], stage))
        if not any(key.startswith(place) for key in wrong):
            inside = (each for each in contradictions(own, wrong) if each[0].partition(".")[0] in OF_A_STAGE)
            yield from ((f"{place}.{key}", text) for key, text in inside)


def _name_problems(before: Sequence[StageSettings], stage: StageSettings) -> Iterator[str]:
    names = [each.name for each in before]
    if stage.name in names:
        yield f"the name `{stage.name}` is taken by an earlier stage; give each its own"
    if stage.start is not None and stage.start.stage not in names:
        known = f"earlier stages: {', '.join(names)}" if names else "there is no earlier stage"
        yield f"`start.from` names no earlier stage (got `{stage.start.stage}`; {known})"
