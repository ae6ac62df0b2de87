"""`explore`: random partitions as members, and the groups that they propose."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from pathlib import Path

import pytest

from mtlv.errors import ConfigError
from mtlv.settings import Suite, load_overrides, load_suite


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Suite]:
    def made(text: str) -> Suite:
        path = tmp_path / "c.yml"
        path.write_text(text, encoding="utf-8")
        return load_suite(path)

    return made


def test_members_are_random_partitions_and_the_proposed_groups(load) -> None:
    members = load(
        "explore: {partitions: 3, k: [4, 6], seed: 5, changes: {training.epochs: 2}}\ntraining: {epochs: 9}\n"
    ).members
    assert [member.name for member in members] == ["drawn 1", "drawn 2", "drawn 3", "proposed"]
    drawn = [member.settings for member in members[:3]]
    assert {(each.architecture.name, each.grouping.method) for each in drawn} == {("gmtl", "random_even")}
    assert [(each.grouping.k, each.grouping.seed) for each in drawn] == [(4, 5), (6, 6), (4, 7)]
    assert [each.training.epochs for each in drawn] == [2, 2, 2]
    last = members[3].settings
    assert (last.grouping.method, last.grouping.features, last.grouping.k) == ("best", "surrogate", "auto")
    assert last.grouping.sources == ("drawn *",)
    assert last.training.epochs == 9


@pytest.mark.parametrize(
    ("explored", "models"),
    [
        ("k: [2, 3, 4]", lambda count: sum((2, 3, 4)[n % 3] for n in range(count))),
        ("k: 2, halving: [0.25, 1]", lambda count: 0.5 * count + 2 * (-(-count // 2) + 1)),
        (
            "k: [2, 3], halving: [0.25, 0.5, 1]",
            lambda n: 0.25 * (2 * n + n // 2) + 1.5 * (ceil(n / 2) + 1) + 3 * ceil(ceil(n / 2) / 2),
        ),
    ],
)
def test_a_budget_of_models_draws_as_many_partitions_as_it_can_train(load, explored, models) -> None:
    for budget in (18.0, 20, 27.5):
        members = load(f"explore: {{budget: {budget}, {explored}}}\ntraining: {{epochs: 8}}\n").members
        drawn = sum(member.name.startswith("drawn") for member in members)
        assert drawn == max(count for count in range(100) if models(count) <= budget)


def test_controls_are_random_groups_of_the_proposed_sizes(load) -> None:
    for halving, sources in (("null", "drawn *"), ("[0.5, 1]", "round 2 *")):
        explored = "partitions: 3, k: 2, seed: 5, changes: {training.batch_size: 4}, controls: 2"
        text = f"explore: {{{explored}, halving: {halving}}}\ntraining: {{epochs: 4, batch_size: 8}}\n"
        *_, proposed, one, other = load(text).members
        assert proposed.settings.training.batch_size == 8
        assert [each.name for each in (proposed, one, other)] == ["proposed", "random 1", "random 2"]
        assert proposed.settings.grouping.sources == (sources,)
        for seed, control in ((5, one), (6, other)):
            wanted = proposed.settings.grouping.model_copy(update={"method": "random", "seed": seed})
            assert control.settings.grouping == wanted
            assert control.settings.training == proposed.settings.training


HALVING = "explore: {partitions: 5, k: 2, halving: [0.25, 0.5, 1]}\n"


def test_halving_trains_the_better_half_for_longer(load) -> None:
    members = load(HALVING + "training: {epochs: 8}\n").members
    grouped = {member.name: member.settings.grouping for member in members}
    second = ["round 2 predicted", *(f"round 2 place {place}" for place in (1, 2, 3))]
    third = [f"round 3 place {place}" for place in (1, 2)]
    assert list(grouped) == [*(f"drawn {number}" for number in range(1, 6)), *second, *third, "proposed"]
    assert [member.settings.training.epochs for member in members] == [2] * 5 + [4] * 4 + [8] * 3
    assert {each.method for name, each in grouped.items() if name[:5] != "drawn"} == {"best"}
    assert [grouped[name].place for name in (*second, *third)] == [1, 1, 2, 3, 1, 2]
    assert {grouped[name].sources for name in second} == {("drawn *",)}
    assert {grouped[name].sources for name in third} == {("round 2 *",)}
    assert grouped["proposed"].sources == ("round 3 *",)
    by = {grouped[name].features for name in (*second[1:], *third, "proposed")}
    assert (grouped[second[0]].features, by) == ("surrogate", {"group_score"})
    assert {member.settings.architecture.name for member in members} == {"gmtl"}


def test_halving_of_partitions_into_the_wanted_number_of_groups(load) -> None:
    found = load("explore: {partitions: 5, k: 3, halving: [0.25, 1]}\ngrouping: {k: 3}\n").members
    assert [each.settings.grouping.k for each in found] == [3] * len(found)


def test_halving_shares_out_a_budget_and_keeps_changes_of_the_drawn(load) -> None:
    config = "explore: {partitions: 3, k: 2, halving: [0.01, 1], changes: {training.batch_size: 4}}\n"
    members = load(config + "training: {budget: 20, batch_size: 8}\n").members
    assert [member.settings.training.budget for member in members] == [1] * 3 + [20] * 4
    assert [member.settings.training.batch_size for member in members] == [4] * 3 + [8] * 4


def test_halving_shares_out_the_epochs_of_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text("explore: {partitions: 3, k: 2, halving: [0.5, 1]}\n", encoding="utf-8")
    members = load_suite(path, ["training.epochs=6"]).members
    assert [member.settings.training.epochs for member in members] == [3] * 3 + [6] * 4


def test_it_may_be_given_on_the_command_line_alone() -> None:
    assert len(load_overrides(["explore.partitions=3", "explore.k=2"]).members) == 4


def test_other_members_stand_beside_it(load) -> None:
    explored = "explore: {partitions: 3, k: 2}\n"
    runs = load(explored + "runs:\n- {name: alone, architecture: stl}\n").members
    assert [member.name for member in runs] == ["alone", "drawn 1", "drawn 2", "drawn 3", "proposed"]
    grid = load(explored + "matrix: {architecture: [stl, mtl]}\n").members
    assert [member.settings.architecture.name for member in grid] == ["stl", "mtl", *["gmtl"] * 4]
    with pytest.raises(ConfigError, match="`transfer`: given together with `explore`; keep one"):
        load(explored + "transfer: {pairs: all}\n")
    with pytest.raises(ConfigError, match="`explore`: given together with `stages`"):
        load(explored + "stages: [{name: a}]\n")


@pytest.mark.parametrize(
    ("explore", "message"),
    [
        ("all", "`explore`: got 'all'; allowed: a mapping of partitions, budget, k, seed, changes"),
        ("{partitions: 2, k: 3}", "`explore.partitions`: got 2; allowed: a whole number of 3 or more"),
        ("{partitions: 5, budget: 9, k: 3}", "`explore.budget`: given together with `explore.partitions`"),
        ("{budget: 5, k: 2}", "`explore.budget`: got 5; allowed: 6 or more, for 3 partitions"),
        ("{budget: true, k: 2}", "`explore.budget`: got true; allowed: a number of models above 0"),
        ("{budget: .inf, k: 2}", "`explore.budget`: got"),
        ("{budget: 1e15, k: 2}", "`explore`: got 1001; allowed: at most 1000 members"),
        ("{budget: 0, k: 2}", "`explore.budget`: got 0"),
        ("{partitions: true, k: 3}", "`explore.partitions`: got"),
        ("{k: 3}", "`explore.partitions`: got"),
        ("{partitions: 5}", "`explore.k`: got"),
        ("{partitions: 5, k: [3, 0]}", r"`explore.k\[1\]`: got 0; allowed: a number of groups, or a list"),
        ("{partitions: 5, k: []}", "`explore.k`: got"),
        ("{partitions: 5, k: 3, seed: -1}", "`explore.seed`: got -1"),
        ("{partitions: 5, k: 3, changes: 2}", "`explore.changes`: got 2"),
        (
            "{partitions: 5, k: 3, changes: {architecture: mtl}}",
            "`explore.changes.architecture`: got 'mtl'; allowed: gmtl; leave it out",
        ),
        (
            "{partitions: 5, k: 3, changes: {architecture: {name: stl}}}",
            "`explore.changes.architecture`: got 'stl'; allowed: gmtl; leave it out",
        ),
        ("{partitions: 5, k: 3, changes: {architecture.name: gmhl}}", "`explore.changes.architecture.name`"),
        ("{partitions: 5, k: 3, controls: x}", "`explore.controls`: got 'x'; allowed: a whole number"),
        (
            "{partitions: 5, k: 3, halve: 2}",
            "`explore.halve`: unknown key; did you mean `explore.halving`",
        ),
        ("{partitions: 5, k: 3, halving: 2}", "`explore.halving`: got 2; allowed: two or more increasing"),
        ("{partitions: 5, k: 3, halving: [1]}", r"`explore.halving`: got \[1\]"),
        ("{partitions: 5, k: 3, halving: [0, 1]}", r"`explore.halving`: got \[0, 1\]"),
        ("{partitions: 5, k: 3, halving: [0.5, 0.4, 1]}", "`explore.halving`: got"),
        ("{partitions: 5, k: 3, halving: [0.1, 0.5]}", "`explore.halving`: got"),
        ("{partitions: 5, k: 3, halving: [a, 1]}", r"`explore.halving\[0\]`: got 'a'"),
        (
            "{partitions: 5, k: 3, halving: [0.01, 0.1, 1]}",
            "`explore.halving`: got '1, 1, 10'; allowed: another number of epochs in each round; raise",
        ),
        (
            "{partitions: 5, k: [2, 3], halving: [0.1, 1]}\ngrouping: {k: 3}",
            r"`explore.halving`: only partitions of 3 groups would go on \(`grouping.k: 3`\); set it",
        ),
        (
            "{partitions: 5, k: 3, halving: [0.1, 1], changes: {training.epochs: 2}}",
            "`explore.halving`: given together with `explore.changes` of `training.epochs`; keep one",
        ),
        (
            "{partitions: 5, k: 3, halving: [0.1, 1], changes: {training: {budget: 2}}}",
            "`explore.halving`: given together with `explore.changes` of `training.budget`; keep one",
        ),
        ("{partitions: 5, k: 3, changes: {training.epoch: 2}}", "training.epoch"),
        ("{partitions: 1000, k: 3}", "`explore`: got 1001; allowed: at most 1000 members"),
    ],
)
def test_wrong_explorations_are_named(load, explore: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(f"explore: {explore}\n")


def test_problems_of_other_members_are_told_too(load) -> None:
    with pytest.raises(ConfigError) as raised:
        load("explore: {k: x}\nruns:\n- {training.epochs: 0}\n")
    assert [line.rpartition("c.yml:")[2][:16] for line in raised.value.problems] == [
        "1: `explore.k`: ",
        "3: `training.epo",
    ]


def test_a_place_that_nothing_reads_is_refused(load) -> None:
    with pytest.raises(ConfigError, match=r"`grouping.place`: set, but only `grouping.method: best` with"):
        load("architecture: gmtl\ngrouping: {method: best, features: surrogate, from: [a], place: 2}\n")


def test_random_groups_of_no_number_are_refused(load) -> None:
    with pytest.raises(ConfigError, match=r"`grouping.method: random_even` has no curve to choose it from"):
        load("architecture: gmtl\ngrouping: {method: random_even}\n")
