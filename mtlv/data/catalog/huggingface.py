"""A Hugging Face data set: a folder (`data.path`) or a name on the hub (`data.hub`).

`data.columns` describes the columns, as for `table`. Class names of the data set are used.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mtlv.data.options import DataOptions
from mtlv.data.source import Card, Corpus
from mtlv.data.tables.corpus import columns_of, table_corpus
from mtlv.data.tables.hugging_face import Selection, read_folder, read_hub
from mtlv.data.tables.readers import KINDS

CARD = Card(
    name="huggingface",
    title="A Hugging Face data set, from a folder or from the hub",
    address="your folder (`data.path`), or https://huggingface.co/datasets (`data.hub`)",
    licence="the data set's own",
    citation="the data set's own",
    hub=True,
)


def load(path: Path | None, options: DataOptions) -> Corpus:
    """Load all rows with text, according to `options.columns`. Its splits are the parts.

    Raises:
        DataError: as for `read_folder`, `read_hub` and `table_corpus`.
    """
    columns = options.columns
    named = frozenset(name for name in (columns.target, columns.tags, columns.label_list) if name)
    selection = Selection(
        frozenset(columns_of(columns)), named, unclassed=columns.missing_labels == "unknown"
    )
    data = read_hub(options.hub or "", selection) if path is None else read_folder(path, selection)
    classes = data.classes.get(columns.target or "")
    if classes is not None and columns.classes is None and "classes" in KINDS[columns.kind].reads:
        columns = replace(columns, classes=classes)  # in the data set's own order
    return table_corpus(CARD.name, data.tables, columns, *data.notes)
