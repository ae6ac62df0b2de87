"""Comparison of runs on one page."""

from __future__ import annotations

import shutil
from dataclasses import replace
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv.api.arguments import of_type
from mtlv.api.result import Result
from mtlv.api.training import SuiteRun
from mtlv.comparison.compare import Compared, ComparisonOptions, compare_store
from mtlv.comparison.load.select_runs import RunQuery
from mtlv.comparison.ranking import recommend_run
from mtlv.errors import ConfigError, TrackingError
from mtlv.settings import Suite
from mtlv.settings.load import EXPERIMENT
from mtlv.tracking.mlflow_user import without_autologging

if TYPE_CHECKING:
    import pandas as pd


class ComparisonPage:
    """A page that compares runs."""

    def __init__(self, compared: Compared) -> None:
        self._compared = compared

    @property
    def path(self) -> Path:
        """Path of the page, one HTML file that needs no network."""
        return self._compared.page

    @property
    def folder(self) -> Path:
        """Folder of the page, of its numbers in `comparison.json`, and of the files of `figures=True`."""
        return self._compared.page.parent

    @property
    def answer(self) -> str:
        """What to learn together, why, and how sure that is; for transfers, what was found; empty if the runs
        do not allow an answer."""
        return self._compared.answer

    @property
    def recommended(self) -> str | None:
        """Name of the recommended run; None if the runs do not allow an answer."""
        run = recommend_run(self._compared.comparison)
        return None if run is None else run.name

    def to_frame(self) -> pd.DataFrame:
        """Return one row per run and one column per tracked metric, those of the test set (`test/...`) first:
        means over folds and seeds."""
        import pandas as pd

        rows = []
        for run in self._compared.comparison.runs:
            keys = dict.fromkeys(key for child in run.children for key in child.metrics)
            means = {
                key: pd.Series([child.metrics.get(key) for child in run.children], dtype=float).mean()
                for key in keys
            }
            rows.append({"run": run.name, **means})
        frame = pd.DataFrame(rows).set_index("run")
        return frame[sorted(frame.columns, key=lambda key: not key.startswith("test/"))]

    def save(self, path: str | Path) -> Path:
        """Copy the page to `path` and return it.

        Raises:
            TrackingError: it cannot be written there.
        """
        try:
            return Path(shutil.copyfile(self.path, path))
        except OSError as error:
            then = "name a file in an existing folder"
            raise TrackingError(f"`{path}` cannot be written", got=error.strerror, then=then) from error

    def __repr__(self) -> str:
        return f"ComparisonPage({self._compared.comparison.title!r}, {str(self.path)!r})"

    def _repr_html_(self) -> str:
        page = escape(self.path.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="800" style="border:0"></iframe>'


@without_autologging()
def compare(
    *results: Result | SuiteRun,
    baseline: Result | None = None,
    title: str | None = None,
    note: str | Path | None = None,
    folder: str | Path | None = None,
    figures: bool = False,
    log: bool = False,
) -> ComparisonPage:
    """Compare trained results on one page.

    Args:
        results: one result or more, or those of `mtlv.run`, tracked in one store.
        baseline: result to which the others are compared; None uses the one that learns each task separately,
            or the first.
        title: title of the page.
        note: file with your notes in Markdown, for the top of the page.
        folder: destination; None is `mtlv-compare/TITLE` in the working folder.
        figures: whether to write each figure as SVG, PNG and CSV, and each table as CSV, too.
        log: whether to log the page as a run as well.

    Raises:
        ConfigError: there is no result, or they are in different stores.
        DataError: one is no result.
        TrackingError: a run or the note cannot be read, the page cannot be written, or the package for
            `figures` is not installed.
    """
    listed = (result.results if isinstance(result, SuiteRun) else (result,) for result in results)
    selected = (*chain.from_iterable(listed), *([baseline] if baseline else []))
    for result in selected:
        several = isinstance(result, (list, tuple))
        then = "write `mtlv.compare(*results)`" if several else "make one with `mtlv.train` or `mtlv.run`"
        of_type(result, Result, "mtlv.compare", then)
    if not selected:
        raise ConfigError(["`mtlv.compare` takes one result or more, and none is given"])
    members = [replace(result.member, tuned=(None,)) for result in selected]  # each is compared
    uris = {member.settings.tracking.uri for member in members}
    if len(uris) != 1:
        raise ConfigError(["the results are in different tracking stores; train them with one `folder`"])
    suites = tuple(
        Suite(member.settings.experiment or EXPERIMENT, (member,), Path("mtlv.compare")) for member in members
    )
    options = ComparisonOptions(
        RunQuery(suites, uids=tuple(result.uid for result in selected)),
        baseline=None if baseline is None else baseline.uid,
        title=title,
        note=None if note is None else Path(note),
        out=None if folder is None else Path(folder),
        figures=figures,
        log=log,
    )
    return ComparisonPage(compare_store(uris.pop(), options))
