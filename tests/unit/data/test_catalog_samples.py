"""Readers of the other kinds of corpora on made-up files: formats that need an agreement, and broken files.

No sentence here is of a real note or paper.
"""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.options import DataOptions
from mtlv.errors import DataError

OTHERS = [name for name in catalog.names() if catalog.card(name).other_tasks]
AGREEMENT = ("clinicalsts", "mednli", "i2b2_2010", "shareclefe", "bioasq")


def load(name, path):
    return catalog.load(name, DataOptions(path=path))


def write(folder, files):
    for place, content in files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(content, encoding="utf-8")
    return folder


def test_every_task_is_complete_and_named_once():
    tasks = [task for name in OTHERS for task in catalog.card(name).tasks()]
    assert (len(OTHERS), len(tasks)) == (18, 20)
    assert len({task.name for task in tasks}) == len(tasks)
    assert [*dict.fromkeys(task.source for task in tasks)] == OTHERS
    for task in tasks:
        card = catalog.card(task.source)
        assert task.main_metric == card.main_metric
        assert task.description.endswith(".")
        assert bool(task.classes) == (task.kind in ("multiclass", "tagging"))
        assert card.downloads or card.by_hand


def test_main_metrics():
    metrics = {name: catalog.card(name).main_metric for name in OTHERS}
    ner = dict.fromkeys(
        ("bc5cdr_chem", "bc5cdr_disease", "ncbi_disease", "bc2gm", "jnlpba", "shareclefe"), "entity_f1"
    )
    assert metrics == ner | {
        "ebmnlp": "word_f1_macro",
        "ebmnlp_elements": "word_f1_macro",
        "chemprot": "f1_micro_positive",
        "chemprot_scibert": "f1_micro",
        "ddi2013": "f1_micro_positive",
        "i2b2_2010": "f1_micro_positive",
        "gad": "f1",
        "biosses": "pearson",
        "clinicalsts": "pearson",
        "pubmedqa": "accuracy",
        "bioasq": "accuracy",
        "mednli": "accuracy",
    }


@pytest.mark.parametrize("name", AGREEMENT)
def test_where_to_get_what_needs_an_agreement(name, tmp_path, monkeypatch):
    monkeypatch.setenv("MTLV_DATA", str(tmp_path))
    card = catalog.card(name)
    assert not card.downloads
    with pytest.raises(DataError) as error:
        catalog.load(name, DataOptions())
    assert card.by_hand in str(error.value)
    assert "https://" in card.by_hand or "http://" in card.by_hand


STS = "Pulse was normal.\tThe pulse is fine.\t4.5\nNo pain.\tHe walks with a stick.\t0\n"


def test_clinicalsts_of_the_organizers(tmp_path):
    write(tmp_path, {"clinicalSTS.train.txt": STS, "clinicalSTS.test.txt": "A b.\tC d.\t2\n"})
    corpus = load("clinicalsts", tmp_path)
    assert corpus.parts == ("train", "train", "test")
    assert (corpus.texts[0], corpus.seconds[0]) == ("Pulse was normal.", "The pulse is fine.")
    assert corpus.targets["ClinicalSTS"].tolist() == [4.5, 0.0, 2.0]
    assert corpus.targets["ClinicalSTS"].dtype == np.float32
    assert corpus.notes == ("no file for the validation part",)


