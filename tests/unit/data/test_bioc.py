"""BioC files: XML and JSON with the same content, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest

from mtlv.data import catalog
from mtlv.data.options import Columns, DataOptions
from mtlv.data.source import Corpus
from mtlv.data.standoff import standoff_path
from mtlv.errors import DataError

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def annotation(id_: str, type_: str, place: tuple[int, int], text: str, concept: str = "") -> dict:
    infons = {"type": type_} | ({"identifier": concept} if concept else {})
    return {
        "id": id_,
        "infons": infons,
        "text": text,
        "locations": [{"offset": place[0], "length": place[1]}],
    }


def collection(relations: list[dict], *, concepts: bool = False) -> dict:
    ids = ("D1", "D2", "D3", "D4", "D2") if concepts else ("",) * 5
    return {
        "source": "x",
        "documents": [
            {
                "id": "7",
                "passages": [
                    {
                        "offset": 0,
                        "text": "Aspirin & rash.",
                        "annotations": [
                            annotation("T1", "Drug", (0, 7), "Aspirin", ids[0]),
                            annotation("T2", "Sign", (10, 4), "rash", ids[1]),
                        ],
                    },
                    {
                        "offset": 20,
                        "sentences": [
                            {
                                "offset": 20,
                                "text": "Fever 😀.",
                                "annotations": [annotation("T3", "Sign", (20, 5), "Fever", ids[2])],
                            },
                            {
                                "offset": 29,
                                "text": "After ibuprofen, no rash.",
                                "annotations": [
                                    annotation("T4", "Drug", (35, 9), "ibuprofen", ids[3]),
                                    annotation("T5", "Sign", (49, 4), "rash", ids[4]),
                                ],
                            },
                        ],
                    },
                ],
                "relations": relations,
            },
            {"id": "8", "passages": [{"offset": 0, "text": "No pain."}]},
        ],
    }


def as_xml(value: dict) -> str:
    """Write a collection as BioC XML."""

    def node(name: str, content: dict) -> str:
        if name in ("location", "node"):
            return f"<{name} {' '.join(f'{key}={json.dumps(str(each))}' for key, each in content.items())}/>"
        inside, id_ = "", ""
        for key, each in content.items():
            if isinstance(each, list):
                inside += "".join(node(key[:-1], one) for one in each)
            elif key == "infons":
                inside += "".join(f'<infon key="{a}">{b}</infon>' for a, b in each.items())
            elif key == "id" and name in ("annotation", "relation"):
                id_ = f' id="{each}"'
            else:
                inside += f"<{key}>{str(each).replace('&', '&amp;')}</{key}>"
        return f"<{name}{id_}>{inside}</{name}>"

    return f'{HEAD}<!DOCTYPE collection SYSTEM "BioC.dtd">\n{node("collection", value)}'


BY_NODE = [
    {
        "id": "R1",
        "infons": {"type": "Causes"},
        "nodes": [{"refid": "T4", "role": "a"}, {"refid": "T3", "role": "b"}],
    }
]
BY_CONCEPT = [{"id": "R1", "infons": {"relation": "CID", "Chemical": "D1", "Disease": "D2"}}]


def read(path: Path, kind: str = "tagging") -> Corpus:
    return catalog.load("standoff", DataOptions(path=path, columns=Columns(kind=kind)))


def as_bigbio(document: dict) -> dict:
    """Write a document as a record of BigBio's schema `kb`."""
    regions = [passage.get("sentences", [passage]) for passage in document["passages"]]
    ends = [[(region["offset"], region["offset"] + len(region["text"])) for region in row] for row in regions]
    return {
        "id": f"0{document['id']}",
        "document_id": document["id"],
        "passages": [
            {"id": "p", "type": "", "text": [region["text"] for region in row], "offsets": places}
            for row, places in zip(regions, ends, strict=True)
        ],
        "entities": [
            {
                "id": annotation["id"],
                "type": annotation["infons"]["type"],
                "text": [annotation["text"]],
                "offsets": [
                    [place["offset"], place["offset"] + place["length"]] for place in annotation["locations"]
                ],
                "normalized": [],
            }
            for row in regions
            for region in row
            for annotation in region.get("annotations", [])
        ],
        "events": [],
        "coreferences": [],
        "relations": [
            {
                "id": relation["id"],
                "type": relation["infons"]["type"],
                **{f"arg{at}_id": node["refid"] for at, node in enumerate(relation["nodes"], start=1)},
            }
            for relation in document.get("relations", [])
        ],
    }


