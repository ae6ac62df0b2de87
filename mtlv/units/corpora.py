"""Corpora and their splits, by the `data` settings: each read and split once in a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from mtlv.data import catalog
from mtlv.data.folds import Fold
from mtlv.data.joined import join, join_folds, merge
from mtlv.data.options import Columns, DataOptions, check_names
from mtlv.data.source import Corpus
from mtlv.data.splits import follow, followers, group_same_documents, is_plentiful, keep_share, make_folds
from mtlv.errors import DataError, MtlvError
from mtlv.settings import text
from mtlv.settings.data_schema import DataSettings
from mtlv.settings.draft import Draft, Origin

T = TypeVar("T")

UNLABELLED_SHARE = 0.03
"""Share of texts without given labels in the validation part, and in the test part: enough for a loss."""


def options_of(data: DataSettings) -> DataOptions:
    """Return the `data` settings for reading, as plain arguments."""
    return DataOptions(
        path=None if data.path is None else Path(data.path),
        labels=data.labels,
        limit=data.limit,
        documents=data.documents,
        columns=Columns(**data.columns.model_dump()),
        descriptions=dict(data.descriptions),
        parents=None if data.parents is None else Path(data.parents),
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
        """Return the splits of a corpus, with `data.train_share` of the training documents."""

        def kept() -> tuple[Fold, ...]:
            corpus, share, seed = self.corpus(data), data.train_share, data.split_seed
            return tuple(keep_share(corpus, fold, share, seed) for fold in self.splits(data.without_share))

        # not those of a process that only checked, and stored no split
        return self.once((type(self).__name__, "folds", data.model_dump_json()), kept)

    def splits(self, data: DataSettings) -> tuple[Fold, ...]:
        """Return the splits of a corpus, with the whole training part."""
        return self.once(("splits", data.model_dump_json()), lambda: read_folds(data, self.corpus(data)))


def _join(data: DataSettings, corpora: Sequence[Corpus]) -> Corpus:
    corpus = join(corpora)
    check_names("descriptions", data.descriptions, corpus.names, corpus.name)
    return corpus


def read_corpus(data: DataSettings) -> Corpus:
    """Read the corpus of the `data` settings; several corpora are joined."""
    return Corpora().corpus(data)


@contextmanager
def _as_data_errors() -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except (MtlvError, OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(reason) from error


@_as_data_errors()
def read_data_settings(config: Path, name: str) -> DataSettings:
    """Return the `data` settings in the `config.yml` of a run, which messages call `name`.

    Raises:
        DataError: it cannot be read.
    """
    draft = Draft()  # of keys that the config does not have
    document = text.read(config, name).value
    draft.apply_file({"data": document["data"]}, Origin(lambda _: "", Path()))
    return DataSettings.model_validate(draft.values["data"])


@_as_data_errors()
def read_documents(data: DataSettings, path: str | None = None) -> Corpus:
    """Return the corpus of a run, at `path` if it has moved.

    Raises:
        DataError: the corpus is not available, or cannot be read.
    """
    return read_corpus(data if path is None else data.model_copy(update={"path": path}))


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
    return make_folds(corpus, **_fold_arguments(data, corpus), repeats=data.repeats, seed=data.split_seed)


def surely_splits(data: DataSettings, corpus: Corpus) -> bool:
    """Return whether a corpus is so large that its split need not be made to know that it can be made."""
    return is_plentiful(corpus, **_fold_arguments(data, corpus))


def _fold_arguments(data: DataSettings, corpus: Corpus) -> dict[str, Any]:
    labelled = corpus.labelled
    return {
        "test_share": data.test_share if labelled else UNLABELLED_SHARE,
        "validation_share": data.validation_share if labelled else UNLABELLED_SHARE,
        "folds": data.folds,
        "scheme": data.scheme,
    }
