"""Files of the user that are given as a table, but are of another format."""

from __future__ import annotations

from pathlib import Path

from mtlv.data.conll import conll_path
from mtlv.data.standoff import standoff_path

FORMATS = {"conll": conll_path, "standoff": standoff_path}


def other_format(path: Path) -> tuple[str, Path] | None:
    """Return `data.name` and `data.path` of files that are no table; None for a table."""
    for name, path_of in FORMATS.items():
        if place := path_of(path):
            return name, place
    return None
