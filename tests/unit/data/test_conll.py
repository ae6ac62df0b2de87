"""CoNLL files and what is read from tags."""

from __future__ import annotations

import pytest

from mtlv.data import catalog, conll
from mtlv.data.conll import Sentence, conll_path, read_file, sentences_of
from mtlv.data.conll import file as conll_file
from mtlv.data.options import Columns, DataOptions
from mtlv.errors import DataError
from mtlv.plan.spans import Span
from mtlv.plan.word_tags import entities_of


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-X I-X O B-X", [(0, 2, "X"), (3, 4, "X")]),
        ("B-X B-X I-X", [(0, 1, "X"), (1, 3, "X")]),
        ("I-X I-X O I-X", [(0, 2, "X"), (3, 4, "X")]),  # IOB1, IO
        ("I-X B-X I-X", [(0, 1, "X"), (1, 3, "X")]),  # IOB1
        ("I-X I-Y I-Y", [(0, 1, "X"), (1, 3, "Y")]),
        ("B-X I-Y", [(0, 1, "X"), (1, 2, "Y")]),
        ("U-X B-X L-X U-Y", [(0, 1, "X"), (1, 3, "X"), (3, 4, "Y")]),  # BIOUL
        ("S-X B-X I-X E-X S-X", [(0, 1, "X"), (1, 4, "X"), (4, 5, "X")]),  # BIOES
        ("B-X L-X I-X", [(0, 2, "X"), (2, 3, "X")]),
        ("E-X E-X", [(0, 1, "X"), (1, 2, "X")]),
        ("B I O I", [(0, 2, "gene"), (3, 4, "gene")]),
        ("O O", []),
        ("B-cell-type I-cell-type", [(0, 2, "cell-type")]),
    ],
)
def test_chunks(tags, spans):
    assert entities_of(tags.split(), "gene") == tuple(Span(*span) for span in spans)


def write(path, text):
    path.write_bytes(text.encode())
    return path


def read_conll(path) -> list[Sentence]:
    return sentences_of(read_file(path).sentences(), "entity")


def test_documents_columns_and_line_ends(tmp_path):
    file = write(
        tmp_path / "a.conll",
        "-DOCSTART- -X- O O\r\n\r\nBig NN O B-X\r\nheart\tNN\tI-X\r\n\r\n \r\n"
        "-DOCSTART- (17)\nnot here O\n-DOCSTART-\tO\nx B",
    )
    assert [(s.id, s.words, s.spans) for s in read_conll(file)] == [
        ("a.1.1", ("Big", "heart"), (Span(0, 2, "X"),)),
        ("a.17.2", ("not",), ()),
        ("a.3.3", ("x",), (Span(0, 1, "entity"),)),
    ]


def test_a_word_may_hold_a_blank_that_is_no_separator(tmp_path):
    file = write(tmp_path / "a.tsv", "10\u00a0mg\tO\nnew york\tB-X\n")
    assert read_conll(file)[0].words == ("10\u00a0mg", "new york")


def test_every_fault_has_its_line(tmp_path):
    file = write(tmp_path / "bad.tsv", "a\tO\nb\nc\tQ-X\n\nd\n\tO\ne\tb-x\nf\tB-\n")
    with pytest.raises(DataError) as error:
        read_conll(file)
    first, second = error.value.problems
    assert first.startswith("`bad.tsv:2` has a line without a word and its tag (got b); allowed: word, tab")
    assert first.endswith("also at line 5, 6.")
    assert second.startswith("`bad.tsv:3` has an unknown tag (got Q-X)")
    assert second.endswith("also at line 7, 8.")


@pytest.mark.parametrize(
    ("text", "limit", "message"),
    [
        ("\n\n", {}, "`a.tsv` has no sentence"),
        ("a\tO\n" * 4, {"MOST_WORDS": 3}, "more than 3 words before line 5; put a blank line"),
        ("a\tB-X\nb\tB-Y\n", {"MOST_TYPES": 1}, r"too many types of entities \(got 2\)"),
        ("a\tO\xff".encode("latin-1"), {}, "unreadable bytes at line 1"),
    ],
)
def test_limits(tmp_path, monkeypatch, text, limit, message):
    (tmp_path / "a.tsv").write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, value in limit.items():
        monkeypatch.setattr(conll if hasattr(conll, name) else conll_file, name, value)
    with pytest.raises(DataError, match=message):
        catalog.load("conll", DataOptions(path=tmp_path / "a.tsv"))


