"""Stages and transfers of a config."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.errors import ConfigError
from mtlv.settings import Suite, dump, load_suite

SOURCES = "data: {sources: [{name: biosses}, {name: chemprot}, {name: gad}]}\n"
TWO = """
training: {epochs: 7}
stages:
  - {name: refine, architecture: mtl, training: {learning_rate: 1e-3}}
  - {name: tune, architecture: stl, training.epochs: 3}
"""


@pytest.fixture
def load(tmp_path: Path):
    def load_text(text: str, *overrides: str) -> Suite:
        path = tmp_path / "config.yml"
        path.write_text(SOURCES + text, encoding="utf-8")
        return load_suite(path, overrides)

    return load_text


def test_a_stage_has_what_it_leaves_out_from_the_top(load) -> None:
    refine, tune = load(TWO).members[0].settings.stages
    assert (refine.training.epochs, refine.training.learning_rate) == (7, 1e-3)
    assert (tune.training.epochs, tune.training.learning_rate) == (3, 2e-4)
    assert refine.start is None
    assert (tune.start.stage, tune.start.match, tune.start.carry) == ("refine", "auto", "encoder")


def test_the_top_is_the_last_stage(load) -> None:
    settings = load(TWO).members[0].settings
    assert settings.architecture == settings.stages[-1].architecture
    assert settings.training == settings.stages[-1].training
    assert [each.architecture.name for each in settings.each_stage] == ["mtl", "stl"]


def test_what_is_dumped_is_read_back_the_same(load, tmp_path: Path) -> None:
    settings = load(TWO).members[0].settings
    path = tmp_path / "dumped.yml"
    path.write_text(dump(settings), encoding="utf-8")
    assert load_suite(path).members[0].settings == settings


def test_a_stage_may_begin_anew_and_an_override_reaches_what_it_leaves_out(load) -> None:
    text = TWO.replace("stl,", "stl, start: null,")
    settings = load(text, "training.batch_size=3").members[0].settings
    assert settings.stages[1].start is None
    assert {stage.training.batch_size for stage in settings.stages} == {3}


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ("[{name: a, epochs: 3}]", r"config.yml:2: `stages\[0\].epochs`: unknown key"),
        ("[{name: a, training: {epoks: 3}}]", r"`stages\[0\].training.epoks`.*`stages\[0\].training.epochs`"),
        ("[{name: a, training: {epochs: 0}}]", r"`stages\[0\].training.epochs`: got 0; allowed: a whole"),
        ("[{name: a}, {name: a}]", r"`stages\[1\].name`: the name `a` is taken"),
        ("[{name: a}, {name: b, start: {from: c}}]", "names no earlier stage .got `c`; earlier stages: a"),
        ("[{name: a, start: {from: a}}]", "there is no earlier stage"),
        ("[{name: a}, {name: b, start: {from: a, match: x}}]", r"`stages\[1\].start.match`: got 'x'"),
        ("[{name: a, training: {head_loss: weighted_sum}}]", r"`stages\[0\].training.head_weights`: not set"),
        ("[]", "`stages`: got"),
        ("3", "`stages`: got 3; allowed: a list of stages"),
        ("[3]", "`stages.*a list of stages|a mapping"),
    ],
)
def test_wrong_stages_are_named(load, stages: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(f"stages: {stages}\n")


def test_a_matrix_of_transfers_has_its_baselines(load) -> None:
    members = load("transfer: {seeds: [0, 1, 2], first: {training.epochs: 4}}\n").members
    assert len(members) == 3 + 3 * 2
    assert [member.name for member in members[:3]] == ["biosses alone", "chemprot alone", "gad alone"]
    assert {member.settings.seeds for member in members} == {(0, 1, 2)}
    after = next(member for member in members if member.name == "gad after biosses").settings
    assert after.tasks == ("gad",)
    assert [(s.tasks, s.training.epochs) for s in after.stages] == [(("biosses",), 4), (("gad",), 10)]


def test_sources_and_targets_may_be_named(load) -> None:
    members = load("transfer: {sources: [biosses, gad], targets: [gad]}\n").members
    assert [member.name for member in members] == ["gad alone", "gad after biosses"]


@pytest.mark.parametrize(
    "data",
    [
        "data: {name: table, path: t.csv, columns: {labels: [a, b, c]}}\n",
        "data: {name: table, path: t.csv, labels: [a, b, c], columns: {labels: [a, b, c, d]}}\n",
        "data: {labels: [a, b, c, d]}\ntasks: [a, b, c]\n",
    ],
)
def test_all_labels_of_one_table_are_meant(tmp_path: Path, data: str) -> None:
    config = tmp_path / "c.yml"
    config.write_text(f"{data}transfer: {{pairs: all}}\n")
    names = [member.name for member in load_suite(config).members]
    assert names == ["a alone", "b alone", "c alone", "a with b", "a with c", "b with c"]


def test_pairs_have_each_task_alone(load) -> None:
    members = load("transfer: {pairs: [[gad, biosses], [gad, chemprot]]}\n").members
    names = [member.name for member in members]
    assert names == [
        "gad alone",
        "biosses alone",
        "chemprot alone",
        "gad with biosses",
        "gad with chemprot",
    ]
    assert members[3].settings.tasks == ("gad", "biosses")
    assert len(load("transfer: {pairs: all}\n").members) == 3 + 3


def test_groups_by_the_gains_of_pairs_stand_beside_them(load) -> None:
    by = "{architecture: gmtl, grouping: {method: best, features: pair_gain, from: ['* with *']}}"
    members = load(f"transfer: {{pairs: [[gad, biosses]]}}\nruns: [{by}]\n").members
    assert [member.name for member in members[1:]] == ["gad alone", "biosses alone", "gad with biosses"]
    with pytest.raises(ConfigError, match="`name`: got 'gad alone'; the name is taken by the run at"):
        load("transfer: {pairs: [[gad, biosses]]}\nruns: [{name: gad alone, seed: 3}]\n")


@pytest.mark.parametrize(
    ("transfer", "message"),
    [
        ("all", "`transfer`: got 'all'; allowed: a mapping"),
        ("{pairs: all, sources: all}", "given together with `transfer.pairs`"),
        ("{pairs: [[gad, gad]]}", "allowed: all, or a list of pairs"),
        ("{pair: all}", "`transfer.pair`: unknown key; did you mean `transfer.pairs`"),
        ("{sources: gad}", "allowed: all, or a list of names"),
        ("{}", "`transfer`: got {}; allowed: a mapping with sources and targets, or with pairs"),
        ("{seeds: [x]}", r"`seed\[0\]`: got"),
        ("{first: 3}", "`transfer.first`: got 3"),
        ("{first: {foo: 3}}", r"`stages\[0\].foo`: unknown key"),
    ],
)
def test_wrong_transfers_are_named(load, transfer: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(f"transfer: {transfer}\n")


def test_all_needs_data_sets(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text("transfer: {pairs: all}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="`all` means the data sets"):
        load_suite(path)


def test_a_suite_is_asked_for_once(load) -> None:
    with pytest.raises(ConfigError, match="`transfer`: given together with `matrix`; keep one"):
        load("transfer: {pairs: all}\nmatrix: {seed: [1, 2]}\n")


def test_a_draw_may_change_over_the_epochs(load) -> None:
    training = load("training: {draw: temperature, temperature: [1, 5]}\n").members[0].settings.training
    assert training.temperature == (1.0, 5.0)
    assert repr(load("training: {temperature: 2}\n").members[0].settings.training.temperature) == "2.0"
    with pytest.raises(ConfigError, match=r"`training\.temperature`: changes over the epochs, but only"):
        load("training: {temperature: [1, 5]}\n")
    for wrong in ("0.5", "[1]", "[1, 0.5]", "[1, 2, 3]", "warm"):
        with pytest.raises(
            ConfigError, match=r"`training\.temperature.*a number of 1 or more, or two, of the"
        ):
            load(f"training: {{draw: temperature, temperature: {wrong}}}\n")


TAUGHT = """
stages:
  - {name: experts, architecture: stl}
  - {name: one, architecture: mtl, training: {teach: {from: experts}}}
