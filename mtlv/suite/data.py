"""Implementation of `mtlv data list | show | fetch | check`; returns lines to print."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mtlv.data import catalog
from mtlv.data.fetch import fetch
from mtlv.data.joined import fold_of_source, sources_of
from mtlv.data.options import DataOptions
from mtlv.data.report import CorpusCheck
from mtlv.errors import DataError
from mtlv.models.aliases import TINY
from mtlv.models.encoder import load_encoder
from mtlv.units.corpora import read_corpus, read_folds

if TYPE_CHECKING:
    from mtlv.data.fetch import Progress
    from mtlv.data.folds import Fold
    from mtlv.data.source import Card, Corpus
    from mtlv.settings import Settings
    from mtlv.settings.data_schema import DataSettings


def list_lines() -> tuple[str, ...]:
    """Return a line per corpus: name, number of labels or kind of task, state, title."""
    width = max(len(name) for name in catalog.names())
    lines = []
    for card in map(catalog.card, catalog.names()):
        kinds = ", ".join(dict.fromkeys(task.kind for task in card.other_tasks))
        labels = f"{len(card.labels)} labels" if card.labels else "your labels"
        lines.append(f"{card.name:<{width}}  {kinds or labels:<11}  {_state(card):<12}  {card.title}")
    return tuple(lines)


def show_lines(name: str) -> tuple[str, ...]:
    """Return a corpus's card: source, licence, citation, its task or labels, and descriptions."""
    card = catalog.card(name)
    out = [
        f"{card.name}: {card.title}",
        f"state       {_state(card)}",
        f"address     {card.address}",
        f"licence     {card.licence}",
        *_wrap("citation    ", card.citation),
        f"metric      {card.main_metric}",
    ]
    for item in card.downloads:
        out += [f"download    {item.url}", f"checksum    {item.sha256 or 'none published'}"]
    out += _wrap("by hand     ", card.by_hand) if card.by_hand else []
    for task in card.other_tasks:
        out.append(f"task        {task.name} ({task.kind}, {task.main_metric})")
        classes = f" Classes: {', '.join(task.classes)}." if task.classes else ""
        out += _wrap("  ", f"{task.description}{classes}")
    if not card.other_tasks:
        out.append(f"labels      {len(card.labels) or 'as in your file'}")
    for label in card.labels:
        out += _wrap(
            "  ", f"{label.name}{f' ({label.code})' if label.code else ''}: {label.description}", "    "
        )
    return tuple(out)


def fetch_lines(
    name: str, folder: Path | None = None, *, progress: Progress | None = None
) -> tuple[str, ...]:
    """Download a corpus into `folder`, or its default folder; return lines to print."""
    card = catalog.card(name)
    if card.generated:
        raise DataError(f"corpus `{name}` is generated", then="no download is needed: just run it")

    return tuple(fetch(card, folder or catalog.location(name), progress=progress))


def check_data(
    data: DataSettings, *, lengths: Callable[[Corpus], NDArray[np.int64] | None] | None = None
) -> Iterator[CorpusCheck]:
    """Read and split the data, and describe each source.

    Args:
        data: the `data` settings.
        lengths: given a source, returns the tokens of each document [N] (None without a tokenizer).

    Raises:
        DataError: a corpus cannot be read. An error in splitting is part of the results, because the counts
            explain it.
    """
    corpus = read_corpus(data)
    problem: DataError | None = None
    folds: tuple[Fold, ...] = ()
    try:
        folds = read_folds(data, corpus)
    except DataError as error:
        problem = error
    for source, (corpus_of_source, first, end) in zip(data.each_source, sources_of(corpus), strict=True):
        splits = folds
        if corpus.members:
            splits = tuple(fold_of_source(fold, corpus_of_source.name, first, end) for fold in folds)
        yield CorpusCheck(
            corpus_of_source,
            splits,
            wanted_folds=data.folds,
            lengths=None if lengths is None else lengths(corpus_of_source),
            max_length=source.max_length,
            pooled=source.window_pooling is not None,
            problem=problem,
        )


def token_lengths(settings: Settings, corpus: Corpus) -> NDArray[np.int64]:
    """Return the tokens of each document [N], with special ones, without truncation.

    Raises:
        EncoderError: the encoder is not available.
    """
    texts = corpus.texts if settings.encoder.name == TINY else ()
    tokenizer = load_encoder(settings.encoder.name, texts=texts, revision=settings.encoder.revision).tokenizer
    columns = [corpus.texts, *filter(None, [corpus.seconds])]
    encode = partial(tokenizer, return_attention_mask=False, return_token_type_ids=False, verbose=False)
    encoded = [encode(list(column))["input_ids"] for column in columns]
    # Counts include the special tokens around a text; a pair has only one at its beginning.
    return np.array([sum(map(len, ids)) - len(ids) + 1 for ids in zip(*encoded, strict=True)])


def _state(card: Card) -> str:
    if card.generated:
        return "generated"
    if not card.downloads and not card.by_hand:
        return "your file"
    return "not downloaded" if catalog.absence(card.name, DataOptions()) else "here"


def _wrap(start: str, text: str, indent: str | None = None) -> list[str]:
    follow = " " * len(start) if indent is None else indent
    return textwrap.wrap(text, 110, initial_indent=start, subsequent_indent=follow)
