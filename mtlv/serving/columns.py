"""Names of a model's inputs in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mtlv.serving.inputs import OPTIONAL, TEXT

if TYPE_CHECKING:
    from mtlv.settings.data_schema import DataSettings

INPUT_COLUMNS = (TEXT, *OPTIONAL)


def training_columns(data: DataSettings) -> dict[str, list[str]]:
    """Return the names of the inputs in the tables of the training documents, where they differ."""
    found = {}
    for name in INPUT_COLUMNS:
        own = dict.fromkeys(getattr(each.columns, name) for each in data.each)
        found[name] = [each for each in own if each not in (None, name)]
    return {name: own for name, own in found.items() if own}


def input_columns(columns: Sequence[str], named: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the column of each input that a table has: `named` in training, or else of the input's name.

    A name that several columns have is not used.
    """
    own = {key: name for key in INPUT_COLUMNS for name in named.get(key, ()) if columns.count(name) == 1}
    rest = [key for key in INPUT_COLUMNS if columns.count(key) == 1 and key not in own.values()]
    return {key: key for key in rest} | own
