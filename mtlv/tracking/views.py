"""Views of an experiment's runs, independent of MLflow: runs, columns and charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["line", "bar", "scatter", "image", "difference"]


@dataclass(frozen=True)
class Chart:
    """One chart over the runs of a view.

    Args:
        kind: `line` over the epochs, `bar` of last values, `scatter` of two metrics, `image` for images of
            runs, `difference` for all differences.
        keys: metric keys, all in this chart; for `scatter` x and y, each a metric or `params.KEY`; for
            `image` the keys of the images; for `difference` the uid of the run that the others differ from.
    """

    kind: Kind
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    """A view that users can choose by name."""

    name: str  # displayed name, which identifies the view
    kind: str = ""  # kind of its runs (`suite member`, `fold`); empty means all
    columns: tuple[str, ...] = ()  # columns of the table: `params.KEY`, `tags.KEY`, `metrics.KEY`
    # charts by section title, in this order
    sections: Mapping[str, tuple[Chart, ...]] = field(default_factory=dict)
    closed: tuple[str, ...] = ()  # sections that the UI adds, which stay collapsed below
    only: str = ""  # further conditions on the runs, in the UI's search syntax
    best: str = ""  # column whose highest value is first; empty means that the newest run is first

    @property
    def id(self) -> str:
        """Part of the view's address."""
        return f"mtlv-{self.name.casefold()}"
