"""Registries of the choices in a config, from this package and from entry points of other packages.

To add a choice here, add a file, and its line below. Another package registers one in its `pyproject.toml`:

    [project.entry-points."mtlv.architectures"]
    paired = "my_package.paired:PAIRED"

A choice is not imported until it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mtlv.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from torch.optim import Optimizer

    from mtlv.comparison.sections import BuildSection
    from mtlv.grouping.methods import GroupingMethod
    from mtlv.plan.architectures import Architecture
    from mtlv.plan.objectives import Combine
    from mtlv.planning.task_vectors import TaskFeature
    from mtlv.tracking.tracker import Tracker
    from mtlv.training.balancing import Balancer

T = TypeVar("T")
SHAPE = re.compile(r" \[\w+(, \w+)*\]")


def first_sentence(documentation: str | None) -> str:
    """Return the first sentence or line of a docstring, in one line."""
    return " ".join((documentation or "").strip().partition("\n\n")[0].split())


class Registry(Mapping[str, T], Generic[T]):
    """Choices by name -> `module:object`, or `module`, in the order in which messages list them.

    Entry points of other packages (`group`) cannot replace a name of `choices`.

    Example:
        >>> ARCHITECTURES["gmtl"].grouped
        True
    """

    def __init__(self, group: str, choices: Mapping[str, str]) -> None:
        self.group, self._choices = group, dict(choices)
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            if name in self._choices:
                module, _, attribute = self._choices[name].partition(":")
                loaded: Any = import_module(module)
                self._loaded[name] = getattr(loaded, attribute) if attribute else loaded
            else:
                self._loaded[name] = self._load(self._others[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._choices
        yield from self._others

    def __len__(self) -> int:
        return len(self._choices) + len(self._others)

    def __contains__(self, name: object) -> bool:
        return name in self._choices or name in self._others

    def title(self, name: str) -> str:
        """Return a line for users about a choice: its `title`, or a class's docstring; empty without one."""
        choice = self[name]
        text = first_sentence(choice.__doc__) if isinstance(choice, type) else getattr(choice, "title", "")
        return SHAPE.sub("", str(text)).rstrip(".")

    @cached_property
    def _others(self) -> dict[str, EntryPoint]:
        """Choices of other packages; finding them takes about ten milliseconds."""
        from importlib.metadata import entry_points

        points = {point.name: point for point in entry_points(group=self.group)}
        return {name: points[name] for name in sorted(points) if name not in self._choices}

    def _load(self, point: EntryPoint) -> T:
        try:
            choice: T = point.load()
        except Exception as error:  # another package's code
            package = point.dist.name if point.dist else "another package"
            problem = f"entry point `{point.name}` of {package} in `{self.group}` cannot be loaded"
            raise ConfigError(
                [f"{problem} ({type(error).__name__}: {error}); update or remove it"]
            ) from error
        return choice


