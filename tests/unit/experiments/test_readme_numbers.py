"""Every number of the READMEs' results stands in a file of the experiment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from readme_claims import CLAIMS, EXPERIMENTS, ROOT, read_rows

PAGES = {  # folder of the README: the experiments and the part of the page whose numbers these are
    ".": (("openi-minilm",), "## Results"),
    "openi-minilm": (("openi-minilm",), ""),
    "hoc-minilm": (("hoc-minilm",), ""),
    "which-tasks": (("which-tasks", "openi-minilm"), ""),
    "distillation": (("distillation",), ""),
    "mt-bert-biomedical": (("mt-bert-biomedical",), "## What was run"),
    "stilt": (("stilt",), "## What was run"),
    "pretraining": (("pretraining",), ""),
    "blurb-choices": (("blurb-choices",), "## What was run"),
}
TABLES = {  # tables of runs: folder of the README, first words of its part, folder of the results
    "README": (".", "## Results", "openi-minilm/results/longer"),
    "five folds": ("openi-minilm", "## Five folds", "openi-minilm/results/gpu"),
    "one split": ("openi-minilm", "## One split", "openi-minilm/results"),
    "which-tasks": ("which-tasks", "", "which-tasks/results"),
    "hoc-minilm": ("hoc-minilm", "", "hoc-minilm/results"),
    "distillation": ("distillation", "", "distillation/results"),
}
OTHER_TABLES = {  # first cell of a line: a column of the file and its value, columns in the line's order
    "calibration": (
        ("openi-minilm", "## Calibration", "openi-minilm/results/longer/calibration"),
        ("brier", "calibrated", "probability", "share"),
    ),
    "predictors": (
        ("which-tasks", "## Predictors", "which-tasks/results/predictors/predicted_untrained"),
        ("order", "sign", "regret"),
    ),
}
NOT_IN_THE_RESULTS = {  # of the thesis; learning rates whose models were not kept; ln 2
    "openi-minilm": {"0.914", "0.857", "0.915", "0.637"},
    "hoc-minilm": {"0.732", "0.675"},
    "which-tasks": {"0.904", "0.894", "0.0005", "0.001"},
    "distillation": {"0.693"},
}
INTERVAL = (  # with its mean, if that is written before it
    r"(?:([-+]\d+\.\d+) \((?:95% interval over (?:test documents|seeds) )?)?([-+]\d+\.\d+) to ([-+]\d+\.\d+)"
)
FILES = {
    *("overview", "answer", "significance", "tagging_overview", "tagging_significance", "transfer_matrix"),
    *("learning_rate", "calibration", "random_groups", "predicted", "predicted_untrained", "first_seed"),
}
PRINTED = {
    *("score", "score_sd", "f1_macro", "f1_macro_sd", "f1_micro", "subset_accuracy", "hamming_score"),
    *("difference", "low", "high", "mean", "interval", "interval_low", "interval_high"),
    *("documents_low", "documents_high"),
    *("t_p", "t_holm", "p", "bag_of_words", "validation average_precision_macro", "value"),
    *("brier", "calibrated", "order", "sign", "regret", "validation", "test"),
}
METRICS = ("f1_macro", "f1_micro", "subset_accuracy", "hamming_score")


@cache
def section(folder: str, heading: str) -> str:
    """Return the text from a heading to the next one of its level, with one kind of minus sign."""
    place = ROOT if folder == "." else EXPERIMENTS / folder
    text = (place / "README.md").read_text(encoding="utf-8").replace("−", "-")
    return text[text.index(heading) :].split("\n## ")[0] if heading else text


def has_printed(values: NDArray[np.float64], text: str) -> NDArray[np.bool_]:
    """Return which numbers of a file, or 100 times them, round to a printed number."""
    half = 0.5 * 10.0 ** -len(text.partition(".")[2]) + 1e-9
    return (np.abs(values - float(text)) <= half) | (np.abs(100 * values - float(text)) <= half)


@cache
def rows_of(experiments: tuple[str, ...]) -> list[NDArray[np.float64]]:
    """Return the numbers of each row of an experiment's results that a page may print, with both signs.

    Other files and columns are left out: with their many numbers, a wrong one would be among them.
    """
    rows = (
        [float(number) for column in PRINTED & row.keys() for number in numbers(row[column])]
        for name in experiments
        for path in sorted((EXPERIMENTS / name).glob("results/**/*.csv"))
        if path.stem in FILES or name == "mt-bert-biomedical"
        for row in read_rows(path.relative_to(EXPERIMENTS).with_suffix("").as_posix())
    )
    return [np.array([*row, *(-number for number in row)]) for row in rows]


@cache
def intervals_of(experiments: tuple[str, ...]) -> NDArray[np.float64]:
    """Return mean, lower and upper end of each interval of an experiment's results, with both signs."""
    cells = (
        cell
        for name in experiments
        for path in sorted((EXPERIMENTS / name).glob("results/**/*.csv"))
        for row in read_rows(path.relative_to(EXPERIMENTS).with_suffix("").as_posix())
        for cell in (
            *(row.get(column) or "" for column in ("difference", "order", "sign", "validation", "test")),
            *(
                f"{row.get('mean')} {row.get(f'{of}_low')} {row.get(f'{of}_high')}"
                for of in ("documents", "interval")
            ),
            f"{row.get('difference')} {row.get('low')} {row.get('high')}",
            f"nan {row.get('interval')}",
        )
    )
    triples = [[float(number) for number in numbers(cell)] for cell in cells]
    intervals = np.array([triple for triple in triples if len(triple) == 3])
    return np.concatenate([intervals, -intervals[:, [0, 2, 1]]])


