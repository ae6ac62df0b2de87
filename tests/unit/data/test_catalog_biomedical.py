"""Readers of corpora that are no yes/no labels, on the real files, with the counts of their description."""

from __future__ import annotations

from collections import Counter
from functools import cache
from hashlib import sha256
from itertools import groupby

import numpy as np
import pytest

from mtlv.data import catalog
from mtlv.data.options import DataOptions
from mtlv.data.source import PARTS
from mtlv.data.splits import make_folds

pytestmark = [pytest.mark.real_data, pytest.mark.slow]

# Sentences and mentions of train, devel and test.
NER = {
    "bc5cdr_chem": ([4560, 4581, 4797], [5203, 5347, 5385], "Chemical"),
    "bc5cdr_disease": ([4560, 4581, 4797], [4182, 4246, 4424], "Disease"),
    "ncbi_disease": ([5424, 923, 940], [5134, 787, 960], "Disease"),
    "bc2gm": ([12574, 2519, 5038], [15197, 3061, 6325], "GENE"),
    "jnlpba": ([16807, 1739, 3856], [46750, 4551, 8662], "Entity"),
}
CHEMPROT = """INHIBITOR 1642/812/1255, INDIRECT-DOWNREGULATOR
487/270/340, SUBSTRATE 480/322/453, INDIRECT-UPREGULATOR 387/278/334, ACTIVATOR 323/257/292, ANTAGONIST
235/199/293, PRODUCT-OF 233/130/191, AGONIST 156/111/182, DOWNREGULATOR 131/21/72, UPREGULATOR
67/17/41, SUBSTRATE_PRODUCT-OF 14/5/0, AGONIST-ACTIVATOR 10/5/4, AGONIST-INHIBITOR 4/0/12"""


@pytest.fixture(scope="module")
def read(real_data):
    """Reads a corpus once."""

    @cache
    def load(name, place=""):
        folder = real_data / (place or name)
        return catalog.load(
            name, DataOptions(path=folder if folder.exists() else real_data / name.replace("_", "-"))
        )

    return load


def sizes(corpus):
    return [corpus.parts.count(part) for part in PARTS]


def classes(corpus):
    """Class -> documents in train, validation, test."""
    task = corpus.tasks[0]
    found = Counter(zip(corpus.parts, corpus.targets[task.name].tolist(), strict=True))
    return {name: [found[part, at] for part in PARTS] for at, name in enumerate(task.classes)}


@pytest.mark.parametrize("name", NER)
def test_named_entities(read, name):
    sentences, mentions, type_ = NER[name]
    corpus = read(name)
    assert sizes(corpus) == sentences
    found = Counter()
    for part, spans in zip(corpus.parts, corpus.targets[corpus.names[0]], strict=True):
        found.update((part, span.type) for span in spans)
    assert found == {(part, type_): count for part, count in zip(PARTS, mentions, strict=True)}
    assert corpus.tasks[0].kind == "tagging"
    assert corpus.notes == ()


def test_longest_sentences_and_texts_of_words(read):
    assert max(len(words) for words in read("bc2gm").words) == 265
    chem, disease = read("bc5cdr_chem"), read("bc5cdr_disease")
    assert chem.words == disease.words
    assert chem.texts[0].split(" ") == list(chem.words[0])
    row = next(n for n, spans in enumerate(chem.targets["BC5CDR chemical"]) if spans)
    span = chem.targets["BC5CDR chemical"][row][0]
    assert chem.words[row][span.start : span.end] == ("Selegiline",)


def test_jnlpba_documents(read):
    # Three abstracts stand there twice, so that markers are counted and not names.
    documents = groupby(tuple(id_.split(".")[:2]) for id_ in read("jnlpba").ids)
    assert Counter(file for (file, _), _ in documents) == {"train": 1800, "devel": 200, "test": 404}


def test_jnlpba_typed_files_mark_the_same_words(read):
    typed = read("conll", "jnlpba/devel-typed.tsv")
    found = Counter(span.type for spans in typed.targets["entities"] for span in spans)
    assert found == {"DNA": 1052, "RNA": 107, "cell_line": 400, "cell_type": 526, "protein": 2466}
    assert typed.tasks[0].classes == ("DNA", "RNA", "cell_line", "cell_type", "protein")
    whole = read("jnlpba")
    start = whole.parts.index("validation")
    for words, bare, spans in zip(
        typed.words, whole.targets["JNLPBA entity"][start:], typed.targets["entities"], strict=False
    ):
        assert [span[:2] for span in bare] == [span[:2] for span in spans], words
    assert whole.words[start : start + len(typed)] == typed.words


