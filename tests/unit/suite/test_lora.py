"""Low-rank adapters from a config to served and exported models."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from memory_tracker import MemoryTracker
from safetensors.torch import load_file

from mtlv.errors import ConfigError
from mtlv.events import ignore
from mtlv.planning.check import check_suite
from mtlv.planning.resolve import resolve_all
from mtlv.serving.model import ServedPlan
from mtlv.settings import load_overrides
from mtlv.settings.describe import dump
from mtlv.store.local import Store
from mtlv.suite.export import export
from mtlv.suite.run import run_suite
from mtlv.tracking.mlflow_model import place_files
from mtlv.units.input_cache import InputCache

LORA = "encoder.lora={rank: 4, alpha: 32}"
GROUPS = ("grouping={method: given, groups: [[heart], [lung, bone]]}", "grouping.k=auto")
PRIVATE = "architecture={name: gmhl, private_layers: 1, private_kind: lora}"
FAST = ("training.learning_rate=1e-2", "training.warmup=0")


@pytest.mark.parametrize("changes", [("architecture=mtl",), (PRIVATE, *GROUPS)], ids=["mtl", "private"])
def test_what_is_trained_is_served_and_exported_without_adapters(
    suite: Callable, table: Callable, tmp_path: Path, changes: tuple[str, ...]
) -> None:
    made, tracker = suite(table("t"), LORA, *FAST, *changes), MemoryTracker()
    (member,) = run_suite(made, ignore, tracker).members
    (record,) = member.outcomes[0].records
    (kept,) = (tmp_path / "store" / "units").glob("*/model.safetensors")
    names = [name for name in load_file(kept) if name.endswith("lora_b")]
    assert names
    assert all(load_file(kept)[name].any() for name in names), "they are trained"
    heads = sum(w.numel() for name, w in load_file(kept).items() if name.startswith("heads."))
    assert record.parameters < heads + 100_000, "the encoder is not"
    (model,) = (run.model for run in tracker.runs.values() if run.spec.kind == "fold")
    assert model is not None
    place_files(model.files, model.texts, tmp_path / "model", (shutil.copyfile,))
    served = ServedPlan.load(tmp_path / "model" / model.content, device="cpu")
    assert not [name for name in served.networks[0].model.state_dict() if "lora" in name]
    test = member.outcomes[0].test
    corpus = InputCache().corpus(made.members[0].settings.data)
    told = served.predict([corpus.texts[corpus.ids.index(name)] for name in test.ids])
    for task in corpus.tasks:
        np.testing.assert_allclose(told[task.name].outputs, test.tasks[task.name].outputs, atol=1e-5)
    if changes == ("architecture=mtl",):
        export(made, tmp_path / "out", stage=None, unit=None)
        _is_the_trained_encoder(tmp_path / "out", kept, served)


def _is_the_trained_encoder(folder: Path, kept: Path, served: ServedPlan) -> None:
    """Loads by Transformers alone, and holds the merged weights."""
    from transformers import AutoModel

    loaded, info = AutoModel.from_pretrained(folder, output_loading_info=True)
    assert not info["unexpected_keys"]
    own = load_file(kept)
    start = "encoder.encoder.layer.0.attention.self.query."
    change = own[f"{start}lora_scale"] * own[f"{start}lora_b"] @ own[f"{start}lora_a"]
    found = loaded.state_dict()[start.removeprefix("encoder.") + "weight"]
    torch.testing.assert_close(found, own[f"{start}weight"] + change)
    assert change.abs().max() > 1e-4
    ids = torch.arange(10, 18)[None]
    encoder = served.networks[0].model.encoder
    other, mine = (each(input_ids=ids).last_hidden_state for each in (loaded.eval(), encoder))
    torch.testing.assert_close(other, mine, atol=1e-5, rtol=1e-5)


def test_a_later_stage_goes_on_with_the_adapters(suite: Callable, table: Callable, tmp_path: Path) -> None:
    stages = "stages=[{name: one, architecture: mtl}, {name: two, architecture: stl, tasks: [heart]}]"
    made = suite(table("t"), LORA, *FAST, stages, "training.epochs=1")
    run_suite(made, ignore, MemoryTracker())
    assert len(list((tmp_path / "store" / "units").glob("*/"))) == 2


def test_keys_are_those_without_adapters_where_there_are_none(tmp_path: Path) -> None:
    settings = load_overrides([]).members[0].settings
    assert "lora" not in settings.encoder.model_dump()
    assert "private_kind" not in settings.architecture.model_dump()
    keys = set()
    for changes in ((), (LORA,), ("encoder.lora={rank: 5, alpha: 32}",), ("encoder.lora={rank: 4}",)):
        usual = ("encoder=tiny", "data.documents=60", "training.device=cpu", f"store.uri={tmp_path}")
        (member,) = resolve_all(InputCache(Store(tmp_path)), load_overrides([*usual, *changes]).members)
        keys |= {job.unit.key for job in member.jobs}
    assert len(keys) == 4


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (("encoder.lora={rank: 0}",), r"encoder.lora.rank"),
        (("encoder.lora={rank: 2, dropout: 1}",), "0 or more and below 1"),
        (("encoder.lora={rank: 2, modules: [qkv]}",), r"got qkv\); allowed: query, key, value"),
        (
            ("encoder.lora={rank: 2}", "encoder.frozen_layers=2"),
            r"got null, for all\); set `encoder.lora: null`",
        ),
        (("encoder.lora={rank: 2, frozen: false}",), "false, but only heads with"),
        (("encoder.lora={rank: 2}", "encoder.weights=random"), "the frozen weights would be random"),
        ((PRIVATE, *GROUPS), "there are no adapters; set `encoder.lora"),
        ((PRIVATE.replace("1", "0"), LORA, *GROUPS), "set `architecture.private_layers`"),
        ((PRIVATE.replace("kind: lora", "kind: layers"), LORA, *GROUPS), "take lora, or set"),
        (
            (PRIVATE.replace("1", "2"), LORA, "encoder.frozen_layers=1", *GROUPS),
            r"above its 1 frozen ones \(got 2\)",
        ),
    ],
)
def test_what_cannot_be_adapted_is_refused(
    suite: Callable, table: Callable, changes: tuple[str, ...], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        check_suite(suite(table("t"), *changes))


def test_a_logged_config_is_read_back(suite: Callable, table: Callable, tmp_path: Path) -> None:
    from mtlv.settings import load_suite

    made = suite(table("t"), LORA, PRIVATE, *GROUPS).members[0].settings
    (tmp_path / "logged.yml").write_text(dump(made), encoding="utf-8")
    assert load_suite(tmp_path / "logged.yml").members[0].settings == made
    assert json.loads(json.dumps(made.encoder.lora.model_dump()))["alpha"] == 32