def test_clinicalsts_of_blue(tmp_path):
    header = "index\tgenre\tsentence1\tsentence2\tscore\n"
    write(
        tmp_path,
        {
            f"{part}.tsv": f'{header}0\tx\t"A b.\tC d.\t{score}\n'
            for score, part in enumerate(("train", "dev", "test"))
        },
    )
    corpus = load("clinicalsts", tmp_path)
    assert corpus.parts == ("train", "validation", "test")
    assert (corpus.texts[0], corpus.ids[0]) == ('"A b.', "train.1")
    write(tmp_path, {"train.tsv": "index\tsentence1\tscore\n"})
    with pytest.raises(DataError, match=r"`train\.tsv` has no column `sentence2`"):
        load("clinicalsts", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", r"`train.txt:1` has a wrong number of columns \(got 2\)"),
        (STS + "a\tb\tc\nd\te\tnan\n", r"`train.txt:3` has no score \(got c\).*1 more .* `train.txt:4`"),
    ],
)
def test_a_broken_clinicalsts(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        load("clinicalsts", write(tmp_path, {"train.txt": text}))


def inference(number, label):
    return {
        "sentence1": f"Pulse {number}.",
        "sentence2": "Alive.",
        "gold_label": label,
        "pairID": f"p{number}",
    }


def test_mednli(tmp_path):
    labels = ("entailment", "neutral", "contradiction")
    for part, label in zip(("train", "dev", "test"), labels, strict=True):
        write(tmp_path, {f"mli_{part}_v1.jsonl": json.dumps(inference(part, label)) + "\n"})
    corpus = load("mednli", tmp_path)
    assert corpus.parts == ("train", "validation", "test")
    assert (corpus.texts[0], corpus.seconds[0], corpus.ids[0]) == (
        "Pulse train.",
        "Alive.",
        "mli_train_v1.ptrain",
    )
    assert [corpus.tasks[0].classes[n] for n in corpus.targets["MedNLI"]] == list(labels)
    write(tmp_path, {"mli_dev_v1.jsonl": json.dumps(inference(1, "-")) + "\n"})
    with pytest.raises(
        DataError, match=r"`mli_dev_v1.jsonl:1` has an unknown class \(got -\); allowed: entail"
    ):
        load("mednli", tmp_path)
    write(tmp_path, {"mli_dev_v1.jsonl": json.dumps(inference(1, None)) + "\n"})
    with pytest.raises(DataError, match=r"`mli_dev_v1\.jsonl:1` is incomplete"):
        load("mednli", tmp_path)


NOTE = "Course :\nThe  pain was treated with aspirin and a scan showed nausea .\n"
CONCEPTS = """c="the pain" 2:0 2:1||t="problem"
c="aspirin" 2:5 2:5||t="treatment"
c="a scan" 2:7 2:8||t="test"
c="nausea" 2:10 2:10||t="problem"
c="course : the" 1:0 2:0||t="problem"
"""
RELATIONS = """c="aspirin" 2:5 2:5||r="TrAP"||c="the pain" 2:0 2:1
c="a scan" 2:7 2:8||r="TeRP"||c="nausea" 2:10 2:10
"""


def make_i2b2(folder):
    train, test = "training_data/beth", "reference_standard_for_test_data"
    return write(
        folder,
        {
            f"{train}/txt/record-1.txt": NOTE,
            f"{train}/concept/record-1.con": CONCEPTS,
            f"{train}/rel/record-1.rel": RELATIONS,
            "test_data/record-1.txt": NOTE.replace("aspirin", "ibuprofen"),
            f"{test}/concepts/record-1.con": CONCEPTS,
            f"{test}/rel/record-1.rel": "",
        },
    )


def test_i2b2_relations_and_pairs_without_one(tmp_path):
    corpus = load("i2b2_2010", make_i2b2(tmp_path))
    assert corpus.parts == ("test",) * 5 + ("train",) * 5
    rows = [row for row, part in enumerate(corpus.parts) if part == "train"]
    found = {
        tuple(corpus.texts[row][m.start : m.end] for m in corpus.mentions[row]): corpus.tasks[0].classes[
            corpus.targets["i2b2 2010"][row]
        ]
        for row in rows
    }
    assert found == {
        ("aspirin", "The pain"): "TrAP",
        ("a scan", "The pain"): "false",
        ("The pain", "nausea"): "false",
        ("aspirin", "nausea"): "false",
        ("a scan", "nausea"): "TeRP",
    }
    assert [m.type for m in corpus.mentions[rows[0]]] == ["TREATMENT", "PROBLEM"]
    assert "ibuprofen" in corpus.texts[0], "the note that stands nearest"
    assert corpus.notes == ("2 concepts left out: they span several lines",)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (
            "training_data/beth/concept/record-1.con",
            "aspirin",
            r"`record-1.con:1` cannot be read \(got aspirin",
        ),
        ("training_data/beth/txt/record-1.txt", "Course :\nShort\n", "has no words where a concept is"),
        (
            "training_data/beth/rel/record-1.rel",
            RELATIONS.replace("TrAP", "XX"),
            r"record-1.txt:2` has an unknown class \(got XX\)",
        ),
        ("training_data/beth/rel/other.rel", "", "`other.rel` has no note or concepts; allowed: other.txt"),
    ],
)
def test_a_broken_i2b2(tmp_path, file, text, message):
    with pytest.raises(DataError, match=message):
        load("i2b2_2010", write(make_i2b2(tmp_path), {file: text}))


