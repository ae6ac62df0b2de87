"""Settings of the model: `encoder` and `architecture`."""

from __future__ import annotations

import os
import re
from math import inf
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from mtlv.foreign import read_config
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
    features: Literal["mean", "cls", "pooler", "last", "attention"]
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


# ---- Learning rates --------------------------------------------------------------------------------------
# They depend on the name or folder of an encoder only, and not on what is in a cache, so that a config means
# the same on every machine.

AUTO = "auto"  # of `training.learning_rate`
RATE_BY_WIDTH = ((384, 2e-4), (767, 1e-4), (1023, 2e-5), (inf, 1e-5))
"""Peak rates of encoders with hidden states of up to so many dimensions.

384: 4e-4 is too high, 1e-4 no better (experiments/openi-minilm). 768: the rate of the thesis; those published
for BERT are 2e-5 to 5e-5 (Devlin et al. 2019).
"""
ADAPTER_RATE = 5e-4  # the encoder's own weights stay as they are
USUAL_WIDTH = 768
WIDTHS = {"minilm": 384, "tiny": 128, "gatortron": 1024}  # short names of encoders of other widths
RATE_BY_FAMILY = ((r"modernbert|ettin", 5e-5),)
"""Rates of encoders of the usual width, by patterns of names: 5e-5 and 8e-5 were best for ModernBERT on GLUE
(Warner et al. 2024)."""
WIDTH_KEYS = ("hidden_size", "d_model", "n_embd", "dim")  # names in configs
WIDTH_BY_NAME = (
    (r"[-_]H-?(\d+)", None),
    (r"minilm|tiny|mini\b", 384),
    (r"small|medium", 512),
    (r"large|xl\b|xxl", 1024),
)
"""Patterns of names on a hub, with the size; None: it is in the name."""


def usual_rate(name: str, *, adapters: bool = False) -> float:
    """Return the learning rate for the encoder `name`: a short name, a name on a hub, or a folder.

    Args:
        name: as in `encoder.name`.
        adapters: whether only low-rank adapters are trained.

    Example: `usual_rate("minilm")` is 2e-4, `usual_rate("bert")` 2e-5.
    """
    size = _size(name)
    families = [rate for pattern, rate in RATE_BY_FAMILY if re.search(pattern, name, re.IGNORECASE)]
    of_family = families if size == USUAL_WIDTH else []
    rates = [*of_family, *(rate for most, rate in RATE_BY_WIDTH if size <= most)]
    return ADAPTER_RATE if adapters else rates[0]


def _size(name: str) -> int:
    """Return the number of dimensions of hidden states; `USUAL_WIDTH` if it is not known."""
    folder = Path(os.path.expanduser(name))
    if name in WIDTHS:
        return WIDTHS[name]
    if folder.is_dir():
        config = read_config(folder / "config.json")
        return next((size for key in WIDTH_KEYS if isinstance(size := config.get(key), int)), USUAL_WIDTH)
    for pattern, size in WIDTH_BY_NAME:
        if match := re.search(pattern, name, re.IGNORECASE):
            return int(match[1]) if size is None else size
    return USUAL_WIDTH
