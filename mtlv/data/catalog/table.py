"""A table of the user: CSV, TSV, JSONL or Parquet, with a document in each row.

`data.path` is one file, or a folder with `train`, `dev` and `test` files; `data.columns` describes the
columns.
"""

from __future__ import annotations

from pathlib import Path

from mtlv.data.options import DataOptions
from mtlv.data.parts import absent, part_files
from mtlv.data.source import Card, Corpus
from mtlv.data.tables.corpus import table_corpus
from mtlv.data.tables.rows import FORMATS, read_table
from mtlv.data.tables.streams import streamed, text_corpus

CARD = Card(
    name="table",
    title="A table of your own (CSV, TSV, JSONL or Parquet)",
    address="your file, named by `data.path`",
    licence="yours",
    citation="none: the documents are yours",
)


def load(path: Path, options: DataOptions) -> Corpus:
    """Load all rows with text, according to `options.columns`.

    Raises:
        DataError: as for `part_files`, `read_table`, `table_corpus` and `text_corpus`.
    """
    files = part_files(path, FORMATS) if path.is_dir() else {"": path}
    if streamed(files, options.columns):
        return text_corpus(CARD.name, files, options.columns, absent(files))
    tables = {part: read_table(file) for part, file in files.items()}
    return table_corpus(CARD.name, tables, options.columns, absent(files))
