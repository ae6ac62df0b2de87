"""Hugging Face data sets as tables, with the optional package `datasets`.

No code of a data set is run: the package has not run scripts since version 4, and only the `FORMATS` are
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

from mtlv.data.parts import part_of
from mtlv.data.source import PARTS
from mtlv.data.tables.arrow import NO_CLASS, class_name
from mtlv.data.tables.decoding import MOST_BYTES, need_size
from mtlv.data.tables.rows import Table, need_header
from mtlv.errors import DataError

PACKAGE = "datasets"
OLDEST = 4  # earlier ones can run a data set's own script
CONVERTED = "refs/convert/parquet"  # revision with the Parquet files that the hub makes of data sets
FORMATS = ("arrow", "cache", "csv", "json", "parquet", "text")
"""Formats of a folder or repository, as named by `datasets`; `cache` is what it downloaded before."""
SAVED = ("dataset_dict.json", "state.json")  # files written by `save_to_disk`
_ADDRESS = re.compile(
    r"(?P<name>\w[\w.-]*(?:/\w[\w.-]*)?)(?::(?P<subset>[^@/\s]+))?(?:@(?P<revision>[^@\s]+))?", re.ASCII
)


@dataclass(frozen=True)
class Selection:
    """What is read of a data set."""

    columns: frozenset[str]
    named: frozenset[str]  # columns whose classes are read by name
    unclassed: bool = False  # whether rows without a class in one of these are read, instead of left out


@dataclass(frozen=True)
class HubData:
    """A data set that was read."""

    tables: Mapping[str, Table]  # part -> table; "" -> the only one
    classes: Mapping[str, tuple[str, ...]]  # column -> names of its classes, in order
    notes: tuple[str, ...]  # notes on what was left out


def read_folder(path: Path, selection: Selection) -> HubData:
    """Read columns of a folder of `save_to_disk`, or of one of Parquet, CSV, JSON, text or Arrow files.

    Raises:
        DataError: not a folder, the package is missing, or `datasets` cannot read it.
    """
    if not path.is_dir():
        raise DataError(f"`{path}` is not a folder", then="use `data.name: table` for a single file")
    if was_saved(path):
        return _read(path.name, lambda package: package.load_from_disk(str(path)), selection)
    return _read(path.name, lambda package: _built(package, str(path)), selection)


def was_saved(path: Path) -> bool:
    """Whether `save_to_disk` wrote a folder."""
    return any((path / name).is_file() for name in SAVED)


def read_hub(address: str, selection: Selection) -> HubData:
    """Read columns of a data set of the hub, downloaded into the package's own cache.

    `address` is `owner/name`, optionally with `:subset` and `@revision`.

    Raises:
        DataError: an invalid address, the package is missing, or the data set cannot be downloaded or read.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        allowed = "owner/name, owner/name:subset or owner/name:subset@revision"
        raise DataError("`data.hub` is not a name of a data set", got=address, allowed=allowed)
    if os.path.exists(match["name"]):  # which `datasets` would read instead
        then = "set `data.path` to it, or run from another folder"
        raise DataError(f"`data.hub`: `{match['name']}` is also a file or folder here", then=then)
    is_converted = match["revision"] == CONVERTED  # whose subsets are folders
    more = {"data_dir" if is_converted else "name": match["subset"], "revision": match["revision"]}
    return _read(address, lambda package: _built(package, match["name"], **more), selection)


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
        raise DataError(f"the data set has an unsupported format: {form}", allowed=", ".join(FORMATS))
    builder.download_and_prepare()
    return builder.as_dataset()


def _read(name: str, load: Callable[[Any], Any], selection: Selection) -> HubData:
    package = _package()
    try:
        dataset = load(package)
        splits = dict(dataset) if isinstance(dataset, package.DatasetDict) else {"": dataset}
        parts, notes = _parts(splits)
        read = {part: _split(Path(name) / split, data, selection) for part, (split, data) in parts.items()}
    except DataError:
        raise
    except Exception as error:  # errors of the package, its readers and the hub's client have no common class
        then = "without network access, download it elsewhere, use `save_to_disk`, and set `data.path`"
        if "scripts are no longer supported" in str(error):
            then = f"read the files that the hub made of it: `data.hub: {name.partition('@')[0]}@{CONVERTED}`"
        raise DataError(
            f"the data set `{name}` cannot be read", got=f"{type(error).__name__}: {error}", then=then
        ) from error
    tables = {part: table for part, (table, _) in read.items()}
    return HubData(tables, next(classes for _, classes in read.values()), tuple(notes))


def _parts(splits: Mapping[str, Any]) -> tuple[dict[str, tuple[str, Any]], list[str]]:
    """Return part -> (split, its rows), in the order of `PARTS`, and notes; "" -> the only split."""
    if len(splits) == 1:
        return {"": next(iter(splits.items()))}, []
    named = [(part_of(split), split) for split in splits]
    others = [split for part, split in named if not part]
    known = [part for part, _ in named if part]
    if not known or len(set(known)) < len(known):
        raise DataError(
            "the data set does not have one split for each part",
            got=", ".join(splits),
            allowed=", ".join(PARTS),
        )
    notes = [
        f"split `{split}`: {len(splits[split])} rows left out, because it is not a part" for split in others
    ]
    return {part: (split, splits[split]) for part in PARTS for name, split in named if name == part}, notes


def _split(place: Path, data: Any, selection: Selection) -> tuple[Table, dict[str, tuple[str, ...]]]:
    """Return the rows of a split, with a note on those left out, and the classes of its columns by name.

    Only columns that are read are decoded. A missing class is None.
    """
    data = data.flatten()  # fields of objects are columns, such as `patient.age`
    need_header(place, data.column_names)
    need_size(place, data.data.nbytes, MOST_BYTES)
    read = [name for name in data.column_names if name in selection.columns]
    rows = data.select_columns(read).with_format(None).to_list() if read else [{}] * len(data)
    features = {name: getattr(data.features[name], "feature", data.features[name]) for name in read}
    class_names = {name: tuple(names) for name in read if (names := getattr(features[name], "names", None))}
    classes = {name: names for name, names in class_names.items() if name in selection.named}
    named_rows = [
        (number, row | {name: class_name(row[name], classes.get(name, ())) for name in class_names})
        for number, row in enumerate(rows, start=1)
        if selection.unclassed or all(row[name] != NO_CLASS for name in classes)
    ]
    dropped = len(rows) - len(named_rows)
    notes = (f"{dropped} rows of `{place}` left out: their class is missing",) if dropped else ()
    return Table(place, tuple(data.column_names), tuple(named_rows), notes), classes
