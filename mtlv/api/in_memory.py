"""Documents in memory, written to files for training."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mtlv.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class InMemory:
    """Documents in memory, which can be written to a file or folder.

    Args:
        what: what the documents were given as, for messages.
        save: function that writes them to a path.
        suffix: suffix of the path.
    """

    what: str
    save: Callable[[Path], None]
    suffix: str

    def write(self, path: Path) -> None:
        """Write atomically; a path that exists already is kept.

        Raises:
            DataError: it cannot be written.
        """
        if path.exists():
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=path.parent, prefix=".corpus-") as name:
                made = Path(name) / path.name
                self.save(made)
                os.replace(made, path)
        except OSError as error:
            if not path.exists():  # another process may have written the same
                raise DataError(
                    f"the corpus cannot be written to {path.parent}",
                    got=error.strerror or str(error),
                    then="choose another `folder`",
                ) from error

    def name_object(self, text: str) -> str:
        """Return a message about the file as one about the object that was given."""
        file = re.escape(f"`{self.what}{self.suffix}`")
        text = (
            text.replace("; check the file", "")
            .replace("; check `data.path`", "")
            .replace("`data.alias`", "argument `name`")
        )
        text = re.sub(rf"{file} (row \d+)", rf"\1 of the {self.what}", text.removeprefix("arguments: "))
        return re.sub(file, f"the {self.what}", text)


def with_json(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with lists of lists, such as entities, as JSON: in Parquet, a list has one type."""
    import numpy as np

    listed = (list, tuple, np.ndarray)

    def written(cell: Any) -> Any:
        if not isinstance(cell, listed):
            return cell
        return json.dumps(cell, default=lambda of: np.asarray(of).tolist()) if len(cell) else None

    table = frame.copy(deep=False)
    for name in frame.select_dtypes(object):
        if any(isinstance(part, listed) for cell in frame[name] if isinstance(cell, listed) for part in cell):
            table[name] = frame[name].map(written)
    return table
