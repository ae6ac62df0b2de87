"""Sentences of the READMEs whose numbers follow from several rows of the files, written from the files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from scipy.stats import spearmanr

ROOT = Path(__file__).parents[3]
EXPERIMENTS = ROOT / "experiments"
ONE_SPLIT, FIVE_FOLDS = "openi-minilm/results", "openi-minilm/results/gpu"
LONGER, CHANCE = "openi-minilm/results/longer", "openi-minilm/results/chance"
LAYERS, SEEDS = "openi-minilm/results/chance-layers", "openi-minilm/results/seeds"
HOC, WHICH = "hoc-minilm/results", "which-tasks/results"
MT_BERT, STILT = "mt-bert-biomedical/results/small", "stilt/results/small"


def read_rows(file: str) -> list[dict[str, str]]:
    with (EXPERIMENTS / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def values(file: str, name: str, columns: str) -> list[float]:
    """Return columns of the only row of a CSV file with this name."""
    (row,) = (row for row in read_rows(file) if row["name"] == name)
    return [float(row[column]) for column in columns.split()]


def score(folder: str, name: str, column: str = "f1_macro") -> float:
    return values(f"{folder}/overview", name, column)[0]


def two_seeds(folder: str, name: str) -> list[float]:
    """Return the lower and the higher macro F1 of a run with two seeds."""
    mean, deviation = values(f"{folder}/overview", name, "f1_macro f1_macro_sd")
    return [mean - deviation / 2**0.5, mean + deviation / 2**0.5]


def rises_of_folds(folder: str, name: str) -> list[float]:
    """Return how much the validation score of a run rose over the last third of epochs, see `learned.py`."""
    curves: dict[tuple[str, str], list[float]] = {}
    for row in read_rows(f"{folder}/epochs"):
        if row["name"] == name:
            score_of_epoch = float(row.get("f1_macro") or row["score"])
            curves.setdefault((row["fold"], row["seed"]), []).append(score_of_epoch)
    return [curve[-1] - curve[-1 - max(1, round(len(curve) / 3))] for curve in curves.values()]


def rises(folder: str, *names: str) -> list[float]:
    return [fmean(rises_of_folds(folder, name)) for name in names]


def randoms(folder: str, begins: str = "random") -> list[float]:
    """Return the smallest, the largest and the mean macro F1 of random groupings."""
    scores = [float(r["f1_macro"]) for r in read_rows(f"{folder}/overview") if r["name"].startswith(begins)]
    return [min(scores), max(scores), fmean(scores)]


def chance(folder: str, name: str, metric: str = "f1_macro") -> tuple[int, float]:
    """Return how many random groupings are as good as a run, and the p of that."""
    rows = {row["name"]: float(row[metric]) for row in read_rows(f"{folder}/overview")}
    random = [value for other, value in rows.items() if other.startswith("random")]
    as_good = sum(value >= rows[name] for value in random)
    return as_good, (1 + as_good) / (1 + len(random))


def above_words(folder: str, name: str) -> tuple[float, float]:
    """Return the score of a bag of words as it is printed, and how far a run is above it."""
    words = round(score(folder, name, "bag_of_words"), 3)
    return words, score(folder, name) - words


def entropies(*names: str) -> list[float]:
    """Return the mean entropy of what each run's teachers told, in nats."""
    rows = read_rows("distillation/results/teacher_entropy")
    return [fmean(float(row["nats"]) for row in rows if row["run"] == f"taught by {name}") for name in names]


def stage(name: str) -> list[float]:
    """Return the scores of MT-BERT's tasks, and their mean."""
    rows = {row["task"]: row for row in read_rows(f"{MT_BERT}/tasks") if row["name"] == name}
    tasks = ("ChemProt", "DDI 2013", "BC5CDR disease", "BC5CDR chemical")
    return [*(float(rows[task]["value"]) for task in tasks), score(MT_BERT, name, "score")]


def _readme() -> Iterator[str]:
    brier = [
        values(f"{LONGER}/calibration", name, "brier")[0]
        for name in ("gmhl, private layers, 20 passes", "stl, 190 passes, 0.0001")
    ]
    yield "Brier score {:.4f}; one model per label has {:.4f}".format(*brier)
    yield f"random groups have {score(LONGER, 'random groups, private layers, 20 passes'):.3f}, and"
    yield f"per task) reaches {score(FIVE_FOLDS, 'mtl, 10 passes', 'bag_of_words'):.3f}."
    yield "as good as groups by descriptions (p = {1:.2f})".format(*chance(LAYERS, "gmhl, private layers"))
    (rate,) = values(f"{FIVE_FOLDS}/learning_rate", "stl, 190 passes, 0.0002", "f1_macro")
    yield f"one model per label has {rate:.3f}."