ARCHITECTURES: Registry[Architecture] = Registry(
    "mtlv.architectures",
    {
        "stl": "mtlv.plan.architectures:stl",
        "mtl": "mtlv.plan.architectures:mtl",
        "gmtl": "mtlv.plan.architectures:gmtl",
        "gmhl": "mtlv.plan.architectures:gmhl",
        "imported": "mtlv.plan.architectures:imported",
    },
)
GROUPINGS: Registry[GroupingMethod] = Registry(
    "mtlv.groupings",
    {
        "kmedoids": "mtlv.grouping.methods:kmedoids",
        "kmeans": "mtlv.grouping.methods:kmeans",
        "agglomerative": "mtlv.grouping.methods:agglomerative",
        "hdbscan": "mtlv.grouping.methods:hdbscan",
        "meanshift": "mtlv.grouping.methods:meanshift",
        "kde": "mtlv.grouping.methods:kde",
        "given": "mtlv.grouping.methods:given_groups",
        "parents": "mtlv.grouping.methods:parents",
        "random": "mtlv.grouping.methods:random",
        "random_even": "mtlv.grouping.methods:random_even",
        "best": "mtlv.grouping.methods:best",
    },
)
FEATURES: Registry[TaskFeature] = Registry(
    "mtlv.features",
    {
        "label_description": "mtlv.planning.task_vectors:label_description",
        "label_name": "mtlv.planning.task_vectors:label_name",
        "document_centroid": "mtlv.planning.task_vectors:document_centroid",
        "label_count": "mtlv.planning.task_vectors:label_count",
        "label_cooccurrence": "mtlv.planning.task_vectors:label_cooccurrence",
        "pair_gain": "mtlv.planning.measured:pair_gain",
        "group_score": "mtlv.planning.measured:group_score",
    },
)
OBJECTIVES: Registry[Combine] = Registry(
    "mtlv.objectives",
    {
        "sum": "mtlv.plan.objectives:total",
        "mean": "mtlv.plan.objectives:mean",
        "weighted_sum": "mtlv.plan.objectives:weighted_sum",
        "weighted_mean": "mtlv.plan.objectives:weighted_mean",
        "loss_proportional": "mtlv.plan.objectives:loss_proportional",
    },
)
BALANCERS: Registry[type[Balancer]] = Registry(
    "mtlv.balancers",
    {
        "sum": "mtlv.training.balancing:Sum",
        "random": "mtlv.training.balancing:Random",
        "uncertainty": "mtlv.training.balancing:Uncertainty",
        "dwa": "mtlv.training.balancing:DWA",
        "upgrad": "mtlv.training.gramian:UPGrad",
        "pcgrad": "mtlv.training.gramian:PCGrad",
        "mgda": "mtlv.training.gramian:MGDA",
        "aligned": "mtlv.training.gramian:Aligned",
        "imtl_g": "mtlv.training.gramian:IMTLG",
    },
)
OPTIMIZERS: Registry[Callable[..., Optimizer]] = Registry(
    "mtlv.optimizers",
    {
        "adamw": "torch.optim:AdamW",
        "adam": "torch.optim:Adam",
        "adamax": "torch.optim:Adamax",
        "nadam": "torch.optim:NAdam",
        "radam": "torch.optim:RAdam",
        "adafactor": "torch.optim:Adafactor",
        "rmsprop": "torch.optim:RMSprop",
        "sgd": "torch.optim:SGD",
    },
)

SECTIONS: Registry[BuildSection] = Registry(
    "mtlv.sections",
    {
        "answer": "mtlv.comparison.sections.answer:build",
        "cost": "mtlv.comparison.sections.cost:build",
        "overview": "mtlv.comparison.sections.overview:build",
        "transfer": "mtlv.comparison.sections.transfer:build",
        "settings": "mtlv.comparison.sections.settings:build",
        "curves": "mtlv.comparison.sections.curves:build",
        "sizes": "mtlv.comparison.sections.sizes:build",
        "tasks": "mtlv.comparison.sections.tasks:build",
        "benchmark": "mtlv.comparison.sections.benchmark:build",
        "groups": "mtlv.comparison.sections.groups:build",
        "significance": "mtlv.comparison.sections.significance:build",
        "calibration": "mtlv.comparison.sections.calibration:build",
        "levels": "mtlv.comparison.sections.levels:build",
        "subgroups": "mtlv.comparison.sections.subgroups:build",
        "errors": "mtlv.comparison.sections.errors:build",
        "published": "mtlv.comparison.sections.published:build",
    },
)
"""Sections of the comparison page in their order, most important first; those of other packages come last."""

TRACKERS: Registry[Callable[[], Tracker]] = Registry("mtlv.trackers", {})
"""Makers of trackers that mirror all runs, beside MLflow; each installed one is used."""

CHOICES: Mapping[str, Registry[Any]] = {
    "architecture.name": ARCHITECTURES,
    "grouping.method": GROUPINGS,
    "grouping.features": FEATURES,
    "training.head_loss": OBJECTIVES,
    "training.optimizer": OPTIMIZERS,
    "training.objective.name": BALANCERS,
}
"""Registries by the key that names one of their choices."""
