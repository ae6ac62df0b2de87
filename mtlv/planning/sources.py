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


def measures(settings: Settings) -> bool:
    """Return whether groups of a stage follow from finished units."""
    return ARCHITECTURES[settings.architecture.name].grouped and settings.grouping.sources is not None


def named_by(
    member: Member, settings: Settings, members: Sequence[Member]
) -> tuple[tuple[str, ...], tuple[Member, ...]]:
    """Return the names of the earlier stages, and the members, that `grouping.from` of a stage names.

    A name is that of an earlier stage, or else of a member; `*` and `?` stand for any text of the members'
    names, but never for the member itself.

    Args:
        member: the member.
        settings: settings of its stage.
        members: all members of the suite.

    Raises:
        GroupingError: a name is of no earlier stage and no other member.
    """
    all_stages = [stage.name for stage in member.settings.stages or ()]
    stages = all_stages[: member.settings.each_stage.index(settings)]  # the earlier ones
    others = [other for other in members if other.name != member.name]
    by_name: dict[str, Member] = {}
    patterns = settings.grouping.sources or ()
    for name in patterns:
        fitting = [other for other in others if fnmatchcase(other.name, name) or other.name == name]
        if name not in stages and not fitting:
            known = [*stages, *(other.name for other in others)]
            raise GroupingError(
                "`grouping.from` names no earlier stage and no other member of the suite",
                got=name,
                allowed=", ".join(known) or "none is there",
                then=nearest(name, known) or "`*` stands for any text",
            )
        if name not in stages and any(None not in other.tuned for other in fitting):
            raise GroupingError(
                "`grouping.from` names a run that tries values (`tune`), of which one is compared later",
                got=name,
                then="give that run one value",
            )
        by_name |= {other.name: other for other in fitting if name not in stages}
    return tuple(name for name in stages if name in patterns), tuple(by_name.values())


def check_feature(settings: Settings, tasks: Sequence[Task]) -> None:
    """Check that features fit the grouping method and the tasks, and that measured ones have units to read.

    Raises:
        GroupingError: they do not.
    """
    section = settings.grouping
    feature, takes = FEATURES[section.features], GROUPINGS[section.method].takes
    if not ARCHITECTURES[settings.architecture.name].grouped or (not takes and section.sources is None):
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
        GroupingError: a name is unknown, or a member has other data or no weights.
    """
    for settings in filter(measures, member.settings.each_stage):
        names, others = named_by(member, settings, members)
        stages = [stage for stage in member.settings.stages or () if stage.name in names]
        starts = [(stage.name, stage.start, member.settings) for stage in stages]
        for other in others:
            last = other.settings.stages[-1] if other.settings.stages else None
            starts.append((other.name, last.start if last else None, other.settings))
        unfit = [
            name
            for name, start, one in starts
            if start or not one.store.keep_weights or one.encoder != settings.encoder
        ]
        if unfit and FEATURES[settings.grouping.features].weights:
            raise GroupingError(
                f"`grouping.features: {settings.grouping.features}` reads what training changed in the "
                "published encoder, and `grouping.from` names units that start from others or keep no "
                "weights",
                got=", ".join(unfit),
                then="give them the same `encoder`, no `start`, and `store.keep_weights: true`",
            )
        for other in others:
            if other.settings.data != settings.data:
                raise GroupingError(
                    "`grouping.from`: members with other `data` have other folds, whose validation parts may "
                    "hold documents that are tested on here",
                    got=other.name,
                    then="give them the same `data`",
                )
