# ruff: noqa: E501 - messages are quoted whole
"""Config files to suites: merging, members, and the text of every complaint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mtlv.errors import ConfigError
from mtlv.settings import Suite, dump, flatten, load_overrides, load_suite
from mtlv.settings.data_schema import ColumnSettings
from mtlv.settings.identity import settings_key

Write = Callable[[str], Path]
COLUMNS = ", ".join(ColumnSettings.model_fields)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a config and go to its folder, so that messages say `c.yml`."""
    monkeypatch.chdir(tmp_path)

    def to_file(text: str) -> Path:
        Path("c.yml").write_text(text, encoding="utf-8")
        return Path("c.yml")

    return to_file


def problems(path: Path, *overrides: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load_suite(path, overrides)
    return caught.value.problems


def names(suite: Suite) -> list[str]:
    return [member.name for member in suite.members]


# ---- Merging ---------------------------------------------------------------------------------------------


def test_an_empty_mapping_is_the_defaults(write: Write) -> None:
    (member,) = load_suite(write("{}\n")).members
    assert member.settings == load_overrides([]).members[0].settings
    assert member.name == "MTL"
    assert member.changes == {}
    assert member.settings.training.learning_rate == 2e-4


def test_file_over_defaults_then_overrides_over_the_file(write: Write) -> None:
    path = write("experiment: e\nseed: [1, 2]\narchitecture: gmtl\ntraining:\n  epochs: 3\n  warmup: 0\n")
    suite = load_suite(path, ["training.epochs=4", "encoder=bert", "data.labels=[a, b]", "data.limit="])
    settings = suite.members[0].settings
    assert (suite.experiment, settings.seeds) == ("e", (1, 2))
    assert (settings.training.epochs, settings.training.warmup, settings.training.batch_size) == (4, 0.0, 16)
    assert (settings.architecture.name, settings.encoder.name) == ("gmtl", "bert")
    assert settings.data.labels == ("a", "b")


def test_an_empty_section_changes_nothing(write: Write) -> None:
    assert (
        load_suite(write("training:\ndata: {name: openi, columns: }\n")).members[0].settings.training.epochs
        == 10
    )


def test_free_mappings_are_replaced_and_overridden_by_key(write: Write) -> None:
    path = write("data:\n  descriptions:\n    a: one\n    St. John: two\n")
    overrides = ["data.descriptions.St. John=three", "data.descriptions.b=four"]
    got = load_suite(path, overrides).members[0].settings.data.descriptions
    assert got == {"a": "one", "St. John": "three", "b": "four"}


def test_settings_cannot_be_changed(write: Write) -> None:
    settings = load_suite(write("{}")).members[0].settings
    with pytest.raises(ValueError, match="frozen"):
        settings.seed = 3  # type: ignore[misc]


def test_paths_start_at_the_config_or_on_the_command_line_here(tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    path = folder / "c.yml"
    path.write_text("data: {name: hoc, path: ../d/x}\nencoder: ./my-bert\ngrouping: {encoder: org/name}\n")
    settings = load_suite(path).members[0].settings
    assert settings.data.path == str(tmp_path / "d" / "x")
    assert settings.encoder.name == str(folder / "my-bert")
    assert settings.grouping.encoder == "org/name"
    assert load_suite(path, ["data.path=d/x"]).members[0].settings.data.path == "d/x"
    assert load_suite(path, ["data.path=~/x"]).members[0].settings.data.path == str(Path.home() / "x")
    assert load_suite(path, ["data.path=/x"]).members[0].settings.data.path == "/x"


def test_paths_of_sources_start_at_the_config_once_for_all_members_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sources = "[{name: table, alias: one, path: one.csv}, {name: table, alias: two, path: ../two.csv}]"
    Path("sub").mkdir()
    Path("sub/c.yml").write_text(
        f"runs: [{{data.sources: {sources}, matrix: {{training.epochs: [1, 2]}}}}]\n"
    )
    members = load_suite("sub/c.yml").members
    paths = [[one.path for one in member.settings.data.sources or ()] for member in members]
    assert paths == [["sub/one.csv", "two.csv"]] * 2


# ---- Suites ----------------------------------------------------------------------------------------------


def test_a_matrix_is_a_grid_without_repetitions(write: Write) -> None:
    path = write(
        "matrix:\n  architecture: [stl, mtl, gmtl]\n  encoder: [bert, org/x]\n  grouping.k: [3, auto]\n"
    )
    suite = load_suite(path)
    assert names(suite) == [
        "STL, bert",
        "STL, x",
        "MTL, bert",
        "MTL, x",
        "GMTL, 3 groups by description, bert",
        "GMTL, auto groups by description, bert",
        "GMTL, 3 groups by description, x",
        "GMTL, auto groups by description, x",
    ]
    assert suite.members[0].changes == {"architecture.name": "stl", "encoder.name": "bert"}
    assert suite.members[4].changes["grouping.k"] == 3
    assert suite.notes[:1] == (
        "4 repeated members left out (`grouping` does not concern stl and mtl): `STL, bert`, kept once; "
        "`STL, x`, kept once; `MTL, bert`, kept once; `MTL, x`, kept once",
    )


def test_groups_of_labels_without_descriptions_are_by_name(write: Write) -> None:
    text = "architecture: gmtl\ngrouping: {k: 2}\ndata: {name: table, path: x.csv, columns: {labels: [a, b]}"
    assert names(load_suite(write(text + "}\n"))) == ["GMTL, 2 groups by name"]
    assert names(load_suite(write(text + ", descriptions: {a: A, b: B}}\n"))) == [
        "GMTL, 2 groups by description"
    ]


def test_a_run_with_the_settings_of_another_is_left_out_by_its_name(write: Write) -> None:
    suite = load_suite(write("runs: [{name: a, architecture: mtl}, {name: b, architecture: mtl}]\n"))
    assert names(suite) == ["a"]
    assert suite.notes[:1] == ("1 repeated member left out: `b`, with the settings of `a`",)


def test_an_override_wins_over_the_matrix(write: Write) -> None:
    path = write("matrix: {architecture: [stl, mtl], training.epochs: [1, 2]}\n")
    suite = load_suite(path, ["architecture=gmhl"])
    assert {m.settings.architecture.name for m in suite.members} == {"gmhl"}
    assert [m.changes for m in suite.members] == [{"training.epochs": 1}, {"training.epochs": 2}]
    assert len(load_suite(path, ["matrix.architecture=[mtl]"]).members) == 2
    assert len(load_suite(path, ["matrix=null"]).members) == 1


def test_a_run_may_be_a_grid(write: Write) -> None:
    runs = """
runs:
  - {name: one, architecture: mtl}
  - name: random
    architecture: gmtl
    grouping.method: random
    matrix: {grouping.seed: [1, 2], grouping.scaling: [l2, none]}
  - {architecture: gmtl, grouping: {method: random}, matrix: {grouping.k: [2, 3]}}
"""
    members = load_suite(write(runs)).members
    assert [member.name for member in members[:5]] == [
        "one", "random 1 l2", "random 1 none", "random 2 l2", "random 2 none",
    ]  # fmt: skip
    own = [member.settings.grouping for member in members]
    assert [(each.seed, each.scaling) for each in own[1:5]] == [
        (1, "l2"),
        (1, "none"),
        (2, "l2"),
        (2, "none"),
    ]
    assert [(each.method, each.k) for each in own[5:]] == [("random", 2), ("random", 3)]
    assert members[0].settings.grouping.method != "random"


def test_runs_are_a_list_of_changes(write: Write) -> None:
    path = write(
        "grouping: {groups: [[a], [b, c]]}\n"
        "runs:\n"
        "  - architecture: mtl\n"
        "  - {name: mine, architecture: gmtl, grouping.k: 5}\n"
        "  - {architecture: gmhl, grouping: {method: given}}\n"
        "  - {architecture: gmhl, grouping.method: random, grouping.k: 4}\n"
        "  - {architecture: gmtl, grouping.method: hdbscan, grouping.features: document_centroid}\n"
        "  - {architecture: mtl, training.epochs: 2}\n"
    )
    assert names(load_suite(path)) == [
        "MTL",
        "mine",
        "GMHL, 2 given groups",
        "GMHL, 4 random groups",
        "GMTL, hdbscan groups by document centroid",
        "MTL, 2 epochs",
    ]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            "matrix: {encoder: [one/bert, two/bert]}",
            ["MTL, bert, encoder one/bert", "MTL, bert, encoder two/bert"],
        ),
        (
            "matrix: {training.auto_batch: [true, false], training.learning_rate: [0.001, 5.0e-5]}",
            [
                "MTL, auto batch, learning rate 0.001",
                "MTL, auto batch, learning rate 5e-05",
                "MTL, no auto batch, learning rate 0.001",
                "MTL, no auto batch, learning rate 5e-05",
            ],
        ),
        (
            "architecture: gmtl\ngrouping: {method: random, k: 2}\nmatrix: {seed: [0, 1], grouping.seed: [5, 6]}",
            [f"GMTL, 2 random groups, seed {i}, grouping seed {j}" for i in (0, 1) for j in (5, 6)],
        ),
        ("matrix: {training.epochs: [1, 2]}", ["MTL, 1 epoch", "MTL, 2 epochs"]),
        (
            "matrix: {seed: [0, 1], data.split_seed: [0, 1]}",
            [f"MTL, seed {i}, split seed {j}" for i in (0, 1) for j in (0, 1)],
        ),
        (
            "architecture: gmtl\ngrouping: {method: random, k: 2}\nmatrix: {seed: [0, 1], grouping.seed: [5]}",
            ["GMTL, 2 random groups, seed 0", "GMTL, 2 random groups, seed 1"],
        ),
        (
            "architecture: gmtl\ngrouping: {method: random, k: 2}\nmatrix: {seed: [[0, 1]], grouping.seed: [5, 6]}",
            ["GMTL, 2 random groups, seed 5", "GMTL, 2 random groups, seed 6"],
        ),
        (
            "matrix: {seed: [1, 2], training.objective: [sum, dwa]}",
            [f"MTL, seed {i}, objective {o}" for i in (1, 2) for o in ("sum", "dwa")],
        ),
        ("runs: [{}, {tasks: [a, b]}, {name: MTL, seed: 3}]", ["MTL (2)", "MTL, tasks a + b", "MTL"]),
        (
            "matrix: {training.task_weights: [null, {a: 2}]}",
            ["MTL, no task weights", 'MTL, task weights {"a": 2.0}'],
        ),
        (
            "architecture: gmtl\ngrouping: {method: given}\n"
            "matrix: {grouping.groups: [[[a long name, another long name, b], [c]], [[a long name, another long name], [b, c]]]}",
            [
                "GMTL, 2 given groups, groups a long name + another long name + b / c",
                "GMTL, 2 given groups, groups a long name + another long name / b + c",
            ],
        ),
        (
            "runs: [{tasks: [a very long name of a task, another one, b]}, "
            "{tasks: [a very long name of a task, another one, c]}]",
            [f"MTL, tasks a very long name of a task + another on…, tasks …one + {x}" for x in "bc"],
        ),
        (
            "matrix: {stages: [[{name: first}, {name: last}], [{name: only}]]}",
            ["MTL, first then last", "MTL, only"],
        ),
    ],
)
def test_a_name_says_what_differs(write: Write, config: str, expected: list[str]) -> None:
    assert names(load_suite(write(f"data: synthetic\n{config}\n"))) == expected


