"""Files of the user that are given as a table, but are of another format."""

from __future__ import annotations

from pathlib import Path

from mtlv.data.conll import conll_path
from mtlv.data.standoff import standoff_path

FORMATS = {
    "conll": (conll_path, "it has a word and its tag a line, as CoNLL files do"),
    "standoff": (standoff_path, "it has texts with marked entities, as BRAT, PubTator and BioC have"),
}


def other_format(path: Path) -> tuple[str, Path, str] | None:
    """Return `data.name` and `data.path` of files that are no table, and why they are none; else None."""
    for name, (path_of, why) in FORMATS.items():
        if found := path_of(path):
            return name, found, f"`{path}` is no table: {why}"
    return None
