"""EBM-NLP: words on participants, interventions and outcomes (PICO) in abstracts of clinical trials.

Reads the authors' release (`ebm_nlp_2_00` or `ebm_nlp_1_00`), as `.tar.gz` or unpacked: words in
`documents/PMID.tokens`, and 0 or 1 for each word in
`annotations/aggregated/starting_spans/ELEMENT/{train,test/gold}/PMID.AGGREGATED.ann`, one a line; in 1.00
`PMID_AGGREGATED.ann`, with commas. Source: README and `ebm_nlp_demo.py` of bepnye/EBM-NLP. Its
`models/lstm-crf/build_data.py`, which BLURB uses, ends sentences with the word `.`, takes abstracts of the
test part out of training, and gives a word one tag. If SciBERT's `dev.txt` is next to the release, its 960
abstracts, which the output of BLURB's scripts has as well, are the validation part.

Without a release, reads SciBERT's `train.txt`, `dev.txt` and `test.txt`: word, `NN`, `O`, tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from types import SimpleNamespace

from mtlv.data.archives import documents
from mtlv.data.conll import corpus_of, tagged_corpus
from mtlv.data.conll.file import Sentence
from mtlv.data.options import DataOptions
from mtlv.data.parts import from_github, text_of
from mtlv.data.source import Card, Corpus
from mtlv.data.tables.decoding import decode
from mtlv.data.targets import spans_column
from mtlv.errors import DataError
from mtlv.formatting import many
from mtlv.plan.spans import Span
from mtlv.plan.tagging import OUTSIDE
from mtlv.plan.task import Task
from mtlv.plan.word_tags import entities_of

ELEMENTS = {"participants": "PAR", "interventions": "INT", "outcomes": "OUT"}  # folder: class
GOLD, VALIDATION = "test/gold", "dev.txt"
_LABELLED = rf"starting_spans/({'|'.join(ELEMENTS)})/(train|{GOLD})"
_FILE = re.compile(rf"(?:.*/)?(?:documents|{_LABELLED})/(\d+)[._](?:tokens|AGGREGATED\.ann)")
_LISTED = re.compile(r"^-DOCSTART- \((\d+)\)", re.MULTILINE)


def _task(source: str, name: str, classes: tuple[str, ...], words_on: str) -> Task:
    text = f"Words on the {words_on} of a clinical trial."
    return Task(f"EBM-NLP {name}", "tagging", source, classes, description=text, main_metric="word_f1_macro")


TASKS = tuple(_task("ebmnlp_elements", name, (class_,), name) for name, class_ in ELEMENTS.items())
CARD = Card.of_task(
    _task("ebmnlp", "PICO", tuple(ELEMENTS.values()), "participants, interventions and outcomes"),
    title="EBM-NLP, participants, interventions and outcomes in abstracts of clinical trials",
    address="https://github.com/bepnye/EBM-NLP",
    licence="not stated for the corpus; Apache-2.0 for SciBERT's repository",
    citation="Nye B, Li JJ, Patel R, et al. A corpus with multi-level annotations of patients, interventions "
    "and outcomes to support language processing for medical literature. Proc. ACL 2018, 197-207.",
    downloads=from_github(
        "bepnye/EBM-NLP",
        "43a4a1ea3f0a21cfb8820c040b843dfaf66192d0",
        {"ebm_nlp_2_00.tar.gz": "b7357503911ba9f708d04e24c1ab3fe9e0a79833910e53e2472ed21214a44e3f"},
    )
    + from_github(
        "allenai/scibert",
        "24cd5151297514977b9bd535f84e12b38964321b/data/pico/ebmnlp",
        {VALIDATION: "1a27890b3597e2a19ebdec7a0646c694524614d64d04b7ce9e960b9ca0e576c8"},
    ),
)


def load(path: Path, options: DataOptions) -> Corpus:
    """Load all sentences with one tag for each word: the last of its elements, as in BLURB.

    Raises:
        DataError: as for `load_elements`, or without a release as for `tagged_corpus`.
    """
    if _release(path) is None:
        return tagged_corpus(CARD, path, columns=options.columns)
    corpus, rows = load_elements(path, options), []
    for words, *of_elements in zip(corpus.words or (), *corpus.targets.values(), strict=True):
        tags = {at: f"I-{x.type}" for x in chain.from_iterable(of_elements) for at in range(x.start, x.end)}
        rows.append(entities_of([tags.get(at, OUTSIDE) for at in range(len(words))]))
    (task,) = CARD.other_tasks
    return replace(corpus, name=CARD.name, tasks=CARD.other_tasks, targets={task.name: spans_column(rows)})


def load_elements(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all sentences with tags of each element; unknown in abstracts without a file for it.

    Raises:
        DataError: no release, an unreadable file or archive, or no label for each word.
    """
    if (release := _release(path)) is None:
        then = "run `mtlv data fetch ebmnlp_elements`"
        raise DataError(f"no release of EBM-NLP in `{path}`", allowed="ebm_nlp_2_00[.tar.gz]", then=then)
    words: dict[str, list[str]] = {}
    labels: dict[str, dict[str, dict[str, tuple[str, list[str]]]]] = {"train": {}, GOLD: {}}
    for name, data in documents(release, lambda name: bool(_FILE.fullmatch(name))):
        element, part, abstract = _FILE.fullmatch(name).groups()  # type: ignore[union-attr]
        content = decode(data, name)
        if element is None:
            words[abstract] = content.split()
        else:
            labels[part].setdefault(abstract, {})[element] = (name, content.replace(",", " ").split())
    listed = _LISTED.findall(text_of(file)) if (file := release.parent / VALIDATION).is_file() else []
    part_of = dict.fromkeys(listed, "validation") | dict.fromkeys(labels[GOLD], "test")
    abstracts = labels["train"] | labels[GOLD]
    rows = [row for id_ in sorted(abstracts) for row in _rows(id_, words.get(id_, []), abstracts[id_])]
    sentences = [sentence for sentence, _ in rows]
    parts = tuple(part_of.get(sentence.document, "train") for sentence in sentences)
    missing = {element: sum(element not in one for one in abstracts.values()) for element in ELEMENTS}
    notes = tuple(f"{many(n, 'abstract')} without labels of {element}" for element, n in missing.items() if n)
    corpus = corpus_of(TASKS[0].source, TASKS[0], sentences, parts, notes)
    columns = zip(*(spans for _, spans in rows), strict=True)
    targets = {task.name: spans_column(column) for task, column in zip(TASKS, columns, strict=True)}
    return replace(corpus, tasks=TASKS, targets=targets)


