"""Exports of annotation tools in JSON: a text with entities by characters in each record.

Doccano, Prodigy, Label Studio (JSON and JSON-MIN), training data of spaCy, and GLiNER, whose places are
words. Fields are recognized by what they contain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mtlv.data.parts import first_lines, text_of, title_of
from mtlv.data.standoff.losses import Losses
from mtlv.data.standoff.marks import MarkedText, Relation
from mtlv.data.standoff.offsets import WrittenEntity, place_marks
from mtlv.data.tables.json_rows import json_lines, read_json
from mtlv.errors import DataError

SUFFIXES = (".jsonl", ".json")
STARTS, ENDS = ("start", "start_offset", "begin"), ("end", "end_offset")
TYPES = ("label", "labels", "type", "entity", "tag")
TEXTS, TOKENS = ("text", "data", "sentence", "content"), "tokenized_text"
LEFT_OUT = ("reject", "ignore")  # answers of Prodigy
PLACED = 3  # values of a span that is a list: first character, the one after the last, type


@dataclass(frozen=True)
class ToolMark:
    """An entity as a tool writes it."""

    start: int
    end: int
    types: tuple[str, ...]
    content: str | None = None  # its text, if the tool writes it, too
    id: str = ""  # by which relations name it

    @property
    def names(self) -> tuple[str, ...]:
        """Names that relations use: the id, or the place."""
        return (*filter(None, [self.id]), f"{self.start}-{self.end}")


def read_export(file: Path, losses: Losses) -> Iterator[MarkedText]:
    """Yield the texts of a file with their entities, except those that were rejected or not annotated.

    Raises:
        DataError: the file is not JSON, or its records have no entities.
    """
    records = [_plain(record, losses) for record in _records(text_of(file), file)]
    field = _field_of_marks(record for record in records if record)
    if not field:
        raise DataError(
            f"`{file.name}` has no texts with entities",
            allowed='records such as {"text": "...", "entities": [{"start": 0, "end": 7, "label": "DRUG"}]}',
        )
    for number, record in enumerate(records, start=1):
        if not record or not (text := _text(record)):
            continue
        marks = _marks(record.get(field)) or []
        if TOKENS in record:
            marks = [_in_characters(mark, record[TOKENS]) for mark in marks]
        place = f"{file.name}, record {number}"
        entities = [entity for mark in marks for entity in _written(mark, text, place)]
        relations = tuple(_relations(record.get("relations"), losses))
        marked = place_marks(text, entities, losses)
        yield MarkedText(f"{title_of(file)}.{number}", text, ((0, len(text)),), marked, relations)


def is_export(file: Path) -> bool:
    """Whether a file has texts with entities, and no column that a table could learn instead."""
    if file.suffix.lower() not in SUFFIXES:
        return False
    try:
        content = text_of(file) if file.suffix.lower() == ".json" else first_lines(file)
        records = [_plain(record, Losses()) for record in _records(content, file)]
    except (DataError, OSError, ValueError):
        return False
    known = [record for record in records if record]
    field = _field_of_marks(known)
    is_named = field in ("entities", "label", "labels", "ner")
    as_objects = any(isinstance(mark, Mapping) for record in known for mark in record.get(field) or ())
    return bool(field) and (is_named or as_objects) and all(map(_text, known))


def _records(content: str, file: Path) -> list[Any]:
    """Return the records of a file: of an array, the longest one of an object, or one per line."""
    if file.suffix.lower() == ".json":
        try:
            value = read_json(content)
        except ValueError:
            pass  # a file of lines
        else:
            values = [value] if isinstance(value, list) else getattr(value, "values", list)()
            return max((one for one in values if isinstance(one, list)), key=len, default=[value])
    return json_lines(file, content)


def _plain(record: Any, losses: Losses) -> dict[str, Any] | None:
    """Return a record with its text and its marks in fields; None if it is left out or has no text."""
    if isinstance(record, (list, tuple)) and len(record) == 2 and isinstance(record[0], str):
        marks = record[1].get("entities") if isinstance(record[1], Mapping) else record[1]
        return {"text": record[0], "entities": marks}
    if not isinstance(record, Mapping):
        return None
    if record.get("answer") in LEFT_OUT:
        losses.others["texts left out: they were rejected or ignored"] += 1
        return None
    annotations = record.get("annotations", record.get("completions"))
    if isinstance(record.get("data"), Mapping) and isinstance(annotations, list):
        return _of_label_studio(record["data"], annotations, losses)
    return dict(record)


def _of_label_studio(
    data: Mapping[str, Any], annotations: Sequence[Any], losses: Losses
) -> dict[str, Any] | None:
    """Return the record of a task of Label Studio, with its first annotation that was not cancelled."""
    done = [
        annotation
        for annotation in annotations
        if isinstance(annotation, Mapping) and not annotation.get("was_cancelled")
    ]
    if not done:
        losses.others["texts left out: they were not annotated"] += 1
        return None
    losses.others["further annotations of a text not read"] += len(done) - 1
    results = [result for result in done[0].get("result") or () if isinstance(result, Mapping)]
    with_values = [result for result in results if isinstance(result.get("value"), Mapping)]
    marks = [{**result["value"], "id": result.get("id")} for result in with_values]
    relations = [result for result in results if result.get("type") == "relation"]
    return {**data, "annotations": [mark for mark in marks if _mark(mark)], "relations": relations}


def _text(record: Mapping[str, Any]) -> str:
    """Return the text of a record: that of a usual field, or else its longest; empty if it has none."""
    if isinstance(record.get(TOKENS), list):
        return " ".join(map(str, record[TOKENS]))
    usual = [record[name] for name in TEXTS if isinstance(record.get(name), str)]
    return usual[0] if usual else max((v for v in record.values() if isinstance(v, str)), key=len, default="")


def _field_of_marks(records: Any) -> str:
    """Return the field that has marks in most records; empty if none has."""
    fields = Counter(name for record in records for name, value in record.items() if _marks(value))
    return max(fields, key=fields.__getitem__, default="")


def _marks(value: object) -> list[ToolMark] | None:
    """Return the marks of a list; None if it is no list of marks."""
    if not isinstance(value, list):
        return None
    marks = [_mark(item) for item in value]
    return None if None in marks else [mark for mark in marks if mark]


def _mark(item: object) -> ToolMark | None:
    if isinstance(item, Mapping):
        types = next((item[name] for name in TYPES if item.get(name)), None)
        types = types or next((v for name, v in item.items() if str(name).endswith("labels")), None)
        first = (next((item[name] for name in names if name in item), None) for names in (STARTS, ENDS))
        start, end = first
        content, id_ = item.get("text"), item.get("id")
    elif isinstance(item, (list, tuple)) and len(item) == PLACED:
        (start, end, types), content, id_ = item, None, None
    else:
        return None
    names = [types] if isinstance(types, str) else types
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        return None
    if type(start) is not int or type(end) is not int:
        return None
    text = content if isinstance(content, str) else None
    return ToolMark(start, end, tuple(names), text, "" if id_ is None else str(id_))


def _in_characters(mark: ToolMark, words: Sequence[Any]) -> ToolMark:
    """Return a mark of words, the last one included, in characters of the words joined by spaces."""
    lengths = [len(str(word)) + 1 for word in words]
    start, end = sum(lengths[: mark.start]), sum(lengths[: mark.end + 1]) - 1
    return replace(mark, start=start, end=end)


def _written(mark: ToolMark, text: str, place: str) -> Iterator[WrittenEntity]:
    """Yield an entity for each type of a mark; without its text, only places outside the text are wrong."""
    is_within = 0 <= mark.start < mark.end <= len(text)
    content = mark.content
    if content is None:
        content = text[mark.start : mark.end] if is_within else f"{mark.start} to {mark.end}"
    for type_ in mark.types:
        yield WrittenEntity([(mark.start, mark.end)], content, type_, place, mark.names)


def _relations(value: object, losses: Losses) -> Iterator[Relation]:
    """Yield the relations of a record: of Doccano and Label Studio by ids, of Prodigy by places."""
    for item in value if isinstance(value, list) else ():
        relation = _relation(item) if isinstance(item, Mapping) else None
        if relation is None:
            losses.others["relations not read: they name no two entities, or have no type"] += 1
        else:
            yield relation


def _relation(item: Mapping[str, Any]) -> Relation | None:
    types = item.get("labels") or item.get("type") or item.get("label")
    name = types[0] if isinstance(types, list) else types
    ends = [item.get("from_id"), item.get("to_id")]
    if None in ends:
        spans = [item.get("head_span"), item.get("child_span")]
        ends = [f"{x.get('start')}-{x.get('end')}" if isinstance(x, Mapping) else None for x in spans]
    if not isinstance(name, str) or None in ends:
        return None
    direction = item.get("direction", "right")  # of the arrow between the two, in Label Studio
    first, second = reversed(ends) if direction == "left" else ends
    return Relation(name, str(first), str(second), direction != "bi")