def test_a_large_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("mtlv.data.parts.MOST_BYTES", 3)
    with pytest.raises(DataError, match=r"`a.tsv` is too large \(got 4 bytes\)"):
        read_conll(write(tmp_path / "a.tsv", "a\tO\n"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Pain B-sign\r\nhurts O\r\n\r\n", True),
        ("-DOCSTART- -X- O\n\nPain\tNN\tI-sign\n\n", True),
        ("word\ttag\nPain\tB-sign\n\n", False),  # a header
        ("Pain O\n\nPain\n\n", False),
        ("Pain B-sign\nhurts O\n", False),  # no sentence ends
        ("Pain \xe9 O\n\n".encode("latin-1"), True),  # reading it says what to do
    ],
)
def test_files_and_their_folders_are_recognized(tmp_path, text, found):
    for name in ("x.conll", "train.tsv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert conll_path(tmp_path / "x.conll") == (tmp_path / "x.conll" if found else None)
    assert conll_path(tmp_path / "train.tsv") == (tmp_path if found else None)
    assert conll_path(tmp_path) == (tmp_path if found else None)
    assert conll_path(tmp_path / "none.conll") is None


def test_a_line_that_is_cut_does_not_count(tmp_path, monkeypatch):
    text = "Pain B-sign\n\nhurts O\n\nmore O\n"
    monkeypatch.setattr("mtlv.data.parts.LOOKED_AT", len(text) - 4)
    file = write(tmp_path / "x.conll", text)
    assert conll_path(file) == file


def test_a_folder_of_the_users_own(tmp_path):
    write(tmp_path / "train.conll", "Aspirin B-drug\nhelps O\n\nPain B-sign\n")
    write(tmp_path / "devel.txt", "Pain B-sign\n")
    write(tmp_path / "README.md", "text")
    corpus = catalog.load("conll", DataOptions(path=tmp_path))
    assert corpus.parts == ("train", "train", "validation")
    assert corpus.tasks[0].classes == ("drug", "sign")
    assert (corpus.tasks[0].source, corpus.tasks[0].main_metric) == ("conll", "entity_f1")
    assert corpus.ids == ("train.1", "train.2", "devel.1")
    assert corpus.notes == ("no file for the test part",)
    write(tmp_path / "dev.txt", "Pain B-sign\n")
    with pytest.raises(DataError, match=r"several files for the validation part \(got dev.txt, devel.txt\)"):
        catalog.load("conll", DataOptions(path=tmp_path))


def test_the_task_may_be_named(tmp_path):
    path = write(tmp_path / "a.conll", "Pain B-sign\n")
    assert catalog.load("conll", DataOptions(path=path)).names == ("entities",)
    assert catalog.load("conll", DataOptions(path=path, columns=Columns(task="signs"))).names == ("signs",)


def test_one_file_has_no_parts(tmp_path):
    corpus = catalog.load("conll", DataOptions(path=write(tmp_path / "all.txt", "Pain B-sign\n")))
    assert corpus.parts is None
    assert corpus.notes == ()


def test_a_folder_without_files_says_what_is_looked_for(tmp_path):
    with pytest.raises(DataError, match=r"no documents in .* allowed: a file, or a folder with train, dev"):
        catalog.load("conll", DataOptions(path=tmp_path))


def test_a_catalogued_corpus_has_its_own_types_only(tmp_path):
    write(tmp_path / "train.tsv", "a\tB-Disease\n")
    with pytest.raises(DataError, match=r"entities of an unknown type \(got Disease\); allowed: Chemical"):
        catalog.load("bc5cdr_chem", DataOptions(path=tmp_path))


FOUR = """-DOCSTART- -X- -X- O

IL-2 NN B-NP B-drug
binds VBZ B-VP O
no. NN B-NP O

It PRP B-NP O
helps VBZ B-VP O
"""


@pytest.mark.parametrize(
    ("column", "classes", "metric", "name"),
    [
        (None, ("drug",), "entity_f1", "entities"),
        ("4", ("drug",), "entity_f1", "entities"),
        ("ner", ("drug",), "entity_f1", "entities"),
        ("-1", ("drug",), "entity_f1", "entities"),
        ("3", ("NP", "VP"), "entity_f1", "entities"),
        ("chunk", ("NP", "VP"), "entity_f1", "entities"),
        ("2", ("NN", "PRP", "VBZ"), "word_f1_macro", "tags"),
        ("-3", ("NN", "PRP", "VBZ"), "word_f1_macro", "tags"),
        ("POS", ("NN", "PRP", "VBZ"), "word_f1_macro", "POS"),
    ],
)
def test_the_column_of_tags_is_chosen_by_number_or_name(tmp_path, column, classes, metric, name):
    path = write(tmp_path / "a.txt", FOUR)
    corpus = catalog.load("conll", DataOptions(path=path, columns=Columns(tags=column)))
    (task,) = corpus.tasks
    assert (task.classes, task.main_metric, task.name) == (classes, metric, name)
    assert corpus.groups is None, "the only marker, at the top, makes no group of all sentences"
    assert corpus.ids == ("a.1", "a.2")
    assert [("column 4 of 4" in note) for note in corpus.notes] == [True] * (column is None)


def test_a_class_of_each_word_is_a_span_of_one_word(tmp_path):
    path = write(tmp_path / "a.txt", "Big JJ\nheart NN\nrate NN\n\nIt PRP\nis VB\n")
    corpus = catalog.load("conll", DataOptions(path=path))
    spans = corpus.targets["tags"][0]
    assert spans == (Span(0, 1, "JJ"), Span(1, 2, "NN"), Span(2, 3, "NN"))


@pytest.mark.parametrize("column", ["5", "-5", "0", "upos", "x"])
def test_a_column_that_is_not_there_is_an_error(tmp_path, column):
    path = write(tmp_path / "a.txt", FOUR)
    with pytest.raises(DataError, match=r"no column `.*` \(`data.columns.tags`\); allowed: 1 to 4, or -1"):
        catalog.load("conll", DataOptions(path=path, columns=Columns(tags=column)))


def test_words_may_be_in_another_column(tmp_path):
    path = write(tmp_path / "a.txt", "1 Big B-X\n2 heart I-X\n\n1 It O\n")
    corpus = catalog.load("conll", DataOptions(path=path, columns=Columns(words="2")))
    assert corpus.words == (("Big", "heart"), ("It",))


@pytest.mark.parametrize("separator", ["\t", " ", "    "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments_are_left_out_but_not_the_sign_as_a_word(tmp_path, separator, end):
    lines = [
        "# id 12",
        "#\tpassage",
        "Big|O",
        "#|O",
        "5|B-X",
        "  ",
        "# A sentence, of several words.",
        "It|O",
    ]
    path = write(tmp_path / "a.conll", "\ufeff" + end.join(lines).replace("|", separator) + end)
    read = read_conll(path)
    assert [sentence.words for sentence in read] == [("Big", "#", "5"), ("It",)]
    assert read[0].spans == (Span(2, 3, "X"),)


def test_a_sign_as_a_word_has_a_class_that_others_have(tmp_path):
    path = write(tmp_path / "a.conll", "#\tpassage\nno.\tNN\n#\tNN\n5\tCD\n")
    assert read_conll(path)[0].words == ("no.", "#", "5")


def test_types_without_letters_are_entities(tmp_path):
    path = write(tmp_path / "a.conll", "Lung Dis\ncancer Dis\nand O\naspirin Drug\n")
    assert read_conll(path)[0].spans == (Span(0, 2, "Dis"), Span(3, 4, "Drug"))


def test_label_studio(tmp_path):
    text = (
        "-DOCSTART- -X- O\nReport -X- _ O\n1: -X- _ O\nrash. -X- _ B-ADE\n\nNo -X- _ O\nrash. -X- _ B-ADE\n"
    )
    path = write(tmp_path / "a.conll", text)
    corpus = catalog.load("conll", DataOptions(path=path))
    assert corpus.words == (("Report", "1:", "rash."), ("No", "rash."))
    assert corpus.tasks[0].classes == ("ADE",)
    assert corpus.groups is None


def test_numbers_are_named_by_classes(tmp_path):
    path = write(tmp_path / "a.conll", "Lung 1\ncancer 2\nand 0\nIL-2 3\n")
    named = Columns(classes=("O", "B-dis", "I-dis", "B-drug", "I-drug"))
    corpus = catalog.load("conll", DataOptions(path=path, columns=named))
    assert corpus.targets["entities"][0] == (Span(0, 2, "dis"), Span(3, 4, "drug"))
    assert corpus.tasks[0].classes == ("dis", "drug")
    for few in (None, ("O", "B-dis", "I-dis")):
        with pytest.raises(DataError, match=r"numbers without names \(got 0 to 3.*`data.columns.classes: \["):
            catalog.load("conll", DataOptions(path=path, columns=Columns(classes=few)))


def test_classes_of_entities_are_their_types_in_order(tmp_path):
    path = write(tmp_path / "a.conll", "Lung B-dis\nIL-2 B-drug\n")
    corpus = catalog.load("conll", DataOptions(path=path, columns=Columns(classes=("sign", "drug", "dis"))))
    assert corpus.tasks[0].classes == ("sign", "drug", "dis")
    with pytest.raises(DataError, match=r"not classes \(got dis\); allowed: drug"):
        catalog.load("conll", DataOptions(path=path, columns=Columns(classes=("drug",))))


UNIVERSAL = """# newdoc id = one
# sent_id = 1
# text = Don't (IL-2).
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\tSpaceAfter=No
3\t(\t(\tPUNCT\t-LRB-\t_\t1\tpunct\t_\tSpaceAfter=No
4\tIL-2\tIL-2\tPROPN\tNNP\t_\t1\tobj\t_\tSpaceAfter=No
4.1\tbinds\tbind\tVERB\tVB\t_\t_\t_\t_\t_
5\t)\t)\tPUNCT\t-RRB-\t_\t1\tpunct\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_

# newdoc id = two
# text = He went
1\tHe\the\tPRON\t_\t_\t2\tnsubj\t_\t_
2\twent\tgo\tVERB\tVBD\t_\t0\troot\t_\t_

"""


@pytest.mark.parametrize(
    ("column", "name", "classes"),
    [
        (None, "tags", ("AUX", "PART", "PRON", "PROPN", "PUNCT", "VERB")),
        ("upos", "upos", ("AUX", "PART", "PRON", "PROPN", "PUNCT", "VERB")),
        ("deprel", "deprel", ("advmod", "nsubj", "obj", "punct", "root")),
        ("xpos", "xpos", ("-LRB-", "-RRB-", ".", "NNP", "RB", "VB", "VBD")),
        ("4", "tags", ("AUX", "PART", "PRON", "PROPN", "PUNCT", "VERB")),
    ],
)
@pytest.mark.parametrize("suffix", [".conllu", ".txt"])
def test_universal_dependencies(tmp_path, column, name, classes, suffix):
    path = write(tmp_path / f"a{suffix}", UNIVERSAL)
    assert conll_path(path) == path
    corpus = catalog.load("conll", DataOptions(path=path, columns=Columns(tags=column)))
    assert corpus.words == (("Do", "n't", "(", "IL-2", ")", "."), ("He", "went"))
    assert (corpus.tasks[0].classes, corpus.names) == (classes, (name,))
    assert corpus.prose == ("Don't (IL-2).", "He went")
    assert corpus.groups == ("a.one", "a.two")


@pytest.mark.parametrize(
    ("name", "text", "is_read"),
    [
        ("a.txt", "-DOCSTART- -X-\n\nThe DT\nheart NN\n\nIt PRP\n\n", True),
        ("a.txt", "The DT\nheart NN\nof IN\nthe DT\nlung NN\n\n" * 4, True),
        ("a.conll", "The DT\nheart NN\n\n", True),
        ("a.tsv", "text\tlabel\nThe heart is large\tyes\nIt is not\tno\n\n", False),
        ("a.txt", "The heart\nThe lung\n\nOne two\nThree four\n\n", False),
        ("a.txt", "The heart is large.\nThe lung is not.\n\nIt is so.\n\n", False),
    ],
)
def test_classes_of_words_need_the_signs_of_a_file_of_words(tmp_path, name, text, is_read):
    path = write(tmp_path / name, text)
    assert conll_path(path) == (path if is_read else None)
