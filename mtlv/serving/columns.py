"""Names of a model's inputs in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mtlv.serving.inputs import OPTIONAL, TEXT

if TYPE_CHECKING:
    from mtlv.settings.data_schema import DataSettings

INPUT_COLUMNS = (TEXT, *OPTIONAL)
ID = "id"  # its names in training are kept with those of the inputs


def training_columns(data: DataSettings) -> dict[str, list[str]]:
    """Return the names of the inputs and ids in the tables of the training documents, where they differ."""
    by_input = {}
    for key in (*INPUT_COLUMNS, ID):
        names = dict.fromkeys(getattr(source.columns, key) for source in data.each_source)
        by_input[key] = [name for name in names if name is not None]
    return {key: names for key, names in by_input.items() if names not in ([], [key])}


def input_columns(columns: Sequence[str], named: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the column of each input that a table has: `named` in training, or else of the input's name.

    A name that several columns have is not used, nor is an input that has several of its names in training.
    """
    by_input, several = {}, set()
    as_trained = bool(training_names(columns, named, TEXT))
    for key in INPUT_COLUMNS:
        names = training_names(columns, named, key) if key in named else []
        if not as_trained:  # then `text` is the text, even if it was another input in training
            names = [name for name in names if name not in INPUT_COLUMNS]
        if len(names) == 1:
            by_input[key] = names[0]
        elif names:
            several.add(key)
    rest = [key for key in INPUT_COLUMNS if key not in {*by_input, *by_input.values(), *several}]
    return {key: key for key in rest if columns.count(key) == 1} | by_input


def training_names(columns: Sequence[str], named: Mapping[str, Sequence[str]], key: str) -> list[str]:
    """Return the names of an input in training that a table has once; of the text, not those of others."""
    others = {name for other, names in named.items() if other != key for name in names}
    names = [name for name in named.get(key, (key,)) if key != TEXT or name not in others]
    return [name for name in names if columns.count(name) == 1]