def test_the_number_of_groups_is_named_once_it_is_known(write: Write) -> None:
    path = write(
        "runs:\n  - architecture: gmtl\n  - {architecture: gmtl, name: k=auto groups, seed: 1}\n  - {seed: 2}\n"
    )
    found, named, other = load_suite(path, ["grouping.features=label_name"]).members
    assert (found.name, found.name_with_groups(4)) == ("GMTL, groups by name", "GMTL, 4 groups by name")
    assert named.name_with_groups(4) == "k=auto groups"
    assert other.name_with_groups(4) == "MTL, seed 2"


# ---- Complaints ------------------------------------------------------------------------------------------

ONE_PROBLEM = [
    ("a list\n", "c.yml:1: a config is a mapping of keys such as `training`"),
    ("training:\n  epochs: ten\n", "c.yml:2: `training.epochs`: got 'ten'; allowed: a whole number of 1 or more"),
    ("training: {epochs: '10'}\n", "c.yml:1: `training.epochs`: got '10'; allowed: a whole number of 1 or more"),
    ("training: {epochs: true}\n", "c.yml:1: `training.epochs`: got true; allowed: a whole number of 1 or more"),
    ("training: {epochs: 1.0}\n", "c.yml:1: `training.epochs`: got 1.0; allowed: a whole number of 1 or more"),
    ("training: {epochs: 0}\n", "c.yml:1: `training.epochs`: got 0; allowed: a whole number of 1 or more"),
    ("training: {epochs: null}\n", "c.yml:1: `training.epochs`: got null; allowed: a whole number of 1 or more"),
    ("training: {epochs: [1]}\n", "c.yml:1: `training.epochs`: got [1]; allowed: a whole number of 1 or more"),
    ("training: {warmup: 1}\n", "c.yml:1: `training.warmup`: got 1; allowed: a number of 0 or more and below 1"),
    ("training: {warmup: true}\n", "c.yml:1: `training.warmup`: got true; allowed: a number of 0 or more and below 1"),
    ("training: {clip_norm: .nan}\n", "c.yml:1: `training.clip_norm`: got nan; allowed: a number above 0, or null"),
    ("training: {device: gpu}\n", "c.yml:1: `training.device`: got 'gpu'; allowed: auto, cpu, cuda or cuda:NUMBER"),
    (
        "training: {head_loss: weightedsum}\n",
        "c.yml:1: `training.head_loss`: got 'weightedsum'; allowed: one of sum, mean, weighted_sum, weighted_mean, "
        "loss_proportional; did you mean `weighted_sum`?",
    ),
    (
        "training: {head_loss: weighted_sum, head_weights: {a: -1}}\n",
        "c.yml:1: `training.head_weights.a`: got -1; allowed: size, rarity, a mapping of task name to a number of "
        "0 or more, or null",
    ),
    ("architecture: gmt\n", "c.yml:1: `architecture.name`: got 'gmt'; allowed: one of stl, mtl, gmtl, gmhl, imported; did you mean `gmtl`?"),
    ("encoder: 5\n", "c.yml:1: `encoder.name`: got 5; allowed: text without control characters"),
    ('encoder: "a\\u001b[2J"\n', "c.yml:1: `encoder.name`: got 'a\\x1b[2J'; allowed: text without control characters"),
    ("experiment: ''\n", "c.yml:1: `experiment`: got ''; allowed: text of 1 to 200 characters, none of them a control character, or null"),
    ('experiment: "a\\u202eb"\n', "c.yml:1: `experiment`: got 'a\\u202eb'; allowed: text of 1 to 200 characters, none of them a control character, or null"),
    ("seed: -1\n", "c.yml:1: `seed`: got -1; allowed: a whole number of 0 or more, or a list of them"),
    ("seed: [0, a]\n", "c.yml:1: `seed[1]`: got 'a'; allowed: a whole number of 0 or more, or a list of them"),
    ("grouping: {k: 2.5}\n", "c.yml:1: `grouping.k`: got 2.5; allowed: auto, or a whole number of 1 or more"),
    ("grouping: {k: 0}\n", "c.yml:1: `grouping.k`: got 0; allowed: auto, or a whole number of 1 or more"),
    (
        "data:\n  labels:\n    - a\n    - 5\n",
        "c.yml:4: `data.labels[1]`: got 5; allowed: a list of label names (numbers in quotes), or null",
    ),
    ("data: {labels: []}\n", "c.yml:1: `data.labels`: got []; allowed: a list of label names (numbers in quotes), or null"),
    ("data: {descriptions: {a: 3}}\n", "c.yml:1: `data.descriptions.a`: got 3; allowed: a mapping of label name to text"),
    ("data: {columns: 3}\n", f"c.yml:1: `data.columns`: got 3; allowed: a mapping of {COLUMNS}"),
    ("tracking: 5\n", "c.yml:1: `tracking`: got 5; allowed: a mapping of uri, models, send_seconds, flush_seconds"),
    ("sede: 3\n", "c.yml:1: `sede`: unknown key; did you mean `seed`?"),
    ("training:\n  epoch: 3\n", "c.yml:2: `training.epoch`: unknown key; did you mean `training.epochs`?"),
    ("training:\n  lr: 3\n", "c.yml:2: `training.lr`: unknown key; did you mean `training.learning_rate`?"),
    ("random_state: 3\n", "c.yml:1: `random_state`: unknown key; did you mean `seed`?"),
    ("lr: 3\n", "c.yml:1: `lr`: unknown key; did you mean `training.learning_rate`?"),
    ("trainng:\n  epochs: 3\n", "c.yml:1: `trainng`: unknown key; did you mean `training`?"),
    ("epochs: 3\n", "c.yml:1: `epochs`: unknown key; did you mean `training.epochs`?"),
    ("training.epochs: 3\n", "c.yml:1: `training.epochs`: unknown key; write `epochs` below `training`"),
    ("tracking: {zzz: 3}\n", "c.yml:1: `tracking.zzz`: unknown key; allowed here: uri, models, send_seconds, flush_seconds"),
    # Settings that contradict each other
    ("data: {labels: [a, b, a]}\n", "c.yml:1: `data.labels`: names a label twice: a"),
    ("data: {scheme: rotate_test}\n", "c.yml:1: `data.scheme`: rotate_test needs `data.folds` of 2 or more (got 1)"),
    (
        "data:\n  name: table\n  columns: {labels: [a]}\n",
        "c.yml: `data.path`: not set, but `data.name: table` reads your own file; give its path",
    ),
    (
        "data: {name: table, path: x.csv}\n",
        "c.yml: `data.columns.labels`: no labels; give `data.columns.labels` (columns of 0 and 1) or "
        "`data.columns.label_list`, or for other kinds of task `data.columns.kind` and `target` or `tags`",
    ),
    (
        "data: {name: table, path: x, columns: {labels: [a], label_list: b}}\n",
        "c.yml:1: `data.columns.labels`: given together with `data.columns.label_list`; keep one of them",
    ),
    (
        "data: {name: table, path: x, columns: {labels: [a, a]}}\n",
        "c.yml:1: `data.columns.labels`: names a column twice: a",
    ),
    (
        "data: {name: table, path: x, columns: {kind: multiclass, target: t, classes: [a, b, a]}}\n",
        "c.yml:1: `data.columns.classes`: names a class twice: a",
    ),
    (
        "data:\n  sources:\n    - {name: openi}\n    - {name: table, path: x, columns: {labels: [a, a]}}\n",
        "c.yml: `data.columns.labels`: names a column twice: a",
    ),
    (
        "data:\n  sources:\n    - {name: openi}\n"
        "    - {name: table, path: x, columns: {kind: multiclass, target: t, classes: [b, c, b]}}\n",
        "c.yml: `data.columns.classes`: names a class twice: b",
    ),
    (
        "data: {name: openi, columns: {labels: [a]}}\n",
        "c.yml:1: `data.columns.labels`: set, but only `data.name: table` or `data.name: huggingface` reads it; for part of another data set's "
        "labels use `data.labels`",
    ),
    (
        "data: {name: openi, columns: {label_list: a}}\n",
        "c.yml:1: `data.columns.label_list`: set, but only `data.name: table` or `data.name: huggingface` reads it",
    ),
    (
        "data: {name: conll, path: x, columns: {text: a}}\n",
        "c.yml:1: `data.columns.text`: set, but only `data.name: table` or `data.name: huggingface` reads it",
    ),
    (
        "data: {name: conll, path: x, columns: {negative: [a]}}\n",
        "c.yml:1: `data.columns.negative`: set, but only `data.name: table` or `data.name: huggingface` reads it",
    ),
    (
        "data: {name: openi, columns: {task: a}}\n",
        "c.yml:1: `data.columns.task`: set, but only `data.name: table` or `data.name: huggingface` or `data.name: conll` or `data.name: standoff` reads it",
    ),
    (
        "data:\n  columns: {text: a}\n  sources:\n    - {name: table, path: x, columns: {kind: mlm}}\n"
        "    - {name: conll, path: y, columns: {task: a, id: b}}\n",
        "c.yml:3: `data.sources`: `data.sources[1].columns.id` is set, but only `data.name: table` or `data.name: huggingface` reads it",
    ),
    (
        "grouping: {method: given}\n",
        "c.yml: `grouping.groups`: not set, but `grouping.method: given` takes the groups from here; list them",
    ),
    (
        "grouping: {groups: [[a], [b]]}\n",
        "c.yml:1: `grouping.groups`: set, but only `grouping.method: given` reads it; set that method or leave the "
        "groups out",
    ),
    (
        "grouping: {method: given, groups: [[a, b], [b, c]]}\n",
        "c.yml:1: `grouping.groups`: a label may stand in one group only; in several: b",
    ),
    (
        "grouping: {method: given, groups: [[a], []]}\n",
        "c.yml:1: `grouping.groups[1]`: got []; allowed: a list of groups, each a list of label names, or null",
    ),
    (
        "grouping: {method: hdbscan, k: 4}\n",
        "c.yml:1: `grouping.k`: set, but `grouping.method` finds the number of groups itself; leave it out",
    ),
    (
        "grouping: {metric: cosine, features: label_count}\n",
        "c.yml:1: `grouping.metric`: cosine cannot tell single counts apart; take euclidean with label_count",
    ),
    (
        "grouping: {method: agglomerative, linkage: ward, metric: cosine}\n",
        "c.yml:1: `grouping.linkage`: ward needs `grouping.metric: euclidean`; take average, complete or single for "
        "cosine",
    ),
    ("grouping: {method: kde}\n", "c.yml: `grouping.features`: kde works on counts (got label_description); take label_count"),
    (
        "training: {head_loss: weighted_sum}\n",
        "c.yml: `training.head_weights`: not set, but `training.head_loss: weighted_sum` needs it; write size, "
        "rarity, or a mapping of task to weight",
    ),
    (
        "heads: {start: label_texts}\narchitecture: gmhl\n",
        "c.yml:1: `heads.start`: label_texts, but only heads of one layer that read a document's vector do that; set "
        "`architecture.head_layers: 1`, and other `encoder.features` than attention",
    ),
    (
        "training: {head_weights: size}\n",
        "c.yml:1: `training.head_weights`: set, but only `training.head_loss` weighted_sum and weighted_mean read it",
    ),
    (
        "training: {head_loss: weighted_sum, head_weights: {a: 0, b: 0.0}}\n",
        "c.yml:1: `training.head_weights`: every weight is 0, so nothing would be learned",
    ),
    ("evaluation: {grid: {start: 0.9, stop: 0.1}}\n", "c.yml:1: `evaluation.grid.stop`: below `evaluation.grid.start` (0.9)"),
    ("evaluation: {grid: {step: 0.00001}}\n", "c.yml:1: `evaluation.grid.step`: so small that more than 1000 thresholds would be tried (got 1e-05)"),
    ("evaluation: {grid: {step: 2.0}}\n", "c.yml:1: `evaluation.grid.step`: wider than the grid from start to stop (got 2)"),
    # Suites
    ("matrix: {architecture: [stl]}\nruns: [{seed: 1}]\n", "c.yml:2: `runs`: given together with `matrix`; keep one of them"),
    ("matrix: 3\n", "c.yml:1: `matrix`: got 3; allowed: a mapping of keys to lists of values"),
    ("matrix: {}\n", "c.yml:1: `matrix`: got {}; allowed: a mapping of keys to lists of values"),
    ("matrix:\n  seed: 3\n", "c.yml:2: `matrix.seed`: got 3; allowed: a list of values, at least one"),
    ("matrix: {seed: []}\n", "c.yml:1: `matrix.seed`: got []; allowed: a list of values, at least one"),
    ("matrix: {encoder: [a], encoder.name: [b]}\n", "c.yml:1: `matrix.encoder.name`: the same as `encoder.name` above; keep one of them"),
    ("matrix: {experiment: [a, b]}\n", "c.yml:1: `matrix.experiment`: is the same for a whole suite; write it at the top of the file"),
    ("matrix: {runs: [a, b]}\n", "c.yml:1: `matrix.runs`: cannot stand inside a suite"),
    (f"matrix: {{seed: {list(range(40))}, training.epochs: {list(range(1, 41))}}}\n", "c.yml:1: `matrix`: got 1600; allowed: at most 1000 combinations"),
    (
        "matrix:\n  architecture:\n    - stl\n    - gmt\n",
        "c.yml:4: `architecture.name`: got 'gmt'; allowed: one of stl, mtl, gmtl, gmhl, imported; did you mean `gmtl`?",
    ),
    ("matrix:\n  training.epoc: [1, 2]\n", "c.yml:2: `training.epoc`: unknown key; did you mean `training.epochs`?"),
    ("runs: []\n", "c.yml:1: `runs`: got []; allowed: a list of changes, at least one, at most 1000"),
    ("runs:\n  - 3\n", "c.yml:2: `runs[0]`: got 3; allowed: a mapping of keys to values"),
    ("runs:\n  - name: 3\n", "c.yml:2: `runs[0].name`: got 3; allowed: text"),
    (
        "runs:\n  - {name: a, seed: 1}\n  - {name: a, seed: 2}\n",
        "c.yml:3: `name`: got 'a'; the name is taken by the run at c.yml:2; give each its own",
    ),
    ("runs:\n  - matrix: {seed: 1}\n", "c.yml:2: `runs[0].matrix.seed`: got 1; allowed: a list of values, at least one"),
    ("runs:\n  - matrix: []\n", "c.yml:2: `runs[0].matrix`: got []; allowed: a mapping of keys to lists of values"),
    ("runs:\n  - encoder: bert\n    matrix: {encoder.name: [bert]}\n", "c.yml:3: `runs[0].matrix.encoder.name`: the same as `encoder.name` above; keep one of them"),
    (
        "store:\n  uri: s3://me:secret@bucket/x\n",
        "c.yml:2: `store.uri`: an address (got s3://***@bucket/x), but a store is a folder; copy finished units with "
        "`mtlv store push` and `mtlv store pull`, or train on several machines with `execution.engine: ray`",
    ),
    ("runs:\n  - seed: 1\n    store.uri: x\n", "c.yml:3: `runs[0].store.uri`: is the same for a whole suite; write it at the top of the file"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), ONE_PROBLEM)
