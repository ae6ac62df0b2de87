"""Scores as a Parquet file: a row per document with its group, and output, target and mask of each task."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mtlv.data.targets import spans_column
from mtlv.foreign import parse_json
from mtlv.plan import Scores, TaskScores
from mtlv.plan.spans import Span

if TYPE_CHECKING:
    import pyarrow

GROUP_COLUMN = "group"
PARTS = ("output", "target", "mask")


def write_scores(scores: Scores, path: Path) -> None:
    """Write scores of tasks of any kind."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, object] = {"id": list(scores.ids)}
    if scores.groups is not None:
        columns[GROUP_COLUMN] = list(scores.groups)
    for name, task in scores.tasks.items():
        for part, values in zip(PARTS, (task.outputs, task.targets, task.mask), strict=True):
            columns[f"{part}:{name}"] = _column(values)
    head = {"mtlv": json.dumps({"units": scores.units, "split": scores.part})}
    pq.write_table(pa.table(columns).replace_schema_metadata(head), path)


def read_scores(source: Path | BinaryIO) -> Scores:
    """Read scores written by `write_scores`."""
    import pyarrow.parquet as pq

    table = pq.read_table(source)
    head = parse_json(table.schema.metadata[b"mtlv"])
    names = [c.removeprefix("output:") for c in table.column_names if c.startswith("output:")]
    tasks = {name: TaskScores(*(_values(table.column(f"{part}:{name}")) for part in PARTS)) for name in names}
    groups = tuple(table.column(GROUP_COLUMN).to_pylist()) if GROUP_COLUMN in table.column_names else None
    return Scores(tuple(head["units"]), head["split"], tuple(table.column("id").to_pylist()), tasks, groups)


def write_curve(curve: Sequence[Mapping[str, NDArray]], path: Path) -> None:
    """Write outputs by task, per epoch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        f"{epoch}:{name}": _column(values)
        for epoch, outputs in enumerate(curve)
        for name, values in outputs.items()
    }
    pq.write_table(pa.table(columns), path)


def read_curve(source: Path | BinaryIO) -> tuple[dict[str, NDArray], ...]:
    """Read outputs written by `write_curve`."""
    import pyarrow.parquet as pq

    table = pq.read_table(source)
    epochs: list[dict[str, NDArray]] = []
    for column in table.column_names:
        epoch, _, name = column.partition(":")
        if int(epoch) == len(epochs):
            epochs.append({})
        epochs[int(epoch)][name] = _values(table.column(column))
    return tuple(epochs)


def _column(values: NDArray) -> object:
    """Convert values to a column: [N] unchanged; [N, C] as lists of C numbers; spans as lists of records."""
    import pyarrow as pa

    if values.dtype == object:
        record = pa.struct([("start", pa.int32()), ("end", pa.int32()), ("type", pa.string())])
        rows = [[Span(*span)._asdict() for span in spans] for spans in values]
        return pa.array(rows, pa.list_(record))
    if values.ndim == 2:
        flat = pa.array(np.ascontiguousarray(values).ravel())
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return values


def _values(column: pyarrow.ChunkedArray) -> NDArray:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(column.type):
        flat = column.combine_chunks().flatten().to_numpy()
        return flat.reshape(-1, column.type.list_size)
    if pa.types.is_list(column.type):
        return spans_column([[Span(**span) for span in row] for row in column.to_pylist()])
    return column.to_numpy()
