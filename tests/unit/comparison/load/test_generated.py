"""The page names corpora whose documents are not real, alone or among others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mtlv.comparison import compare


@pytest.mark.parametrize(
    ("params", "sources", "named"),
    [
        ({"data.name": "synthetic"}, [""], True),
        ({"data.name": "table"}, [""], False),
        ({"data.name": "of another package"}, [""], False),
        ({"data.name": "synthetic", "data.sources": "[...]"}, ["hoc", "ohsumed"], False),  # it is the default
        ({"data.name": "hoc", "data.sources": "[...]"}, ["hoc", "synthetic"], True),
    ],
)
def test_generated_documents_are_called_so(params: dict[str, str], sources: list[str], named: bool) -> None:
    loaded: Any = SimpleNamespace(
        runs=[SimpleNamespace(params=params)] * 2, tasks=[SimpleNamespace(source=s) for s in sources]
    )
    assert len(compare._generated(loaded)) == named