def numbers(cell: str) -> Iterator[str]:
    yield from re.findall(r"nan|[-+]?\d+(?:\.\d+)?(?:e-?\d+)?", cell.replace("−", "-"))


@pytest.mark.parametrize("folder", PAGES)
def test_intervals_are_those_of_the_results(folder: str) -> None:
    experiments, heading = PAGES[folder]
    intervals = intervals_of(experiments)
    printed = re.findall(INTERVAL, " ".join(section(folder, heading).split()))
    assert printed
    for mean, low, high in printed:
        fits = has_printed(intervals[:, 1], low) & has_printed(intervals[:, 2], high)
        if mean:
            fits &= has_printed(intervals[:, 0], mean) | np.isnan(intervals[:, 0])
        assert fits.any(), (mean, low, high)


@pytest.mark.parametrize("folder", PAGES)
def test_numbers_printed_together_are_of_one_row(folder: str) -> None:
    experiments, heading = PAGES[folder]
    text = " ".join(section(folder, heading).split()).replace("*", "")
    for one, other in re.findall(r"(\d\.\d{3}) (?:± |\()(\d\.\d{3})", text):
        rows = rows_of(experiments)
        assert any(has_printed(row, one).any() and has_printed(row, other).any() for row in rows), (
            one,
            other,
        )


@pytest.mark.parametrize(("folder", "heading", "results"), TABLES.values(), ids=TABLES)
def test_tables_are_the_overview_of_the_results(folder: str, heading: str, results: str) -> None:
    scores, answers = (
        {row["name"]: row for row in read_rows(f"{results}/{file}")} for file in ("overview", "answer")
    )
    lines = re.findall(
        r"^\| `([^`|]+)`[^|]* \| (\d+) \|(?: (\d+) \|)?((?:[^|]+\|){4})$", section(folder, heading), re.M
    )
    assert len(lines) >= 5
    for name, models, passes, cells in lines:
        row = scores[name]
        assert int(models) == float(answers[name]["models"])
        assert not passes or int(passes) == float(answers[name]["passes"])
        for metric, cell in zip(METRICS, cells.split("|"), strict=False):
            mean, _, deviation = cell.replace("*", "").partition("±")
            assert mean.strip() == f"{float(row[metric]):.3f}"
            assert not deviation or deviation.strip() == f"{float(row[f'{metric}_sd']):.3f}"


@pytest.mark.parametrize(("place", "columns"), OTHER_TABLES.values(), ids=OTHER_TABLES)
def test_other_tables_are_rows_of_the_results(place: tuple[str, str, str], columns: tuple[str, ...]) -> None:
    folder, heading, file = place
    rows = {row.get("by") or row["name"]: row for row in read_rows(file)}
    lines = re.findall(r"^\| `([^`|]+)`[^|]*\|(.+)\|$", section(folder, heading), re.M)
    assert len(lines) >= 8
    for name, cells in lines:
        for column, cell in zip(columns, cells.split("|"), strict=True):
            printed, kept = (list(numbers(text)) for text in (cell, rows[name][column]))
            assert len(printed) == len(kept)
            assert all(
                has_printed(np.array([float(k)]), p).all() for p, k in zip(printed, kept, strict=True)
            ), name


@pytest.mark.parametrize("folder", CLAIMS)
def test_sentences_follow_from_the_results(folder: str) -> None:
    text = " ".join(section(folder, "").split()).replace("*", "")
    assert [sentence for sentence in CLAIMS[folder]() if sentence not in text] == []


@pytest.mark.parametrize("folder", PAGES)
def test_numbers_of_three_digits_are_in_the_results(folder: str) -> None:
    experiments, heading = PAGES[folder]
    kept = np.concatenate(rows_of(experiments))
    sentences = CLAIMS[folder]() if folder in CLAIMS else ()
    elsewhere = {number for sentence in sentences for number in numbers(sentence)}
    elsewhere |= NOT_IN_THE_RESULTS.get(folder, set())
    text = re.sub(r"\([Pp]ublished[^)]*\)", "", section(folder, heading))
    for number in re.findall(r"(?<![\w.])[-+]?\d\.\d{3,4}(?!\d)", text):
        assert number in elsewhere or has_printed(kept, number).any(), number
