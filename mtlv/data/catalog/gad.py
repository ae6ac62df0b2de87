"""GAD: sentences with a gene and a disease, and whether they are associated, in BLURB's form.

Reads `train.tsv`, `dev.tsv` and `test.tsv`: a header, then index, sentence and 0 or 1, separated by tabs. The
names are already replaced by `@GENE$` and `@DISEASE$`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mtlv.data.examples import Example, by_parts, tab_rows
from mtlv.data.source import Card
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

ROLES = ("GENE", "DISEASE")

CARD = Card.of_task(
    Task(
        "GAD",
        source="gad",
        description="The sentence says that the gene is associated with the disease.",
        main_metric="f1",
    ),
    title="GAD, whether a gene and a disease are associated (BLURB's form)",
    address="https://geneticassociationdb.nih.gov",
    licence="not stated for the data",
    citation="Bravo A, Pinero J, Queralt-Rosinach N, et al. Extraction of relations between genes and "
    "diseases from text and large-scale data analysis. BMC Bioinformatics 16:55, 2015.",
    by_hand="the scripts of BLURB (https://microsoft.github.io/BLURB/) make train.tsv, dev.tsv and test.tsv; "
    "put them in one folder",
)


def _examples(file: Path, part: str) -> Iterator[Example]:
    for place, (index, sentence, label) in tab_rows(file, 3):
        if (index, label) == ("index", "label"):
            continue
        mentions = tuple(_mention(sentence, role, place) for role in ROLES)
        yield Example(f"{file.stem}.{index}", sentence, label, place, part, mentions=mentions)


def _mention(sentence: str, role: str, place: str) -> Span:
    dummy = f"@{role}$"
    start = sentence.find(dummy)
    if sentence.count(dummy) != 1:
        raise DataError(f"`{place}` does not have exactly one {dummy}", got=sentence)
    return Span(start, start + len(dummy), role)


load = by_parts(CARD, (".tsv",), _examples)