def _openi() -> Iterator[str]:
    columns = "f1_macro f1_macro_sd f1_micro subset_accuracy hamming_score"
    sentence = "it has {:.3f} ± {:.3f} macro F1 (micro {:.3f}, subset accuracy {:.3f}, Hamming score {:.3f})"
    yield sentence.format(*values(f"{LONGER}/overview", "gmhl, private layers, 20 passes", columns))
    groups, one = (score(CHANCE, name) for name in ("gmtl, 80 passes", "mtl, 80 passes"))
    as_good, p = chance(CHANCE, "gmtl, 80 passes")
    yield "they have {:.3f}, the random groupings {:.3f} to {:.3f} (mean {:.3f}), and {} of 19 are".format(
        groups, *randoms(CHANCE), as_good
    )
    yield f"as good or better (p = {p:.2f}). One model of all labels has {one:.3f}"
    yield f"the best of these is only {one - randoms(CHANCE)[1]:.3f} lower"
    yield "have {:.3f} macro F1, the random groupings {:.3f} to {:.3f} (mean {:.3f}), and {} of 19 is".format(
        score(LAYERS, "gmhl, private layers"), *randoms(LAYERS), chance(LAYERS, "gmhl, private layers")[0]
    )
    yield "By mean average precision, too, {} of 19 is (p = {:.2f})".format(
        *chance(LAYERS, "gmhl, private layers", "average_precision_macro")
    )
    yield "by {:.3f} for `gmhl, 10 passes`, {:.3f} for `mtl, 10 passes`, {:.3f} for `gmtl, 40 passes`".format(
        *rises(FIVE_FOLDS, "gmhl, 10 passes", "mtl, 10 passes", "gmtl, 40 passes")
    )
    (rise,) = rises(FIVE_FOLDS, "gmhl, private layers, 0.0001")
    yield f"and {rise:.3f} for layers for groups by descriptions"
    one, *others = (
        values(f"{FIVE_FOLDS}/learning_rate", f"{name}, 0.0002", "f1_macro")[0]
        for name in ("mtl, 20 passes", "gmhl, private layers", "gmtl, 80 passes", "stl, 190 passes")
    )
    yield f"ahead of all others by {one - max(others):.3f} or more"
    yield "{:.3f} and {:.3f} macro F1, means of five folds and three seeds".format(
        *(score(SEEDS, name) for name in ("gmhl, private layers", "mtl, 20 passes"))
    )
    yield "private layers ({:.3f} and {:.3f})".format(*two_seeds(ONE_SPLIT, "gmhl, private layers"))
    yield "`gmhl, 10 passes` ({:.3f} and {:.3f})".format(*two_seeds(ONE_SPLIT, "gmhl, 10 passes"))
    yield "with 40 passes ({1:.3f} and {0:.3f})".format(*two_seeds(ONE_SPLIT, "mtl, 40 passes"))
    yield "one with 10 ({1:.3f} and {0:.3f})".format(*two_seeds(ONE_SPLIT, "mtl, 10 passes"))
    yield "groups by descriptions ({1:.3f} and {0:.3f})".format(*two_seeds(ONE_SPLIT, "gmtl, 40 passes"))
    yield "{:.3f} with 20, {:.3f} for `gmhl, 10 passes` (mean of two seeds), {:.3f} for the groups".format(
        *rises(ONE_SPLIT, "mtl, 20 passes", "gmhl, 10 passes", "gmtl, 40 passes")
    )
    yield "{:.3f} and {:.3f} for one model with 10 passes".format(
        *rises_of_folds(ONE_SPLIT, "mtl, 10 passes")
    )
    random = rises(ONE_SPLIT, *(f"random {number}, 40 passes" for number in (1, 2, 3)))
    yield f"{min(random):.3f} to {max(random):.3f} for random groupings 1 to 3"
    yield "{:.3f} for `stl, 40 passes`".format(*rises(ONE_SPLIT, "stl, 40 passes"))
    yield _words("for each label, in seconds. The best run is {:.3f} macro", ONE_SPLIT, "mtl, 40 passes")


def _words(then: str, folder: str, name: str) -> str:
    begins = "A bag of words reaches {:.3f}: TF-IDF and logistic regression "
    return (begins + then).format(*above_words(folder, name))