REPORT = "Admitted with chest  pain.\n\nThe left atrium was\ndilated. No fever.\n"


def disorder(*places):
    return "||".join(["1.txt", "Disease_Disorder", "C01", *map(str, places)]) + "\n"


def make_clefe(folder, marks):
    return write(
        folder,
        {
            "train/reports/1.txt": REPORT,
            "train/gold/1.pipe.txt": marks,
            "test/reports/2.txt": "No fever.",
            "test/gold/2.pipe.txt": "2.txt||Disease_Disorder||C02||3||8\n",
        },
    )


def test_shareclefe_notes_with_parts_of_disorders(tmp_path):
    start = REPORT.index("left")
    marks = disorder(14, 25) + disorder(
        start, start + 11, REPORT.index("dilated"), REPORT.index("dilated") + 7
    )
    corpus = load("shareclefe", make_clefe(tmp_path, marks + disorder(start, start + 4)))
    assert corpus.parts == ("test", "train", "train")
    assert corpus.words[1] == ("Admitted", "with", "chest", "pain", ".")
    found = [
        [" ".join(words[span.start : span.end]) for span in spans]
        for words, spans in zip(corpus.words, corpus.targets["ShARe/CLEFE"], strict=True)
    ]
    assert found == [["fever"], ["chest pain"], ["left atrium was dilated"]]
    assert corpus.notes == (
        "3 of 4 entities are learned (3 Disorder)",
        "1 entities left out: they overlap an earlier one (1 Disorder)",
    )


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (disorder(14), "`1.pipe.txt:1` cannot be read"),
        (disorder(14, 2500), "`1.txt` has no text where a disorder is marked"),
        (disorder(14, 25).replace("1.txt", "9.txt"), r"in notes that are missing \(got 9\)"),
    ],
)
def test_a_broken_shareclefe(tmp_path, marks, message):
    with pytest.raises(DataError, match=message):
        load("shareclefe", make_clefe(tmp_path, marks))


def test_shareclefe_as_blue_makes_it(tmp_path):
    write(tmp_path, {f"{part}.tsv": "chest B\npain I\n" for part in ("train", "devel", "test")})
    corpus = load("shareclefe", tmp_path)
    assert corpus.targets["ShARe/CLEFE"][0] == ((0, 2, "Disorder"),)


def question(number, answer, **changes):
    held = {"id": f"q{number}", "type": "yesno", "body": "Is it?", "exact_answer": answer}
    return held | {"snippets": [{"text": "It is."}, {"text": "Or not."}]} | changes


def test_bioasq_as_blurb_makes_it(tmp_path):
    lines = 'a1\tIs it?\t"It is.\tyes\na2\tIs it not?\tIt is.\tno\n'
    write(
        tmp_path, {"train.tsv": lines, "dev.tsv": lines.replace("a", "b"), "test.tsv": "c\tWhat?\tNo.\tYes\n"}
    )
    corpus = load("bioasq", tmp_path)
    assert corpus.parts == ("train", "train", "validation", "validation", "test")
    assert (corpus.texts[0], corpus.seconds[0]) == ("Is it?", '"It is.')
    assert corpus.targets["BioASQ"].tolist() == [0, 1, 0, 1, 0]


def test_bioasq_of_the_organizers(tmp_path):
    questions = [question(1, "yes"), question(2, ["No"]), question(3, "", type="factoid", body=None)]
    write(tmp_path, {"BioASQ-training7b.json": json.dumps({"questions": questions})})
    corpus = load("bioasq", tmp_path / "BioASQ-training7b.json")
    assert (corpus.ids, corpus.parts) == (("q1", "q2"), None)
    assert corpus.seconds[0] == "It is. Or not."
    assert corpus.targets["BioASQ"].tolist() == [0, 1]
    write(tmp_path, {"bad.json": json.dumps({"questions": [question(1, "yes", snippets=["x"])]})})
    with pytest.raises(DataError, match=r"`bad\.json: question 1` is incomplete; allowed: `id`"):
        load("bioasq", tmp_path / "bad.json")


