"""The catalog's readers on the real corpora, with the counts of their description, and on made files."""

from __future__ import annotations

import io
import re
import tarfile

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.catalog.hoc import hallmarks
from mtlv.data.options import DataOptions
from mtlv.data.splits import make_folds
from mtlv.errors import DataError

OPENI = {
    "Airspace Disease": 105,
    "Atelectasis": 286,
    "Calcified granuloma": 243,
    "Calcinosis": 248,
    "Cardiomegaly": 304,
    "Cicatrix": 170,
    "Deformity": 100,
    "Effusion": 140,
    "Emphysema": 93,
    "Medical Device": 80,
    "Nodule": 99,
    "granulomatous disease": 95,
    "indwelling catheters": 103,
    "lung hyperdistention": 179,
    "lung hypoinflation": 244,
    "opacity": 392,
    "spine degenerative": 150,
    "surgical instrument": 89,
    "thoracic vertebrae degenerative": 235,
}

# Files per category, training and test.
OHSUMED = """C01 423/506, C02 158/233, C03 65/70,
C04 1163/1467, C05 283/429, C06 588/632, C07 100/146, C08 473/600,
C09 125/129, C10 621/941, C11 162/202, C12 491/548, C13 281/386, C14 1249/1301, C15 215/320, C16 200/228,
C17 295/348, C18 388/400, C19 191/191, C20 525/695, C21 546/717, C22 92/91, C23 1799/2153"""

# Documents per hallmark, train / dev / test.
HOC = {
    "activating invasion and metastasis": [201, 28, 62],
    "avoiding immune destruction": [86, 8, 14],
    "cellular energetics": [68, 18, 19],
    "enabling replicative immortality": [87, 4, 24],
    "evading growth suppressors": [169, 18, 53],
    "genomic instability and mutation": [222, 46, 65],
    "inducing angiogenesis": [101, 19, 23],
    "resisting cell death": [309, 41, 79],
    "sustaining proliferative signaling": [315, 42, 105],
    "tumor promoting inflammation": [180, 20, 40],
}


def counts(corpus, part=None):
    rows = slice(None) if part is None else np.array(corpus.parts) == part
    return {name: int(corpus.targets[name][rows].sum()) for name in corpus.names}


@pytest.mark.real_data
@pytest.mark.parametrize("place", ["openi", "openi/indiana_reports.csv"])
def test_openi_counts(real_data, place):
    corpus = catalog.load("openi", DataOptions(path=real_data / place))
    assert counts(corpus) == OPENI
    assert len(corpus) == 2766
    labels = corpus.matrix().sum(axis=1)
    assert [int((labels == n).sum()) for n in range(5)] == [969, 879, 503, 257, 108]
    assert int((labels >= 5).sum()) == 50
    assert corpus.notes == (
        "25 reports without findings and impression dropped",
        f"{3526 - 2766} reports dropped, because their text equals an earlier one",
    )
    assert not any("XXXX" in text for text in corpus.texts)
    assert corpus.parts is None


@pytest.mark.real_data
def test_ohsumed_counts_without_unpacking(real_data):
    corpus = catalog.load("ohsumed", DataOptions(path=real_data / "ohsumed"))
    parts = np.array(corpus.parts)
    assert (int((parts == "train").sum()), int((parts == "test").sum()), len(corpus)) == (6286, 7643, 13929)
    wanted = [entry.split()[1].split("/") for entry in OHSUMED.split(",")]
    assert list(counts(corpus, "train").values()) == [int(train) for train, _ in wanted]
    assert list(counts(corpus, "test").values()) == [int(test) for _, test in wanted]
    assert (sum(counts(corpus, "train").values()), sum(counts(corpus, "test").values())) == (10433, 12733)
    assert corpus.names[3] == "Neoplasms"


@pytest.mark.real_data
def test_ohsumed_single_label_archive(real_data):
    corpus = catalog.load("ohsumed", DataOptions(path=real_data / "ohsumed" / "ohsumed_single_23.tar.gz"))
    assert [corpus.parts.count("train"), corpus.parts.count("test")] == [3357, 4043]
    assert np.array_equal(corpus.matrix().sum(axis=1), np.ones(7400))


@pytest.mark.real_data
def test_hoc_counts(real_data):
    corpus = catalog.load("hoc", DataOptions(path=real_data / "hoc"))
    assert len(corpus) == 1852
    assert [corpus.parts.count(part) for part in ("train", "validation", "test")] == [1295, 186, 371]
    by_part = [counts(corpus, part) for part in ("train", "validation", "test")]
    assert {name: [part[name] for part in by_part] for name in corpus.names} == HOC
    bare = corpus.matrix().sum(axis=1) == 0
    assert int(bare.sum()) == 272
    assert [int(bare[np.array(corpus.parts) == p].sum()) for p in ("train", "validation", "test")] == [
        197,
        22,
        53,
    ]


