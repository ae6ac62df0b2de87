"""ChemProt as in SciBERT: sentences with a chemical and a protein that interact, 13 classes.

Reads `train.txt`, `dev.txt` and `test.txt` of SciBERT's repository: JSON lines, with the first entity in the
text between `<<` and `>>`, the second between `[[` and `]]`. The marks are removed from the text. The files
do not say which of the two is the chemical, and they have no pairs without an interaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mtlv.data.examples import Example, by_parts
from mtlv.data.parts import from_github, text_of
from mtlv.data.source import Card
from mtlv.data.tables.json_rows import json_at
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

ROLE = "ENTITY"
CLASSES = (
    "INHIBITOR", "INDIRECT-DOWNREGULATOR", "SUBSTRATE", "INDIRECT-UPREGULATOR", "ACTIVATOR", "ANTAGONIST",
    "PRODUCT-OF", "AGONIST", "DOWNREGULATOR", "UPREGULATOR", "SUBSTRATE_PRODUCT-OF", "AGONIST-ACTIVATOR",
    "AGONIST-INHIBITOR",
)  # fmt: skip
_MARKED = re.compile(r"<< (.+?) >>|\[\[ (.+?) \]\]")

CARD = Card.of_task(
    Task(
        "ChemProt SciBERT",
        kind="multiclass",
        source="chemprot_scibert",
        classes=CLASSES,
        description="How a chemical and a protein that are named in a sentence interact.",
        main_metric="f1_micro",
    ),
    title="ChemProt as in SciBERT: 13 classes of interactions, without pairs that do not interact",
    address="https://github.com/allenai/scibert",
    licence="Apache-2.0, as SciBERT's repository states, which has this form",
    citation="Krallinger M, Rabal O, Akhondi SA, et al. Overview of the BioCreative VI chemical-protein "
    "interaction track. Proc. BioCreative VI, 141-146, 2017.",
    downloads=from_github(
        "allenai/scibert",
        "8d55680cf424898df48656d69002c7366c9c6ba1/data/text_classification/chemprot",
        {
            "train.txt": "ab17b85c4fb869b2338d7c9617414e63f3c7225e5005920b18d9cd996f1049d8",
            "dev.txt": "bfe8f39e5146ad4bb16b23707dade850546a305047bc666f6f6824c6a7e3df2f",
            "test.txt": "372249c85ffea6d9a18dc5168cf45841b3d79b03412d6c620381cfc0dd3d6d49",
        },
    ),
)


def _examples(file: Path, part: str) -> Iterator[Example]:
    for number, line in enumerate(text_of(file).split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{file.name}:{number}"
        row = json_at(place, line)
        text, label = (row.get("text"), row.get("label")) if isinstance(row, dict) else (None, None)
        if not isinstance(text, str) or not isinstance(label, str):
            then = "an object with `text` and `label`"
            raise DataError(f"`{place}` is not an example", got=line, allowed=then)
        plain, mentions = remove_marks(text, place)
        yield Example(f"{file.stem}.{number}", plain, label, place, part, mentions=mentions)


def remove_marks(text: str, place: str) -> tuple[str, tuple[Span, ...]]:
    """Return the text without its marks, and the positions of the two entities, `<< >>` first.

    Raises:
        DataError: a mark is missing or is there twice.
    """
    pieces: list[str] = []
    entities: list[tuple[bool, Span]] = []
    at = length = 0
    for match in _MARKED.finditer(text):
        inside = match[1] or match[2]
        start = length + match.start() - at
        pieces += [text[at : match.start()], inside]
        at, length = match.end(), start + len(inside)
        entities.append((match[1] is None, Span(start, length, ROLE)))
    entities.sort()
    if [second for second, _ in entities] != [False, True]:
        raise DataError(
            f"`{place}` does not have two marked entities", got=text, allowed="one << >> and one [[ ]]"
        )
    return "".join([*pieces, text[at:]]), (entities[0][1], entities[1][1])


load = by_parts(CARD, (".txt", ".jsonl"), _examples, "run `mtlv data fetch chemprot_scibert`")