def test_pubmedqa_and_its_test_list(tmp_path):
    row = {"QUESTION": "Is it?", "CONTEXTS": ["One.", "Two."], "final_decision": "maybe"}
    write(tmp_path, {"ori_pqal.json": json.dumps({"1": row, "2": row | {"final_decision": "no"}})})
    alone = load("pubmedqa", tmp_path)
    assert alone.parts is None
    assert alone.notes == ("there is no `test_ground_truth.json`: the questions are not split",)
    write(tmp_path, {"test_ground_truth.json": '{"2": "no"}'})
    assert load("pubmedqa", tmp_path).parts == ("train", "test")
    write(tmp_path, {"test_ground_truth.json": '{"2": "yes"}'})
    with pytest.raises(DataError, match=r"question `2` has two answers \(got no in `ori_pqal.json`, yes"):
        load("pubmedqa", tmp_path)
    write(tmp_path, {"test_ground_truth.json": '{"3": "yes"}'})
    with pytest.raises(DataError, match=r"lists questions that are not in `ori_pqal.json` \(got 3\)"):
        load("pubmedqa", tmp_path)
    write(tmp_path, {"ori_pqal.json": '{"1": {"QUESTION": "Is it?"}}'})
    with pytest.raises(DataError, match="question `1` is incomplete"):
        load("pubmedqa", tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a << b >> c", "label": "AGONIST"}', r"`train.txt:1` does not have two marked entities"),
        ('{"text": "<< a >> << b >> [[ c ]]", "label": "AGONIST"}', r"does not have two marked entities"),
        ('{"text": "<< b >> [[ c ]]", "label": "x"}', r"`train.txt:1` has an unknown class \(got x\)"),
        ('{"text": "<< b >> [[ c ]]"}', "`train.txt:1` is not an example"),
        ("{", "`train.txt:1` is invalid JSON"),
    ],
)
def test_broken_chemprot_of_scibert(tmp_path, line, message):
    with pytest.raises(DataError, match=message):
        load("chemprot_scibert", write(tmp_path, {"train.txt": line}))


ABSTRACT = "Aspirin and COX-2.\tAspirin (i.v. Bayer) blocks COX. 5-HT rises with COX-2 mRNA! It falls."
ENTITIES = (
    ("T1", "CHEMICAL", "Aspirin", 0),
    ("T2", "GENE-Y", "COX-2", 0),
    ("T3", "CHEMICAL", "Aspirin", 19),
    ("T4", "GENE-N", "COX", 19),
    ("T5", "CHEMICAL", "5-HT", 19),
    ("T6", "GENE-Y", "COX-2", 19),
    ("T7", "GENE-N", "COX-2 mRNA", 19),
)


def biocreative(folder, part="training", end="", id_="1", classes="1\tCPR:4\tArg1:T3\tArg2:T4\n", moved=0):
    text = ABSTRACT.replace("\t", " ")
    lines = []
    for name, type_, entity, after in ENTITIES:
        start = text.index(entity, after) + moved
        lines.append("\t".join((id_, name, type_, str(start), str(start + len(entity)), entity)))
    return write(
        folder,
        {
            f"chemprot_{part}/chemprot_{part}_abstracts{end}.tsv": f"{id_}\t{ABSTRACT}\n",
            f"chemprot_{part}/chemprot_{part}_entities{end}.tsv": "\n".join(lines),
            f"chemprot_{part}/chemprot_{part}_gold_standard.tsv": classes,
        },
    )


def test_chemprot_pairs_within_sentences(tmp_path):
    several = "1\tCPR:4\tArg1:T3\tArg2:T4\n1\tCPR:9\tArg1:T5\tArg2:T6\n1\tCPR:3\tArg1:T5\tArg2:T6\n"
    biocreative(tmp_path, classes=several)
    corpus = load("chemprot", biocreative(tmp_path, "test", "_gs", "2"))
    classes = [corpus.tasks[0].classes[number] for number in corpus.targets["ChemProt"]]
    training = {
        "1.T1.T2": "false",  # of the title
        "1.T3.T4": "CPR:4",  # `i.v.` ends no sentence
        "1.T5.T6": "CPR:9",  # a sentence may start with a digit
        "1.T5.T6.2": "CPR:3",  # a row for each interaction
        "1.T5.T7": "false",
    }
    pairs = zip(corpus.ids, classes, strict=True)
    assert [pair for pair, part in zip(pairs, corpus.parts, strict=True) if part == "train"] == [
        *training.items()
    ]
    assert corpus.parts.count("test") == 4
    assert corpus.texts[1] == "Aspirin (i.v. Bayer) blocks COX."
    for text, mentions in zip(corpus.texts, corpus.mentions, strict=True):
        assert [mention.type for mention in mentions] == ["CHEMICAL", "GENE"]
        assert text[mentions[0].start : mentions[0].end] in ("Aspirin", "5-HT")
        assert text[mentions[1].start : mentions[1].end].startswith("COX")
    assert set(corpus.groups) == {"1", "2"}
    assert "no file for the validation part" in corpus.notes[0]