def test_hallmarks_of_a_label_file():
    line = (
        "<NULL< <Sustaining proliferative signaling--Receptors ANDResisting cell death--<Cellular energetics"
    )
    assert hallmarks(line, "1") == {
        "sustaining proliferative signaling",
        "resisting cell death",
        "cellular energetics",
    }
    with pytest.raises(DataError, match="document `1` has an unknown hallmark"):
        hallmarks("<Growing a tail", "1")


def make_hoc(folder):
    for kind in ("text", "labels"):
        (folder / kind).mkdir(parents=True)
    for i, name in enumerate(HOC):
        (folder / "text" / f"{i}.txt").write_text(f"Sentence {i} .\nAnother one .")
        (folder / "labels" / f"{i}.txt").write_text(f"< <{name.capitalize()}--detail")


def test_hoc_folder_without_lists_has_no_parts(tmp_path):
    make_hoc(tmp_path / "Hallmarks-of-Cancer-HEAD")
    corpus = catalog.load("hoc", DataOptions(path=tmp_path))
    assert corpus.parts is None
    assert corpus.texts[0] == "Sentence 0 . Another one ."
    assert np.array_equal(corpus.matrix(), np.eye(10))


def test_hoc_lists_must_name_every_document(tmp_path):
    make_hoc(tmp_path)
    (tmp_path / "blurb_split").mkdir()
    for name, ids in (("train", "0.txt,1.txt"), ("dev", "2.txt"), ("test", "3.txt")):
        (tmp_path / "blurb_split" / f"{name}_pmid.tsv").write_text(ids)
    with pytest.raises(DataError, match=r"leave documents out \(got 6, such as 4\)"):
        catalog.load("hoc", DataOptions(path=tmp_path))


def test_hoc_without_labels_is_refused(tmp_path):
    make_hoc(tmp_path)
    (tmp_path / "labels" / "3.txt").unlink()
    with pytest.raises(DataError, match="10 texts, 9 label files"):
        catalog.load("hoc", DataOptions(path=tmp_path))


def write_ohsumed(folder, files):
    for place, content in files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(content)


def test_ohsumed_tree_and_archive_read_the_same(tmp_path):
    files = {f"training/C{i:02d}/{i}": f"Title {i}.\nBody.".encode() for i in range(1, 24)}
    files |= {"training/C02/1": b"Title 1.\nBody.", "test/C01/99": b"Tested.", "test/C01/.DS_Store": b"\xff"}
    write_ohsumed(tmp_path / "tree" / "ohsumed", files)
    with tarfile.open(tmp_path / "o.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "tree" / "ohsumed", "top")
    tree, packed = (
        catalog.load("ohsumed", DataOptions(path=path)) for path in (tmp_path / "tree", tmp_path / "o.tar.gz")
    )
    assert tree.digest == packed.digest
    assert len(tree) == 24
    row = tree.ids.index("1")
    assert tree.matrix()[row].tolist() == [1, 1] + [0] * 21
    assert tree.names[:2] == ("Bacterial Infections and Mycoses", "Virus Diseases"), "names, no codes"
    assert not [name for name in tree.names if re.fullmatch(r"C\d\d", name)]
    assert (tree.texts[row], tree.parts[row], tree.parts[tree.ids.index("99")]) == (
        "Title 1. Body.",
        "train",
        "test",
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"training/C24/1": b"x"}, "not in a known category"),
        ({"training/C01/1": b"x", "test/C01/1": b"x"}, "in both parts"),
        ({"training/C01/1": b"x", "training/C02/1": b"y"}, "two different contents"),
        ({"training/C01/1": b"a\nb\xff"}, "unreadable bytes at line 2, offset 3"),
        ({"training/README": b"x"}, "no OHSUMED documents"),
    ],
)
def test_a_broken_ohsumed_tree(tmp_path, files, message):
    write_ohsumed(tmp_path, files)
    with pytest.raises(DataError, match=message):
        catalog.load("ohsumed", DataOptions(path=tmp_path))


@pytest.mark.parametrize("name", ["ohsumed", "hoc", "openi"])
def test_a_broken_archive(tmp_path, name):
    (tmp_path / "broken.tar.gz").write_bytes(b"\x1f\x8bnonsense")
    with pytest.raises(DataError, match="cannot be read as an archive"):
        catalog.load(name, DataOptions(path=tmp_path / "broken.tar.gz"))


