"""The texts of a run's corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.errors import DataError, MtlvError
from mtlv.settings import text
from mtlv.settings.data_schema import DataSettings
from mtlv.settings.draft import Draft, Origin
from mtlv.units.corpora import read_corpus

if TYPE_CHECKING:
    from mtlv.data.source import Corpus


def read_texts(config: Path, name: str, path: str | None = None) -> dict[str, str]:
    """Return the texts of the corpus named in a run's `config.yml`, by document id.

    Args:
        config: the file.
        name: its name in messages.
        path: path of the corpus, if it has moved.

    Raises:
        DataError: the corpus is not available, or cannot be read.
    """
    moved = {} if path is None else {"path": path}
    try:
        draft = Draft()  # of keys that the config does not have
        document = text.read(config, name).value
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
