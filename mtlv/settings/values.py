"""Base class of the sections of settings, and values that several of them use.

The description of a value is what is allowed; messages about wrong values quote it as `allowed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic_core import core_schema

Text = Annotated[str, Field(min_length=1, description="text")]
MaybeText = Annotated[str | None, Field(min_length=1, description="text, or null")]
NO_CONTROL = r"^[^\p{Cc}\p{Zl}\p{Zp}\u{202A}-\u{202E}\u{2066}-\u{2069}]*$"
"""Pattern of names on pages and terminals: no control characters, none that change the text direction."""
Flag = Annotated[bool, Field(description="true or false")]
Count = Annotated[int, Field(ge=1, description="a whole number of 1 or more")]
MaybeCount = Annotated[int | None, Field(ge=1, description="a whole number of 1 or more, or null")]
Seed = Annotated[int, Field(ge=0, lt=2**31, description="a whole number of 0 or more, below 2147483648")]
Share = Annotated[float, Field(gt=0, lt=1, description="a number above 0 and below 1")]
Fraction = Annotated[float, Field(ge=0, le=1, description="a number from 0 to 1")]
Positive = Annotated[float, Field(gt=0, description="a number above 0")]
# YAML gives lists; only the list is converted to a tuple, never its items.
Names = Annotated[tuple[Text, ...], Field(min_length=1, strict=False)]


@dataclass(frozen=True)
class OneOf:
    """Annotation for a text that must be one of `choices`, such as a registry."""

    choices: Iterable[str]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "enum": list(self.choices)}

    def _check(self, value: str) -> str:
        if value not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)}")
        return value


class SettingsSection(BaseModel):
    """A mapping of known keys, all required; values are never changed or converted.

    `later` has the keys that were added after a release, with their defaults. Such a key is left out
    of dumps while it has its default, so that keys of units and tracked settings stay the same.
    """

    later: ClassVar[Mapping[str, object]] = {}

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        defer_build=True,  # all are built together at the end of schema.py
    )

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in dump(self).items() if self.later.get(key, ...) != value}