def report(uid, headings, findings="", impression=""):
    majors = "".join(f"<major>{heading}</major>" for heading in headings)
    return f"""<?xml version="1.0" encoding="utf-8"?>
<eCitation><uId id="CXR{uid}"/><MedlineCitation><Article><Abstract>
<AbstractText Label="COMPARISON">None.</AbstractText><AbstractText Label="FINDINGS">{findings}</AbstractText>
<AbstractText Label="IMPRESSION">{impression}</AbstractText></Abstract></Article></MedlineCitation>
<MeSH>{majors}<automatic>opacity</automatic></MeSH></eCitation>"""


REPORTS = [
    report(
        1, ["Cardiomegaly/borderline", "Lung/hypoinflation/mild"], "Big XXXX heart.", "Small &amp; lungs."
    ),
    report(2, ["normal"], "", "Clear."),
    report(3, ["Pericardial Effusion"], "", "Clear."),
    report(4, ["Nodule"], "", ""),
    report(10, ["Lung/bilateral/hypoinflation", "Catheters, Indwelling/right"], "Tube."),
]
SOME = ("Cardiomegaly", "lung hypoinflation", "indwelling catheters")


def write_xml(folder, reports):
    folder.mkdir(parents=True, exist_ok=True)
    for i, text in enumerate(reports):
        (folder / f"{i}.xml").write_text(text)
    return folder


def test_openi_xml_packed_and_unpacked(tmp_path):
    write_xml(tmp_path / "ecgen-radiology", REPORTS)
    with tarfile.open(tmp_path / "NLMCXR_reports.tgz", "w:gz") as archive:
        archive.add(tmp_path / "ecgen-radiology", "ecgen-radiology")
    places = (tmp_path, tmp_path / "ecgen-radiology", tmp_path / "NLMCXR_reports.tgz")
    read = [catalog.load("openi", DataOptions(path=place, labels=SOME)) for place in places]
    assert len({corpus.digest for corpus in read}) == 1
    assert read[0].ids == ("CXR1", "CXR2", "CXR10"), "the first of equal texts stays"
    assert read[0].texts == ("Big heart. Small & lungs.", "Clear.", "Tube.")
    assert read[0].matrix().tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert read[0].notes[0].startswith("1 reports without")
    assert read[0].notes[1].startswith("1 reports dropped")


