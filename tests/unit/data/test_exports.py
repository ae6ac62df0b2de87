"""Exports of annotation tools: one text and its entities, as each tool writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtlv.data import catalog
from mtlv.data.options import Columns, DataOptions
from mtlv.data.parts import LOOKED_AT
from mtlv.data.source import Corpus
from mtlv.data.standoff import other_format, standoff_path
from mtlv.errors import DataError
from mtlv.plan.spans import Span

TEXT = "A 😀: aspirin caused severe headache."
DRUG, ADE = (5, 12), (20, 35)
WORDS = ("A", "😀", ":", "aspirin", "caused", "severe", "headache", ".")
SPANS = (Span(3, 4, "DRUG"), Span(5, 7, "ADE"))
OTHER = "It is none of these."


def results(shift: int = 0) -> list[dict]:
    values = [(*DRUG, "aspirin", "DRUG"), (*ADE, "severe headache", "ADE")]
    marks = [
        {
            "id": t,
            "type": "labels",
            "value": {"start": a + shift, "end": b + shift, "text": text, "labels": [t]},
        }
        for a, b, text, t in values
    ]
    return [
        *marks,
        {"type": "relation", "from_id": "DRUG", "to_id": "ADE"},
        {"type": "choices", "value": {"choices": ["x"]}},
    ]


def objects(start: str, end: str, name: str) -> list[dict]:
    return [{"id": 1, start: 5, end: 12, name: "DRUG"}, {"id": 2, start: 20, end: 35, name: "ADE"}]


LISTS = [[5, 12, "DRUG"], [20, 35, "ADE"]]
SHAPES = {
    "doccano lists": [
        {"id": 1, "text": TEXT, "label": LISTS, "Comments": []},
        {"id": 2, "text": OTHER, "label": []},
    ],
    "doccano": [
        {
            "id": 7,
            "text": TEXT,
            "entities": objects("start_offset", "end_offset", "label"),
            "relations": [{"id": 1}],
        },
        {"id": 8, "text": OTHER, "entities": [], "relations": []},
    ],
    "prodigy": [
        {
            "text": TEXT,
            "tokens": [{"text": "A", "start": 0, "end": 1, "id": 0}],
            "spans": objects("start", "end", "label"),
            "answer": "accept",
        },
        {"text": "no", "spans": objects("start", "end", "label"), "answer": "reject"},
        {"text": "no", "spans": [], "answer": "ignore"},
        {"text": OTHER, "spans": [], "answer": "accept"},
    ],
    "label studio": [
        {
            "id": 1,
            "data": {"id": "a longer text than the text " * 2, "text": TEXT},
            "annotations": [{"was_cancelled": True, "result": []}, {"result": results()}, {"result": []}],
        },
        {"id": 2, "data": {"text": "not done"}, "annotations": []},
        {"id": 3, "data": {"text": OTHER}, "annotations": [{"result": []}]},
    ],
    "label studio in a browser": [
        {"data": {"report": TEXT}, "annotations": [{"result": results(1)}]},  # 😀 are two characters there
        {"data": {"report": OTHER}, "annotations": [{"result": []}]},
    ],
    "label studio min": [
        {
            "text": TEXT,
            "id": 0,
            "label": [r["value"] for r in results()[:2]],
            "annotator": 1,
            "created_at": "2024-01-01T00:00:00Z" * 3,
        },
        {"text": OTHER, "id": 1, "annotator": 1},
    ],
    "spacy": [[TEXT, {"entities": LISTS}], [OTHER, {"entities": []}]],
    "types": [{"sentence": TEXT, "ents": objects("start", "end", "type")}, {"sentence": OTHER, "ents": []}],
    "gliner": [
        {"tokenized_text": list(WORDS), "ner": [[3, 3, "DRUG"], [5, 6, "ADE"]]},
        {"tokenized_text": OTHER[:-1].split(), "ner": []},
    ],
}


def written(path: Path, records: list) -> Path:
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text(lines if path.suffix == ".jsonl" else json.dumps(records), encoding="utf-8")
    return path


def load(path: Path) -> Corpus:
    return catalog.load("standoff", DataOptions(path=path))


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_tool(tmp_path: Path, shape: str, suffix: str) -> None:
    path = written(tmp_path / f"export{suffix}", SHAPES[shape])
    assert standoff_path(path) == path
    assert other_format(path) == ("standoff", path)
    corpus = load(path)
    assert corpus.words == (WORDS, tuple(OTHER[:-1].split()) + ((".",) if shape != "gliner" else ()))
    assert corpus.targets["entities"].tolist() == [SPANS, ()]
    assert corpus.tasks[0].classes == ("ADE", "DRUG")
    assert corpus.names == ("entities",)


def test_what_is_not_read_is_counted(tmp_path: Path) -> None:
    notes = {shape: load(written(tmp_path / "a.jsonl", SHAPES[shape])).notes[1:] for shape in SHAPES}
    assert notes["doccano"] == ("1 relations not read: they name no two entities, or have no type",)
    assert notes["prodigy"] == ("2 texts left out: they were rejected or ignored",)
    ids = load(written(tmp_path / "a.jsonl", SHAPES["prodigy"])).ids
    assert ids == ("a.1.1", "a.4.1"), "numbers of the records in the file"
    assert {*notes["label studio"]} == {
        "1 texts left out: they were not annotated",
        "1 further annotations of a text not read",
        "1 relations, which a source with `columns.kind: multiclass` reads",
    }
    assert notes["spacy"] == ()


def test_relations_are_learned_of_the_ids_or_places_of_entities(tmp_path: Path) -> None:
    ends = {"from_id": 1, "to_id": 2}
    spans = {"head_span": {"start": 5, "end": 12}, "child_span": {"start": 20, "end": 35}}
    marks = objects("start", "end", "label")
    shapes = [
        {"entities": marks, "relations": [{"id": 3, **ends, "type": "causes"}]},
        {"spans": marks, "relations": [{**spans, "head": 3, "child": 5, "label": "causes"}]},
        {"annotations": [{"result": [*results()[:2], {
            "type": "relation", "from_id": "DRUG", "to_id": "ADE", "labels": ["causes"]}]}]},
    ]  # fmt: skip
    for shape in shapes:
        record = {"data": {"text": TEXT}, **shape} if "annotations" in shape else {"text": TEXT, **shape}
        without = json.loads(json.dumps(record).replace('"causes"', '"other"'))
        path = written(tmp_path / "a.jsonl", [record, without])
        columns = Columns(kind="multiclass")
        corpus = catalog.load("standoff", DataOptions(path=path, columns=columns))
        assert corpus.tasks[0].classes == ("none", "causes", "other")
        assert corpus.targets["relations"].tolist() == [1, 2]
        assert [TEXT[a:b] for a, b, _ in corpus.mentions[0]] == ["aspirin", "severe headache"]


def test_marks_of_several_types_in_one_of_several_lists(tmp_path: Path) -> None:
    marks = [
        {"start": 5, "end": 12, "labels": ["DRUG", "BRAND", "WORD"]},
        {"start": 20, "end": 35, "labels": ["ADE"]},
    ]
    records = [{"id": f"note {n}", "report": TEXT, "marks": marks, "by": "me"} for n in range(3)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": ["1"], "records": records, "authors": ["a", "b"]}))
    corpus = load(path)
    assert corpus.words == (WORDS,) * 3
    assert corpus.targets["entities"].tolist() == [SPANS] * 3
    fault = "entities left out: an earlier one of another type has the same characters"
    assert f"6 {fault} (3 BRAND beside DRUG, 3 WORD beside DRUG)" in corpus.notes


def test_relations_have_a_direction_unless_they_go_both_ways(tmp_path: Path) -> None:
    marks = [{"id": n, "start": 2 * n, "end": 2 * n + 1, "label": "AB"[n % 2]} for n in range(4)]
    ends = ((0, 1), (3, 2))
    of_direction = {"right": ("R", "R (reversed)"), "left": ("R (reversed)", "R"), "bi": ("R", "R")}
    for direction, (first, second) in of_direction.items():
        relations = [{"from_id": a, "to_id": b, "type": "R", "direction": direction} for a, b in ends]
        path = written(tmp_path / "a.jsonl", [{"text": "a b c d", "entities": marks, "relations": relations}])
        corpus = catalog.load("standoff", DataOptions(path=path, columns=Columns(kind="multiclass")))
        answers = [corpus.tasks[0].classes[target] for target in corpus.targets["relations"]]
        pairs = ["".join("a b c d"[span.start] for span in mentions) for mentions in corpus.mentions]
        assert dict(zip(pairs, answers, strict=True)) == {
            "ab": first, "ad": "none", "bc": "none", "cd": second,
        }  # fmt: skip


def test_files_of_parts_and_lines_in_a_json_file(tmp_path: Path) -> None:
    for part in ("train", "dev"):
        written(tmp_path / f"{part}.jsonl", SHAPES["doccano"] * 2).rename(tmp_path / f"{part}.json")
    corpus = load(tmp_path)
    assert corpus.parts == ("train",) * 4 + ("validation",) * 4
    assert len(set(corpus.ids)) == 8
    assert standoff_path(tmp_path) == tmp_path


def test_places_that_are_wrong_are_an_error_and_few_are_counted(tmp_path: Path) -> None:
    outside = {"text": "aspirin", "entities": [{"start": 3, "end": 30, "label": "DRUG"}]}
    with pytest.raises(DataError, match=r"`a.jsonl, record 2`: another text is at its offsets"):
        load(written(tmp_path / "a.jsonl", [SHAPES["doccano"][0], outside]))
    corpus = load(written(tmp_path / "a.jsonl", SHAPES["doccano"][:1] * 60 + [outside]))
    assert "1 entities left out: another text is at their offsets" in " ".join(corpus.notes)
    other = {"text": "aspirin", "label": [{"start": 0, "end": 4, "text": "aspirin", "labels": ["DRUG"]}]}
    with pytest.raises(DataError, match=r"another text is at its offsets .got aspi"):
        load(written(tmp_path / "a.jsonl", [other]))


@pytest.mark.parametrize(
    "records",
    [
        [{"text": "a text", "label": "yes"}],
        [{"text": "a text", "labels": ["one", "two"]}],
        [{"tokens": ["a", "b"], "ner_tags": [0, 1]}],
        [{"text": "IL-2 binds", "spans": [[0, 4, "GENE"], [5, 10, "X"]], "relation": "yes"}],
        [{"text": "a", "tokens": [{"start": 0, "end": 1, "text": "a"}]}],
        ["a", "b"],
        [],
    ],
)
def test_tables_are_none(tmp_path: Path, records: list) -> None:
    for suffix in (".json", ".jsonl"):
        path = written(tmp_path / f"a{suffix}", records)
        assert standoff_path(path) is None
        if "relation" not in str(records):  # which can be read as texts with entities, too
            with pytest.raises(DataError):
                load(path)


def test_a_long_file_is_recognized_by_its_first_lines(tmp_path: Path) -> None:
    record = SHAPES["doccano lists"][0] | {"more": "x" * (LOOKED_AT // 3)}
    path = written(tmp_path / "a.jsonl", [record] * 4)
    assert standoff_path(path) == path


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{')
    with pytest.raises(DataError, match=r"^`a.jsonl:2` is invalid JSON"):
        load(path)
