"""ClinicalSTS: pairs of sentences from clinical notes with their similarity, 0 to 5 (agreement required).

Reads a file for each part: the organizers' lines (two sentences and a score, separated by tabs, no header)
or BLUE's tables (`train.tsv`, ..., with the columns `sentence1`, `sentence2`, `score`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mtlv.data.examples import Example, by_parts, tab_rows
from mtlv.data.parts import text_of
from mtlv.data.source import Card
from mtlv.errors import DataError
from mtlv.plan.task import Task

COLUMNS = ("sentence1", "sentence2", "score")

CARD = Card.of_task(
    Task(
        "ClinicalSTS",
        kind="regression",
        source="clinicalsts",
        description="How alike two sentences from clinical notes are in meaning, from 0 to 5.",
        main_metric="pearson",
    ),
    title="ClinicalSTS, likeness of pairs of clinical sentences, 0 to 5 (agreement needed)",
    address="https://n2c2.dbmi.hms.harvard.edu/2019-track-1",
    licence="data use agreement with the organizers",
    citation="Wang Y, Afzal N, Fu S, et al. MedSTS: a resource for clinical semantic textual similarity. "
    "Lang Resour Eval 54:57-72, 2020.",
    by_hand="sign the agreement of n2c2 2019, track 1, at "
    "https://portal.dbmi.hms.harvard.edu/projects/n2c2-nlp/; put the files as train.txt, dev.txt and "
    "test.txt (or BLUE's .tsv) into one folder",
)


def _examples(file: Path, part: str) -> Iterator[Example]:
    header = text_of(file).split("\n", 1)[0].rstrip("\r").split("\t")
    titled = "score" in header
    missing = [name for name in COLUMNS if titled and name not in header]
    if missing:
        raise DataError(f"`{file.name}` has no column `{missing[0]}`", allowed=", ".join(COLUMNS))
    first, second, score = (header.index(name) if titled else at for at, name in enumerate(COLUMNS))
    rows = tab_rows(file, len(header) if titled else 3)
    for number, (place, cells) in enumerate(rows):
        if titled and number == 0:
            continue
        id_ = f"{file.stem}.{number if titled else number + 1}"
        yield Example(id_, cells[first], cells[score], place, part, cells[second])


load = by_parts(CARD, (".tsv", ".txt"), _examples)
