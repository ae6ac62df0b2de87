"""The stages and members from whose finished units groups follow: `grouping.from`."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mtlv.errors import GroupingError, nearest
from mtlv.registries import ARCHITECTURES, FEATURES, GROUPINGS

if TYPE_CHECKING:
    from mtlv.plan import Task
    from mtlv.settings import Member, Settings
    from mtlv.settings.schema import StageSettings


def measures(settings: Settings) -> bool:
    """Return whether groups of a stage follow from finished units."""
    return ARCHITECTURES[settings.architecture.name].grouped and settings.grouping.sources is not None


def is_random(settings: Settings) -> bool:
    """Return whether the groups of a member are random."""
    return ARCHITECTURES[settings.architecture.name].grouped and GROUPINGS[settings.grouping.method].random


def named_by(
    member: Member, own: Settings, members: Sequence[Member]
) -> tuple[tuple[str, ...], tuple[Member, ...]]:
    """Return the names of the earlier stages, and the members, that `grouping.from` of a stage names.

    A name is that of an earlier stage, or else of a member; `*` and `?` stand for any text of the members'
    names, but never for the member itself.

    Args:
        member: the member.
        own: settings of its stage.
        members: all members of the suite.

    Raises:
        GroupingError: a name is of no earlier stage and no other member.
    """
    stages = _before(member, own)
    others = [each for each in members if each.name != member.name]
    found: dict[str, Member] = {}
    for name in own.grouping.sources or ():
        fitting = [each for each in others if fnmatchcase(each.name, name) or each.name == name]
        if name not in stages and not fitting:
            known = [*stages, *(each.name for each in others)]
            raise GroupingError(
                "`grouping.from` names no earlier stage and no other member of the suite",
                got=name,
                allowed=", ".join(known) or "none is there",
                then=nearest(name, known) or "`*` stands for any text",
            )
        if name not in stages and any(None not in each.tuned for each in fitting):
            raise GroupingError(
                "`grouping.from` names a run that tries values (`tune`), of which one is compared later",
                got=name,
                then="give that run one value",
            )
        found |= {each.name: each for each in fitting if name not in stages}
    wanted = own.grouping.sources or ()
    return tuple(name for name in stages if name in wanted), tuple(found.values())


def _before(member: Member, own: Settings) -> list[str]:
    """Return the names of the stages before the one with these settings."""
    settings = member.settings
    names = [stage.name for stage in settings.stages or ()]
    return names[: next(number for number, each in enumerate(settings.each_stage) if each == own)]


def check_feature(settings: Settings, tasks: Sequence[Task]) -> None:
    """Check that features fit the grouping method and the tasks, and that measured ones have units to read.

    Raises:
        GroupingError: they do not.
    """
    section = settings.grouping
    feature, takes = FEATURES[section.features], GROUPINGS[section.method].takes
    if not takes and section.sources is None:
        return
    if feature.kind not in (takes or ["vectors"]):
        fitting = [name for name in FEATURES if FEATURES[name].kind in takes]
        others = [name for name in GROUPINGS if not GROUPINGS[name].random]  # a control is no remedy
        methods = [name for name in others if feature.kind in GROUPINGS[name].takes]
        raise GroupingError(
            f"`grouping.method: {section.method}` does not take `grouping.features: {section.features}` "
            f"({feature.kind})",
            allowed=", ".join(fitting),
            then=f"set one of these, or `grouping.method: {' or '.join(methods)}`",
        )
    if (feature.cover is None) != (section.sources is None):
        measured = ", ".join(name for name in FEATURES if FEATURES[name].cover is not None)
        raise GroupingError(
            f"`grouping.from` and `grouping.features: {section.features}` do not fit: measured features read "
            "units, and no others do",
            allowed=f"{measured} with `grouping.from`; the others without",
            then="name members or earlier stages in `grouping.from`, or leave it out",
        )
    if feature.fits is not None:
        feature.fits(tasks)


def check_sources(member: Member, members: Sequence[Member]) -> None:
    """Check the members and stages that `grouping.from` names.

    Raises:
        GroupingError: a name is unknown, a member has other data, no gradient probe or no weights, or groups
            would follow from themselves.
    """
    for own in filter(measures, member.settings.each_stage):
        names, others = named_by(member, own, members)
        stages = [stage for stage in member.settings.stages or () if stage.name in names]
        _need_probes(own, stages, others)
        _need_weights(member, own, stages, others)
        for other in others:
            if other.settings.data != own.data:
                raise GroupingError(
                    "`grouping.from`: members with other `data` have other folds, whose validation parts may "
                    "hold documents that are tested on here",
                    got=other.name,
                    then="give them the same `data`",
                )
    _follow(member, members, ())


def _need_probes(own: Settings, stages: Sequence[StageSettings], others: Sequence[Member]) -> None:
    named = {each.name: each.training for each in stages}
    named |= {each.name: each.settings.training for each in others}
    without = [name for name, training in named.items() if training.probe is None]
    if without and FEATURES[own.grouping.features].probed:
        raise GroupingError(
            f"`grouping.features: {own.grouping.features}` reads gradient probes, and `grouping.from` names "
            "units without one",
            got=", ".join(without),
            then="give them one: `training.probe: {every: 10}`",
        )


def _need_weights(
    member: Member, own: Settings, stages: Sequence[StageSettings], others: Sequence[Member]
) -> None:
    named = [(each.name, each.start, member.settings) for each in stages]
    for other in others:
        last = other.settings.stages[-1] if other.settings.stages else None
        named.append((other.name, last.start if last else None, other.settings))
    unfit = [
        name
        for name, start, each in named
        if start is not None or not each.store.keep_weights or each.encoder != own.encoder
    ]
    if unfit and FEATURES[own.grouping.features].weights:
        raise GroupingError(
            f"`grouping.features: {own.grouping.features}` reads what training changed in the published "
            "encoder, and `grouping.from` names units that start from others or keep no weights",
            got=", ".join(unfit),
            then="give them the same `encoder`, no `start`, and `store.keep_weights: true`",
        )


def _follow(member: Member, members: Sequence[Member], path: Sequence[str]) -> None:
    if member.name in path:
        raise GroupingError(
            "`grouping.from`: groups would follow from themselves",
            got=" from ".join([*path, member.name]),
            then="name members whose groups are known before",
        )
    for own in filter(measures, member.settings.each_stage):
        for other in named_by(member, own, members)[1]:
            _follow(other, members, [*path, member.name])
