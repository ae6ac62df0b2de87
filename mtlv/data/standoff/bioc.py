"""BioC, as XML and as JSON: collections of documents of passages, with annotations and relations.

The parts of both are the same (https://bioc.sourceforge.net): a document has passages, a passage a text or
sentences, and an annotation locations, whose offsets count from the begin of the document. Records of
BigBio's schema `kb` (https://github.com/bigscience-workshop/biomedical) say the same in other words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtlv.data.archives import parse_xml
from mtlv.data.parts import first_lines, text_of
from mtlv.data.standoff.losses import Losses
from mtlv.data.standoff.marks import Mark, MarkedText, Relation
from mtlv.data.standoff.offsets import WrittenEntity, place_marks
from mtlv.data.standoff.pubtator import identifiers
from mtlv.data.tables.json_rows import json_lines, read_json
from mtlv.data.tables.rows import read_table
from mtlv.errors import DataError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # nosec B405 # types only

SUFFIXES = (".xml", ".json", ".jsonl", ".parquet")
OF_BIGBIO = {"passages", "entities", "relations", "coreferences"}  # fields of a record
LARGEST = 500_000_000  # bytes of a file
MOST_BETWEEN = 1000  # characters between two sentences
TYPES = ("type", "relation type", "relation")
# Without declarations of its own, which could name files or expand without end.
_DOCTYPE = re.compile(
    rb"""<!DOCTYPE\s+collection(?:\s+(?:SYSTEM|PUBLIC)(?:\s+(?:"[^"<>[]*"|'[^'<>[]*')){1,2})?\s*>"""
)
_LISTS = ("passage", "sentence", "annotation", "location", "relation", "node")

Node = Mapping[str, Any]
"""A document, passage, sentence, annotation or relation as in BioC JSON."""


def form_of(file: Path) -> str:
    """Return `bigbio` or `bioc` for a file that begins so; empty for any other.

    Raises:
        OSError, ValueError: it cannot be opened, or is no Parquet.
    """
    if file.suffix.lower() == ".parquet":
        from pyarrow.parquet import read_schema

        return "bigbio" if set(read_schema(file).names) >= OF_BIGBIO else ""
    begin = first_lines(file)
    if all(f'"{name}"' in begin for name in OF_BIGBIO):
        return "bigbio"
    is_xml = re.search(r"<collection[\s>].*<(source|document)\b", begin, re.DOTALL)
    is_json = re.search(r'"passages"\s*:', begin) and re.search(r'"offset"\s*:', begin)
    return "bioc" if is_xml or is_json else ""


def read_bioc(file: Path, losses: Losses) -> Iterator[MarkedText]:
    """Yield the documents of a file; each passage, or sentence of a passage without a text, is a region.

    Relations name annotations, or concepts by the identifiers of annotations.

    Raises:
        DataError: invalid XML or JSON, declarations in XML, or no collection of documents.
    """
    try:
        if form_of(file) == "bigbio":
            nodes = [_of_bigbio(record, losses) for _, record in read_table(file).rows]
        elif file.suffix.lower() == ".xml":
            data, then = _DOCTYPE.sub(b"", text_of(file).encode(), count=1), "save it as BioC XML again"
            root = parse_xml(file.name, data, largest=LARGEST, what="BioC file", then=then)
            nodes = [_node(element) for element in root.iter("document")]
        else:
            nodes = _of_json(file, text_of(file))
        by_concept = any(not relation.get("nodes") for node in nodes for relation in _all(node, "relations"))
        for number, node in enumerate(nodes, start=1):
            yield _read_document(node, f"{node.get('id') or number}", losses, by_concept=by_concept)
    except (TypeError, KeyError, ValueError, AttributeError, RecursionError) as error:
        raise DataError(
            f"`{file.name}` is no BioC", got=str(error), allowed="documents with passages"
        ) from error


def _node(element: Element) -> Node:
    """Return an element as in BioC JSON."""
    node: dict[str, Any] = dict(element.attrib)
    for child in element:
        if child.tag in _LISTS:
            node.setdefault(f"{child.tag}s", []).append(_node(child))
        elif child.tag == "infon":
            node.setdefault("infons", {})[child.get("key", "")] = child.text or ""
        else:
            node[child.tag] = child.text or ""
    return node


def _of_json(file: Path, content: str) -> list[Node]:
    """Return the documents of a collection, of a list of them, or of lines with one each."""
    try:
        collection = read_json(content)
    except ValueError:
        collection = json_lines(file, content)
    if isinstance(collection, dict) and "passages" not in collection:
        collection = collection.get("documents", collection.get("PubTator3"))
    return (
        [node for item in collection for node in item.get("documents", [item])]
        if isinstance(collection, list)
        else [collection]
    )


def _of_bigbio(record: Mapping[str, Any], losses: Losses) -> Node:
    """Return a record of BigBio as in BioC JSON."""
    losses.others["events, which are not read"] += len(record.get("events") or ())
    return {
        "id": record.get("document_id") or record["id"],
        "passages": [
            {
                "offset": passage["offsets"][0][0],
                "sentences": [
                    {"offset": start, "text": text}
                    for text, (start, _) in zip(passage["text"], passage["offsets"], strict=True)
                ],
            }
            for passage in record["passages"]
        ],
        "annotations": [
            {
                "id": entity["id"],
                "infons": {"type": entity["type"]},
                "text": " ".join(entity["text"]),
                "locations": [{"offset": start, "length": end - start} for start, end in entity["offsets"]],
            }
            for entity in record["entities"]
        ],
        "relations": [
            {
                "infons": {"type": relation["type"]},
                "nodes": [{"refid": relation[end]} for end in ("arg1_id", "arg2_id")],
            }
            for relation in record["relations"]
        ],
    }


def _read_document(node: Node, name: str, losses: Losses, *, by_concept: bool) -> MarkedText:
    passages = [(int(passage["offset"]), _text(passage)) for passage in node["passages"]]
    entities: list[list[WrittenEntity]] = [[] for _ in passages]
    for annotation in _all(node, "annotations"):
        begin = min(int(location["offset"]) for location in annotation["locations"])
        at = max((n for n, (offset, _) in enumerate(passages) if offset <= begin), default=0)
        entities[at].append(_entity(annotation, passages[at][0], name, by_concept=by_concept))
    text, regions, marks = "", [], list[Mark]()
    for (_, passage), here in zip(passages, entities, strict=True):
        start = len(text)
        regions.append((start, start + len(passage)))
        marks += [
            Mark(start + mark.start, start + mark.end, *mark[2:])
            for mark in place_marks(passage, here, losses)
        ]
        text += f"{passage}\n"
    known = {name for mark in marks for name in mark.names}
    relations = [pair for relation in _all(node, "relations") for pair in _relations(relation, known, losses)]
    return MarkedText(name, text, regions, marks, tuple(dict.fromkeys(relations)))


def _all(node: Node, key: str) -> Iterator[Node]:
    """Yield annotations or relations of a document, its passages and their sentences."""
    yield from node.get(key) or ()
    for part in (*(node.get("passages") or ()), *(node.get("sentences") or ())):
        yield from _all(part, key)


def _text(passage: Node) -> str:
    """Return the text of a passage, or of its sentences at their offsets."""
    text = str(passage.get("text") or "")
    for sentence in () if text else passage.get("sentences") or ():
        begin = int(sentence["offset"]) - int(passage["offset"])
        text = text.ljust(min(begin, len(text) + MOST_BETWEEN)) + str(sentence["text"])
    return text


def _entity(annotation: Node, offset: int, document: str, *, by_concept: bool) -> WrittenEntity:
    infons = annotation.get("infons") or {}
    id_ = str(annotation.get("id"))
    places = [
        (int(location["offset"]) - offset, int(location["offset"]) + int(location["length"]) - offset)
        for location in annotation["locations"]
    ]
    names = tuple(dict.fromkeys(_concepts(infons))) if by_concept else (id_,)
    text = str(annotation.get("text") or "")
    return WrittenEntity(places, text, str(infons.get("type") or "entity"), f"{document}: {id_}", names)


def _relations(node: Node, known: Collection[str], losses: Losses) -> Iterator[Relation]:
    """Yield the relation of two annotations, or of concepts that its infons name."""
    infons = node.get("infons") or {}
    type_ = next((str(infons[key]) for key in TYPES if infons.get(key)), "related")
    nodes = [str(reference["refid"]) for reference in node.get("nodes") or ()]
    names = nodes or [name for name in _concepts(infons) if name in known]
    if len(names) == 2:
        yield Relation(type_, names[0], names[1], is_directed=bool(nodes))
    else:
        losses.add("relations left out: they are not of two marked entities", type_)


def _concepts(infons: Mapping[str, Any]) -> list[str]:
    """Return the identifiers of concepts in infons."""
    return [name for key, value in infons.items() if key not in TYPES for name in identifiers(str(value))]