def test_chemprot_in_the_form_of_blue(tmp_path):
    rows = "index\tsentence\tlabel\n1.T1.T2\tThe @GENE$ of @CHEMICAL$\tCPR:9\n1.T1.T3\tA @CHEM-GENE$\tfalse\n"
    corpus = load("chemprot", write(tmp_path, {"train.tsv": rows}))
    assert corpus.ids == ("1.T1.T2", "1.T1.T3")
    first, second = corpus.mentions
    assert [corpus.texts[0][span.start : span.end] for span in first] == ["@CHEMICAL$", "@GENE$"]
    assert [corpus.texts[1][span.start : span.end] for span in second] == ["@CHEM-GENE$"] * 2


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"moved": 1}, r"`chemprot_training_entities.tsv:1` is not the text at its place .*\(got Aspirin\)"),
        ({"classes": "1\tCPR:8\tArg1:T3\tArg2:T4\n"}, r"has an unknown class \(got CPR:8\)"),
        ({"classes": "1\tCPR:4\n"}, "a wrong number of columns"),
    ],
)
def test_a_broken_chemprot(tmp_path, files, message):
    with pytest.raises(DataError, match=message):
        load("chemprot", biocreative(tmp_path, **files))


def test_chemprot_names_the_missing_file_and_the_other_form(tmp_path):
    folder = biocreative(tmp_path)
    (folder / "chemprot_training/chemprot_training_entities.tsv").unlink()
    with pytest.raises(DataError, match=r"does not have `chemprot_training_entities.tsv`"):
        load("chemprot", folder)
    with pytest.raises(DataError, match=r"`data.name: chemprot_scibert`"):
        load("chemprot", write(tmp_path / "scibert", {"train.txt": "{}"}))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0\tOnly @GENE$ here.\t1", "`train.tsv:2` does not have exactly one @DISEASE"),
        ("0\t@GENE$ and @DISEASE$.\t2", r"`train.tsv:2` has an unknown label \(got 2\); allowed: 0, 1"),
        ("0\t@GENE$ and @DISEASE$.", "a wrong number of columns"),
    ],
)
def test_a_broken_gad(tmp_path, line, message):
    with pytest.raises(DataError, match=message):
        load("gad", write(tmp_path, {"train.tsv": f"index\tsentence\tlabel\n{line}\n"}))


def test_biosses_scores_must_fit(tmp_path):
    pairs = "biosses_sentence_pairs_test_derived_from_github.txt"
    write(tmp_path, {pairs: "a\nb\nc\nd", "annotation_scores_from_github.txt": "1"})
    with pytest.raises(DataError, match=r"do not match \(got 4 sentences, 1 scores\)"):
        load("biosses", tmp_path)


def sentence(number, pairs):
    entities = f"""<entity id="s{number}.e0" charOffset="0-6" text="Aspirin"/>
<entity id="s{number}.e1" charOffset="12-16;21-28" text="beta blocker"/>"""
    return f'<sentence id="s{number}" text="Aspirin and beta- or blockers.">{entities}{pairs}</sentence>'


def pair(number, interacts, type_=""):
    ends = f'e1="s{number}.e0" e2="s{number}.e1"'
    return f'<pair id="s{number}.p0" {ends} ddi="{interacts}"{type_ and f" type={type_!r}"}/>'


DOCUMENT = "<document>{}{}{}</document>".format(
    sentence(0, pair(0, "true", "effect")), sentence(1, pair(1, "false")), sentence(2, pair(2, "true"))
)