def test_reports_that_differ_by_what_was_masked_are_in_one_part(tmp_path):
    """Equal reports are left out before `XXXX` is; those that are equal only then are still one text."""
    texts = [f"Report {i}." for i in range(20)]
    twins = [*texts, *(f"XXXX {text}" for text in texts)]
    every = [report(i + 1, ["Cardiomegaly"] if i % 2 else ["normal"], text) for i, text in enumerate(twins)]
    corpus = catalog.load("openi", DataOptions(path=write_xml(tmp_path, every), labels=("Cardiomegaly",)))
    assert len(corpus) == 40
    assert corpus.texts[:20] == corpus.texts[20:]
    (fold,) = make_folds(corpus)
    for part in ("validation", "test"):
        told = {corpus.texts[row] for row in fold.part(part)}
        assert told
        assert not told & {corpus.texts[row] for row in fold.train}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE x [<!ENTITY a "aaa">]>' + "<eCitation>&a;</eCitation>", "is not a plain report"),
        ("<eCitation>", "`0.xml` is invalid XML"),
    ],
)
def test_openi_refuses_entities_and_broken_xml(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        catalog.load("openi", DataOptions(path=write_xml(tmp_path, [text])))


def test_openi_refuses_an_empty_folder(tmp_path):
    with pytest.raises(DataError, match="no Open-I reports"):
        catalog.load("openi", DataOptions(path=tmp_path))


def test_openi_needs_its_columns(tmp_path):
    (tmp_path / "indiana_reports.csv").write_text("uid,Mesh,findings,impression\n1,normal,a,b\n")
    with pytest.raises(DataError, match=r"has no column `MeSH`.*did you mean `Mesh`"):
        catalog.load("openi", DataOptions(path=tmp_path))


def test_an_archive_that_ends_early(tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for i in range(50):
            info = tarfile.TarInfo(f"top/training/C01/{i}")
            content = np.random.default_rng(i).bytes(400).hex().encode()
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    (tmp_path / "o.tar.gz").write_bytes(buffer.getvalue()[: len(buffer.getvalue()) // 2])
    with pytest.raises(DataError, match="cannot be read as an archive"):
        catalog.load("ohsumed", DataOptions(path=tmp_path / "o.tar.gz"))


@pytest.mark.parametrize("name", ["ohsumed", "hoc", "openi"])
def test_a_corpus_that_is_not_there(tmp_path, monkeypatch, name):
    with pytest.raises(
        DataError, match=r"nothing is at `data.path` .got .*/none.*set `data.path` to the file"
    ):
        catalog.load(name, DataOptions(path=tmp_path / "none"))
    monkeypatch.setenv("MTLV_DATA", str(tmp_path))
    with pytest.raises(DataError, match=rf"nothing is at the place of corpus `{name}` .got .*/{name}.; "):
        catalog.load(name, DataOptions())
    with pytest.raises(DataError, match=rf"(in|corpus) `{tmp_path}`.*allowed: .*; "):
        catalog.load(name, DataOptions(path=tmp_path))


@pytest.mark.parametrize(
    "place", ["text/3.txt", "labels/3.txt", "blurb_split/dev_pmid.tsv"], ids=["text", "labels", "list"]
)
@pytest.mark.parametrize("content", [b"a\nb\xff", "a\nb".encode("utf-16")], ids=["latin-1", "utf-16"])
def test_hoc_in_another_encoding_is_named(tmp_path, place, content):
    make_hoc(tmp_path)
    (tmp_path / "blurb_split").mkdir()
    for name in ("train", "dev", "test"):
        (tmp_path / "blurb_split" / f"{name}_pmid.tsv").write_text("")
    (tmp_path / place).write_bytes(content)
    name = place.removeprefix("blurb_split/")
    with pytest.raises(DataError, match=rf"{name}` has unreadable bytes at line \d, offset \d.*UTF-8"):
        catalog.load("hoc", DataOptions(path=tmp_path))


def test_hoc_lists_that_contradict_each_other(tmp_path):
    make_hoc(tmp_path)
    (tmp_path / "blurb_split").mkdir()
    for name, ids in (("train", "0.txt,1.txt"), ("dev", "2.txt,1.txt"), ("test", "3.txt")):
        (tmp_path / "blurb_split" / f"{name}_pmid.tsv").write_text(ids)
    with pytest.raises(DataError, match=r"`1.txt` is in two split lists .*train, validation.; keep it"):
        catalog.load("hoc", DataOptions(path=tmp_path))


def test_hoc_with_two_contents_of_a_document(tmp_path):
    make_hoc(tmp_path / "one")
    make_hoc(tmp_path / "two")
    (tmp_path / "two" / "labels" / "4.txt").write_text("<NULL")
    with tarfile.open(tmp_path / "hoc.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "one", "one")
        archive.add(tmp_path / "two", "two")
    with pytest.raises(DataError, match=r"document `4` has two different contents .got two/labels/4.txt"):
        catalog.load("hoc", DataOptions(path=tmp_path / "hoc.tar.gz"))


@pytest.mark.parametrize(
    "other", [report(1, ["Nodule"], "Another text."), report(1, ["Nodule"], "Small.", "Clear.")]
)
def test_openi_with_two_contents_of_a_report(tmp_path, other):
    reports = [report(1, ["Cardiomegaly"], "Small.", "Clear."), other]
    with pytest.raises(DataError, match=r"report `CXR1` has two different contents; keep one of them"):
        catalog.load("openi", DataOptions(path=write_xml(tmp_path / "xml", reports)))
    lines = ["uid,MeSH,findings,impression", "1,Cardiomegaly,Small.,Clear.", "1,Nodule,Small.,Clear."]
    (tmp_path / "indiana_reports.csv").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"report `1` has two different contents"):
        catalog.load("openi", DataOptions(path=tmp_path))


def test_openi_with_a_report_twice_keeps_one(tmp_path):
    corpus = catalog.load("openi", DataOptions(path=write_xml(tmp_path, [*REPORTS, REPORTS[0]]), labels=SOME))
    assert corpus.ids == ("CXR1", "CXR2", "CXR10")


# Archives and folders of many files, and what needs a package of its own.
OTHER_LAYOUTS = ("hoc", "ohsumed", "i2b2_2010", "ddi2013", "ebmnlp", "ebmnlp_elements", "huggingface")
RECOGNISES = "table"  # other encodings


@pytest.mark.parametrize(
    "name", sorted(set(catalog.names()) - {*OTHER_LAYOUTS, RECOGNISES, "notes", "synthetic"})
)
def test_no_corpus_takes_what_is_no_utf_8(tmp_path, name):
    said = []
    for suffix in (".tsv", ".jsonl", ".csv"):
        path = tmp_path / f"train{suffix}"
        path.write_bytes("a\tb\n\u00e9\tc\n".encode("latin-1"))
        with pytest.raises(DataError) as caught:
            catalog.load(name, DataOptions(path=path))
        said.append(str(caught.value))
    assert any(
        f"`train{suffix}` has unreadable bytes at line 2, offset 4 (got 0xe9); allowed: UTF-8" in text
        for suffix, text in zip((".tsv", ".jsonl", ".csv"), said, strict=True)
    ), said
