"""DDI 2013: sentences of DrugBank and MedLine with two drugs, and their interaction.

Reads `DDICorpus-2013.zip`, packed or unpacked, and BLURB's lists `blurb_split/{train,dev,test}_files.tsv`
next to it, if they exist. Each pair of drugs in the corpus is a document: the sentence and the positions of
the two drugs. The part for drug names (`Test for DrugNER task`) is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.data.archives import parse_xml, read_zip_files
from mtlv.data.examples import Example, answers_corpus
from mtlv.data.options import DataOptions
from mtlv.data.parts import from_github, text_of
from mtlv.data.source import Card, Corpus
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # nosec B405 # types only

ARCHIVE = "DDICorpus-2013.zip"
ROLE = "DRUG"
LARGEST = 2_000_000  # maximum bytes of a file; the largest has 271,671
_LISTS = {"train": "train", "dev": "validation", "test": "test"}
_FOLDERS = {"Train": "train", "Test for DDI Extraction task": "test"}

CARD = Card.of_task(
    Task(
        "DDI 2013",
        kind="multiclass",
        source="ddi2013",
        classes=("false", "advise", "effect", "int", "mechanism"),
        negative=("false",),
        description="What a sentence says of the interaction of two drugs, if anything.",
        main_metric="f1_micro_positive",
    ),
    title="DDI 2013, interactions of drugs, 4 types and none",
    address="https://github.com/isegura/DDICorpus",
    licence="CC BY-NC 4.0 (non-commercial), as its repository states",
    citation="Herrero-Zazo M, Segura-Bedmar I, Martinez P, Declerck T. The DDI corpus: an annotated corpus "
    "with pharmacological substances and drug-drug interactions. J Biomed Inform 46(5):914-920, 2013.",
    downloads=from_github("isegura/DDICorpus", "HEAD", {ARCHIVE: None}),
    by_hand="the split lists are part of BLURB (https://microsoft.github.io/BLURB/); put them in "
    "blurb_split/ next to the archive; otherwise mtlv draws validation documents itself",
)

Place = tuple[str, str]
"""Folder (DrugBank or MedLine) and name of a file."""


def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all pairs, with validation documents by BLURB's lists if they are found.

    Raises:
        DataError: missing files, invalid XML, a pair with unknown drugs or type, or a list that does not
            match.
    """
    lists = _read_split_lists(path if path.is_dir() else path.parent)
    examples: list[Example] = []
    count: Counter[str] = Counter()
    for part, place, data in _files(path):
        if lists and place not in lists:
            raise DataError("the split lists leave a file out", got="/".join(place))
        name = "/".join(place)
        root = parse_xml(name, data, largest=LARGEST, what="file of the DDI corpus")
        for sentence in root.iter("sentence"):
            examples += _pairs(sentence, lists.get(place, part), name, count)
    if not examples:
        then = f"run `mtlv data fetch {CARD.name}`"
        raise DataError(f"no DDI corpus in `{path}`", allowed=f"{ARCHIVE} or DDICorpus/", then=then)
    return answers_corpus(CARD, examples, *(f"{n} {what}" for what, n in count.items()))


def _files(path: Path) -> Iterator[tuple[str, Place, bytes]]:
    """Yield (part, place, content) of each file for the extraction task."""
    if path.is_file() or (path / ARCHIVE).is_file():
        for name, data in read_zip_files(
            path if path.is_file() else path / ARCHIVE, _is_in_corpus, largest=LARGEST
        ):
            yield *_place(name), data
        return
    for file in sorted(path.rglob("*.xml")):
        name = file.relative_to(path.parent).as_posix()  # the folder may be `Train` itself
        if _is_in_corpus(name):
            yield *_place(name), file.read_bytes()


def _is_in_corpus(name: str) -> bool:
    parts = name.split("/")
    return len(parts) >= 3 and parts[-3] in _FOLDERS and name.endswith(".xml")


def _place(name: str) -> tuple[str, Place]:
    part, folder, file = name.split("/")[-3:]
    return _FOLDERS[part], (folder, file)


def _read_split_lists(folder: Path) -> dict[Place, str]:
    """Return the part of each file by the lists; empty without lists."""
    files = {part: folder / "blurb_split" / f"{name}_files.tsv" for name, part in _LISTS.items()}
    if not all(file.is_file() for file in files.values()):
        return {}
    parts: dict[Place, str] = {}
    for part, file in files.items():
        for line in text_of(file).split("\n"):
            if line.strip():
                place = ("", *line.strip().split("/"))[-2:]
                if parts.setdefault((place[0], place[1]), part) != part:
                    raise DataError("a file is in two split lists", got=line)
    return parts


def _pairs(sentence: Element, part: str, name: str, count: Counter[str]) -> Iterator[Example]:
    text = sentence.get("text", "")
    drugs = {entity.get("id"): _span(entity, text, name) for entity in sentence.findall("entity")}
    for pair in sentence.findall("pair"):
        ends = [drugs.get(pair.get(end)) for end in ("e1", "e2")]
        id_, type_ = pair.get("id", ""), pair.get("type")
        if not id_ or None in ends:
            raise DataError(f"`{name}` has a pair of unknown drugs", got=id_ or text)
        if pair.get("ddi") == "true" and type_ is None:
            count["pair left out: it interacts, but the type is missing"] += 1
            continue
        answer = type_ if pair.get("ddi") == "true" else "false"
        yield Example(
            id_,
            text,
            answer or "",
            f"{name}: {id_}",
            part,
            mentions=tuple(span for span, _ in filter(None, ends)),
            group=name,
        )
        if any(several for _, several in filter(None, ends)):
            count["pairs with a drug in several parts, used from the first to the last character"] += 1


def _span(entity: Element, text: str, name: str) -> tuple[Span, bool]:
    """Return the position of a drug, and whether it has several parts (`3-8;12-15`, ends included)."""
    offsets = entity.get("charOffset", "")
    try:
        ends = [int(end) for place in offsets.split(";") for end in place.split("-")]
    except ValueError:
        ends = []
    if len(ends) < 2 or len(ends) % 2 or not 0 <= ends[0] <= ends[-1] < len(text):
        raise DataError(f"`{name}` has a drug outside its sentence", got=f"{entity.get('id')} at {offsets}")
    return Span(ends[0], ends[-1] + 1, ROLE), len(ends) > 2
