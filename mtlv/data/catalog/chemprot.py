"""ChemProt as in BLUE and BLURB: pairs of a chemical and a protein in a sentence, 5 interactions and none.

Reads BioCreative's files `chemprot_*_abstracts*.tsv`, `chemprot_*_entities*.tsv` and
`chemprot_*_gold_standard.tsv`, in one folder or one for each part, or BLUE's files `train.tsv`, `dev.tsv` and
`test.tsv`, in which the names are already replaced by `@CHEMICAL$` and `@GENE$`, or both by `@CHEM-GENE$`.
Pairs are made as in BLUE: all of a sentence, a row for each interaction of a pair that has two. BLUE divides
sentences by spaCy, mtlv by a rule, so that pairs that do not interact differ by about 1%.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from mtlv.data.examples import Example, answers_corpus, tab_rows
from mtlv.data.options import DataOptions
from mtlv.data.parts import absent, from_github, part_files
from mtlv.data.source import PARTS, Card, Corpus
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

NEGATIVE = "false"
ROLES = ("CHEMICAL", "GENE")
# Part -> its name in BioCreative's files.
_NAMES = {"train": "training", "validation": "development", "test": "test"}
# Of BioCreative's files, by their folder.
_SHA256 = {
    "training": {
        "abstracts": "2eef8782dc6c1474115ce5b780d6b4bc8f68d98e34fbf1619b9502fafc97685b",
        "entities": "ec01f954803d6854965b36b4c222001246b93b683a8fde4f4944132779161a7e",
        "gold_standard": "dc1333bf582ecf67ca1a1fe05c27bfaa03969a5ef3d70543d0c7a90e2dd9896e",
    },
    "development": {
        "abstracts": "186a45a6b604d602c3fcf2a04fe6cc9b5f5d6dbe5542babfc685d56db1fd617d",
        "entities": "7b75bd8e5397a72a29a387bb12f847487938b7469c84d04b289ccaa8009ec12a",
        "gold_standard": "7fc258e29160c18807b12cb34e30fce6a4c26df835247febaafa21dc49e6ec60",
    },
    "test_gs": {
        "abstracts_gs": "9b7de664f0b4231d6e58992f091aa36bc577ca3f12f0565bc2d898af3982645b",
        "entities_gs": "37a9addd54822a1fd8636cddca01dd9ddadc0776b76140271869bf9e02203d99",
        "gold_standard": "3dc760bf88a0a9b3ef4b2374b97d67c89bb8f4309905729546bab10beccb236b",
    },
}
_SENTENCE = re.compile(r"\S.*?(?:(?<=[.?!])(?<!i\.v\.)(?=\s+[A-Z(\[0-9])|$)", re.DOTALL)
_NEXT = "run `mtlv data fetch chemprot`; SciBERT's files are `data.name: chemprot_scibert`"
BOTH = "@CHEM-GENE$"  # one name inside the other
_Pair = tuple[str, str, str]  # abstract, chemical and protein


class _Entity(NamedTuple):
    """An entity of an abstract: its name, characters, text, and the line of its file."""

    name: str
    span: Span
    text: str
    place: str


CARD = Card.of_task(
    Task(
        "ChemProt",
        kind="multiclass",
        source="chemprot",
        classes=(NEGATIVE, "CPR:3", "CPR:4", "CPR:5", "CPR:6", "CPR:9"),
        negative=(NEGATIVE,),
        description="How a chemical and a protein of a sentence interact, if they do.",
        main_metric="f1_micro_positive",
    ),
    title="ChemProt as in BLUE and BLURB: CPR:3 (up), 4 (down), 5 (agonist), 6 (antagonist), 9 (substrate)",
    address="https://biocreative.bioinformatics.udel.edu/news/corpora/chemprot-corpus-biocreative-vi/",
    licence="not stated for the data",
    citation="Krallinger M, Rabal O, Akhondi SA, et al. Overview of the BioCreative VI chemical-protein "
    "interaction track. Proc. BioCreative VI, 141-146, 2017.",
    downloads=tuple(
        download
        for part, digests in _SHA256.items()
        for download in from_github(
            "Aitslab/nlp_2021_alexander_petter",
            "1784721ed0b1fa1252f2359486f84e9b3514a6b3/utils/chemprot/chemprot/chemprot_" + part,
            {f"chemprot_{part.removesuffix('_gs')}_{name}.tsv": digest for name, digest in digests.items()},
        )
    ),
)


def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load the pairs of BioCreative's files, or of BLUE's if there are none.

    Raises:
        DataError: missing files, an entity outside its abstract, or an unknown interaction.
    """
    files = {part: file for part in PARTS if (file := _file(path, part, "abstracts"))}
    if files:
        examples = [example for part in files for example in _pairs(path, part)]
    else:
        files = part_files(path, (".tsv",), _NEXT)
        examples = [example for part, file in files.items() for example in _rows(file, part)]
    return answers_corpus(CARD, examples, absent(files))


