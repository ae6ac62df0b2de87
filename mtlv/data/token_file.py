"""Tokens of a corpus in one file: written atomically, read with memory mapping."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mtlv.data.columns import RaggedColumn
from mtlv.data.tokens import Tokens, join_tokens
from mtlv.disk import open_regular, write_atomically
from mtlv.foreign import parse_json

MAGIC = b"mtlv tokens 2\n"
SUM = 4  # bytes of the checksum of the header
ALIGNED = 64  # bytes
BEGIN = 1024  # position of the first array: the header, written last, has room for itself
AT_A_TIME = 2**24  # bytes
NO_IDS = np.zeros(0, np.int32)


class DamagedTokens(Exception):
    """A damaged file of tokens; the message has the reason."""


def write_tokens(path: Path, parts: Iterable[Tokens]) -> None:
    """Write tokens, some documents at a time, without their cuts, which depend only on the documents.

    Raises:
        OSError: they cannot be written; no incomplete file is left.
    """
    with write_atomically(path) as made, made.open("wb") as file:
        file.seek(BEGIN)
        count = crc = 0
        others = []
        for part in parts:
            ids = np.ascontiguousarray(part.ids[:])
            file.write(ids)
            count, crc = count + len(ids), zlib.crc32(ids, crc)
            others.append(replace(part, ids=NO_IDS))  # a view of the ids would keep them
        _write_others(file, join_tokens(others), count, crc)


def _write_others(file: BinaryIO, tokens: Tokens, count: int, crc: int) -> None:
    """Write the arrays after the ids, and the header before them, with number and checksum of the ids."""
    arrays = {name: np.ascontiguousarray(array) for name, array in _arrays(tokens).items()}
    for array in arrays.values():
        file.write(bytes(-file.tell() % ALIGNED))
        array.tofile(file)
    header: dict[str, Any] = {"pad": tokens.pad, "truncated": tokens.truncated, "crc": _crc(arrays, crc)}
    header["lost"] = tokens.lost
    header["arrays"] = {name: [array.dtype.str, len(array)] for name, array in arrays.items()}
    header["arrays"]["ids"][1] = count
    header["fill"] = {name: part.fill for name, part in _ragged_columns(tokens).items()}
    text = json.dumps(header).encode().ljust(BEGIN - len(MAGIC) - 8 - SUM)
    file.seek(0)
    file.write(MAGIC + len(text).to_bytes(8, "big") + zlib.crc32(text).to_bytes(SUM, "big") + text)


def read_tokens(path: Path) -> Tokens | None:
    """Read tokens of `write_tokens` as read-only memory maps; None if there is no file.

    Raises:
        DamagedTokens: the file is damaged.
    """
    try:
        with open_regular(path) as file:
            magic = file.read(len(MAGIC))
            length, crc = (int.from_bytes(file.read(count), "big") for count in (8, SUM))
            if magic != MAGIC or length > path.stat().st_size:
                raise DamagedTokens("it is truncated, or has another format")
            text = file.read(length)
            start = file.tell()
        if zlib.crc32(text) != crc:
            raise DamagedTokens("the checksum of its header does not match")
        header = parse_json(text)
        arrays = _map_arrays(path, header["arrays"], start)
    except OSError:
        return None
    except (ValueError, KeyError, TypeError, OverflowError) as error:  # an array after the end of the file
        raise DamagedTokens("it is truncated") from error
    if _crc(arrays) != header["crc"]:
        raise DamagedTokens("its checksum does not match: it was changed")
    return _tokens(header, arrays)


def _ragged_columns(tokens: Tokens) -> dict[str, RaggedColumn]:
    columns = {"words": tokens.words, "mentions": tokens.mentions, "windows": tokens.windows}
    return {name: part for name, part in columns.items() if part is not None}


def _arrays(tokens: Tokens) -> dict[str, NDArray]:
    arrays: dict[str, NDArray] = {"ids": tokens.ids[:], "offsets": tokens.offsets}
    if tokens.segments is not None:
        arrays["segments"] = tokens.segments[:]
    for name, part in _ragged_columns(tokens).items():
        arrays |= {name: part.flat, f"{name}_offsets": part.offsets}
    return arrays


def _tokens(header: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> Tokens:
    ragged = {
        name: RaggedColumn(arrays[name], arrays[f"{name}_offsets"], int(fill))
        for name, fill in header["fill"].items()
    }
    return Tokens(
        arrays["ids"],
        arrays["offsets"],
        int(header["pad"]),
        int(header["truncated"]),
        arrays.get("segments"),
        ragged.get("words"),
        ragged.get("mentions"),
        windows=ragged.get("windows"),
        lost=int(header.get("lost", 0)),  # not in files of earlier versions
    )


def _map_arrays(path: Path, kinds: Mapping[str, tuple[str, int]], at: int) -> dict[str, NDArray]:
    """Map each array at its position in the file."""
    arrays: dict[str, NDArray] = {}
    for name, (kind, length) in kinds.items():
        dtype = np.dtype(kind)
        at += -at % ALIGNED
        # An empty array cannot be mapped.
        mapped = np.memmap(path, dtype, "r", at, (length,)) if length else np.zeros(0, dtype)
        arrays[name] = mapped
        at += length * dtype.itemsize
    return arrays


def _crc(arrays: Mapping[str, NDArray], crc: int = 0) -> int:
    for array in arrays.values():
        data = memoryview(array).cast("B") if len(array) else b""
        for start in range(0, len(data), AT_A_TIME):
            crc = zlib.crc32(data[start : start + AT_A_TIME], crc)
    return crc
