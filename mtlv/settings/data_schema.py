"""Types of the section `data`: corpora, the layout of their tables, and splits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from mtlv.settings.values import Count, MaybeCount, MaybeText, Names, Seed, SettingsSection, Share, Text

SOURCE_KEYS = ("name", "alias", "path", "hub", "text_only", "labels", "limit")
KINDS_WITHOUT_TARGET = ("mlm",)
"""Kinds of tables that have no column with a target."""
TextOnly = Annotated[
    bool | Literal["next_sentence", "masked_pairs"],
    Field(description="true, false, next_sentence or masked_pairs"),
]
LENGTH_RANGE = Field(ge=4, le=8192, description="a whole number from 4 to 8192")


def _as_text(place: object) -> object:
    return str(place) if type(place) is int else place


Place = Annotated[
    Annotated[str, Field(min_length=1)] | None,
    BeforeValidator(_as_text),
    Field(description="text, or a number in CoNLL files, or null"),
]


class ColumnSettings(SettingsSection):
    later = {  # noqa: RUF012
        "missing_labels": "error",
        "uncertain": "error",
        "names": None,
        "encoding": None,
        "subgroups": None,
    }

    text: Text
    text_pair: MaybeText
    words: Place
    mentions: MaybeText
    id: MaybeText
    part: MaybeText
    group: MaybeText
    kind: Literal["binary", "multiclass", "regression", "tagging", "mlm"]
    task: MaybeText
    labels: Annotated[Names | None, Field(description="a list of column names, or null")]
    label_list: MaybeText
    separator: Text
    missing_labels: Literal["error", "unknown", "no"]
    uncertain: Literal["error", "unknown", "yes", "no"]
    target: MaybeText
    tags: Place
    classes: Annotated[Names | None, Field(description="a list of class names (numbers in quotes), or null")]
    negative: Annotated[
        tuple[Text, ...], Field(strict=False, description="a list of class names (numbers in quotes)")
    ]
    metric: MaybeText
    names: Annotated[Names | None, Field(description="a list of column names, or null")]
    encoding: MaybeText
    subgroups: Annotated[Names | None, Field(description="a list of column names, or null")]


class SourceSettings(SettingsSection):
    """One of several corpora; keys that it omits have the values of `data`."""

    later = {"text_only": False}  # noqa: RUF012

    name: Text
    alias: MaybeText = None
    path: MaybeText = None
    hub: MaybeText = None
    text_only: TextOnly = False
    columns: Annotated[ColumnSettings | None, Field(description="a mapping, or null")] = None
    labels: Annotated[Names | None, Field(description="a list of label names, or null")] = None
    limit: MaybeCount = None
    max_length: Annotated[int | None, LENGTH_RANGE] = None
    batch_size: MaybeCount = None


class DataSettings(SettingsSection):
    later = {"text_only": False, "train_share": 1.0, "window_pooling": None, "parents": None}  # noqa: RUF012

    _of_several: bool = PrivateAttr(default=False)

    @property
    def of_several(self) -> bool:
        """Whether it is one of several sources, so that descriptions may be of another one's tasks."""
        return self._of_several

    name: Text
    sources: Annotated[
        tuple[SourceSettings, ...] | None,
        Field(
            min_length=2,
            strict=False,
            description="a list of two or more mappings with name, alias, path, hub, text_only, columns, "
            "labels, limit, max_length (4 to 8192) and batch_size, or null",
        ),
    ]
    alias: MaybeText
    path: MaybeText
    hub: MaybeText
    text_only: TextOnly
    labels: Annotated[Names | None, Field(description="a list of label names (numbers in quotes), or null")]
    limit: MaybeCount
    documents: Annotated[int, Field(ge=20, description="a whole number of 20 or more")]
    columns: ColumnSettings
    descriptions: Annotated[dict[str, Text], Field(description="a mapping of label name to text")]
    parents: MaybeText
    mentions: Literal["dummy", "markers", "original"]
    max_length: Annotated[int, LENGTH_RANGE]
    window: MaybeCount
    window_overlap: Annotated[int | None, Field(ge=0, description="a whole number of 0 or more, or null")]
    window_pooling: Annotated[Literal["mean", "max"] | None, Field(description="mean, max or null")]
    test_share: Share
    validation_share: Share
    train_share: Annotated[float, Field(gt=0, le=1, description="a number above 0, at most 1")]
    folds: Count
    scheme: Literal["fixed_test", "rotate_test"]
    repeats: Literal["leave_out", "keep"]
    split_seed: Seed

    @model_validator(mode="before")
    @classmethod
    def _fill_columns(cls, values: Any) -> Any:
        """Fill columns that a source omits from `columns`."""
        if not isinstance(values, dict) or not isinstance(values.get("sources"), (list, tuple)):
            return values
        return values | {"sources": [_with_columns(one, values.get("columns")) for one in values["sources"]]}

    @property
    def each_source(self) -> tuple[DataSettings, ...]:
        """The settings of each corpus separately."""
        if self.sources is None:
            return (self,)
        return tuple(self._settings_of(one) for one in self.sources)

    def _settings_of(self, one: SourceSettings) -> DataSettings:
        changes = {key: getattr(one, key) for key in SOURCE_KEYS}
        overrides = {
            key: value for key in ("columns", "max_length") if (value := getattr(one, key)) is not None
        }
        settings = self.model_copy(update={**changes, **overrides, "sources": None})
        settings._of_several = True
        return settings

    @property
    def without_share(self) -> DataSettings:
        """The same settings for the whole training part."""
        return self.model_copy(update={"train_share": 1.0})

    @property
    def batch_sizes(self) -> dict[str, int]:
        """Documents per batch, by name, of the sources that set their own."""
        sources = zip(self.each_source, self.sources or (), strict=False)
        return {data.called: one.batch_size for data, one in sources if one.batch_size is not None}

    @property
    def called(self) -> str:
        """Name of one corpus."""
        return self.alias or self.name

    @property
    def title(self) -> str:
        """Name of all corpora together."""
        return " + ".join(one.called for one in self.each_source)


def _with_columns(source: Any, columns: Any) -> Any:
    source_columns = source.get("columns") if isinstance(source, dict) else None
    return (
        {**source, "columns": {**columns, **source_columns}}
        if isinstance(source_columns, dict) and isinstance(columns, dict)
        else source
    )
