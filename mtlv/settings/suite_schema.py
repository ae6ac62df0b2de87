"""Types of the keys that describe the members of a suite, except `matrix`, `runs` and `tune`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from mtlv.environ import variable
from mtlv.settings.values import MaybeCount, Names, Seed, SettingsSection, Text

Changes = Annotated[dict[str, Any] | None, Field(description="a mapping of keys to values")]


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

    transfer: TransferSettings | None = None
    search: SearchSettings | None = None


with variable("PYDANTIC_DISABLE_PLUGINS", "__all__"):  # as in schema.py
    SuiteSettings.model_rebuild()