"""


def test_a_teacher_has_defaults_and_its_student_begins_anew(load, tmp_path: Path) -> None:
    settings = load(TAUGHT).members[0].settings
    first, second = settings.stages
    assert first.training.teach is None
    teach = second.training.teach
    assert (teach.stage, teach.gold, teach.temperature) == ("experts", "annealed", 1.0)
    assert second.start is None
    assert (
        load(TAUGHT.replace("mtl,", "mtl, start: experts,")).members[0].settings.stages[1].start is not None
    )
    changed = load(TAUGHT.replace("from: experts", "from: experts, gold: 0, temperature: 4")).members[0]
    teach = changed.settings.training.teach
    assert (teach.gold, teach.temperature) == (0.0, 4.0)
    path = tmp_path / "dumped.yml"
    path.write_text(dump(settings), encoding="utf-8")
    assert load_suite(path).members[0].settings == settings


def test_settings_without_a_teacher_are_what_they_were(load) -> None:
    """Keys of units and members are made of them."""
    settings = load("").members[0].settings
    assert settings.training.teach is None
    assert "teach" not in settings.model_dump(mode="json")["training"]
    assert "teach" in load(TAUGHT).members[0].settings.model_dump()["training"]


def test_stages_at_a_default_do_not_inherit_from_a_dumped_config(load, tmp_path: Path) -> None:
    stages = """
