"""A table of the user, such as CSV, JSON, Excel or Parquet, with a document in each row.

`data.path` is one file, or a folder with `train`, `dev` and `test` files; `data.columns` describes the
columns.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from mtlv.data.options import DataOptions
from mtlv.data.parts import absent
from mtlv.data.source import Card, Corpus
from mtlv.data.tables.corpus import table_corpus
from mtlv.data.tables.parts import table_files
from mtlv.data.tables.rows import read_table
from mtlv.data.tables.streams import can_stream, text_corpus

CARD = Card(
    name="table",
    title="A table of your own (CSV, TSV, JSON, Excel or Parquet)",
    address="your file, named by `data.path`",
    licence="yours",
    citation="none: the documents are yours",
)


def load(path: Path, options: DataOptions) -> Corpus:
    """Load all rows with text, according to `options.columns`.

    Raises:
        DataError: as for `table_files`, `read_table`, `table_corpus` and `text_corpus`.
    """
    files = table_files(path)
    if can_stream(files, options.columns):
        with suppress(UnicodeError):  # files in another encoding are read into memory, as other tables are
            return text_corpus(CARD.name, files, options.columns, absent(files))
    columns = options.columns
    tables = {
        part: read_table(file, names=columns.names, encoding=columns.encoding) for part, file in files.items()
    }
    return table_corpus(CARD.name, tables, columns, absent(files))
