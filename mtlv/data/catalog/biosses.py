"""BIOSSES: pairs of sentences from biomedical papers with their similarity, from 0 to 4.

Reads BLURB's `train.tsv`, `dev.tsv` and `test.tsv` (also in `blurb_split/`): pair, two sentences, score.
Without them, reads the raw pairs (two lines per pair) and scores, which have no split. BLURB's wording
differs slightly in 20 pairs, and pair 7 is scored 1.6 there and 1.4 in the raw file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mtlv.data.examples import Example, answers_corpus, tab_rows
from mtlv.data.options import DataOptions
from mtlv.data.parts import absent, from_github, part_files, text_of
from mtlv.data.source import Card, Corpus
from mtlv.errors import DataError
from mtlv.plan.task import Task

PAIRS = "biosses_sentence_pairs_test_derived_from_github.txt"
SCORES = "annotation_scores_from_github.txt"

CARD = Card.of_task(
    Task(
        "BIOSSES",
        kind="regression",
        source="biosses",
        description="How alike two sentences from biomedical papers are in meaning, from 0 to 4.",
        main_metric="pearson",
    ),
    title="BIOSSES, likeness of 100 pairs of biomedical sentences, 0 to 4",
    address="https://github.com/kathrinblagec/neural-sentence-embedding-models-for-biomedical-applications",
    licence="not stated",
    citation="Sogancioglu G, Ozturk H, Ozgur A. BIOSSES: a semantic sentence similarity estimation system "
    "for the biomedical domain. Bioinformatics 33(14):i49-i58, 2017.",
    downloads=from_github(
        "kathrinblagec/neural-sentence-embedding-models-for-biomedical-applications",
        "d609079872a3aca9f19db513ba2795a9c9bd02b8/data",
        {
            PAIRS: "ce176e6039da02e00fbc5361d5afcd9b706fefba340b3370a77a9dd23933ee28",
            SCORES: "b25befdb42b98404ec40295de2f4cb72577e50675add2968f87aa1276ca2b215",
        },
        max_bytes=1_000_000,
    ),
    by_hand="the split is part of BLURB (https://microsoft.github.io/BLURB/); put train.tsv, dev.tsv and "
    "test.tsv next to the pairs; otherwise mtlv splits the pairs itself",
)


def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all pairs, with BLURB's parts if its files are found.

    Raises:
        DataError: a wrong number of columns, a score that is not a number, or numbers of pairs and scores
            that differ.
    """
    folder = path / "blurb_split" if (path / "blurb_split").is_dir() else path
    if (path / PAIRS).is_file() and folder == path and not (path / "train.tsv").is_file():
        return answers_corpus(CARD, list(_raw(path)))
    files = part_files(folder, (".tsv",), "run `mtlv data fetch biosses`")
    examples = [
        Example(pair, first, score, place, part, second)
        for part, file in files.items()
        for place, (pair, first, second, score) in tab_rows(file, 4)
        if pair != "pair_id"
    ]
    return answers_corpus(CARD, examples, absent(files))


def _raw(folder: Path) -> Iterator[Example]:
    """Yield the pairs of the raw files."""
    lines = text_of(folder / PAIRS).rstrip("\n").split("\n")
    scores = text_of(folder / SCORES).rstrip("\n").split("\n") if (folder / SCORES).is_file() else []
    if len(lines) != 2 * len(scores):
        raise DataError(
            f"`{PAIRS}` and `{SCORES}` do not match",
            got=f"{len(lines)} sentences, {len(scores)} scores",
            allowed="two sentences for each score",
        )
    for at, score in enumerate(scores):
        place = f"{SCORES}:{at + 1}"
        yield Example(str(at + 1), lines[2 * at].strip(), score, place, second=lines[2 * at + 1].strip())
