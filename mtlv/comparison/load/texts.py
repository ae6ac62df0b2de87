"""The texts of a run's corpus, read in another process: a large archive takes seconds.

The corpus is named by a file of a store, which anybody may have written: the process has limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.errors import DataError, MtlvError
from mtlv.hardware import free_memory
from mtlv.processes import ChildProcess, ProcessEnded, parent
from mtlv.units.corpora import read_corpus

if TYPE_CHECKING:
    from mtlv.data.source import Corpus

PATIENCE = 600.0  # maximum seconds for reading a corpus
LEAST_MEMORY = 1_000_000_000  # bytes: minimum memory limit; otherwise half of the free memory


@dataclass(frozen=True)
class RunConfig:
    """The `config.yml` of a run."""

    file: Path
    name: str  # its name in messages
    path: str | None = None  # path of the corpus, if it has moved


@dataclass(frozen=True)
class TextsProcess:
    """A corpus being read in another process."""

    config: RunConfig
    process: ChildProcess

    def texts(self) -> dict[str, str]:
        """Wait for the texts of all documents and return them by id.

        Raises:
            DataError: the corpus is not available, or cannot be read.
        """
        try:
            with self.process.within(PATIENCE):
                texts, problem = self.process.receive()
        except ProcessEnded:
            if self.process.was_killed():
                raise DataError(
                    f"the corpus of {self.config.name} cannot be read",
                    got="its process was killed",
                    allowed=f"{PATIENCE:.0f} seconds and half of the memory that is free",
                ) from None
            return read(self.config)  # the process could not be started
        if problem:
            raise DataError(problem)
        return dict(texts)


@contextmanager
def reading(config: RunConfig) -> Iterator[TextsProcess]:
    """Start reading; reading stops when the block ends."""
    process = ChildProcess("mtlv.comparison.load.texts")
    process.send(config)
    try:
        yield TextsProcess(config, process)
    finally:
        process.end()


def read(config: RunConfig) -> dict[str, str]:
    """Return the texts of the corpus named in a run's `config.yml`, by document id.

    Raises:
        DataError: the corpus is not available, or cannot be read.
    """
    from mtlv.settings import text
    from mtlv.settings.data_schema import DataSettings
    from mtlv.settings.draft import Draft, Origin

    moved = {} if config.path is None else {"path": config.path}
    try:
        draft = Draft()  # configs of earlier releases have fewer keys
        document = text.read(config.file, config.name).value
        draft.apply_file({"data": document["data"]}, Origin(lambda _: "", Path()))
        corpus = read_corpus(DataSettings.model_validate({**draft.values["data"], **moved}))
    except DataError:
        raise
    except (MtlvError, OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(reason) from error
    members = [(f"{member.name}/", member) for member in corpus.members] or [("", corpus)]
    return {
        f"{prefix}{id_}": text
        for prefix, member in members
        if member.targeted  # others may be too large, and no document of them is shown
        for id_, text in zip(member.ids, _whole(member), strict=True)
    }


def _whole(corpus: Corpus) -> list[str]:
    """Return the text of each document; for pairs, both texts on separate lines."""
    seconds = corpus.seconds
    if seconds is None:
        return list(corpus.texts)
    return [f"{first}\n{second}" for first, second in zip(corpus.texts, seconds, strict=True)]


def _answer(config: RunConfig) -> tuple[dict[str, str], str]:
    try:
        return read(config), ""
    except DataError as error:
        return {}, str(error)


def main() -> None:
    """Read one corpus, as a separate process."""
    with parent(memory=max(LEAST_MEMORY, (free_memory() or 0) // 2)) as connection:
        connection.send(_answer(connection.receive()))