def written(folder: Path, value: dict, form: str) -> Path:
    records = [as_bigbio(document) for document in value["documents"]] if form.startswith("bigbio") else []
    if form == "bigbio.parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), folder / form)
        return folder / form
    lines = "\n".join(json.dumps(each) for each in records or value["documents"])
    text = {"a.xml": as_xml(value), "a.json": json.dumps(value), "lines.json": lines, "bigbio.jsonl": lines}
    text["bigbio.json"] = json.dumps(records)
    (folder / form).write_text(text[form], encoding="utf-8")
    return folder / form


BIGBIO = ["bigbio.jsonl", "bigbio.json", "bigbio.parquet"]


@pytest.mark.parametrize("form", ["a.xml", "a.json", "lines.json", *BIGBIO])
def test_passages_with_their_entities(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, collection([]), form)
    assert standoff_path(path) == path
    corpus = read(path)
    assert corpus.ids == ("7.1", "7.2", "8.1")
    assert corpus.groups == ("7", "7", "8")
    found = [
        [(" ".join(words[span.start : span.end]), span.type) for span in spans]
        for words, spans in zip(corpus.words, corpus.targets["entities"], strict=True)
    ]
    assert found == [
        [("Aspirin", "Drug"), ("rash", "Sign")],
        [("Fever", "Sign"), ("ibuprofen", "Drug"), ("rash", "Sign")],
        [],
    ]


def test_a_file_of_one_long_line_is_recognized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, collection([]), "a.xml")
    path.write_text(path.read_text().replace("\n", " "))
    monkeypatch.setattr("mtlv.data.parts.LOOKED_AT", path.stat().st_size - 50)
    assert standoff_path(path) == path


def rows(corpus: Corpus) -> list[tuple[str, str, str]]:
    """Return (first entity, second entity, class) of each document."""
    return [
        (*(text[a:b] for a, b, _ in mentions), corpus.tasks[0].classes[target])
        for text, mentions, target in zip(
            corpus.texts, corpus.mentions, corpus.targets["relations"], strict=True
        )
    ]


@pytest.mark.parametrize("form", BIGBIO)
def test_relations_and_events_of_bigbio(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, collection(BY_NODE), form)
    corpus = read(path, "multiclass")
    assert rows(corpus) == [
        ("Aspirin", "rash", "none"),
        ("ibuprofen", "Fever", "Causes"),
        ("ibuprofen", "rash", "none"),
    ]
    assert not any("events" in note for note in corpus.notes)
    if form == "bigbio.json":
        records = json.loads(path.read_text())
        records[0]["events"] = [{"id": "e"}, {"id": "f"}]
        path.write_text(json.dumps(records))
        assert any(note.startswith("2 events") for note in read(path).notes)
        del records[0]["passages"][0]["offsets"]
        path.write_text(json.dumps(records))
        with pytest.raises(DataError, match=r"`bigbio.json` is no BioC"):
            read(path)


@pytest.mark.parametrize("form", ["a.xml", "a.json"])
def test_relations_of_annotations_and_of_concepts(tmp_path: Path, form: str) -> None:
    assert rows(read(written(tmp_path, collection(BY_NODE), form), "multiclass")) == [
        ("Aspirin", "rash", "none"),
        ("ibuprofen", "Fever", "Causes"),
        ("ibuprofen", "rash", "none"),
    ]
    concepts = collection(BY_CONCEPT, concepts=True)
    assert rows(read(written(tmp_path, concepts, form), "multiclass")) == [
        ("Aspirin", "rash", "CID"),
        ("ibuprofen", "Fever", "none"),
        ("ibuprofen", "rash", "none"),
    ]