def test_one_problem_one_line(write: Write, text: str, message: str) -> None:
    assert problems(write(text)) == (message,)


OVERRIDES = [
    ("foo", "foo on the command line: not key=value; write for example training.epochs=3"),
    ("=3", "=3 on the command line: not key=value; write for example training.epochs=3"),
    (
        "training.epochs=ten",
        "training.epochs=ten on the command line: `training.epochs`: got 'ten'; allowed: a whole number of 1 or more",
    ),
    (
        "training.epoch=1",
        "training.epoch=1 on the command line: `training.epoch`: unknown key; did you mean `training.epochs`?",
    ),
    ("trainng.epochs=1", "trainng.epochs=1 on the command line: `trainng.epochs`: unknown key; did you mean `training.epochs`?"),
    ("data.labels=[a", "data.labels=[a on the command line: not YAML: expected ',' or ']', but got '<stream end>'"),
    ("matrix.seed=3", "matrix.seed=3 on the command line: `matrix.seed`: got 3; allowed: a list of values, at least one"),
    ("seed=\x1b[31m", "seed=\\x1b[31m on the command line: not YAML: a character that is not allowed (code 27)"),
]  # fmt: skip


@pytest.mark.parametrize(("override", "message"), OVERRIDES)
def test_overrides_are_named_as_such(write: Write, override: str, message: str) -> None:
    assert problems(write(""), override) == (message,)