OVERLAPS = "EBM-NLP with overlaps: a task for each of participants, interventions and outcomes"
elements = SimpleNamespace(
    CARD=replace(CARD, name=TASKS[0].source, title=OVERLAPS, other_tasks=TASKS), load=load_elements
)
"""The corpus `ebmnlp_elements`, as a word may belong to several elements."""


def _release(path: Path) -> Path | None:
    """Return the path, or the newest release in this folder; None if there is none."""
    places = (path, *sorted(path.glob("ebm_nlp_[0-9]*"), reverse=True))
    return next((x for x in places if x.name.endswith("gz") or (x / "documents").is_dir()), None)


def _rows(
    abstract: str, words: Sequence[str], labels: dict[str, tuple[str, list[str]]]
) -> Iterator[tuple[Sentence, list[tuple[Span, ...] | None]]]:
    """Yield each sentence with its spans of each element, None if these are not known."""
    tags: list[list[str] | None] = []
    for element, class_ in ELEMENTS.items():
        name, values = labels.get(element, ("", []))
        if name and len(values) != len(words):
            got = f"{len(values)} labels, {len(words)} words in `{abstract}.tokens`"
            then = "unpack the release again, or remove the files of this abstract"
            raise DataError(f"`{name}` does not have a label for each word", got=got, then=then)
        tags.append([OUTSIDE if value == "0" else f"I-{class_}" for value in values] if name else None)
    ends = [number for number, word in enumerate(words, start=1) if word == "."]
    for number, (start, end) in enumerate(pairwise(dict.fromkeys([0, *ends, len(words)])), start=1):
        sentence = Sentence(f"{abstract}.{number}", tuple(words[start:end]), document=abstract)
        yield sentence, [None if row is None else entities_of(row[start:end]) for row in tags]
