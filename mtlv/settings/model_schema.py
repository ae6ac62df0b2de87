"""Settings of the model: `encoder` and `architecture`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mtlv.registries import ARCHITECTURES
from mtlv.settings.values import NO_CONTROL, Count, Flag, MaybeText, Names, OneOf, Positive, SettingsSection


class VocabularySettings(SettingsSection):
    """A vocabulary learned from the texts of the corpus."""

    size: Annotated[int, Field(ge=100, le=1_000_000, description="a whole number from 100 to 1000000")]
    lowercase: Flag = True
    sources: Annotated[
        Names | None, Field(alias="from", description="a list of names of data sets, or null")
    ] = None


class LoraSettings(SettingsSection):
    """Low-rank adapters of the encoder's linear layers; see `mtlv.models.lora`."""

    rank: Count
    alpha: Positive = 16.0
    modules: Annotated[Names | None, Field(description="a list of names of linear layers, or null")] = None
    dropout: Annotated[float, Field(ge=0, lt=1, description="a number of 0 or more and below 1")] = 0.0
    frozen: Flag = True


class EncoderSettings(SettingsSection):
    later = {"weights": "published", "vocabulary": None, "lora": None}  # noqa: RUF012

    name: Annotated[
        str, Field(min_length=1, pattern=NO_CONTROL, description="text without control characters")
    ]
    features: Literal["mean", "cls", "pooler", "last"]
    dropout: Annotated[
        float | None, Field(ge=0, lt=1, description="a number of 0 or more and below 1, or null")
    ]
    frozen_layers: Annotated[int, Field(ge=0, description="a whole number of 0 or more")]
    revision: MaybeText
    weights: Literal["published", "random"]
    vocabulary: Annotated[
        VocabularySettings | None, Field(description="a mapping with size, lowercase and from, or null")
    ]
    lora: Annotated[
        LoraSettings | None,
        Field(description="a mapping with rank, alpha, modules, dropout and frozen, or null"),
    ]


class ArchitectureSettings(SettingsSection):
    name: Annotated[str, OneOf(ARCHITECTURES)]
    head_layers: Annotated[int | None, Field(ge=1, le=8, description="a whole number from 1 to 8, or null")]
    private_layers: Annotated[int, Field(ge=0, description="a whole number of 0 or more")]
    private_kind: Literal["layers", "lora"]

    later = {"private_layers": 0, "private_kind": "layers"}  # noqa: RUF012
