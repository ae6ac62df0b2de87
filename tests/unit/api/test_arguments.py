"""Keywords of the Python interface are settings."""

from __future__ import annotations

import traceback

import pytest

from mtlv.api.arguments import as_settings, errors_name_arguments
from mtlv.errors import ConfigError, GroupingError


@pytest.mark.parametrize(
    ("given", "own"), [("lr", "learning_rate"), ("num_train_epochs", "epochs"), ("epoch", "epochs")]
)
def test_a_name_of_another_library_leads_to_ours(given: str, own: str) -> None:
    with pytest.raises(ConfigError, match=f"argument `{given}`: no setting .* did you mean `{own}`"):
        as_settings({given: 1}, "training")


def test_the_section_of_a_function_takes_precedence() -> None:
    assert as_settings({"seed": 1}, "grouping") == {"grouping.seed": 1}
    assert as_settings({"seed": 1}, "training") == {"seed": 1}


@pytest.mark.parametrize(
    ("said", "section", "told"),
    [
        ("arguments: `training.epochs`: got -1", "training", "argument `epochs`: got -1"),
        ("set `training.select: best`", "training", "set `select='best'`"),
        ("set `grouping.k: 2`", "training", "set `k=2`"),
        ('got `encoder.name: "a long ...`', "training", 'got `encoder="a long ...`'),
        ("`encoder.name`: unknown", "grouping", "argument `encoder`: unknown"),
        (
            "`grouping.features` and `encoder.features`",
            "training",
            "argument `grouping__features` and argument `encoder__features`",
        ),
        ("`data.labels`", "data", "argument `labels`"),
        ("`data.labels`", "data.columns", "argument `data__labels`"),
        ("`data.columns.labels`", "data.columns", "argument `labels`"),
        ("`t.csv` has no `mtlv.train`", "data", "`t.csv` has no `mtlv.train`"),
    ],
)
def test_errors_name_the_argument_that_sets_a_setting(said: str, section: str, told: str) -> None:
    with pytest.raises(GroupingError) as found, errors_name_arguments(section):
        raise GroupingError(said)
    assert (str(found.value), found.value.problems) == (f"{told}.", (f"{told}.",))


def test_each_problem_names_its_argument_after_it_was_rewritten() -> None:
    with pytest.raises(ConfigError) as found, errors_name_arguments("training", str.lower):
        _inner()
    assert found.value.problems == ("argument `epochs`", "argument `limit`")
    assert str(found.value) == "argument `epochs`\nargument `limit`"
    assert found.value.__suppress_context__
    names = [frame.name for frame in traceback.extract_tb(found.value.__traceback__)]
    assert "_inner" not in names


def _inner() -> None:
    raise ConfigError(["`TRAINING.EPOCHS`", "`data.limit`"])
