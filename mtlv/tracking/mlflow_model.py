"""A run's trained model in MLflow: a model entity of the run, with a folder that MLflow can load."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtlv.environ import variable
from mtlv.tracking.address import allows_files
from mtlv.tracking.checks import check_metrics, check_name, check_params, check_tags
from mtlv.tracking.mlflow_access import once, open_client, translate_errors
from mtlv.tracking.mlflow_moved import local_folder
from mtlv.tracking.tracker import INPUT_EXAMPLE, MODELS, REQUEST_EXAMPLE, RUN_ID, TrackedModel

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel

NAME = "model"
"""Name of a run's model: `runs:/RUN/model`."""
SOURCE_TAGS = {"mlflow.source.name": "mtlv", "mlflow.source.type": "LOCAL"}
PARAM_TYPES: Mapping[type, str] = {str: "string", bool: "boolean", float: "double"}  # MLflow's names of types
EXAMPLE = {
    "artifact_path": INPUT_EXAMPLE,
    "serving_input_path": REQUEST_EXAMPLE,
    "type": "dataframe",
    "pandas_orient": "split",
}
REQUIREMENTS = "requirements.txt"
TIMEOUT_VARIABLE = "MLFLOW_HTTP_REQUEST_TIMEOUT"
UPLOAD_SECONDS = 600  # seconds for the upload of a weights file; the server responds when the file is stored


def keep_model(client: MlflowClient, experiment: str, run: str, model: TrackedModel) -> None:
    """Add `model` to a run of `experiment` (an id) that does not have it, or complete its upload."""
    from mlflow.entities import LoggedModelOutput, LoggedModelStatus

    for name in (*model.files, *model.texts):
        check_name(name)
    entity = find_model(client, experiment, run)
    if entity is not None and entity.params.get(MODELS) != check_params(model.settings).get(MODELS):
        client.delete_logged_model(entity.model_id)  # `tracking.models` has changed
        entity = None
    if entity is not None and entity.status == LoggedModelStatus.READY:
        return
    if entity is None:
        entity = _create(client, experiment, run, model)
    outputs = client.get_run(run).outputs
    if outputs is None or all(out.model_id != entity.model_id for out in outputs.model_outputs):
        # Once: if it were linked twice, pages would show it twice.
        client.log_outputs(run, [LoggedModelOutput(entity.model_id, step=0)])
    place = {"artifact_path": entity.artifact_location, "run_id": run, "model_id": entity.model_id}
    texts = _texts(model, **place)
    folder = local_folder(entity.artifact_location)
    if folder is not None:
        place_files(model.files, texts, folder, (os.link, shutil.copyfile))
    else:
        with tempfile.TemporaryDirectory(prefix="mtlv-model-") as name, _patiently():
            place_files(model.files, texts, Path(name), (os.symlink, os.link, shutil.copyfile))
            client.log_model_artifacts(entity.model_id, name)
    _log_metrics(client, run, entity, model)
    client.finalize_logged_model(entity.model_id, LoggedModelStatus.READY)


def save_model(model: TrackedModel, folder: Path) -> None:
    """Write `model` into `folder`, which MLflow loads and serves like that of a run.

    Raises:
        OSError: a file cannot be written.
    """
    place_files(model.files, _texts(model), folder, (shutil.copyfile,))


def _create(client: MlflowClient, experiment: str, run: str, model: TrackedModel) -> LoggedModel:
    note = model.description.replace(RUN_ID, run)
    with once():
        return client.create_logged_model(
            experiment,
            name=NAME,
            source_run_id=run,
            params=check_params(model.settings),
            tags=SOURCE_TAGS | check_tags({"mlflow.note.content": note}),
        )


def find_model(client: MlflowClient, experiment: str, run: str) -> LoggedModel | None:
    """Return the run's model that is not deleted, whether finished or not."""
    models = client.search_logged_models(
        [experiment], filter_string=f"name = '{NAME}' AND source_run_id = '{run}'", max_results=1
    )
    return models[0] if models else None


