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

from mtlv.data.archives import documents, parse_xml
from mtlv.data.examples import Example, answers_corpus
from mtlv.data.options import DataOptions
from mtlv.data.parts import from_github, read_split_lists
from mtlv.data.source import Card, Corpus
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.task import Task

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # nosec B405 # types only

ARCHIVE = "DDICorpus-2013.zip"
ROLE = "DRUG"
LARGEST = 2_000_000  # maximum bytes of a file; the largest has 271,671
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


def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all pairs, with validation documents by BLURB's lists if they are found.

    Raises:
        DataError: missing files, invalid XML, a pair with unknown drugs or type, or a list that does not
            match.
    """
    lists = read_split_lists(path if path.is_dir() else path.parent, "files")
    parts = {"/".join(entry.split("/")[-2:]): part for entry, part in lists.items()}
    examples: list[Example] = []
    count: Counter[str] = Counter()
    archive = path / ARCHIVE
    for place, data in documents(archive if archive.is_file() else path, _is_in_corpus, largest=LARGEST):
        folder, *names = place.split("/")[-3:]
        name = "/".join(names)
        if parts and name not in parts:
            raise DataError("the split lists leave a file out", got=name)
        root = parse_xml(name, data, largest=LARGEST, what="file of the DDI corpus")
        for sentence in root.iter("sentence"):
            examples += _pairs(sentence, parts.get(name, _FOLDERS[folder]), name, count)
    if not examples:
        then = f"run `mtlv data fetch {CARD.name}`"
        raise DataError(f"no DDI corpus in `{path}`", allowed=f"{ARCHIVE} or DDICorpus/", then=then)
    return answers_corpus(CARD, examples, *(f"{n} {what}" for what, n in count.items()))


def _is_in_corpus(name: str) -> bool:
    parts = name.split("/")
    return len(parts) >= 3 and parts[-3] in _FOLDERS and name.endswith(".xml")


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
