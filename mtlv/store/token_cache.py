"""Tokens of corpora kept in the store, so that a second run does not tokenise again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.data.token_file import DamagedTokens, read_tokens, write_tokens
from mtlv.seeding import content_key

if TYPE_CHECKING:
    from mtlv.data.source import Corpus
    from mtlv.data.tokens import Tokens

ENDING = ".tokens"
PATIENCE = 3600  # seconds in which a file that is being written is surely done


class TokenCache:
    """A folder with a file for each corpus, tokenizer and way of reading.

    Args:
        folder: made when the first file is written.
        warn: hears of files that are damaged.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None] = lambda _: None) -> None:
        self.folder, self._warn = folder, warn
        self.used: set[Path] = set()

    def once(
        self, corpus: Corpus, tokenizer: Sequence[str], how: Mapping[str, object], make: Callable[[], Tokens]
    ) -> Tokens:
        """The corpus's tokens from their file, or from `make`, which then is kept.

        They are on disk and read-only. A file that is damaged is made again, and `warn` hears of it; where
        none can be written, the tokens are in memory.

        Args:
            corpus: that is tokenised.
            tokenizer: what tells the one that does it from others, as `tokenizer_key` has it.
            how: what besides the two says which tokens come out.
            make: tokenises.
        """
        path = self.folder / f"{content_key([corpus.digest, list(tokenizer), dict(how)])}{ENDING}"
        self.used.add(path)
        try:
            found = read_tokens(path)
        except DamagedTokens as damaged:
            found = None
            self._warn(f"the file of tokens {path} is damaged ({damaged}); they are made again")
        if found is not None:
            return found
        made = make()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_tokens(path, made)
            return read_tokens(path) or made
        except (OSError, DamagedTokens):  # a full disk, or one that may not be written: it only costs time
            return made

    def half_written(self) -> Iterator[Path]:
        """Files of processes that ended while they wrote them."""
        for path in sorted(self.folder.glob(f".*{ENDING}-*")):
            if time.time() - path.stat().st_mtime > PATIENCE:
                yield path

    def unused(self) -> Iterator[Path]:
        """Files that nobody asked this object for."""
        yield from sorted(set(self.folder.glob(f"*{ENDING}")) - self.used)
