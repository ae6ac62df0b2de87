"""JNLPBA: sentences of PubMed abstracts on blood cells, with entities of five types merged, as in BLURB.

Reads `train.tsv`, `devel.tsv` (or `dev.tsv`) and `test.tsv`: word, tab, bare `B`, `I` or `O`; a line
`-DOCSTART- ID` begins an abstract.
"""

from __future__ import annotations

from mtlv.data.conll import tagged
from mtlv.data.source import Card
from mtlv.plan.task import Task

CARD = Card.of_task(
    Task(
        "JNLPBA entity",
        kind="tagging",
        source="jnlpba",
        classes=("Entity",),
        description="Names of proteins, DNA, RNA, cell types and cell lines in abstracts on human blood "
        "cells.",
        main_metric="entity_f1",
    ),
    title="JNLPBA, names of molecules and cells in PubMed abstracts, types merged",
    address="https://github.com/spyysalo/jnlpba",
    licence="GENIA licence; annotations CC BY 3.0",
    citation="Collier N, Kim JD. Introduction to the bio-entity recognition task at JNLPBA. Proc. JNLPBA "
    "2004, 73-78. This form: Gu Y et al. Domain-specific language model pretraining for biomedical natural "
    "language processing. ACM Trans Comput Healthc 3(1):2, 2022.",
    by_hand="the scripts of BLURB (https://microsoft.github.io/BLURB/) make train.tsv, dev.tsv and test.tsv; "
    "put them in one folder",
)

load = tagged(CARD, untyped="Entity")
