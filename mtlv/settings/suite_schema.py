"""Types of the keys that describe the members of a suite, except `matrix`, `runs` and `tune`."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from mtlv.environ import variable
from mtlv.settings.values import Count, MaybeCount, Names, Seed, SettingsSection, Text

MIN_PARTITIONS = 3  # partitions from which others can be predicted

MaybeSeed = Annotated[int | None, Field(ge=0, description="a whole number of 0 or more")]
Changes = Annotated[dict[str, Any] | None, Field(description="a mapping of keys to values")]


def _increasing(shares: tuple[float, ...]) -> tuple[float, ...]:
    if shares[-1] != 1 or any(a >= b for a, b in pairwise((0, *shares))):
        raise ValueError
    return shares


Shares = Annotated[tuple[float, ...], Field(min_length=2, strict=False), AfterValidator(_increasing)]


class ExploreSettings(SettingsSection):
    """Random partitions, and the groups that they propose."""

    partitions: Annotated[
        int | None,
        Field(
            ge=MIN_PARTITIONS,
            description=f"a whole number of {MIN_PARTITIONS} or more, if there is no budget",
        ),
    ] = None
    budget: Annotated[float | None, Field(gt=0, description="a number of models above 0")] = None
    k: Annotated[
        Count | Annotated[tuple[Count, ...], Field(min_length=1, strict=False)],
        Field(description="a number of groups, or a list of them"),
    ]
    seed: MaybeSeed = None
    changes: Changes = None
    halving: Annotated[
        Shares | None, Field(description="two or more increasing numbers above 0, the last of them 1")
    ] = None
    controls: MaybeSeed = None

    @property
    def ks(self) -> tuple[int, ...]:
        """The numbers of groups, which the partitions have in turn."""
        return self.k if isinstance(self.k, tuple) else (self.k,)


def _different(pair: tuple[str, str]) -> tuple[str, str]:
    if pair[0] == pair[1]:
        raise ValueError
    return pair


Pair = Annotated[tuple[Text, Text], Field(strict=False), AfterValidator(_different)]
OrAll = Annotated[
    Literal["all"] | Names | None, Field(description="all, or a list of names of tasks or data sets")
]


class TransferSettings(SettingsSection):
    """A matrix of sources and targets with its baselines, or pairs of tasks."""

    sources: OrAll = None
    targets: OrAll = None
    pairs: Annotated[
        Literal["all"] | Annotated[tuple[Pair, ...], Field(min_length=1, strict=False)] | None,
        Field(description="all, or a list of pairs of names of tasks or data sets"),
    ] = None
    seeds: Annotated[Any, Field(description="what `seed` can be")] = None  # members have it as their seed
    first: Changes = None


class SearchSettings(SettingsSection):
    """The best of a grid on validation."""

    over: Annotated[dict[str, Any], Field(min_length=1, description="a mapping of keys to lists of values")]
    trials: MaybeCount = None  # maximum number of combinations to try; None tries all
    sampler: Literal["grid", "random", "tpe"] = "grid"
    seed: Seed = 0


class SuiteSettings(SettingsSection):
    """The keys of a suite with keys of their own below them."""

    explore: ExploreSettings | None = None
    transfer: TransferSettings | None = None
    search: SearchSettings | None = None


with variable("PYDANTIC_DISABLE_PLUGINS", "__all__"):  # as in schema.py
    SuiteSettings.model_rebuild()
