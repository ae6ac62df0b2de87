"""Data sets of Hugging Face as tables, through its package `datasets`, which not everyone has.

Nothing of a data set is run: the package runs no script since its version 4, and only the `FORMATS` are
read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mtlv.data.parts import NAMES
from mtlv.data.source import PARTS
from mtlv.data.tables.rows import Table, need_header, need_size
from mtlv.errors import DataError

PACKAGE = "datasets"
OLDEST = 4  # earlier ones can be told to run a data set's own script
FORMATS = ("arrow", "cache", "csv", "json", "parquet", "text")
"""Of a folder or a repository: how `datasets` calls what reads them; `cache` is what it fetched before."""
SAVED = ("dataset_dict.json", "state.json")  # what `save_to_disk` leaves
NO_CLASS = -1  # what `datasets` has in place of a class that is not told
_ADDRESS = re.compile(
    r"(?P<name>\w[\w.-]*(?:/\w[\w.-]*)?)(?::(?P<subset>[^@/\s]+))?(?:@(?P<revision>[^@\s]+))?", re.ASCII
)


@dataclass(frozen=True)
class HubData:
    """A data set as it was read.

    Args:
        tables: part -> table; "" -> the only one.
        classes: column -> names of its classes, in their order.
        notes: what was left out.
    """

    tables: Mapping[str, Table]
    classes: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]


def read_folder(path: Path, *, columns: frozenset[str], named: frozenset[str]) -> HubData:
    """A folder that `save_to_disk` wrote, or one of Parquet, CSV, JSON, text or Arrow files.

    Args:
        path: the folder.
        columns: those that are read.
        named: those of them whose classes are wanted by name; a row without its class is left out.

    Raises:
        DataError: no folder, the package is missing, or what `datasets` cannot read.
    """
    if not path.is_dir():
        raise DataError(
            f"`{path}` is no folder", then="a single file is read by `data.name: table`; give it that name"
        )
    if any((path / name).is_file() for name in SAVED):
        return _read(path.name, lambda package: package.load_from_disk(str(path)), columns, named)
    return _read(path.name, lambda package: _built(package, str(path)), columns, named)


def read_hub(address: str, *, columns: frozenset[str], named: frozenset[str]) -> HubData:
    """A data set of the hub, fetched into the package's own cache.

    Args:
        address: `owner/name`, with `:subset` and `@revision` where they are wanted.
        columns: as `read_folder`.
        named: as `read_folder`.

    Raises:
        DataError: no such address, the package is missing, or the data set cannot be had or read.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        allowed = "owner/name, owner/name:subset or owner/name:subset@revision"
        raise DataError("`data.hub` is no name of a data set", got=address, allowed=allowed)
    if os.path.exists(found["name"]):  # which `datasets` would read in its place
        then = "set `data.path` to it, or run from another folder"
        raise DataError(f"`data.hub`: `{found['name']}` is also a file or folder here", then=then)
    more = {"name": found["subset"], "revision": found["revision"]}
    return _read(address, lambda package: _built(package, found["name"], **more), columns, named)


def _package() -> Any:
    if find_spec(PACKAGE) is None:
        then = "install it: pip install 'mtlv[huggingface]'"
        raise DataError(f"`data.name: huggingface` needs the package {PACKAGE}", then=then)
    if int(version(PACKAGE).partition(".")[0]) < OLDEST:
        then = "install a newer one: pip install -U 'mtlv[huggingface]'"
        raise DataError(
            f"the package {PACKAGE} is too old", got=version(PACKAGE), allowed=f"{OLDEST} or newer", then=then
        )
    import datasets

    datasets.disable_progress_bars()
    return datasets


def _built(package: Any, path: str, **more: str | None) -> Any:
    builder = package.load_dataset_builder(path, **more)
    form = type(builder).__module__.rpartition(".")[2]
    if form not in FORMATS:
        raise DataError(f"the data set is of a format that is not read: {form}", allowed=", ".join(FORMATS))
    builder.download_and_prepare()
    return builder.as_dataset()


def _read(name: str, load: Callable[[Any], Any], columns: frozenset[str], named: frozenset[str]) -> HubData:
    package = _package()
    try:
        found = load(package)
        splits = dict(found) if isinstance(found, package.DatasetDict) else {"": found}
        parts, notes = _parts(splits)
        read = {
            part: _split(Path(name) / split, data, columns, named) for part, (split, data) in parts.items()
        }
    except DataError:
        raise
    except Exception as error:  # of the package, of its readers and of the hub's client: no common class
        raise DataError(
            f"the data set `{name}` cannot be read",
            got=f"{type(error).__name__}: {error}",
            then="where there is no network, fetch it elsewhere, `save_to_disk` it, and set `data.path`",
        ) from error
    return HubData(
        {part: split.table for part, split in read.items()},
        next(iter(read.values())).classes,
        (*notes, *(split.note for split in read.values() if split.note)),
    )


def _parts(splits: Mapping[str, Any]) -> tuple[dict[str, tuple[str, Any]], list[str]]:
    """Part -> (split, its rows), in the order of `PARTS`, and what is left out; "" -> the only split."""
    if len(splits) == 1:
        return {"": next(iter(splits.items()))}, []
    named = [(NAMES.get(split.lower(), ""), split) for split in splits]
    others = [split for part, split in named if not part]
    known = [part for part, _ in named if part]
    if not known or len(set(known)) < len(known):
        raise DataError(
            "the data set's splits are not one for each part", got=", ".join(splits), allowed=", ".join(PARTS)
        )
    notes = [f"split `{split}`: {len(splits[split])} rows left out, it is no part" for split in others]
    return {part: (split, splits[split]) for part in PARTS for own, split in named if own == part}, notes


@dataclass(frozen=True)
class _Split:
    table: Table
    classes: Mapping[str, tuple[str, ...]]
    note: str


def _split(place: Path, data: Any, columns: frozenset[str], named: frozenset[str]) -> _Split:
    """The rows of a split; only columns that are read are decoded."""
    need_header(place, data.column_names)
    need_size(place, data.data.nbytes)
    wanted = [name for name in data.column_names if name in columns]
    rows = data.select_columns(wanted).with_format(None).to_list() if wanted else [{}] * len(data)
    found = {name: _class_names(data.features[name]) for name in wanted if name in named}
    classes = {name: names for name, names in found.items() if names}
    told = [
        (number, row | {name: _by_name(row[name], names) for name, names in classes.items()})
        for number, row in enumerate(rows, start=1)
        if all(row[name] != NO_CLASS for name in classes)
    ]
    dropped = len(rows) - len(told)
    note = f"{dropped} rows of `{place}` left out: their class is not told" if dropped else ""
    return _Split(Table(place, tuple(data.column_names), tuple(told)), classes, note)


def _class_names(feature: Any) -> tuple[str, ...]:
    """Of a `ClassLabel`, or of a list of them; nothing of anything else."""
    inner = getattr(feature, "feature", feature)
    return tuple(getattr(inner, "names", None) or ())


def _by_name(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, list):
        return [_by_name(each, names) for each in value]
    return names[value] if value is not None and 0 <= value < len(names) else value
