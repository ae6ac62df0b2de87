"""Ready views of an experiment's runs, in words of our own: which runs, which columns, which charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["line", "bar", "scatter", "image", "difference"]


@dataclass(frozen=True)
class Chart:
    """One chart over the runs of a view.

    Args:
        kind: `line` over the epochs, `bar` of last values, `scatter` of two figures, `image` side by side,
            `difference` of all that differs.
        keys: metric keys, all in this chart; of `scatter` x and y, each a metric or `params.KEY`; of `image`
            the pictures' keys.
    """

    kind: Kind
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    """A view that a person can choose by its name.

    Args:
        name: shown, and with another name another view.
        kind: runs of this kind (`suite member`, `fold`) are in it; all where it is empty.
        columns: of the table: `params.KEY`, `tags.KEY`, `metrics.KEY`.
        sections: charts by the title of their section, in this order.
        closed: sections that the page makes by itself, which stay closed below.
        only: further conditions on the runs, as the page's search takes them.
    """

    name: str
    kind: str = ""
    columns: tuple[str, ...] = ()
    sections: Mapping[str, tuple[Chart, ...]] = field(default_factory=dict)
    closed: tuple[str, ...] = ()
    only: str = ""

    @property
    def id(self) -> str:
        """Part of the view's address."""
        return f"mtlv-{self.name.casefold()}"