def _hoc() -> Iterator[str]:
    words, lead = above_words(HOC, "mtl, whole abstracts")
    yield f"A bag of words reaches {words:.3f} with TF-IDF"
    yield f"is {lead:.3f} macro F1 below the model that does"
    yield "18 passes has {:.3f} and {:.3f} with two seeds".format(*two_seeds(HOC, "mtl, 18 passes"))
    yield "6 passes {1:.3f} and {0:.3f}".format(*two_seeds(HOC, "mtl, 6 passes"))
    yield "the groups by descriptions {:.3f} and {:.3f}".format(*two_seeds(HOC, "by description"))
    rise_of_runs = rises(HOC, "mtl, 18 passes", "random 1", "random 4", "random 5", "by co-occurrence")
    yield f"still rose by {min(rise_of_runs):.3f} to {max(rise_of_runs):.3f} over"


def _which() -> Iterator[str]:
    words, lead = above_words(WHICH, "random 4")
    yield f"reaches {words:.3f} (TF-IDF and logistic regression for each label), {lead:.3f} macro F1 below"
    yield "nine random groupings of the same sizes {:.3f} to {:.3f} (mean {:.3f})".format(*randoms(WHICH))
    yield "18 random partitions {:.3f} to {:.3f} (mean {:.3f})".format(*randoms(WHICH, "drawn"))
    yield "two of the nine random groupings are as good or better (p = {1:.2f})".format(
        *chance(WHICH, "proposed")
    )
    yield "({:.3f} and {:+.3f}). With 6 it rose by".format(*rises_of_folds(WHICH, "mtl, 24 passes"))
    yield "by {:.3f} and {:.3f} for one model".format(*rises_of_folds(WHICH, "mtl, 6 passes"))
    yield "by {:.3f} for `proposed`, by {:.3f} for `stl`".format(*rises(WHICH, "proposed", "stl"))
    partitions: dict[str, list[list[float]]] = {}
    for row in read_rows(f"{WHICH}/halving/scores"):
        scores = [float(row[f"after_{epochs}_epochs"]) for epochs in (2, 6)]
        partitions.setdefault(row["partition"], []).append(scores)
    means = [[fmean(column) for column in zip(*rows, strict=True)] for rows in partitions.values()]
    first, last = zip(*means, strict=True)
    yield f"partitions on validation is {fmean(first):.3f}, after 6 epochs {fmean(last):.3f}"
    yield f"(Spearman {spearmanr(first, last).statistic:.2f})"


def _distillation() -> Iterator[str]:
    yield "is {:.3f} nats for the experts, {:.3f} for the groups, and {:.3f} for the model".format(
        *entropies("experts", "four groups", "itself")
    )
    yield "({:.3f} nats for the groups, {:.3f} for the model".format(
        *entropies("four groups, cross-fitted", "itself, cross-fitted")
    )
    experts, groups = rises("distillation/results", "experts", "four groups")
    yield f"experts still rose by {experts:.3f}, that of the four groups and of"
    yield f"`taught by itself, cross-fitted` by {groups:.3f}"


def _mt_bert() -> Iterator[str]:
    for name in ("single-task", "refinement", "fine-tuning"):
        yield f"| {name} |{' {:.3f} |' * 5}".format(*stage(name))
    gains: Sequence[float] = [b - a for a, b in zip(stage("single-task"), stage("fine-tuning"), strict=True)]
    for gain, low in zip(gains, ("-0.026", "-0.043", "-0.051", "-0.051", "-0.033"), strict=True):
        yield f"| {gain:+.3f} ({low} to "
    yield "rose by {:.3f} in the last third".format(*rises(MT_BERT, "refinement"))


def _stilt() -> Iterator[str]:
    runs = ("alone", "after bc5cdr_chem", "after bc2gm", "after chemprot")
    rise_of_runs = rises(STILT, *(f"ncbi_disease {run}" for run in runs))
    yield f"rose by {min(rise_of_runs):.3f} to {max(rise_of_runs):.3f}"


def _pretraining() -> Iterator[str]:
    runs: dict[str, list[dict[str, str]]] = {}
    for row in read_rows("pretraining/results/vocabulary-small/texts"):
        runs.setdefault(row["run"], []).append(row)
    for name, seeds in runs.items():
        bits, words = (
            fmean(float(row[column]) for row in seeds) for column in ("bits_per_character", "word_accuracy")
        )
        yield f"| {name} | {bits:.2f} | {words:.2f} |"
    share, positives = values("pretraining/results/small/tasks", "gad alone", "frequency support")
    yield f"has an F1 of {2 * share / (1 + share):.3f} on its {positives / share:.0f} test sentences"


CLAIMS: dict[str, Callable[[], Iterator[str]]] = {
    ".": _readme,
    "openi-minilm": _openi,
    "hoc-minilm": _hoc,
    "which-tasks": _which,
    "distillation": _distillation,
    "mt-bert-biomedical": _mt_bert,
    "stilt": _stilt,
    "pretraining": _pretraining,
}
"""By the folder of the README."""