def test_ebmnlp_without_its_training_part(read):
    corpus = read("ebmnlp")
    assert sizes(corpus) == [0, 7049, 2064]
    assert corpus.notes[0].startswith("no file for the train part; with `data.folds` of 2 or more")
    (fold, _) = make_folds(corpus, folds=2)
    # 16 have a text of the test part, 4 of training one of an abstract that is held out.
    assert (len(fold.train) + len(fold.validation), len(fold.test)) == (7049 - 16 - 4, 2064)
    parts = [{corpus.groups[i] for i in rows} for rows in (fold.train, fold.validation, fold.test)]
    assert list(map(len, parts)) == [481, 479, 191]
    assert len(set.union(*parts)) == 1151, "no abstract is divided"
    documents = {tuple(id_.split(".")[:2]) for id_ in corpus.ids}
    assert Counter(file for file, _ in documents) == {"dev": 960, "test": 191}
    words, marked = Counter(), Counter()
    for part, held, spans in zip(corpus.parts, corpus.words, corpus.targets["EBM-NLP PICO"], strict=True):
        words[part] += len(held)
        for span in spans:
            marked[part, span.type] += span.end - span.start
    assert words == {"validation": 262127, "test": 51750}
    assert [marked["validation", x] for x in ("INT", "PAR", "OUT")] == [25218, 30382, 32313]
    assert [marked["test", x] for x in ("INT", "PAR", "OUT")] == [2710, 4060, 5138]


def test_chemprot_of_scibert(read):
    corpus = read("chemprot_scibert", "chemprot")
    assert sizes(corpus) == [4169, 2427, 3469]
    wanted = [entry.split() for entry in CHEMPROT.split(",")]
    assert classes(corpus) == {name: [int(x) for x in counts.split("/")] for name, counts in wanted}
    assert corpus.texts[0].startswith("Epidermal growth factor receptor inhibitors currently under")
    first, second = corpus.mentions[0]
    assert corpus.texts[0][first.start : first.end] == "Epidermal growth factor receptor"
    assert corpus.texts[0][second.start : second.end] == "gefitinib"
    assert not any("<<" in text or "[[ " in text for text in corpus.texts)
    assert sum(">>" in text for text in corpus.texts) == 24, "a sign of the text is no mark"


def test_ddi(read):
    corpus = read("ddi2013")
    # One positive pair of the training part has no type and is left out.
    assert sizes(corpus) == [25296 - 1, 2496, 5716]
    found = classes(corpus)
    assert [sum(found[name][at] for name in found if name != "false") for at in range(3)] == [3551, 469, 979]
    train = {name: counts[0] + counts[1] for name, counts in found.items()}
    types = {"mechanism": 1319, "effect": 1687, "advise": 826, "int": 188}
    assert train == {"false": 27792 - 4021, **types}
    assert [found[name][2] for name in types] == [302, 360, 221, 96]
    assert corpus.tasks[0].classes[0] == "false"
    assert "1 pair left out: it interacts, but the type is missing" in corpus.notes
    assert len(corpus.ids) == 27792 - 1 + 5716
    row = corpus.ids.index("DDI-DrugBank.d420.s0.p9")
    assert [corpus.texts[row][m.start : m.end] for m in corpus.mentions[row]] == ["cefdinir", "Maalox TC"]
    assert {mention.type for mentions in corpus.mentions for mention in mentions} == {"DRUG"}


def test_ddi_without_lists_has_two_parts(read, real_data, tmp_path):
    (tmp_path / "DDICorpus-2013.zip").symlink_to(real_data / "ddi2013" / "DDICorpus-2013.zip")
    corpus = catalog.load("ddi2013", DataOptions(path=tmp_path))
    assert sizes(corpus) == [27792 - 1, 0, 5716]
    assert sorted(corpus.ids) == sorted(read("ddi2013").ids)


def test_gad(read):
    corpus = read("gad")
    assert sizes(corpus) == [4261, 535, 534]
    positive = [int(corpus.targets["GAD"][np.array(corpus.parts) == part].sum()) for part in PARTS]
    assert positive == [2227, 293, 281]
    for text, (gene, disease) in zip(corpus.texts, corpus.mentions, strict=True):
        assert (text[gene.start : gene.end], text[disease.start : disease.end]) == ("@GENE$", "@DISEASE$")


def test_biosses_split_and_raw(read, real_data, tmp_path):
    corpus = read("biosses")
    assert sizes(corpus) == [64, 16, 20]
    scores = dict(zip(corpus.ids, corpus.targets["BIOSSES"].tolist(), strict=True))
    assert (min(scores.values()), max(scores.values())) == (0.0, 4.0)
    for file in (real_data / "biosses").glob("*.txt"):
        (tmp_path / file.name).symlink_to(file)
    raw = catalog.load("biosses", DataOptions(path=tmp_path))
    assert (raw.parts, len(raw)) == (None, 100)
    other = dict(zip(raw.ids, raw.targets["BIOSSES"].tolist(), strict=True))
    assert {id_ for id_ in scores if abs(scores[id_] - other[id_]) > 1e-6} == {"7"}
    assert (scores["7"], other["7"]) == pytest.approx((1.6, 1.4))


def test_pubmedqa(read):
    corpus = read("pubmedqa")
    assert sizes(corpus) == [450, 50, 500]
    assert classes(corpus) == {"yes": [249, 27, 276], "no": [152, 17, 169], "maybe": [49, 6, 55]}
    assert corpus.texts[0].startswith("Do mitochondria play a role")
    assert corpus.seconds[0].startswith("Programmed cell death")
    parts = dict(zip(corpus.ids, corpus.parts, strict=True))
    validation = sorted(id_ for id_ in parts if parts[id_] == "validation")
    assert validation[:3] == ["10354335", "11247896", "11729377"]  # `pqal_fold0/dev_set.json` of the script
    assert sha256(" ".join(validation).encode()).hexdigest()[:16] == "b5678dbb8959545c"
