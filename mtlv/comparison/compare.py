"""`mtlv compare`: read runs, build the page and its files, and log them as a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from mtlv.comparison.blocks import Section
from mtlv.comparison.drawing import load_vl_convert
from mtlv.comparison.files import PAGE, own_folder, write_figures, write_page
from mtlv.comparison.load.read_runs import LoadedRuns, read_runs, with_scores
from mtlv.comparison.load.select_runs import SETTINGS, RunQuery, SelectedRuns, choose
from mtlv.comparison.load.texts import has_targets, subgroups_of, texts_of
from mtlv.comparison.parts.costs import DOCUMENTS, cost_unit
from mtlv.comparison.published_numbers import read_expected
from mtlv.comparison.sections import each_section
from mtlv.comparison.sections.answer import answer_of
from mtlv.data.catalog import CORPORA, card
from mtlv.errors import DataError, TrackingError, nearest, shorten
from mtlv.evaluation.compared_runs import SHOWN_AT_FIRST, ComparedRun, Comparison, shown_at_first
from mtlv.evaluation.tuning import Candidate, Tried
from mtlv.evaluation.tuning import choose as choose_values
from mtlv.formatting import many
from mtlv.plan import ascii_slug
from mtlv.reporting.learned_words import warnings
from mtlv.reporting.markdown import describe_page
from mtlv.reporting.suite_table import SuiteMember, as_text
from mtlv.seeding import content_key
from mtlv.settings.identity import settings_key
from mtlv.tracking import RunSpec
from mtlv.tracking.address import is_remote
from mtlv.tracking.mlflow_reader import MlflowReader
from mtlv.tracking.mlflow_tracker import MlflowTracker
from mtlv.tracking.mlflow_user import store_uri
from mtlv.tracking.reader import COMPARISON, SHORTEST_ID, UID, comparison_run, find_by_prefix
from mtlv.units.corpora import read_data_settings, read_documents

if TYPE_CHECKING:
    from mtlv.evaluation.compared_runs import ComparedFold
    from mtlv.settings import Settings
    from mtlv.settings.data_schema import DataSettings
    from mtlv.tracking import Tracker
    from mtlv.tracking.reader import StoredRun

FOLDER = "mtlv-compare"


@dataclass(frozen=True)
class ComparisonOptions:
    """Options of a comparison."""

    query: RunQuery
    # name or id of the run that differences refer to; None: the run with one model per task, or the first
    baseline: str | None = None
    expected: Path | None = None  # CSV of published numbers
    texts: bool = True  # whether to show the texts of documents
    data: str | None = None  # file or folder of the corpus, if it has moved since the runs
    title: str | None = None
    note: Path | None = None  # Markdown for the top of the page
    out: Path | None = None  # folder to write to; None is `mtlv-compare/NAME`
    figures: bool = False  # whether to write figures and tables as files of their own, too
    log: bool = True  # whether to log the page in the store as a run of kind `comparison`


@dataclass(frozen=True)
class Compared:
    """Result of a comparison: the files written, the answer, and the lines for the terminal."""

    comparison: Comparison
    page: Path
    figures: tuple[Path, ...] = ()  # files of figures and tables
    notes: tuple[str, ...] = ()
    run_id: str | None = None
    answer: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the lines with the answer, and where the result is."""
        answer = (self.answer,) if self.answer else ()
        logged = () if self.run_id is None else (f"Logged as run {self.run_id[:8]} of kind `comparison`",)
        files = (f"{len(self.figures)} files of figures and tables are in {self.page.parent}",)
        return *answer, f"Open {self.page} in a browser", *(files if self.figures else ()), *logged

    @property
    def table(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """Return header and rows of the table, as at the end of `mtlv run`."""
        return as_text(_members(self.comparison))


def compare_store(uri: str | None, ask: ComparisonOptions) -> Compared:
    """Run `compare` on an MLflow store.

    Raises:
        MtlvError: as for `compare`, or the store cannot be reached.
    """
    uri = store_uri(uri)
    return compare(MlflowReader(uri), ask, partial(MlflowTracker, uri), remote=is_remote(uri))


def compare(
    reader: MlflowReader, ask: ComparisonOptions, tracker: Callable[[str], Tracker], *, remote: bool = False
) -> Compared:
    """Compare runs.

    If the store is `remote`, a server to which others may write, no local file named by its runs is read,
    because its texts would be logged there.

    Raises:
        TrackingError: runs cannot be found or read, or the result cannot be written.
        DataError: the file of published numbers, or the corpus that `--data` names, is wrong.
    """
    if ask.figures:
        load_vl_convert()
    note = "" if ask.note is None else _read_note(ask.note)
    chosen = choose(reader, ask.query)
    loaded, chosen, tried = keep_best_runs(read_runs(reader, chosen.runs), chosen)
    baseline = _baseline(loaded.runs, chosen, ask.baseline)
    comparison = replace(_comparison(reader, ask, chosen, loaded, baseline.key), tried=tried, note=note)
    stored = next(run for run in chosen.runs if run.id == baseline.run_id)
    comparison, problem = _with_documents(reader, ask, comparison, stored, remote=remote)
    sections = list(each_section(comparison))
    folder = ask.out or own_folder(Path(FOLDER) / ascii_slug(comparison.title), comparison)
    files, figures = _write(comparison, sections, folder, with_figures=ask.figures)
    run_id, answer = None, answer_of(sections)
    if ask.log:
        spec = _run_of(comparison, [run.tags.get(UID, "") for run in chosen.runs], ask)
        run_id = _log(tracker(chosen.experiment), spec, comparison, files, answer)
    return Compared(comparison, folder / PAGE, tuple(figures), (problem,) if problem else (), run_id, answer)


def _read_note(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        then = "name a text file in UTF-8 with `--note` (in Python `note=`)"
        raise TrackingError(f"the note `{path}` cannot be read", got=error, then=then) from error


def _comparison(
    reader: MlflowReader, ask: ComparisonOptions, chosen: SelectedRuns, loaded: LoadedRuns, baseline: str
) -> Comparison:
    """Build the comparison without the documents' texts."""
    loaded = with_scores(reader, loaded, shown_at_first(loaded.runs, baseline))
    count = many(len(loaded.runs), "run") if len(loaded.runs) > 1 else loaded.runs[0].name
    comparison = Comparison(
        title=ask.title or f"{chosen.experiment}: {count}",
        runs=loaded.runs,
        tasks=loaded.tasks,
        baseline=baseline,
        warnings=(*chosen.warnings, *loaded.warnings),
        published=() if ask.expected is None else read_expected(ask.expected, loaded.runs),
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    learned = warnings({run.name: comparison.learning(run) for run in comparison.runs}, "“{}”".format)
    return replace(comparison, warnings=(*comparison.warnings, *_generated(loaded), *learned))


def _generated(loaded: LoadedRuns) -> list[str]:
    """Return a warning for each corpus of documents that are not real."""
    params = [run.params for run in loaded.runs]
    of_one = [
        settings.get("data.name", "") for settings in params if settings.get("data.sources", "null") == "null"
    ]
    names = dict.fromkeys([*of_one, *(task.source for task in loaded.tasks)])
    return [
        f"the documents of `{name}` are generated: scores say nothing about real texts"
        for name in names
        if name in CORPORA and card(name).generated
    ]


def _baseline(runs: tuple[ComparedRun, ...], chosen: SelectedRuns, name_or_id: str | None) -> ComparedRun:
    if name_or_id is None:
        alone = (run for run in runs if run.plan and all(sum(map(len, model)) == 1 for model in run.plan))
        return next(alone, runs[0])
    uids = {run.id: run.tags.get(UID) for run in chosen.runs}
    same = [
        run
        for run in runs
        if name_or_id in (run.name, uids.get(run.run_id))
        or (len(name_or_id) >= SHORTEST_ID and run.run_id.startswith(name_or_id))
    ]
    names = [run.name for run in runs]
    like = None if same else find_by_prefix(name_or_id, names)
    if like is not None:
        return next(run for run in runs if run.name == like)
    if not same:
        raise TrackingError(
            f"`--baseline`: no run is named `{name_or_id}`",
            allowed=", ".join(f"`{name}`" for name in names[:SHOWN_AT_FIRST]),
            then=nearest(name_or_id, names),
        )
    return same[0]


def _data_settings(
    reader: MlflowReader, ask: ComparisonOptions, stored: StoredRun, *, remote: bool
) -> DataSettings:
    """Return the `data` settings of the baseline, `stored`.

    They are those of the user's own config, where subgroups may have changed since, or else of the run's
    `config.yml`. For runs of a server, that file is used only with `--data`.

    Raises:
        DataError: there are none, or they cannot be read.
    """
    settings = _config_of(ask, stored)
    if settings is not None:
        return settings.data
    if remote and ask.data is None:
        raise DataError("the runs are on a server, and files they refer to are not read from this machine")
    config = reader.files([(stored, "config.yml")])[0]
    if config is None:
        raise DataError("the run has no `config.yml`")
    return read_data_settings(config, f"`config.yml` of run `{shorten(stored.name)}` ({stored.id})")


def _config_of(ask: ComparisonOptions, stored: StoredRun) -> Settings | None:
    """Return the run's settings from one of the user's configs; None if no config matches."""
    uid, query = stored.tags.get(UID), ask.query
    members = [member.settings for suite in query.suites for member in suite.members]
    if uid in query.uids:
        return members[query.uids.index(uid)]
    return next(
        (settings for settings in members if settings_key(settings) == stored.tags.get(SETTINGS)), None
    )


def _with_documents(
    reader: MlflowReader, ask: ComparisonOptions, comparison: Comparison, stored: StoredRun, *, remote: bool
) -> tuple[Comparison, str]:
    """Add texts and subgroups of the baseline's documents; also return a note on why some are missing."""
    baseline = comparison.run(comparison.baseline)
    tested = [child.test for child in baseline.children if child.test is not None and child.test.ids]
    if not tested:
        return comparison, f"documents are not shown: `{baseline.name}` has no scores in the store"
    is_wanted = {"texts": ask.texts, "subgroups": "data.columns.subgroups" in stored.params}
    try:
        data = _data_settings(reader, ask, stored, remote=remote)
        is_wanted["subgroups"] = any(source.columns.subgroups for source in data.each_source)
        if not any(is_wanted.values()):
            return comparison, ""
        corpus = read_documents(data, ask.data)
    except DataError as error:
        if ask.data is not None:
            raise
        return comparison, _not_shown(is_wanted, f"{error} Give the corpus with `--data`.")
    texts, subgroups = texts_of(corpus), subgroups_of(corpus)
    if not texts.keys() >= {id_ for scores in tested for id_ in scores.ids}:
        return comparison, _not_shown(is_wanted, "the corpus found is not that of the runs")
    comparison = replace(comparison, texts=texts if ask.texts else {})
    if subgroups and not all(has_targets(corpus, scores) for scores in tested):
        return comparison, "subgroups are not shown: the corpus has other targets than the test documents had"
    return replace(comparison, subgroups=subgroups), ""


def _not_shown(is_wanted: Mapping[str, bool], reason: str) -> str:
    names = " and ".join(name for name in is_wanted if is_wanted[name])
    return f"{names} of documents are not shown: {reason}" if names else ""


def _write(
    comparison: Comparison, sections: Sequence[Section], folder: Path, *, with_figures: bool
) -> tuple[list[Path], list[Path]]:
    """Return the paths of the page and its numbers, and those of the figures and tables."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = write_page(comparison, sections, folder)
        return files, write_figures(comparison, sections, folder) if with_figures else []
    except OSError as error:
        raise TrackingError(
            f"the page cannot be written to {folder}",
            got=error.strerror,
            then="choose another folder with `--out` (in Python `folder=`)",
        ) from error


def _run_of(comparison: Comparison, uids: Sequence[str], ask: ComparisonOptions) -> RunSpec:
    """Return the run to log into: that of the suite with just these members, else one of its own."""
    if ask.baseline is None and ask.title is None and all(uids):
        return comparison_run(uids)
    ids = [run.run_id for run in comparison.runs]
    uid = content_key(["compare", ids, comparison.baseline, comparison.title])
    return RunSpec(uid, f"compare · {comparison.title}", COMPARISON)


def _log(tracker: Tracker, spec: RunSpec, comparison: Comparison, files: list[Path], answer: str) -> str:
    run = tracker.open_run(spec)
    try:
        for path in files:
            tracker.artifact(run, path)
        tracker.describe(run, describe_page(PAGE, answer, _members(comparison)))
    except BaseException as error:
        tracker.close(run, "KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED")
        raise
    tracker.close(run)
    return run


def _members(comparison: Comparison) -> list[SuiteMember]:
    shown = ("test/",) if cost_unit(comparison) is DOCUMENTS else ("test/", "time/", "cost/")

    def figures(child: ComparedFold) -> dict[str, float]:
        return {key.rpartition("/")[2]: child.metrics[key] for key in child.metrics if key.startswith(shown)}

    return [SuiteMember(run.name, tuple(map(figures, run.children))) for run in comparison.runs]


def keep_best_runs(
    loaded: LoadedRuns, selected: SelectedRuns
) -> tuple[LoadedRuns, SelectedRuns, tuple[Tried, ...]]:
    """Leave out runs with values that were tried for a run and are not the best on validation.

    Test scores choose nothing. Returned are what is compared, and what was tried.
    """
    pairs = [(run, of) for run in loaded.runs for of in selected.tuned.get(run.run_id, ())]
    tried = choose_values([_candidate(run, of) for run, of in pairs])
    kept = {run.run_id for (run, _), trial in zip(pairs, tried, strict=True) if trial.chosen}
    left = {run.run_id for run, _ in pairs} - kept - selected.asked
    runs = [run for run in loaded.runs if run.run_id not in left]
    compared = tuple(replace(run, key=f"r{number}") for number, run in enumerate(runs))
    stored = [run for run in selected.runs if run.id not in left]
    return replace(loaded, runs=compared), replace(selected, runs=stored), tuple(tried)


def _candidate(run: ComparedRun, of: tuple[int, int]) -> Candidate:
    scores = {child.pair: fmean(child.kept.values()) for child in run.children if child.kept}
    return Candidate(of, run.name, scores, run.status == "FINISHED")
