"""CoNLL files of the user: a word and its tag per line, a blank line after each sentence.

`data.path` is one file, or a folder with `train`, `dev` and `test` files. The classes are the types in the
data; `data.columns.task` names the task.
"""

from __future__ import annotations

from mtlv.data.conll import tagged
from mtlv.data.source import Card

CARD = Card(
    name="conll",
    title="CoNLL files of your own (a word and its tag a line)",
    address="your files, named by `data.path`",
    licence="yours",
    citation="none: the documents are yours",
    main_metric="entity_f1",
)

load = tagged(CARD)