@pytest.mark.parametrize("form", ["a.xml", "a.json"])
def test_sentences_are_at_their_offsets(tmp_path: Path, form: str) -> None:
    words = ("Rash", "came", "twice")
    sentences = [
        {"offset": at, "text": word, "annotations": [annotation(word, word, (at, len(word)), word)]}
        for at, word in zip((40, 49, 58), words, strict=True)
    ]
    first = {"offset": 0, "text": "Fever.", "annotations": [annotation("T0", "Fever", (0, 5), "Fever")]}
    value = {"documents": [{"id": "1", "passages": [first, {"offset": 40, "sentences": sentences}]}]}
    corpus = read(written(tmp_path, value, form))
    assert corpus.words == (("Fever", "."), words)
    assert [[span.type for span in spans] for spans in corpus.targets["entities"]] == [["Fever"], list(words)]
    assert not any("offsets" in note for note in corpus.notes)


@pytest.mark.parametrize("form", ["a.xml", "a.json"])
def test_relations_of_concepts_may_say_more_than_their_names(tmp_path: Path, form: str) -> None:
    """As in BioRED; a role has the name of a type, and nothing has a direction."""
    roles = {"role1": "Drug", "role2": "Sign", "novel": "Yes"}
    pairs = (("D1", "D2"), ("D2", "D1"), ("D4", "D3"))  # one of them is there twice
    relations = [
        {"id": f"R{at}", "infons": {"type": "Causes", "entity1": one, "entity2": other, **roles}}
        for at, (one, other) in enumerate((*pairs, pairs[0]))
    ]
    path = written(tmp_path, collection(relations, concepts=True), form)
    assert rows(read(path, "multiclass")) == [
        ("Aspirin", "rash", "Causes"),
        ("Fever", "ibuprofen", "Causes"),
        ("ibuprofen", "rash", "none"),
    ]
    assert any(note.startswith("3 relations, which") for note in read(path).notes)


@pytest.mark.parametrize("form", ["a.xml", "a.json"])
def test_relations_of_one_or_three_entities_are_left_out(tmp_path: Path, form: str) -> None:
    several = [
        {"id": f"R{at}", "infons": {"type": f"of {len(ids)}"}, "nodes": [{"refid": id_} for id_ in ids]}
        for at, ids in enumerate((("T1",), ("T1", "T2", "T3")))
    ]
    corpus = read(written(tmp_path, collection([*BY_NODE, *several]), form), "multiclass")
    assert [answer for *_, answer in rows(corpus)] == ["none", "Causes", "none"]
    assert "2 relations left out: they are not of two marked entities (1 of 1, 1 of 3)" in corpus.notes


LAUGHS = '<!DOCTYPE collection [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
FILE = '<!DOCTYPE collection [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("declared", [LAUGHS, FILE, f'<!DOCTYPE collection SYSTEM "BioC.dtd">{LAUGHS}'])
def test_declarations_of_entities_are_refused(tmp_path: Path, declared: str) -> None:
    file = tmp_path / "a.xml"
    file.write_text(f"{HEAD}{declared}<collection><document><id>1</id></document></collection>")
    with pytest.raises(DataError, match=r"`a.xml` is not a plain BioC file"):
        read(file)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.xml", "<collection><document>", "`a.xml` is invalid XML"),
        ("a.xml", "<collection><document><id>1</id></document></collection>", "`a.xml` is no BioC"),
        ("a.json", '{"documents": [{"passages": [{"text": "a"}]}]}', "`a.json` is no BioC"),
        ("a.json", '{"documents": [1]}', "`a.json` is no BioC"),
        ("a.json", "[", "`a.json:1` is invalid JSON"),
        ("a.json", "{}", "`a.json` is no BioC"),
        ("a.json", '{"documents": []}', "no documents"),
    ],
)
def test_what_is_no_bioc_is_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=said):
        read(tmp_path / name)
    assert standoff_path(tmp_path / name) == (tmp_path / name if name == "a.xml" else None)