architecture: {name: gmhl, private_layers: 2}
stages:
  - {name: first, architecture: {name: gmhl, private_layers: 0}}
  - {name: second, start: null}
"""
    settings = load(stages).members[0].settings
    path = tmp_path / "dumped.yml"
    path.write_text(dump(settings), encoding="utf-8")
    read = load_suite(path).members[0].settings
    assert [own.architecture.private_layers for own in read.each_stage] == [0, 2]


def test_a_share_may_vary_over_members(load) -> None:
    stages = "[{name: a, architecture: stl}, {name: b, training: {teach: {from: a, gold: GOLD}}}]"
    runs = ", ".join(f"{{name: r{gold}, stages: {stages.replace('GOLD', gold)}}}" for gold in ("0.5", "1"))
    members = load(f"runs: [{runs}]\n").members
    assert [member.settings.training.teach.gold for member in members] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("teach", "message"),
    [
        (
            "{from: c}",
            r"`stages\[1\].training.teach`: `from` names no earlier stage .got `c`; earlier stages",
        ),
        ("{from: b}", r"`from` names no earlier stage .got `b`; earlier stages: a"),
        ("{gold: 0.5}", r"`stages\[1\].training.teach.from`: got null; allowed: the name of an earl"),
        (
            "{from: a, gold: 1.5}",
            r"`stages\[1\].training.teach.gold`: got 1.5; allowed: annealed, or a number",
        ),
        ("{from: a, gold: -0.1}", r"`stages\[1\].training.teach.gold`: got -0.1; allowed: annealed"),
        ("{from: a, gold: rising}", r"`stages\[1\].training.teach.gold`: got 'rising'; allowed: annealed"),
        ("{from: a, temperature: 0}", r"teach.temperature`: got 0; allowed: a number above 0"),
        ("{from: a, share: 0}", r"`stages\[1\].training.teach.share`: unknown key"),
        (
            "a",
            r"`stages\[1\].training.teach`: got 'a'; allowed: a mapping of from, gold, temperature",
        ),
    ],
)
def test_wrong_teachers_are_named(load, teach: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(f"stages: [{{name: a}}, {{name: b, training: {{teach: {teach}}}}}]\n")


def test_a_teacher_needs_stages(load) -> None:
    with pytest.raises(
        ConfigError, match=r"config.yml:2: `training.teach`: set, but only a stage has a teach"
    ):
        load("training: {teach: {from: a}}\n")
    with pytest.raises(ConfigError, match=r"`stages\[0\].training.teach`: .* there is no earlier stage"):
        load("training: {teach: {from: a}}\nstages: [{name: a}, {name: b}]\n")