def make_ddi(folder, document=DOCUMENT):
    test = document.replace('"s', '"t')
    return write(
        folder,
        {
            "DDICorpus/Train/DrugBank/A.xml": document,
            "DDICorpus/Test/Test for DDI Extraction task/MedLine/B.xml": test,
            "DDICorpus/Test/Test for DrugNER task/MedLine/B.xml": document,
            "DDICorpus/Train/.DS_Store": "x",
        },
    )


def test_ddi_packed_and_unpacked(tmp_path):
    make_ddi(tmp_path)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((tmp_path / "DDICorpus").rglob("*")):
            archive.write(file, file.relative_to(tmp_path))
    read = [load("ddi2013", tmp_path / place) for place in ("DDICorpus", "packed.zip")]
    assert {corpus.ids for corpus in read} == {("t0.p0", "t1.p0", "s0.p0", "s1.p0")}
    corpus = read[0]
    assert corpus.parts == ("test", "test", "train", "train")
    assert corpus.targets["DDI 2013"].tolist() == [2, 0, 2, 0]
    assert [corpus.texts[0][m.start : m.end] for m in corpus.mentions[0]] == ["Aspirin", "beta- or blockers"]
    assert corpus.notes == (
        "4 pairs with a drug in several parts, used from the first to the last character",
        "2 pair left out: it interacts, but the type is missing",
    )


def test_ddi_lists(tmp_path):
    make_ddi(tmp_path)
    lists = {f"blurb_split/{part}_files.tsv": "" for part in ("train", "dev", "test")}
    write(tmp_path, lists | {"blurb_split/dev_files.tsv": "train_dataset/DrugBank/A.xml\n"})
    with pytest.raises(DataError, match=r"split lists leave a file out \(got MedLine/B.xml\)"):
        load("ddi2013", tmp_path)
    write(tmp_path, {"blurb_split/test_files.tsv": "test_dataset/MedLine/B.xml"})
    assert load("ddi2013", tmp_path).parts == ("test", "test", "validation", "validation")
    write(tmp_path, {"blurb_split/train_files.tsv": "test_dataset/MedLine/B.xml"})
    with pytest.raises(DataError, match=r"`test_dataset/MedLine/B.xml` is in two split lists"):
        load("ddi2013", tmp_path)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ('<!DOCTYPE x [<!ENTITY a "aaa">]><document>&a;</document>', "is not a plain file of the DDI corpus"),
        ("<document>", "B.xml` is invalid XML"),
        ('<?xml version="1.0" encoding="nonsense"?><document/>', "B.xml` is invalid XML"),
        (DOCUMENT.replace("0-6", "0-60"), r"drug outside its sentence \(got t0.e0 at 0-60\)"),
        (DOCUMENT.replace("0-6", "x"), "drug outside its sentence"),
        (DOCUMENT.replace("effect", "other"), r"unknown class \(got other\)"),
        (DOCUMENT.replace('e2="s0.e1"', 'e2="s0.e7"'), r"a pair of unknown drugs \(got t0.p0\)"),
        ("<document/>", "no DDI corpus in"),
    ],
)
def test_a_broken_ddi(tmp_path, document, message):
    with pytest.raises(DataError, match=message):
        load("ddi2013", make_ddi(tmp_path, document))


def test_a_broken_zip(tmp_path, monkeypatch):
    (tmp_path / "DDICorpus-2013.zip").write_bytes(b"PK\x03\x04nonsense")
    with pytest.raises(DataError, match="cannot be read as an archive"):
        load("ddi2013", tmp_path)
    place = "DDICorpus/Train/DrugBank/A.xml"
    with zipfile.ZipFile(tmp_path / "DDICorpus-2013.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr(place, DOCUMENT)
    with pytest.raises(DataError, match=r"has an unusual compression \(got DDICorpus/T"):
        load("ddi2013", tmp_path)
    monkeypatch.setattr("mtlv.data.catalog.ddi2013.LARGEST", 10)
    with pytest.raises(DataError, match="is larger than 10 bytes"):
        load("ddi2013", tmp_path)
    monkeypatch.undo()
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr(place, DOCUMENT)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(place, DOCUMENT)
    with pytest.raises(DataError, match="is there twice"):
        load("ddi2013", tmp_path / "twice.zip")
    monkeypatch.setattr("mtlv.data.archives.MOST_MEMBERS", 1)
    with pytest.raises(DataError, match="is too large to unpack"):
        load("ddi2013", tmp_path / "twice.zip")
