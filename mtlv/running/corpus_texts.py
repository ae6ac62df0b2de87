"""The texts of a run's corpus, read in a process beside this one: a large archive takes seconds."""

from __future__ import annotations

import pickle  # nosec B403 # between a process and the child it started, over their own pipes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING

import yaml

from mtlv.beside import asked_and_answers, begin, end
from mtlv.errors import DataError, MtlvError

if TYPE_CHECKING:
    from mtlv.data.source import Corpus


@dataclass(frozen=True)
class Reading:
    """A corpus that is being read.

    Args:
        config: content of the run's `config.yml`.
        path: of the corpus, where it has moved.
        process: reads it.
    """

    config: str
    path: str | None
    process: Popen[bytes]

    def texts(self) -> dict[str, str]:
        """All documents by id; waits for them.

        Raises:
            DataError: the corpus is not at hand, or cannot be read.
        """
        assert self.process.stdout is not None
        try:
            texts, problem = pickle.load(self.process.stdout)  # nosec B301 # our own child writes it
        except (OSError, EOFError, pickle.UnpicklingError):  # it could not start, or was ended
            return read(self.config, self.path)
        if problem:
            raise DataError(problem)
        return dict(texts)


@contextmanager
def reading(config: str, path: str | None) -> Iterator[Reading]:
    """Begin to read; what is not asked for until the block ends is not read to its end."""
    process = begin("mtlv.running.corpus_texts")
    assert process.stdin is not None
    try:
        pickle.dump((config, path), process.stdin)
        process.stdin.flush()
    except OSError:
        pass  # it has ended already; `texts` finds out
    try:
        yield Reading(config, path, process)
    finally:
        end(process)


def read(config: str, path: str | None) -> dict[str, str]:
    """All documents of the corpus that a run's `config.yml` names, by id.

    Raises:
        DataError: the corpus is not at hand, or cannot be read.
    """
    from mtlv.running.corpora import read_corpus
    from mtlv.settings.draft import Draft, Origin
    from mtlv.settings.schema import Data

    try:
        draft = Draft()  # an earlier run has fewer keys
        draft.apply_file({"data": yaml.safe_load(config)["data"]}, Origin(lambda _: "", Path()))
        content = draft.values["data"]
        corpus = read_corpus(Data.model_validate(content if path is None else {**content, "path": path}))
    except DataError:
        raise
    except (MtlvError, OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(said) from error
    return dict(zip(corpus.ids, _whole(corpus), strict=True))


def _whole(corpus: Corpus) -> list[str]:
    """The text of each document; both texts of a pair, on a line each."""
    if corpus.members:
        return [text for member in corpus.members for text in _whole(member)]
    seconds = corpus.seconds
    if seconds is None:
        return list(corpus.texts)
    return [f"{first}\n{second}" for first, second in zip(corpus.texts, seconds, strict=True)]


def _answer(config: str, path: str | None) -> tuple[dict[str, str], str]:
    try:
        return read(config, path), ""
    except DataError as error:
        return {}, str(error)


if __name__ == "__main__":
    with asked_and_answers() as (asked, answers):
        pickle.dump(_answer(*pickle.load(asked)), answers)  # nosec B301 # our own parent writes it
