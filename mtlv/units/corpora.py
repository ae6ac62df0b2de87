"""Implementation of `mtlv data list | show | fetch | check`; returns lines to print."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mtlv.data import catalog
from mtlv.data.fetch import fetch
from mtlv.data.folds import Fold
from mtlv.data.joined import fold_of_source, join, join_folds, merge, sources_of
from mtlv.data.options import Columns, DataOptions, check_names
from mtlv.data.report import report_lines
from mtlv.data.source import Card, Corpus
from mtlv.data.splits import follow, followers, group_same_documents, is_plentiful, make_folds
from mtlv.errors import DataError, MtlvError

if TYPE_CHECKING:
    from mtlv.data.fetch import Progress
    from mtlv.data.report import Lengths
    from mtlv.settings.data_schema import DataSettings

T = TypeVar("T")

HELD_TEXTS = 0.03
"""Share of texts without given labels in the validation part, and in the test part: enough for a loss."""


@dataclass(frozen=True)
class CorpusCheck:
    """Result of `mtlv data check`.

    Args:
        lines: lines to print.
        problem: error if the corpus could not be split; else None.
    """

    lines: tuple[str, ...]
    problem: DataError | None = None


def options_of(data: DataSettings) -> DataOptions:
    """Return the `data` settings for reading, as plain arguments."""
    return DataOptions(
        path=None if data.path is None else Path(data.path),
        labels=data.labels,
        limit=data.limit,
        documents=data.documents,
        columns=Columns(**data.columns.model_dump()),
        descriptions=dict(data.descriptions),
        of_several=data.of_several,
        seed=data.split_seed,
        alias=data.alias,
        hub=data.hub,
        text_only=data.text_only,
    )


class Corpora:
    """Corpora of one process, each read and split once. Returned objects are shared: do not modify them.

    Args:
        corpora: others whose results are shared.
    """

    def __init__(self, corpora: Corpora | None = None) -> None:
        self._results: dict[tuple, object] = {} if corpora is None else corpora._results

    def once(self, key: tuple, make: Callable[[], T]) -> T:
        """Return the result of `make`, called once for each key; failures are not retried."""
        if key not in self._results:
            try:
                self._results[key] = make()
            except MtlvError as error:
                self._results[key] = error
        result = self._results[key]
        if isinstance(result, MtlvError):
            raise result
        return result  # type: ignore[return-value]

    def read(self, name: str, options: DataOptions) -> Corpus:
        """Return one corpus of the catalog."""
        return self.once(("source", name, repr(options)), lambda: catalog.load(name, options))

    def corpus(self, data: DataSettings) -> Corpus:
        """Return the corpus of the `data` settings; several corpora are joined."""
        options = [(source.name, options_of(source)) for source in data.each_source]
        if data.sources is None:
            return self.read(*options[0])
        key = ("joined", repr(options), *sorted(data.descriptions))
        return self.once(key, lambda: _join(data, [self.read(*one) for one in options]))

    def folds(self, data: DataSettings) -> tuple[Fold, ...]:
        """Return the splits of a corpus."""
        return self.once(("folds", data.model_dump_json()), lambda: read_folds(data, self.corpus(data)))


def _join(data: DataSettings, corpora: Sequence[Corpus]) -> Corpus:
    corpus = join(corpora)
    check_names("descriptions", data.descriptions, corpus.names, corpus.name)
    return corpus


def read_corpus(data: DataSettings) -> Corpus:
    """Read the corpus of the `data` settings; several corpora are joined."""
    return Corpora().corpus(data)


def read_folds(data: DataSettings, corpus: Corpus) -> tuple[Fold, ...]:
    """Split a corpus by the `data` settings.

    Joined corpora are split separately, but those of the same documents alike, and relations as the entities
    of their texts, so that none of these is left out because of another one's test part.
    """
    if corpus.members:
        folds: dict[int, Sequence[Fold]] = {}
        leaders = followers(corpus.members)
        for numbers in group_same_documents(corpus.members):
            if numbers[0] in leaders:
                continue
            made = read_folds(data, merge([corpus.members[number] for number in numbers]))
            folds |= {number: [replace(fold, notes=()) for fold in made] for number in numbers}
            folds[numbers[0]] = made
        for number, leader in leaders.items():
            folds[number] = follow(corpus.members[number], corpus.members[leader], folds[leader])
        folds_of_members = [folds[number] for number in range(len(folds))]
        return join_folds(corpus.members, folds_of_members, repeats=data.repeats)
    return make_folds(corpus, **_split(data, corpus), repeats=data.repeats, seed=data.split_seed)


def surely_splits(data: DataSettings, corpus: Corpus) -> bool:
    """Return whether a corpus is so large that its split need not be made to know that it can be made."""
    return is_plentiful(corpus, **_split(data, corpus))


def _split(data: DataSettings, corpus: Corpus) -> dict[str, Any]:
    labelled = corpus.labelled
    return {
        "test_share": data.test_share if labelled else HELD_TEXTS,
        "validation_share": data.validation_share if labelled else HELD_TEXTS,
        "folds": data.folds,
        "scheme": data.scheme,
    }


def list_lines() -> tuple[str, ...]:
    """Return a line per corpus: name, number of labels or kind of task, state, title."""
    width = max(len(name) for name in catalog.names())
    return tuple(_list_line(catalog.card(name), width) for name in catalog.names())


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
    data: DataSettings, *, lengths: Callable[[Corpus], Lengths | None] | None = None
) -> Iterator[CorpusCheck]:
    """Read and split the data, and describe each source.

    Args:
        data: the `data` settings.
        lengths: given a source, returns a function that counts tokens (None without a tokenizer).

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
        lines = report_lines(
            corpus_of_source,
            [fold_of_source(fold, corpus_of_source.name, first, end) for fold in folds]
            if corpus.members
            else folds,
            wanted_folds=data.folds,
            lengths=None if lengths is None else lengths(corpus_of_source),
            max_length=source.max_length,
        )
        yield CorpusCheck(tuple(lines), problem)


def _list_line(card: Card, width: int) -> str:
    kinds = ", ".join(dict.fromkeys(task.kind for task in card.other_tasks))
    labels = f"{len(card.labels)} labels" if card.labels else "your labels"
    return f"{card.name:<{width}}  {kinds or labels:<11}  {_state(card):<12}  {card.title}"


def _state(card: Card) -> str:
    if card.generated:
        return "generated"
    if not card.downloads and not card.by_hand:
        return "your file"
    return "not downloaded" if catalog.absence(card.name, DataOptions()) else "here"


def _wrap(start: str, text: str, indent: str | None = None) -> list[str]:
    follow = " " * len(start) if indent is None else indent
    return textwrap.wrap(text, 110, initial_indent=start, subsequent_indent=follow)
