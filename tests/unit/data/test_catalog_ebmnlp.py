"""EBM-NLP in the form of its authors' release, both versions, on made-up abstracts."""

from __future__ import annotations

import tarfile

import pytest

from mtlv.data import catalog
from mtlv.data.options import DataOptions
from mtlv.data.splits import make_folds
from mtlv.data.targets import UnknownSpans
from mtlv.errors import DataError
from mtlv.plan.spans import Span

SPANS = "annotations/aggregated/starting_spans"
WORDS = "Obese women on insulin , aged 40 . Pain fell . No end"
LABELS = {  # `insulin` is of the participants, and an intervention
    "participants": "1 1 1 1 0 1 1 0 0 0 0 0 0",
    "interventions": "0 0 0 1 0 0 0 0 0 0 0 0 0",
    "outcomes": "0 0 0 0 0 0 0 0 1 0 0 0 0",
}
PARTICIPANTS, INTERVENTIONS, OUTCOMES = (f"EBM-NLP {element}" for element in LABELS)
PARTS = {"11": "train", "12": "train", "13": "train", "21": "test/gold"}


def write_release(folder, version="2_00", *, without=(), changes=()):
    """Write a release; `without` are parts of paths that are left out, `changes` are files by path."""
    between, comma, end = (
        ("\n", "\n", ".AGGREGATED.ann") if version == "2_00" else (" ", ",", "_AGGREGATED.ann")
    )
    files = {}
    for abstract, part in PARTS.items():
        files[f"documents/{abstract}.tokens"] = WORDS.replace(" ", between)
        files |= {f"documents/{abstract}.{other}": "not read" for other in ("text", "txt", "pos")}
        for element, labels in LABELS.items():
            files[f"{SPANS}/{element}/{part}/{abstract}{end}"] = labels.replace(" ", comma)
            files[f"{SPANS}/{element}/test/crowd/{abstract}{end}"] = "not read"
            files[f"annotations/aggregated/hierarchical_labels/{element}/{part}/{abstract}{end}"] = "not read"
            files[f"annotations/individual/starting_spans/{element}/{part}/{abstract}_W1.ann"] = "not read"
    files |= {f"{SPANS}/outcomes/train/._11{end}": "not read", **dict(changes)}
    root = folder / f"ebm_nlp_{version}"
    for place, content in files.items():
        if not any(part in place for part in without):
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            (root / place).write_text(content)
    return root


def load(name, path):
    return catalog.load(name, DataOptions(path=path))


@pytest.fixture(params=["2_00", "1_00"])
def version(request):
    return request.param


def test_each_element_has_tags_of_its_own(tmp_path, version):
    write_release(tmp_path, version)
    corpus = load("ebmnlp_elements", tmp_path)
    assert corpus.names == (PARTICIPANTS, INTERVENTIONS, OUTCOMES)
    assert [task.classes for task in corpus.tasks] == [("PAR",), ("INT",), ("OUT",)]
    assert corpus.tasks == catalog.card("ebmnlp_elements").tasks()
    assert corpus.ids[:3] == ("11.1", "11.2", "11.3")
    assert corpus.texts[:3] == ("Obese women on insulin , aged 40 .", "Pain fell .", "No end")
    assert corpus.groups[:4] == ("11", "11", "11", "12")
    assert corpus.parts == ("train",) * 9 + ("test",) * 3
    assert corpus.targets[PARTICIPANTS][0] == (Span(0, 4, "PAR"), Span(5, 7, "PAR"))
    assert corpus.targets[INTERVENTIONS][0] == (Span(3, 4, "INT"),), "insulin belongs to both"
    assert corpus.targets[OUTCOMES].tolist()[:3] == [(), (Span(0, 1, "OUT"),), ()]
    assert corpus.notes == ()


def test_with_one_tag_a_word_has_its_last_element(tmp_path, version):
    write_release(tmp_path, version)
    corpus = load("ebmnlp", tmp_path)
    assert corpus.name == "ebmnlp"
    assert corpus.tasks == catalog.card("ebmnlp").tasks()
    expected = (Span(0, 3, "PAR"), Span(3, 4, "INT"), Span(5, 7, "PAR"))
    assert corpus.targets["EBM-NLP PICO"].tolist()[:3] == [expected, (Span(0, 1, "OUT"),), ()]


