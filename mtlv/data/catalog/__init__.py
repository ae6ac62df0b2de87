"""The corpora that `mtlv` can read: one module each, in this folder or in another package.

Modules in this folder are found by listing it, those of other packages by the entry point `mtlv.corpora`;
`standoff`, generated corpora and those in CoNLL files (objects, no modules) have folders of their own.
A module has `CARD` (a `Card`) and `load(path, options)`, which returns a `Corpus` with all its labels; `path`
is None for a generated corpus, or one of a hub.
"""

from __future__ import annotations

import os
import pkgutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mtlv.data.options import DataOptions, select
from mtlv.data.source import Card, Corpus, text_task
from mtlv.data.texts.next_sentence import next_sentences, pair_tasks
from mtlv.errors import MAX_ALLOWED_LETTERS, DataError, nearest, shorten
from mtlv.plan.task import Task
from mtlv.registries import Registry

IN_CONLL_FILES = ("bc2gm", "bc5cdr_chem", "bc5cdr_disease", "conll", "jnlpba", "ncbi_disease")
CORPORA: Registry[Any] = Registry(
    "mtlv.corpora",
    {module.name: f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)}
    | {name: f"mtlv.data.conll.corpora:{name}" for name in IN_CONLL_FILES}
    | {name: f"mtlv.data.generated.{name}" for name in ("notes", "synthetic")}
    | {"standoff": "mtlv.data.standoff", "ebmnlp_elements": f"{__name__}.ebmnlp:elements"},
)
LEARNED_COLUMNS = ("labels", "target", "tags")  # keys of columns that are learned, each as it is


@cache  # called thousands of times by a suite
def names() -> tuple[str, ...]:
    """Return the names of all corpora, sorted."""
    return tuple(sorted(CORPORA))


def card(name: str) -> Card:
    """Return the card of a corpus, which describes it without reading it."""
    known: Card = _module(name).CARD
    return known


def location(name: str, options: DataOptions | None = None) -> Path:
    """Return the path of a corpus: `data.path`, or `$MTLV_DATA/NAME`, or `~/.cache/mtlv/NAME`."""
    if options is not None and options.path is not None:
        return Path(os.path.expanduser(options.path))
    home = os.environ.get("MTLV_DATA")
    return (Path(os.path.expanduser(home)) if home else Path.home() / ".cache" / "mtlv") / name


def tasks(name: str, options: DataOptions) -> tuple[Task, ...]:
    """Return the T tasks that a run would have, without reading documents if the card has them."""
    called = options.alias or name
    if isinstance(options.text_only, str):
        return pair_tasks(called, options.text_only)
    if options.text_only:
        return (text_task(f"{called}.text", called),)
    known = card(name).tasks()
    return select(known, options, name) if known else load(name, options).tasks


def absence(name: str, options: DataOptions) -> str:
    """Return how to get a corpus of the catalog that is missing; empty if it is available.

    Raises:
        DataError: the user's `data.path` does not exist.
    """
    known = card(name)
    if options.path is not None or not (known.downloads or known.by_hand):
        _existing(name, known, options)
        return ""
    place = location(name, options)
    below = place.glob("[!.]*") if os.path.isdir(place) else ()  # glob raises an error for too long names
    return "" if os.path.isfile(place) or any(below) else str(_nowhere(name, known, options))


def load(name: str, options: DataOptions) -> Corpus:
    """Read a corpus, keep the selected labels, and sample `limit` documents, regardless of their labels.

    Raises:
        DataError: it does not exist, a file cannot be read, a label is unknown, or no document has a label.
    """
    module = _module(name)
    corpus: Corpus = module.load(_existing(name, module.CARD, options), options)
    chosen = select(corpus.tasks, options, name)
    targets = {task.name: corpus.targets[task.name] for task in chosen}
    corpus = replace(corpus, name=options.alias or corpus.name, tasks=chosen, targets=targets)
    if isinstance(options.text_only, str):
        corpus = next_sentences(corpus, options.seed, options.text_only)
    elif options.text_only or not corpus.targeted:  # its task has the name of the corpus, maybe an alias
        corpus = corpus.text_only()
    if options.limit is not None and options.limit < len(corpus):
        drawn = np.random.default_rng(options.seed).permutation(len(corpus))[: options.limit]
        note = f"{options.limit} of {len(corpus)} documents kept (data.limit)"
        corpus = corpus.take(np.sort(drawn), note=note)
    return _note_constant_targets(corpus, options)


def _module(name: str) -> Any:
    if name not in CORPORA:
        raise DataError(
            "`data.name` is no known corpus",
            got=name,
            allowed=", ".join(names()),
            then=nearest(name, names()),
        )
    return CORPORA[name]


def _existing(name: str, card: Card, options: DataOptions) -> Path | None:
    if card.generated or (card.hub and options.hub is not None and options.path is None):
        return None
    if options.path is None and not card.downloads and not card.by_hand:
        then = "set `data.path` to it"
        if card.hub:
            then += ", or `data.hub` to its name"
        raise DataError(f"corpus `{name}` needs a file", then=then)
    path = location(name, options)
    if not os.path.exists(path):  # Path.exists raises an error if a name is too long
        raise _nowhere(name, card, options)
    return path


def _nowhere(name: str, card: Card, options: DataOptions) -> DataError:
    fetch = f"run `mtlv data fetch {name}` or " if card.downloads else ""
    if card.by_hand and not card.downloads:
        fetch = f"{card.by_hand}; then "
    where = "`data.path`" if options.path is not None else f"the place of corpus `{name}`"
    return DataError(
        f"nothing is at {where}",
        got=str(location(name, options)),
        then=f"{fetch}set `data.path` to the file or folder",
    )


def _note_constant_targets(corpus: Corpus, options: DataOptions) -> Corpus:
    """Return the corpus with a note on each label that all documents have.

    Raises:
        DataError: a task cannot be learned, because all documents have the same target.
    """
    key = next((key for key in LEARNED_COLUMNS if getattr(options.columns, key) is not None), "")
    word = "column" if key else "label"
    column = getattr(options.columns, key) if key in ("target", "tags") else None
    sentences = {task: f"{word} `{shorten(column or task)}` {text}" for task, text in corpus.constant.items()}
    bare = [sentences[task] for task in corpus.unlearnable()]
    if bare:
        setting = f"`data.columns.{key}`" if key else "`data.labels`"
        then = f"name another in {setting}" if column else f"leave it out of {setting}"
        if options.limit is not None:
            then += ", or raise `data.limit`"
        raise DataError(
            f"corpus `{corpus.name}` cannot be learned: {shorten(', '.join(bare), MAX_ALLOWED_LETTERS)}",
            then=then,
        )
    notes = [f"{text}, so that a constant answer is right" for text in sentences.values()]
    return replace(corpus, notes=(*notes, *corpus.notes)) if notes else corpus
