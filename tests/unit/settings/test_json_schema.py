"""The JSON Schema accepts what the settings accept, names wrong keys and values, and quotes the reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtlv.cli import main
from mtlv.settings.draft import defaults
from mtlv.settings.json_schema import config_schema
from mtlv.settings.text import read

jsonschema = pytest.importorskip("jsonschema")
ROOT = Path(__file__).parents[3]
CONFIGS = [*ROOT.glob("config/*.yml"), *ROOT.glob("experiments/*/config*.yml")]


@pytest.fixture(scope="module")
def schema():
    found = config_schema()
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_configs_are_valid(schema, path):
    assert list(schema.iter_errors(read(path).value)) == []


def test_the_defaults_are_valid(schema):
    assert list(schema.iter_errors(defaults())) == []


@pytest.mark.parametrize(
    "config",
    [
        {"trainin": {"epochs": 3}},
        {"training": {"epoch": 3}},
        {"training": {"epochs": 0}},
        {"training": {"epochs": "three"}},
        {"grouping": {"method": "kmedoid"}},
        {"architecture": 3},
        {"data": {"columns": {"label": []}}},
        {"stages": [{"name": "a", "training": {"epochs": "three"}}]},
        {"matrix": {"seed": 3}},
        {"runs": []},
        {"transfer": {"pair": "all"}},
    ],
)
def test_wrong_configs_are_not(schema, config):
    assert list(schema.iter_errors(config))


def test_it_says_what_a_key_means_and_what_it_is_by_default():
    found = config_schema()
    epochs = found["$defs"]["TrainingSettings"]["properties"]["epochs"]
    assert epochs["description"].startswith("Passes of each model over its training documents. Allowed: a w")
    assert epochs["default"] == 10
    text = found["$defs"]["ColumnSettings"]["properties"]["text"]
    assert text["description"].startswith("Column with the text of a document. Allowed: ")
    assert found["properties"]["search"]["description"].startswith("The best of a grid on validation.")
    assert "----" not in str(found), "titles of sections belong to no key"
    parts = [found, *found["$defs"].values()]
    assert not any("required" in part for part in parts)


def test_every_value_of_a_section_is_described():
    found = config_schema()
    sections = [held["$ref"].rpartition("/")[2] for held in found["properties"].values() if "$ref" in held]
    assert len(sections) > 5
    for name in sections:
        for key, value in found["$defs"][name]["properties"].items():
            assert "$ref" in str(value) or value.get("description"), f"{name}.{key}"


def test_the_command_prints_it(capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(config_schema()))