def fetch_model(uri: str, experiment: str, run: str, into: Path) -> Path | None:
    """Return the folder of the run's model: local, or a copy in `into`; None if there is no model.

    Raises:
        TrackingError: the store or the model's files cannot be read.
    """
    from mlflow.entities import LoggedModelStatus

    with translate_errors(uri):
        client = open_client(uri)
        entity = find_model(client, experiment, run)
        if entity is None or entity.status != LoggedModelStatus.READY:
            return None
        folder = local_folder(entity.artifact_location)
        if folder is not None:
            return folder
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        with _patiently():
            repository = get_artifact_repository(entity.artifact_location, tracking_uri=uri)
            return Path(repository.download_artifacts("", dst_path=str(into)))


def _log_metrics(client: MlflowClient, run: str, entity: LoggedModel, model: TrackedModel) -> None:
    """Log the metrics of the model. The run already has these points; this links them to the model."""
    from mlflow.entities import Metric as Point

    name, digest = model.dataset or (None, None)
    if name is not None and allows_files():
        name = "_".join(name.split())  # blanks separate the fields of a line in MLflow's files
    points = [
        Point(
            m.key,
            m.value,
            m.timestamp_ms,
            m.step,
            model_id=entity.model_id,
            dataset_name=name,
            dataset_digest=digest,
        )
        for m in check_metrics(model.metrics)
    ]
    if points:
        client.log_batch(model.metrics_run or run, metrics=points)


def place_files(
    files: Mapping[str, Path], texts: Mapping[str, str], folder: Path, ways: tuple[Callable[..., Any], ...]
) -> None:
    """Copy everything into `folder`, each file by the first of `ways` that works."""
    for name, source in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        for way in ways:
            try:
                way(source.absolute(), target)
                break
            except OSError:
                if way is ways[-1]:
                    raise
    for name, text in texts.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _texts(model: TrackedModel, **place: Any) -> dict[str, str]:
    """Return the text files of an MLflow model: of `model`, its environment, and `MLmodel`."""
    return {**model.texts, **_environment(), "MLmodel": _mlmodel(model, place)}


def _mlmodel(model: TrackedModel, place: Mapping[str, Any]) -> str:
    """Return the `MLmodel` file, which makes the folder an MLflow model; `place` has where it is logged.

    It is written here because `mlflow.pyfunc.log_model` loads every model and infers its packages, which
    takes seconds.
    """
    import mlflow.pyfunc
    from mlflow.models import Model, ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

    # MLflow would drop columns that a schema of inputs does not name, and convert null to text. Without one,
    # the model gets texts, or a table with the names of training or those of its inputs.
    signature = ModelSignature(
        None,
        Schema([ColSpec(kind, name) for name, kind in model.outputs.items()]),
        ParamSchema(
            [ParamSpec(name, PARAM_TYPES[type(value)], value) for name, value in model.params.items()]
        ),
    )
    example = EXAMPLE if INPUT_EXAMPLE in model.texts else None
    out = Model(**place, signature=signature, saved_input_example_info=example)
    out.model_size_bytes = sum(path.stat().st_size for path in model.files.values())
    mlflow.pyfunc.add_to_model(
        out,
        loader_module="mlflow.pyfunc.loaders.code_model",
        model_code_path=model.code,
        artifacts={model.content: {"path": model.content, "uri": model.content}},
        model_config={"device": "auto"},
        conda_env="conda.yaml",
        python_env="python_env.yaml",
        streamable=False,
    )
    return out.to_yaml()


def _environment() -> dict[str, str]:
    """Return the files from which MLflow creates an environment; the packages are in requirements.txt."""
    python = ".".join(map(str, sys.version_info[:3]))
    python_env = json.dumps(
        {"python": python, "build_dependencies": ["pip"], "dependencies": [f"-r {REQUIREMENTS}"]}
    )
    packages = [f"python={python}", "pip", {"pip": [f"-r {REQUIREMENTS}"]}]
    conda = json.dumps({"name": "mlflow-env", "channels": ["conda-forge"], "dependencies": packages})
    return {"python_env.yaml": python_env + "\n", "conda.yaml": conda + "\n"}  # JSON is YAML


def _patiently() -> AbstractContextManager[None]:
    """Increase the timeout for large files."""
    before = os.environ.get(TIMEOUT_VARIABLE, "")
    return variable(TIMEOUT_VARIABLE, str(max(UPLOAD_SECONDS, int(before) if before.isdecimal() else 0)))
