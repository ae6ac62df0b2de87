"""What differs: only the settings that do, and a warning where runs may not be compared."""

from __future__ import annotations

from dataclasses import replace

from drawing import block

from mtlv.comparison.blocks import TextBlock
from mtlv.comparison.sections import settings
from mtlv.evaluation.tuning import Tried


def texts(section, tone):
    return [one.text for one in section.blocks if isinstance(one, TextBlock) and one.tone == tone]


def with_params(comparison, key, **changes):
    runs = tuple(
        replace(run, params={**run.params, **changes}) if run.key == key else run for run in comparison.runs
    )
    return replace(comparison, runs=runs)


def test_columns_are_the_settings_that_differ(comparison_of):
    comparison = with_params(comparison_of(runs=2), "r1", **{"training.epochs": "9", "data.limit": "7"})
    section = settings.build(comparison)
    table = block(section, "settings")
    assert [column.title for column in table.columns] == [
        "run", "folds × seeds", "architecture.name", "data.limit", "training.epochs",
    ]  # fmt: skip
    assert [row["setting.training.epochs"] for row in table.rows] == ["5", "9"]
    assert [row["setting.data.limit"] for row in table.rows] == [None, "7"]
    unset = with_params(comparison, "r0", **{"data.limit": "null"})
    rows = block(settings.build(unset), "settings").rows
    assert [row["setting.data.limit"] for row in rows] == ["not set", "7"]
    assert texts(section, "plain")[0].startswith("3 settings differ, 3 are the same in all runs.")
    assert texts(section, "warning") == []


def test_what_follows_the_run_is_no_setting(comparison_of):
    changes = {
        "seed": "3",
        "store.uri": "x",
        "tracking.uri": "y",
        "experiment": "z",
        "architecture.name": "stl",
    }
    section = settings.build(with_params(comparison_of(runs=2), "r1", **changes))
    assert texts(section, "plain")[0].startswith("All 5 settings are the same.")
    assert not [one for one in section.blocks if not isinstance(one, TextBlock)]


def test_a_grouping_concerns_runs_with_groups_only(comparison_of):
    comparison = with_params(comparison_of(runs=4), "r0", **{"grouping.k": "9"})
    table = block(settings.build(comparison), "settings")
    assert "setting.grouping.k" not in table.rows[0], "the two runs with groups have the same k"
    table = block(settings.build(with_params(comparison, "r3", **{"grouping.k": "5"})), "settings")
    assert [row["setting.grouping.k"] for row in table.rows] == [None, None, "4", "5"]


def test_of_one_run_all_settings_are_shown(comparison_of):
    comparison = comparison_of(runs=1)
    table = block(settings.build(comparison), "settings")
    shown = {row["setting"]: row["value"] for row in table.rows}
    assert shown == settings.settings_of(comparison.runs[0])
    assert shown["training.epochs"] == "5"


def test_folds_and_seeds_are_counted(comparison_of):
    table = block(settings.build(comparison_of(runs=2, children=8)), "settings")
    assert table.rows[0]["children"] == "4 × 2"


def test_different_data_is_warned_of_with_its_groups(comparison_of):
    comparison = comparison_of(runs=3)
    runs = (*comparison.runs[:2], replace(comparison.runs[2], data_digest="ffff0000ffff"))
    (warning,) = texts(settings.build(replace(comparison, runs=runs)), "warning")
    assert warning == (
        "The runs have different documents, targets or splits: metrics are comparable within a group only, "
        "and no test compares runs of different groups. data 01234567: “stl · minilm” and “mtl · minilm”; "
        "data ffff0000: “gmtl · k=4 · label_description · minilm”."
    )


def test_different_corpora_versions_and_tasks_are_warned_of(comparison_of):
    comparison = comparison_of(runs=2)
    one, other = comparison.runs
    fewer = tuple(replace(c, tasks=dict(list(c.tasks.items())[1:])) for c in other.children)
    renamed = tuple(replace(c, tasks={f"{n}!": v for n, v in c.tasks.items()}) for c in other.children)

    def warned(run):
        return list(settings.warnings((one, run)))

    assert warned(replace(other, dataset="hoc"))[0].endswith(
        "data set openi: “stl · minilm”; data set hoc: “mtl · minilm”."
    )
    assert warned(replace(other, version="9.9"))[0].endswith(
        "version unknown: “stl · minilm”; version 9.9: “mtl · minilm”."
    )
    assert warned(replace(other, children=fewer))[0].endswith(
        "6 tasks: “stl · minilm”; 5 tasks: “mtl · minilm”."
    )
    assert warned(replace(other, children=renamed))[0].endswith(
        "6 tasks: “stl · minilm”; 6 tasks (other set 1): “mtl · minilm”."
    )
    assert warned(other) == []


def test_a_warning_names_a_few_runs_of_a_large_group(comparison_of):
    comparison = comparison_of(runs=10)
    runs = (*comparison.runs[:9], replace(comparison.runs[9], data_digest="f" * 8))
    (warning,) = settings.warnings(runs)
    assert " and 3 more; data ffffffff" in warning


def test_values_that_were_tried_are_listed_with_the_chosen_ones(comparison_of):
    tried = (Tried((0, 0), "a, 1", 0.25, False), Tried((0, 0), "a, 2", 0.5, True))
    for runs in (1, 2):
        table = block(settings.build(replace(comparison_of(runs=runs), tried=tried)), "tried")
        rows = [(row["name"], row["score"], row["chosen"]) for row in table.rows]
        assert rows == [("a, 1", 0.25, ""), ("a, 2", 0.5, "chosen")]
