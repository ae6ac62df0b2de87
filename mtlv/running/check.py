"""Prove a suite without a GPU, a download or PyTorch: its data's labels, its groups, its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mtlv.data import catalog
from mtlv.errors import ConfigError, MtlvError
from mtlv.grouping.given import given
from mtlv.grouping.spec import TAKES_K
from mtlv.plan import ARCHITECTURES, Task, tree_lines
from mtlv.running.corpora import options_of

if TYPE_CHECKING:
    from mtlv.settings import Settings, Suite


@dataclass(frozen=True)
class MemberCheck:
    """A member's plan in words.

    Args:
        name: the member's.
        lines: the plan as a tree, or how it will be made.
        units: models to train over all folds and seeds; with `k: auto` at most so many.
        warnings: what its user should know before it trains.
    """

    name: str
    lines: tuple[str, ...]
    units: int
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class SuiteCheck:
    """All members of a suite, and their units together."""

    members: tuple[MemberCheck, ...]

    @property
    def units(self) -> int:
        return sum(member.units for member in self.members)


def check_suite(suite: Suite) -> SuiteCheck:
    """Check every member against its data.

    Raises:
        ConfigError: with every member's problem, a line each.
    """
    found, problems = [], []
    for member in suite.members:
        try:
            found.append(_check(member.name, member.settings))
        except ConfigError as error:
            problems += error.problems
        except MtlvError as error:
            problems.append(f"{suite.path}: {error}")
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    return SuiteCheck(tuple(found))


def _check(name: str, settings: Settings) -> MemberCheck:
    tasks = catalog.tasks(settings.data.name, options_of(settings.data))
    catalog.need(settings.data.name, options_of(settings.data))
    architecture = ARCHITECTURES[settings.architecture.name]
    names = [task.name for task in tasks]
    children = settings.data.folds * len(settings.seeds)
    layers = settings.architecture.head_layers or architecture.head_layers
    if architecture.grouped and settings.grouping.method != "given":
        lines, models = _planned(settings, tasks)
    else:
        groups = _given_groups(settings, names) if architecture.grouped else ()
        plan = architecture.build(names, groups, layers).check(tasks)
        lines, models = tuple(tree_lines(plan)), len(plan.models)
    return MemberCheck(name, lines, models * children, tuple(_warnings(settings, layers)))


def _given_groups(settings: Settings, names: Sequence[str]) -> list[list[str]]:
    found = given(settings.grouping.groups or (), names)
    return [[names[i] for i in members] for members in found.groups()]


def _planned(settings: Settings, tasks: Sequence[Task]) -> tuple[tuple[str, ...], int]:
    """Groups that are found when the suite runs: what is known now, and the most models there can be."""
    section = settings.grouping
    if section.method in TAKES_K and section.k != "auto":
        if section.k > len(tasks):
            raise ConfigError(
                [
                    f"`grouping.k`: got {section.k}; allowed: 1 to {len(tasks)}, the number of tasks of "
                    f"`{settings.data.name}`"
                ]
            )
        k, words = section.k, f"{section.k} groups"
    else:
        k = min(section.k_max, len(tasks)) if section.method in TAKES_K else len(tasks)
        words = f"up to {k} groups"
    single = len(ARCHITECTURES[settings.architecture.name].build(["a", "b"], [["a"], ["b"]], 1).models) == 1
    shape = "1 model with a head per group" if single else "a model per group"
    how = f"{words} of {len(tasks)} tasks by {section.method} on {section.features}, found when it runs"
    return (f"{shape}: {how}", *(f"    {task.name}" for task in tasks)), 1 if single else k


def _warnings(settings: Settings, layers: int) -> list[str]:
    out = []
    if settings.architecture.name == "gmhl" and layers == 1:
        out.append(
            "with linear heads GMHL is MTL with reweighted labels (its gradients are equal to it); "
            "set `architecture.head_layers: 2` to give groups capacity of their own"
        )
    if settings.data.name == "synthetic":
        out.append("the corpus is generated; its figures say nothing about real reports")
    return out