def test_of_two_overrides_the_last_wins(write: Write) -> None:
    """So that a script's own can be overridden behind them."""
    given = ["training.epochs=3", "encoder=bert", "training={epochs: 4, warmup: 0.2}", "encoder.name=tiny"]
    settings = load_suite(write(""), given).members[0].settings
    assert (settings.training.epochs, settings.training.warmup, settings.encoder.name) == (4, 0.2, "tiny")


def test_every_problem_in_one_go_in_the_order_of_the_file(write: Write) -> None:
    path = write(
        "sede: 1\ntraining:\n  epochs: ten\n  warmup: 2\ndata:\n  scheme: rotate_test\n"
        "matrix:\n  architecture: [stl, gmt]\n  grouping.k: [3, 4]\n"
    )
    found = problems(path, "training.epochs=eleven", "zzz")
    assert [line.split(": `")[0] for line in found[:4]] == ["c.yml:1", "c.yml:4", "c.yml:6", "c.yml:8"]
    assert len(found) == 6
    assert sum("zzz" in line for line in found) == 1


def test_a_wrong_value_starts_no_further_complaint(write: Write) -> None:
    assert len(problems(write("grouping: {method: givne, groups: [[a], [b]]}\n"))) == 1


def test_keys_read_by_one_member_are_no_problem(write: Write) -> None:
    path = write(
        "grouping: {groups: [[a], [b]]}\nmatrix: {grouping.method: [given, kmedoids]}\narchitecture: gmtl\n"
    )
    assert len(load_suite(path).members) == 2


