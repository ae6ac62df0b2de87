"""Content of the folder of a trained plan, and the sources of its files."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv import __version__
from mtlv.disk import flush
from mtlv.models.encoder_config import tokenizer_digest, write_bare
from mtlv.plan import as_json
from mtlv.sealed import set_aside
from mtlv.serving.columns import training_columns
from mtlv.serving.frame import column_types
from mtlv.serving.inputs import ServedTask, made_up_row
from mtlv.serving.kinds import COLUMNS
from mtlv.serving.manifest import DESCRIPTION, ModelManifest
from mtlv.serving.model import ENCODER, PLAN
from mtlv.store.unit_files import UNIT, WEIGHTS, check_files, digest_kept, write_unit
from mtlv.tracking import TrackedModel
from mtlv.tracking.tracker import INPUT_EXAMPLE, REQUEST_EXAMPLE

if TYPE_CHECKING:
    from mtlv.models.encoder import Encoder
    from mtlv.planning.resolve import FoldRun, ResolvedMember
    from mtlv.reporting.plan_result import Fitted
    from mtlv.store.local import Store
    from mtlv.units.input_cache import InputCache

CODE_FILE, CONTENT, NETWORKS = "model.py", "served", "networks"
CODE = '''"""Loads this folder with the installed package `mtlv`. No pickle is read."""

from mlflow.models import set_model

from mtlv.serving.pyfunc import PyfuncPlan

set_model(PyfuncPlan())
'''
PACKAGES = ("mlflow", "torch", "transformers", "tokenizers", "safetensors", "numpy", "pandas")


@dataclass(frozen=True)
class EncoderFiles:
    """An encoder's config and tokenizer on disk, and the digest of its tokenization."""

    folder: Path
    tokenizer: str

    @property
    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.name != UNIT)


@functools.cache
def requirements() -> str:
    """Return the packages of a trained plan with installed versions, without suffixes such as `+cpu`."""
    pins = [f"{name}=={importlib.metadata.version(name).split('+')[0]}" for name in PACKAGES]
    return "\n".join([f"mtlv=={__version__}", *pins]) + "\n"


def encoder_files(store: Store, cache: InputCache, encoder: Encoder) -> EncoderFiles:
    """Return the files of `encoder` in the store, written once, so that every model can link to them."""
    return cache.once(("encoder files", encoder.digest), lambda: _write_encoder(store, encoder, cache.warn))


def _write_encoder(store: Store, encoder: Encoder, warn: Callable[[str], None]) -> EncoderFiles:
    digest = tokenizer_digest(encoder.tokenizer)
    folder = store.encoders / f"{encoder.digest}-{digest}"
    if folder.is_dir():
        try:
            check_files(folder)
        except (OSError, ValueError) as error:
            warn(f"{folder} is damaged ({error}); {set_aside(folder)}, and its files are written again")
    if not folder.is_dir():
        folder.parent.mkdir(exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{encoder.digest}-"))
        try:
            write_bare(encoder, made)
            write_unit(made, {})
            made.chmod(0o755)
            for path in (*made.iterdir(), made):
                flush(path)
            os.replace(made, folder)
        except OSError:  # another process was faster; its files are the same
            shutil.rmtree(made, ignore_errors=True)
            if not folder.is_dir():
                raise
    return EncoderFiles(folder, digest)


def describe(
    fold_run: FoldRun,
    result: Fitted,
    tasks: Mapping[str, ServedTask],
    tokenizer: str,
    resolved: ResolvedMember,
    weights: Mapping[str, Path],
) -> ModelManifest:
    """Describe how the networks of a fold run were trained and tested; `weights`: the file of each task."""
    settings, thresholds = resolved.settings, result.thresholds.values
    networks = {model.name: _network_file(weights[model.tasks[0]]) for model in fold_run.plan.models}
    files = {task: _network_file(path) for task, path in weights.items()}
    return ModelManifest(
        origin=f"{resolved.name} · fold {fold_run.fold.index} · seed {fold_run.seed}",
        tasks=tasks,
        thresholds={name: thresholds[name] for name in tasks if name in thresholds},
        scope=result.thresholds.scope,
        networks=networks,
        task_files={
            task: files[task]
            for model in fold_run.plan.models
            for task in model.tasks
            if files[task] != networks[model.name]
        },
        encoder=settings.encoder.name,
        tokenizer=tokenizer,
        features=settings.encoder.features,
        heads=settings.heads.model_dump(mode="json"),
        precision=fold_run.jobs[0].precision,
        mtlv=__version__,
        sha256={_network_file(path): digest_kept(path) for path in dict.fromkeys(weights.values())},
        columns=training_columns(settings.data),
        temperatures=result.temperatures([served.task for served in tasks.values()]),
        limits=result.limits([served.task for served in tasks.values()]),
    )


def lay_out(
    description: ModelManifest, fold_run: FoldRun, encoder: EncoderFiles, weights: Iterable[Path]
) -> TrackedModel:
    """Return the folder of a fold run's plan, with the files of its networks' `weights`."""
    files = {f"{CONTENT}/{ENCODER}/{path.name}": path for path in encoder.files}
    files |= {f"{CONTENT}/{_network_file(path)}": path for path in weights}
    texts = {
        CODE_FILE: CODE,
        "requirements.txt": requirements(),
        f"{CONTENT}/{DESCRIPTION}": description.as_json(),
        f"{CONTENT}/{PLAN}": json.dumps(as_json(fold_run.plan), indent=1, ensure_ascii=False),
    }
    tasks = description.tasks.values()
    if row := made_up_row(tasks):
        table = {"columns": [*row], "data": [[*row.values()]]}
        texts |= {INPUT_EXAMPLE: json.dumps(table), REQUEST_EXAMPLE: json.dumps({"dataframe_split": table})}
    outputs = column_types([served.task for served in tasks])
    params: dict[str, str | bool | float]
    params = {"columns": COLUMNS[0], "tasks": "", "calibrated": False, "abstain": 0.0}
    return TrackedModel(files, texts, CODE_FILE, CONTENT, outputs, params)


def _network_file(path: Path) -> str:
    """Return the path of a unit's weights in the folder, which contains the unit's key."""
    return f"{NETWORKS}/{path.parent.name}{path.name.removeprefix(Path(WEIGHTS).stem)}"
