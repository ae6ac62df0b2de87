"""Every number of the tables of results stands in a file of the experiment."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

ROOT = Path(__file__).parents[3]
OPENI = ROOT / "experiments" / "openi-minilm"
COLUMNS = ("f1_macro", "f1_micro", "subset_accuracy", "hamming_score")
WHICH = ROOT / "experiments" / "which-tasks"
HOC = ROOT / "experiments" / "hoc-minilm"
FOLDS = OPENI / "results" / "gpu"
PAGES = {  # page, heading of its part, and the results there
    "README": (ROOT / "README.md", "## Results", OPENI / "results" / "longer"),
    "five folds": (OPENI / "README.md", "## Five folds", FOLDS),
    "one split": (OPENI / "README.md", "## One split", OPENI / "results"),
    "which-tasks": (WHICH / "README.md", "# ", WHICH / "results"),
    "hoc-minilm": (HOC / "README.md", "# ", HOC / "results"),
}
NUMBER = r"([-+]\d\.\d{3})"
INTERVAL = rf"{NUMBER} \(95% interval over test documents {NUMBER} to {NUMBER}\)"
LINE = re.compile(r"^\| `([^`|]+)`[^|]* \| (\d+) \| (\d+) \|([^|]+(?:\|[^|]+){3})\|$", re.MULTILINE)


def rows(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["name" if "name" in row else "run"]: row for row in csv.DictReader(file)}


def part(page: Path, heading: str) -> str:
    """The text from a heading to the next one of its level."""
    text = page.read_text(encoding="utf-8")
    return text[text.index(heading) :].split("\n## ")[0] if heading != "# " else text


@pytest.mark.parametrize(("page", "heading", "results"), PAGES.values(), ids=PAGES)
def test_results_are_those_of_the_experiment(page, heading, results):
    scores, answer = rows(results / "overview.csv"), rows(results / "answer.csv")
    lines = LINE.findall(part(page, heading))
    assert len(lines) >= 5
    for name, models, passes, told in lines:
        for column, cell in zip(COLUMNS, told.split("|"), strict=True):
            mean, _, spread = cell.replace("*", "").partition(" ± ")
            assert float(mean) == round(float(scores[name][column]), 3)
            if spread or (results == FOLDS and column == COLUMNS[0]):
                assert spread.strip() == f"{float(scores[name][f'{column}_sd']):.3f}"
        assert (int(models), int(passes)) == tuple(
            int(float(answer[name][key])) for key in ("models", "passes")
        )


@pytest.mark.parametrize("name", [name for name in PAGES if name != "which-tasks"])
def test_intervals_are_those_of_the_experiment(name):
    page, heading, results = PAGES[name]
    text = part(page, heading).replace("\n", " ")
    told = set(
        re.findall(r"(-\d\.\d{3}) \(95% interval over test documents (-\d\.\d{3}) to ([-+]\d\.\d{3})\)", text)
    )
    assert told
    folders = [results, OPENI / "results" / "seeds"] if name == "README" else [results]
    kept = {
        tuple(re.findall(r"[-+]\d\.\d{3}", row["difference"].replace("−", "-")))
        for folder in folders
        for row in rows(folder / "answer.csv").values()
    }
    assert told <= kept


def test_scores_of_longer_training_are_those_of_the_experiment():
    results, name = OPENI / "results" / "longer", "gmhl, private layers, 20 passes"
    row, answer = rows(results / "overview.csv")[name], rows(results / "answer.csv")
    text = " ".join(part(OPENI / "README.md", "## Trained twice as long").split())
    score, micro, subset, hamming = (float(row[column]) for column in COLUMNS)
    assert f"it has **{score:.3f}** ± {float(row['f1_macro_sd']):.3f} macro F1 (micro {micro:.3f}," in text
    assert f"subset accuracy {subset:.3f}, Hamming score {hamming:.3f})" in text
    random = float(answer["random groups, private layers, 20 passes"]["score"])
    first = part(*PAGES["README"][:2])
    assert f"random groups have {random:.3f}, and" in " ".join(first.split())
    told = [name for name, *_ in LINE.findall(first)]
    assert len(told) == 6
    assert {rows(results / "overview.csv")[each]["note"] for each in told} == {""}, "trained to the end"
    compared = {
        "gmhl, private layers, 0.0001": "same run with 10 passes**",
        "mtl, 40 passes": "which cost as much",
        "mtl, 20 passes, 0.0002": "the same choice of a learning rate",
        "stl, 190 passes, 0.0001": "190 passes",
        "random groups, private layers, 20 passes": "20 passes, too",
    }
    for other, said in compared.items():
        mean, low, high = re.findall(r"[-+]\d\.\d{3}", answer[other]["difference"].replace("−", "-"))
        assert re.search(
            rf"{re.escape(said)}:? {mean} \(95% interval over test documents {low} to \{high}", text
        )


@pytest.mark.parametrize("folder", [OPENI, WHICH, HOC])
def test_scores_of_a_bag_of_words_are_those_of_the_experiment(folder):
    scores = rows(folder / "results" / "overview.csv")
    (reached,) = {round(float(row["bag_of_words"]), 3) for row in scores.values()}
    text = (folder / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    best = max(float(row["f1_macro"]) for row in scores.values())
    assert f"**A bag of words reaches {reached:.3f}**" in text
    assert f"{abs(best - reached):.3f} macro F1" in text
    below = {name for name, row in scores.items() if float(row["f1_macro"]) <= reached}
    if folder == WHICH:
        assert not below
        assert "below every other." in text
    elif folder == HOC:
        assert below == set(scores) - {"mtl, whole abstracts"}
        assert "Every model of 128 tokens is below it" in text
    else:
        told = re.search(r"\*\*A bag of words.*?below it\.", text)
        assert set(re.findall(r"`([^`]+)`", told[0])) == below


def test_five_folds_are_compared_with_a_bag_of_words():
    scores = rows(FOLDS / "overview.csv")
    (reached,) = {float(row["bag_of_words"]) for row in scores.values()}
    assert all(float(row["f1_macro"]) > reached for row in scores.values())
    assert f"per label) reaches {reached:.3f}, below every run." in " ".join(
        part(*PAGES["five folds"][:2]).split()
    )
    assert f"linear model per task) reaches {reached:.3f}." in " ".join(part(*PAGES["README"][:2]).split())


@pytest.mark.parametrize(
    ("folder", "pattern", "run", "other"),
    [
        (OPENI, r"they have 0\.890 \(", "gmhl, private layers", "mtl, 20 passes"),
        (WHICH, r"equal weights with the same seed \(", "mtl, upgrad", "mtl, 24 passes"),
        (WHICH, r"on these test documents \(", "mtl, upgrad", "mtl, random factors"),
        (WHICH, r"contains 0; the best random grouping is 0\.014 higher \(", "random 4", "mtl, 24 passes"),
        (WHICH, r"the interval over test documents, ", "proposed", "mtl, 24 passes"),
    ],
)
def test_intervals_between_two_runs_are_those_of_the_experiment(folder, pattern, run, other):
    with (folder / "results" / "significance.csv").open(encoding="utf-8", newline="") as file:
        (row,) = (r for r in csv.DictReader(file) if {r["name"], r["other_name"]} == {run, other})
    ends = [float(row["documents_low"]), float(row["documents_high"])]
    mean, (low, high) = float(row["mean"]), ends
    if row["name"] == other:
        mean, low, high = -mean, -high, -low
    text = (folder / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    after = text[re.search(pattern, text).end() :]
    numbers = [float(number) for number in re.findall(r"[-+]?\d\.\d{3}", after)[:3]]
    wanted = [round(value, 3) for value in (mean, low, high)]
    assert numbers == wanted if numbers[0] == wanted[0] else numbers[:2] == wanted[1:]


@pytest.mark.parametrize(("folder", "run"), [(OPENI, "gmtl, 40 passes"), (WHICH, "proposed")])
def test_random_groups_are_those_of_the_experiment(folder, run):
    row = rows(folder / "results" / "random_groups.csv")[run]
    text = (folder / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    count = {"5": "five", "9": "nine"}[row["controls"]]
    assert row["as_good"] == "2"
    assert re.search(rf"{count} random groupings(?: of the same sizes)?", text)
    assert f"(p = {float(row['p']):.2f}" in text


def test_nineteen_random_groupings_are_those_of_the_experiment():
    folder = OPENI / "results" / "chance"
    row, answer = rows(folder / "random_groups.csv")["gmtl, 80 passes"], rows(folder / "answer.csv")
    random = [float(each["score"]) for name, each in answer.items() if name.startswith("random ")]
    own, one = (float(answer[name]["score"]) for name in ("gmtl, 80 passes", "mtl, 80 passes"))
    as_good = sum(score >= own for score in random)
    assert (len(random), as_good) == (int(row["controls"]), int(row["as_good"])) == (19, 4)
    p = f"(p = {(1 + as_good) / (1 + len(random)):.2f})"
    text = " ".join(part(OPENI / "README.md", "## Better than chance?").split())
    assert (
        f"they have {own:.3f}, the random groupings {min(random):.3f} to {max(random):.3f} "
        f"(mean {np.mean(random):.3f}), and {as_good} of 19 are as good or better {p}" in text
    )
    assert one > max(random)
    assert f"has {one:.3f}**, more than each of the 20 groupings" in text
    assert f"is only {one - max(random):.3f} lower" in text
    rising = [row["name"] for row in rows(folder / "overview.csv").values() if row["note"]]
    assert len(rising) == 6
    assert "gmtl, 80 passes" in rising
    assert "and five of the random groupings were not" in text


def test_random_groups_with_private_layers_are_those_of_the_experiment():
    scores = rows(OPENI / "results" / "chance-layers" / "overview.csv")
    text = " ".join(part(OPENI / "README.md", "## Better than chance?").split())
    own = scores.pop("gmhl, private layers")
    assert len(scores) == 19
    assert {each["children"] for each in (own, *scores.values())} == {"5"}

    def as_good(metric):
        return sum(float(each[metric]) >= float(own[metric]) for each in scores.values())

    random = [float(each["f1_macro"]) for each in scores.values()]
    assert (
        f"have {float(own['f1_macro']):.3f} macro F1, the random groupings {min(random):.3f} to "
        f"{max(random):.3f} (mean {np.mean(random):.3f}), and 1 of 19 is as good or better (p = 0.10)" in text
    )
    assert as_good("f1_macro") == as_good("average_precision_macro") == 1
    assert "By mean average precision, too, 1 of 19 is (p = 0.10)" in text
    assert [as_good(metric) for metric in COLUMNS[1:]] == [0, 0, 0]
    assert "by micro F1, subset accuracy and Hamming score, none is (p = 0.05 each)" in text
    assert sum(bool(each["note"]) for each in (own, *scores.values())) == 10
    assert "10 of the 20 groupings were not trained to the end" in text
    assert "one of 19 random groupings is as good" in " ".join(part(*PAGES["README"][:2]).split())


def test_calibration_is_that_of_the_experiment():
    found = rows(OPENI / "results" / "longer" / "calibration.csv")
    text = part(OPENI / "README.md", "## Calibration")
    lines = re.findall(r"^\| `([^`]+)` \|(.+)\|$", text, re.MULTILINE)
    assert len(lines) == 8
    for name, told in lines:
        brier, calibrated, probability, share = (float(cell.strip(" *%")) for cell in told.split("|"))
        row = found[name]
        assert brier == round(float(row["brier"]), 4)
        assert calibrated == round(float(row["calibrated"]), 4)
        assert probability == pytest.approx(100 * float(row["probability"]), abs=0.0501)
        assert share == pytest.approx(100 * float(row["share"]), abs=0.0501)
    order = [float(found[name]["brier"]) for name, _ in lines]
    assert order == sorted(order)
    after = [float(found[name]["calibrated"]) for name, _ in lines]
    assert (after[0], after[-1]) == (min(after), max(after)), "the best and the worst stay"
    said = " ".join(text.split())
    long = found["gmhl, private layers, 20 passes"]
    assert f"it is {float(long['temperature']):.2f} for layers for each group with 20 passes" in said
    for row in (long, found["stl, 190 passes, 0.0001"]):
        assert f"from {float(row['brier']):.4f} to {float(row['calibrated']):.4f}" in said
    layers, one = found["gmhl, private layers, 0.0001"], found["mtl, 20 passes, 0.0002"]
    best = float(found["gmhl, private layers, 20 passes"]["brier"])
    assert (layers["interval"], one["interval"]) == ("−0.0027 to −0.0015", "−0.0014 to −0.0002")
    assert (f"{float(layers['difference']):.4f}", f"{float(one['difference']):.4f}") == ("-0.0021", "-0.0008")
    assert "is lower by 0.0021 with" in said
    assert "0.0015 to 0.0027; 10 passes), and by 0.0008 with" in said
    assert "(0.0002 to 0.0014; 20 passes)" in said
    seeds = rows(OPENI / "results" / "seeds" / "calibration.csv")["mtl, 20 passes"]
    assert f"are {float(seeds['difference']):.4f} (0.0009 to 0.0016) below" in said
    assert seeds["interval"] == "+0.0009 to +0.0016"
    alone = float(found["stl, 190 passes, 0.0001"]["brier"])
    first = " ".join(part(*PAGES["README"][:2]).split())
    assert f"Brier score {best:.4f}; one model per label has {alone:.4f}" in first
    path = OPENI / "results" / "longer" / "reliability.csv"
    with path.open(encoding="utf-8", newline="") as file:
        middle = [r["name"] for r in csv.DictReader(file) if 0.1 < float(r["probability"]) < 0.9]
    assert min(map(middle.count, found)) == middle.count("stl, 190 passes, 0.0001") == 2


def test_scores_of_three_seeds_are_those_of_the_experiment():
    results = OPENI / "results" / "seeds"
    answer = rows(results / "answer.csv")
    own, other = answer["gmhl, private layers"], answer["mtl, 20 passes"]
    said = " ".join(part(OPENI / "README.md", "## Three seeds").split())
    assert f"{float(own['score']):.3f} and {float(other['score']):.3f} macro F1" in said
    mean, low, high = re.findall(r"[-+]\d\.\d{3}", other["difference"].replace("−", "-"))
    interval = f"{mean} (95% interval over test documents {low} to {high})"
    assert f"layers differs by {interval}" in said
    assert interval in " ".join(part(*PAGES["README"][:2]).split())
    (row,) = csv.DictReader((results / "significance.csv").read_text(encoding="utf-8").splitlines())
    assert f"on 5 of 5 folds, and a t-test over folds has p = {float(row['t_p']):.3f}" in said
    assert "on 5 of 5 folds" in row["follows"]
    scores = rows(results / "overview.csv").values()
    assert [(row["children"], row["note"]) for row in scores] == [("15", "")] * 2, "trained to the end"


def test_scores_of_two_seeds_follow_from_their_mean_and_deviation():
    scores = rows(OPENI / "results" / "overview.csv")
    text = (OPENI / "README.md").read_text(encoding="utf-8").replace("\n", " ")
    told = re.search(r"There is one split\..*? have two seeds", text)[0]
    names = ("mtl, 40 passes", "mtl, 10 passes", "gmhl, private layers", "gmhl, 10 passes", "gmtl, 40 passes")
    pairs = re.findall(r"\((\d\.\d{3}) and (\d\.\d{3})\)", told)
    for name, pair in zip(names, pairs, strict=True):
        mean, half = float(scores[name]["f1_macro"]), float(scores[name]["f1_macro_sd"]) / 2**0.5
        assert sorted(pair) == [f"{mean - half:.3f}", f"{mean + half:.3f}"]


def test_scores_of_students_are_those_of_the_experiment():
    folder = ROOT / "experiments" / "distillation"
    scores, text = (
        rows(folder / "results" / "overview.csv"),
        (folder / "README.md").read_text(encoding="utf-8"),
    )
    told = re.findall(r"^\| `([^`|]+)`[^|]* \| (\d+) \|([^|]+(?:\|[^|]+){3})\|$", text, re.MULTILINE)
    assert {name for name, *_ in told} == set(scores)
    for name, models, cells in told:
        assert int(models) == int(float(scores[name]["models"]))
        assert [float(cell) for cell in cells.split("|")] == [
            round(float(scores[name][column]), 3) for column in COLUMNS
        ]


@pytest.mark.parametrize(
    ("pattern", "run", "other"),
    [
        ("above its teachers (95% interval over test documents ", "taught by four groups", "four groups"),
        ("above the model without a teacher (", "taught by four groups", "no teacher"),
        ("below its teachers (", "taught by experts", "experts"),
        ("It is 0.001 below the model without a teacher (", "taught by experts", "no teacher"),
        ("below the experts (", "no teacher", "experts"),
        ("above the student of the groups (", "taught by itself", "taught by four groups"),
        ("and 0.003 above the model without a teacher (", "taught by itself", "no teacher"),
        (
            "below that of the groups that saw everything (",
            "taught by four groups, cross-fitted",
            "taught by four groups",
        ),
        (
            "above the model without a teacher with the same seeds (",
            "taught by itself, cross-fitted",
            "no teacher",
        ),
        (
            "below the student of one that saw everything (",
            "taught by itself, cross-fitted",
            "taught by itself",
        ),
        (
            "above the student of cross-fitted groups (",
            "taught by itself, cross-fitted",
            "taught by four groups, cross-fitted",
        ),
    ],
)
def test_intervals_of_students_are_those_of_the_experiment(pattern, run, other):
    folder = ROOT / "experiments" / "distillation"
    with (folder / "results" / "significance.csv").open(encoding="utf-8", newline="") as file:
        (row,) = (r for r in csv.DictReader(file) if {r["name"], r["other_name"]} == {run, other})
    ends = [float(row["documents_low"]), float(row["documents_high"])]
    low, high = ends if row["name"] == run else (-ends[1], -ends[0])
    text = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    assert f"{pattern}{low:+.3f} to {high:+.3f})" in text
    mean = abs(float(row["mean"]))
    assert f"{mean:.3f} {pattern.partition(f'{mean:.3f} ')[2] or pattern}" in text


def test_entropies_of_teachers_are_those_of_the_experiment():
    folder = ROOT / "experiments" / "distillation"
    told = defaultdict(list)
    with (folder / "results" / "teacher_entropy.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            told[row["run"]].append(float(row["nats"]))
    means = {name: f"{sum(each) / len(each):.3f}" for name, each in told.items()}
    experts, groups, own = (means[f"taught by {name}"] for name in ("experts", "four groups", "itself"))
    apart = [means[f"taught by {name}, cross-fitted"] for name in ("four groups", "itself")]
    text = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    assert f"is {experts} nats for the experts, {groups} for the groups, and {own} for the model" in text
    assert (
        f"({apart[0]} nats for the groups, {apart[1]} for the model that teaches a model like itself)" in text
    )


def test_scores_after_pretraining_are_those_of_the_experiment():
    folder = ROOT / "experiments" / "pretraining"
    kept = [
        row
        for name in ("small", "vocabulary-small")
        for row in rows(folder / "results" / name / "overview.csv").values()
    ]
    marks = {"not trained to the end": " (e)", "nothing learned": " (n)", "": ""}
    scores = [f"{float(row['score']):.3f} ± {float(row['score_sd']):.3f}{marks[row['note']]}" for row in kept]
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\d\.\d{3} ± \d\.\d{3}(?: \([en]\))?", text)) == sorted(scores)


def test_what_a_vocabulary_changed_is_that_of_the_experiment():
    folder = ROOT / "experiments" / "pretraining"
    text = (folder / "README.md").read_text(encoding="utf-8")
    told: dict[str, list[dict[str, str]]] = {}
    with (folder / "results" / "vocabulary-small" / "texts.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            told.setdefault(row["run"], []).append(row)
    assert len(told) == 6
    for name, seeds in told.items():
        assert len(seeds) == 3
        bits, words = (
            f"{sum(float(row[key]) for row in seeds) / 3:.2f}"
            for key in ("bits_per_character", "word_accuracy")
        )
        assert f"| {name} | {bits} | {words} |" in text
    split = {name: f"{float(seeds[0]['split_words']):.0%}" for name, seeds in told.items()}
    own, other = (split[f"continued, {whose} vocabulary, words"] for whose in ("own", "BERT's"))
    assert f"splits fewer words ({own} instead of {other})" in text
    with (folder / "results" / "vocabulary-small" / "significance.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        pairs = {(row["name"], row["other_name"]): row for row in csv.DictReader(file)}
    said = " ".join(text.split())
    mine, theirs = (f"continued, {whose} vocabulary, words" for whose in ("own", "BERT's"))
    pair, lead = pairs[mine, theirs], pairs["minilm without these texts", theirs]
    assert f"{float(pair['mean']):.3f} (95% interval over test documents {ends(pair)})" in said
    assert f"by {float(lead['mean']):.3f} than continued with BERT's vocabulary" in said
    assert f"(95% interval over test documents {ends(lead)};" in said


def ends(pair: dict[str, str], which: str = "documents") -> str:
    low, high = (f"{float(pair[f'{which}_{end}']):+.3f}" for end in ("low", "high"))
    return f"{low} to {high}"


def test_what_short_pretraining_gained_is_that_of_the_experiment():
    folder = ROOT / "experiments" / "pretraining"
    said = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    with (folder / "results" / "small" / "significance.csv").open(encoding="utf-8", newline="") as file:
        pairs = {(row["name"], row["other_name"]): row for row in csv.DictReader(file)}
    gained, lost = (
        pairs[f"bc5cdr_disease after {texts} texts", "bc5cdr_disease alone"]
        for texts in ("OHSUMED", "BC5CDR")
    )
    assert f"gains {float(gained['mean']):+.3f} (95% interval over seeds {ends(gained, 'interval')})" in said
    assert (
        f"lower its score by {-float(lost['mean']):.3f} ({ends(lost, 'interval')} over seeds, "
        f"{ends(lost)} over test documents)" in said
    )
    with (folder / "results" / "small" / "transfer_partners.csv").open(encoding="utf-8", newline="") as file:
        assert {row["follows"] for row in csv.DictReader(file)} == {"no partner helps"}
    with (folder / "results" / "small" / "tasks.csv").open(encoding="utf-8", newline="") as file:
        runs = [row for row in csv.DictReader(file) if row["task"] == "GAD"]
    assert len(runs) == 3
    for row in runs:
        positive, share = float(row["support"]), float(row["frequency"])
        constant = 2 * share / (1 + share)
        assert row["others"].endswith(f"constant {constant:.3f}")
        assert float(row["value"]) < constant + 0.02
        assert f"an F1 of {constant:.3f} on its {positive / share:.0f} test sentences" in said


def test_predictors_of_groups_are_those_of_the_experiment():
    text = (WHICH / "README.md").read_text(encoding="utf-8")
    with (WHICH / "results" / "predictors" / "predicted_untrained.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        kept = {row["by"]: row for row in csv.DictReader(file)}
    told = re.findall(
        r"^\| `([a-z_ ]+)`[^|]* \| (-?\d[^|]*) \| (\d[^|]*) \| (\d\.\d{3}) \|$", text, re.MULTILINE
    )
    assert {name for name, *_ in told} == set(kept)
    for name, order, sign, regret in told:
        row = kept[name]
        assert [order, sign] == [row["order"].replace("−", "-"), row["sign"].replace("−", "-")]
        assert regret == f"{float(row['regret']):.3f}"


def test_what_a_second_seed_changed_is_that_of_the_experiment():
    text = " ".join((WHICH / "README.md").read_text(encoding="utf-8").split())
    with (WHICH / "results" / "predictors" / "first_seed.csv").open(encoding="utf-8", newline="") as file:
        (order,) = (row["order"] for row in csv.DictReader(file) if row["by"] == "leep")
    mean, interval = re.fullmatch(r"(\S+) \((.+)\)", order).groups()
    assert f"`leep` seemed to ({mean}, {interval}; `results" in text
    with (WHICH / "results" / "predictors" / "predicted_untrained.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        (again,) = (row for row in csv.DictReader(file) if row["by"] == "another seed")
    assert f"with a correlation of {again['order']}" in text
    assert f"is {float(again['regret']):.3f} below the best by the second" in text
    scores = rows(WHICH / "results" / "predictors" / "overview.csv")
    proposed, whole, one = (
        f"{float(scores[name]['f1_macro']):.3f}" for name in ("proposed", "by all models", "mtl, 24 passes")
    )
    assert (
        f"macro F1 of {proposed} on test, those that all models predict {whole} (`by all models`), one model "
        f"with 24 passes {one}." in text
    )


def test_orders_after_short_training_are_those_of_the_experiment():
    with (WHICH / "results" / "halving" / "scores.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    both = [np.array([float(row[f"after_{epochs}_epochs"]) for row in found]) for epochs in (2, 6)]
    partitions, tasks = (np.array([row[name] for row in found]) for name in ("partition", "task"))
    means = [[values[partitions == name].mean() for name in dict.fromkeys(partitions)] for values in both]
    groups = np.array([row["group"] for row in found])
    orders = []
    for task in dict.fromkeys(tasks):
        _, first = np.unique(groups[tasks == task], return_index=True)  # each group once
        orders.append(spearmanr(*(values[tasks == task][first] for values in both)).statistic)
    text = " ".join((WHICH / "README.md").read_text(encoding="utf-8").split())
    assert (
        "average precision of the {} partitions on validation is {:.3f}, after 6 epochs {:.3f}".format(
            len(means[0]), *map(np.mean, means)
        )
        in text
    )
    assert f"(Spearman {spearmanr(*means).statistic:.2f})" in text
    assert f"hardly does: {np.mean(orders):.2f}, mean over tasks" in text
    answer = rows(WHICH / "results" / "halving" / "answer.csv")
    scores = [float(answer[name]["score"]) for name in ("proposed", "mtl, 24 passes")]
    assert "has {:.3f} on test, one model with 24 passes {:.3f};".format(*scores) in text
    mean, ends = answer["proposed"]["difference"].replace("\N{MINUS SIGN}", "-").split(" (")
    assert f"the difference is {mean} (95% interval over test documents {ends}." in text


def test_scores_of_mt_berts_stages_are_those_of_the_experiment():
    folder = ROOT / "experiments" / "mt-bert-biomedical"
    kept = folder / "results" / "small"
    text = (folder / "README.md").read_text(encoding="utf-8")
    text = text[text.index("## What was run") :]
    tasks = ("ChemProt", "DDI 2013", "BC5CDR disease", "BC5CDR chemical")
    with (kept / "tasks.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    scores = {(row["name"], row["task"]): float(row["value"]) for row in found}
    intervals = {row["task"]: row["interval"] for row in found if row["name"] == "fine-tuning"}
    told = dict(re.findall(r"^\| (single-task|refinement|fine-tuning) \|(.+)\|$", text, re.MULTILINE))
    assert len(told) == 3
    for name, cells in told.items():
        mean = float(rows(kept / "overview.csv")[name]["score"])
        found = [float(cell.strip(" *")) for cell in cells.split("|")]
        assert found == [round(value, 3) for value in (*(scores[name, task] for task in tasks), mean)]
    (differences,) = re.findall(r"^\| difference \|(.+)\|$", text, re.MULTILINE)
    *by_task, mean = (re.findall(r"[-+]\d\.\d{3}", cell) for cell in differences.split("|"))
    assert [float(cell[0]) for cell in by_task] == [
        round(scores["fine-tuning", task] - scores["single-task", task], 3) for task in tasks
    ]
    assert [" to ".join(cell[1:]) for cell in by_task] == [
        intervals[task].replace("−", "-") for task in tasks
    ]
    tuned = rows(kept / "answer.csv")["fine-tuning"]["difference"].replace("−", "-")
    assert mean == re.findall(r"[-+]\d\.\d{3}", tuned)


def test_scores_of_learning_rates_are_those_of_the_experiment():
    text = (OPENI / "README.md").read_text(encoding="utf-8")
    tuned = rows(FOLDS / "tried.csv")
    of_folds = rows(FOLDS / "learning_rate.csv")
    assert of_folds.keys() == tuned.keys()
    for name in ("mtl, 20 passes", "gmhl, private layers", "gmtl, 80 passes", "stl, 190 passes"):
        (cells,) = re.findall(rf"^\| `{name}` \| ([^|]+\|[^|]+) \|$", text, re.MULTILINE)
        for rate, cell in zip(("0.0001", "0.0002"), cells.split(" | "), strict=True):
            row, each = of_folds[f"{name}, {rate}"], tuned[f"{name}, {rate}"]
            assert row["validation average_precision_macro"] == each["score"]
            mark = "**" if each["chosen"] else ""
            assert cell == f"{mark}{float(each['score']):.3f} ({float(row['f1_macro']):.3f}){mark}"
    text = text[text.index("**Learning rates.**") :]
    kept = iter(rows(OPENI / "results" / "learning_rate.csv").items())
    for name in ("mtl, 10 passes", "gmhl, 10 passes"):
        (cells,) = re.findall(rf"^\| `{name}` \|(.+)\|$", text, re.MULTILINE)
        for rate, cell in zip((1e-4, 2e-4, 4e-4), cells.split("|"), strict=True):
            key, row = next(kept)
            assert (key.startswith(name), float(row["learning_rate"])) == (True, rate)
            validation, test = float(row["validation average_precision_macro"]), float(row["f1_macro"])
            assert cell.strip() == f"{validation:.3f} ({test:.3f})"
    assert next(kept, None) is None


def test_what_a_learning_rate_for_all_would_show_is_that_of_the_experiment():
    rates, scores = rows(FOLDS / "learning_rate.csv"), rows(FOLDS / "overview.csv")
    with_2e4 = {name: float(row["f1_macro"]) for name, row in rates.items() if name.endswith(" 0.0002")}
    best = with_2e4.pop("mtl, 20 passes, 0.0002")
    text = " ".join(part(*PAGES["five folds"][:2]).split())
    assert f"ahead of all others by {best - max(with_2e4.values()):.3f} or more" in text
    assert f"one model per label has {with_2e4['stl, 190 passes, 0.0002']:.3f}." in " ".join(
        part(*PAGES["README"][:2]).split()
    )
    assert best < float(scores["gmhl, private layers, 0.0001"]["f1_macro"])
    with (FOLDS / "significance.csv").open(encoding="utf-8", newline="") as file:
        pairs = list(csv.DictReader(file))
    assert min(float(pair["t_holm"]) for pair in pairs) > 0.05
    assert f"{len(pairs)} pairs of runs, no p is below 0.05 after Holm's correction" in text
    rising = {name for name, row in scores.items() if "not trained to the end" in row["note"]}
    early = {"mtl, 10 passes", "gmhl, 10 passes", "gmtl, 40 passes"}
    assert rising == early | {"gmhl, private layers, 0.0001"}


def test_transfers_are_those_of_the_experiment():
    folder = ROOT / "experiments" / "stilt"
    text = (folder / "README.md").read_text(encoding="utf-8")
    text = text[text.index("## What was run") :]
    with (folder / "results" / "small" / "transfer_matrix.csv").open(encoding="utf-8", newline="") as file:
        kept = {(row["source"], row["target"]): row for row in csv.DictReader(file)}
    sources = ("bc5cdr_chem", "ncbi_disease", "bc2gm", "chemprot")
    for label, target in (("BC5CDR chemical", "bc5cdr_chem"), ("NCBI disease", "ncbi_disease")):
        (cells,) = re.findall(rf"^\| {label} \|(.+)\|$", text, re.MULTILINE)
        alone, *after = (cell.strip() for cell in cells.split("|"))
        assert alone == kept["baseline", target]["shown"]
        for source, told in zip(sources, after, strict=True):
            points = [100 * float(kept[source, target][key] or 0) for key in ("difference", "low", "high")]
            found = "{:+.1f} ({:+.1f} to {:+.1f})".format(*points)
            assert told == ("" if source == target else found)