def test_names_from_files_cannot_drive_a_terminal(write: Write) -> None:
    (line,) = problems(write('"a\\e[31m": 3\n'))
    assert line.isprintable()
    assert "a\\x1b[31m" in line


# ---- Describing ------------------------------------------------------------------------------------------


def test_dump_reads_back_the_same(write: Write) -> None:
    path = write(
        "seed: [1, 2]\ndata: {labels: ['1', 'no', yes, 2e-5x], descriptions: {'no': 'a: b'}}\n"
        "training: {learning_rate: 2e-5, clip_norm: null}\n"
    )
    settings = load_suite(path).members[0].settings
    write(dump(settings))
    assert load_suite(path).members[0].settings == settings


def test_flatten_gives_short_scalars(write: Write) -> None:
    settings = (
        load_suite(write("seed: [1, 2]\ngrouping: {method: given, groups: [[a, é], [b]]}\n"))
        .members[0]
        .settings
    )
    flat = flatten(settings)
    assert flat["seed"] == "[1, 2]"
    assert flat["grouping.groups"] == '[["a", "é"], ["b"]]'
    assert flat["data.path"] == "null"
    assert flat["evaluation.grid.step"] == 0.05
    assert flat["architecture.name"] == "mtl"
    assert all(
        isinstance(value, (str, int, float, bool)) and len(str(value)) <= 500 for value in flat.values()
    )


# ---- More than anyone can read ---------------------------------------------------------------------------


def test_thousands_of_wrong_keys_are_counted(write: Write) -> None:
    lines = problems(write("".join(f"k{i}: {i}\n" for i in range(3000))))
    assert len(lines) == 51
    assert lines[-1] == "c.yml: and 2950 more problems like these"
    wrong = ", ".join(["1"] * 3000)
    assert len(problems(write(f"data: {{name: synthetic, labels: [{wrong}]}}\n"))) == 51


def test_subgroups_do_not_change_which_run_a_member_is(write: Write) -> None:
    columns = "{name: table, path: t.csv, columns: {labels: [a]SEX}}"
    texts = [
        f"data: {columns}\n",
        f"data: {{sources: [{columns}, {columns.replace('name', 'alias: b, name')}]}}\n",
    ]
    for text in texts:
        keys = {
            settings_key(load_suite(write(text.replace("SEX", more))).members[0].settings)
            for more in ("", ", subgroups: [sex]", ", subgroups: [year, site]")
        }
        assert len(keys) == 1
        assert settings_key(load_suite(write(text.replace("[a]SEX", "[b]"))).members[0].settings) not in keys
