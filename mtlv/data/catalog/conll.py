"""CoNLL files of the user: a word and its tag per line, a blank line after each sentence.

`data.path` is one file, or a folder with `train`, `dev` and `test` files. The classes are the types in the
data.
"""

from __future__ import annotations

from pathlib import Path

from mtlv.data.conll import tagged_corpus
from mtlv.data.source import Card, Corpus, DataOptions

CARD = Card(
    name="conll",
    title="CoNLL files of your own (a word and its tag a line)",
    address="your files, named by `data.path`",
    licence="yours",
    citation="none: the documents are yours",
    main_metric="entity_f1",
)


def load(path: Path | None, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all sentences, with parts if there is a file for each.

    Raises:
        DataError: as for `tagged_corpus`.
    """
    assert path is not None
    return tagged_corpus(CARD, path)