@pytest.mark.parametrize("name", ["ebmnlp", "ebmnlp_elements"])
def test_packed_and_unpacked_are_the_same(tmp_path, name):
    root = write_release(tmp_path / "unpacked")
    (tmp_path / "packed").mkdir()
    with tarfile.open(tmp_path / "packed" / "ebm_nlp_2_00.tar.gz", "w:gz") as archive:
        archive.add(root, root.name)
    places = [root, root.parent, tmp_path / "packed", tmp_path / "packed" / "ebm_nlp_2_00.tar.gz"]
    assert len({load(name, place).digest for place in places}) == 1


def test_of_two_versions_the_newer_is_read(tmp_path):
    write_release(tmp_path, "1_00", without=("/11",))
    write_release(tmp_path, "2_00")
    assert "11.1" in load("ebmnlp", tmp_path).ids


def test_abstracts_that_scibert_lists_are_the_validation_part(tmp_path):
    write_release(tmp_path)
    (tmp_path / "dev.txt").write_text("-DOCSTART- (12)\n\nA NN O O\n\n-DOCSTART- (21)\n\nA NN O O\n")
    parts = [part for part in ("train", "validation", "train", "test") for _ in range(3)]
    assert load("ebmnlp", tmp_path).parts == tuple(parts)


def test_without_a_list_no_abstract_is_divided(tmp_path):
    # No sentence is in two abstracts, as it would be left out of training.
    words = {f"documents/{x}.tokens": WORDS.replace("n", x).replace(" ", "\n") for x in PARTS}
    write_release(tmp_path, changes=words)
    corpus = load("ebmnlp_elements", tmp_path)
    fold = make_folds(corpus, folds=1)[0]
    parts = [{corpus.groups[i] for i in rows} for rows in (fold.train, fold.validation, fold.test)]
    assert parts[2] == {"21"}
    assert parts[1]
    assert not parts[0] & parts[1]


def test_an_abstract_of_the_test_part_has_only_labels_of_experts(tmp_path):
    of_crowd = {f"{SPANS}/{x}/train/21.AGGREGATED.ann": "1\n" * 13 for x in LABELS}
    write_release(tmp_path, changes=of_crowd, without=("outcomes/test/gold/21",))
    corpus = load("ebmnlp_elements", tmp_path)
    assert corpus.parts == ("train",) * 9 + ("test",) * 3
    assert corpus.targets[PARTICIPANTS][-3] == (Span(0, 4, "PAR"), Span(5, 7, "PAR"))
    assert isinstance(corpus.targets[OUTCOMES][-1], UnknownSpans)


def test_an_abstract_without_a_file_of_an_element(tmp_path):
    write_release(tmp_path, without=("outcomes/train/12",))
    corpus = load("ebmnlp_elements", tmp_path)
    assert corpus.notes == ("1 abstract without labels of outcomes",)
    assert corpus.known(OUTCOMES).tolist() == [True] * 3 + [False] * 3 + [True] * 6
    assert corpus.known(PARTICIPANTS).all()
    one = load("ebmnlp", tmp_path)
    assert one.known("EBM-NLP PICO").all()
    assert one.targets["EBM-NLP PICO"][4] == (), "as in the authors' scripts, no word is an outcome"


@pytest.mark.parametrize(("abstract", "words"), [("12", 13), ("99", 0)])
def test_labels_that_do_not_fit_the_words(tmp_path, abstract, words):
    place = f"{SPANS}/outcomes/train/{abstract}.AGGREGATED.ann"
    write_release(tmp_path, changes={place: "0\n1"})
    with pytest.raises(DataError) as caught:
        load("ebmnlp_elements", tmp_path)
    for part in (place, f"2 labels, {words} words in `{abstract}.tokens`", "remove the files of this"):
        assert part in str(caught.value)


def test_no_release(tmp_path):
    (tmp_path / "dev.txt").write_text("a\tO\n")
    with pytest.raises(DataError, match=r"no release of EBM-NLP .*`mtlv data fetch ebmnlp"):
        load("ebmnlp_elements", tmp_path)
    write_release(tmp_path, without=("AGGREGATED",))
    with pytest.raises(DataError, match="has no documents"):
        load("ebmnlp_elements", tmp_path)