def _file(path: Path, part: str, kind: str) -> Path | None:
    return min(path.rglob(f"chemprot_{_NAMES[part]}_{kind}*.tsv"), default=None)


def _cells(path: Path, part: str, kind: str, width: int) -> Iterator[tuple[str, list[str]]]:
    file = _file(path, part, kind)
    if file is None:
        raise DataError(
            f"`{path}` does not have `chemprot_{_NAMES[part]}_{kind}.tsv`",
            then=_NEXT,
        )
    return tab_rows(file, width)


def _pairs(path: Path, part: str) -> Iterator[Example]:
    """Yield the pairs of a chemical and a protein in each sentence of BioCreative's files."""
    entities: dict[str, list[_Entity]] = defaultdict(list)
    for place, (document, name, type_, start, end, text) in _cells(path, part, "entities", 6):
        role = ROLES[type_ != ROLES[0]]  # GENE-Y and GENE-N: with and without an entry in a database
        entities[document].append(_Entity(name, Span(_number(start), _number(end), role), text, place))
    classes: dict[_Pair, list[str]] = defaultdict(list)
    for _, (document, class_, first, second) in _cells(path, part, "gold_standard", 4):
        classes[document, first.removeprefix("Arg1:"), second.removeprefix("Arg2:")].append(class_)
    for _, (document, title, abstract) in _cells(path, part, "abstracts", 3):
        text = f"{title} {abstract}"
        _need_inside(text, entities[document])
        yield from _of_abstract(document, text, entities[document], classes, part)


def _of_abstract(
    document: str, text: str, entities: Sequence[_Entity], classes: Mapping[_Pair, Sequence[str]], part: str
) -> Iterator[Example]:
    for sentence in _SENTENCE.finditer(text):
        start, end = sentence.span()
        here = [one for one in entities if start <= one.span.start and one.span.end <= end]
        for pair in product(*([one for one in here if one.span.type == role] for role in ROLES)):
            names = document, pair[0].name, pair[1].name
            mentions = tuple(Span(s - start, e - start, role) for s, e, role in (one.span for one in pair))
            for number, class_ in enumerate(classes.get(names, [NEGATIVE]), start=1):
                id_ = ".".join(names) + (f".{number}" if number > 1 else "")
                yield Example(
                    id_, sentence[0], class_, pair[0].place, part, mentions=mentions, group=document
                )


def _number(cell: str) -> int:
    return int(cell) if cell.isdecimal() else 0


def _need_inside(text: str, entities: Sequence[_Entity]) -> None:
    for entity in entities:
        inside = text[entity.span.start : entity.span.end]
        if not inside or inside != entity.text:
            raise DataError(
                f"`{entity.place}` is not the text at its place in the abstract",
                got=entity.text,
                allowed=inside or f"a place in {len(text)} characters",
            )


def _rows(file: Path, part: str) -> Iterator[Example]:
    """Yield the rows of a file of BLUE, whose index is document, chemical and protein, joined by dots."""
    numbers: Counter[str] = Counter()  # a pair with two interactions has two rows
    for place, (index, text, class_) in tab_rows(file, 3):
        if (index, class_) == ("index", "label"):
            continue
        numbers[index] += 1
        id_ = f"{index}.{numbers[index]}" if numbers[index] > 1 else index
        mentions = tuple(_mention(text, role, place) for role in ROLES)
        yield Example(id_, text, class_, place, part, mentions=mentions, group=index.partition(".")[0])


def _mention(text: str, role: str, place: str) -> Span:
    for dummy in (f"@{role}$", BOTH):
        start = text.find(dummy)
        if start >= 0:
            return Span(start, start + len(dummy), role)
    raise DataError(f"`{place}` has no {role}", got=text, allowed=f"@{role}$ or {BOTH}")
