"""Tables, images and data sets of a run, in the form that MLflow's UI expects."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

from mtlv.foreign import parse_json
from mtlv.plan.names import ascii_slug
from mtlv.tracking.address import SERVER_SCHEMES, VIEW_PARAMETER, scheme
from mtlv.tracking.checks import check_picture
from mtlv.tracking.tracker import DataPart, TableFile

if TYPE_CHECKING:
    from mlflow import MlflowClient

PAGE = "compare.html"  # artifact of a comparison's run
TABLES, IMAGES = "mlflow.loggedArtifacts", "mlflow.loggedImages"


def served_release(uri: str) -> str:
    """Return the MLflow release of the server of `uri`; empty if unknown."""
    kind = scheme(uri)
    if not kind:  # a hosted service with its own UI
        return ""
    if kind not in SERVER_SCHEMES:
        import mlflow

        return mlflow.__version__
    from mlflow.utils.credentials import get_default_host_creds
    from mlflow.utils.rest_utils import http_request

    answer = http_request(get_default_host_creds(uri), "/version", "GET")
    return answer.text.strip() if answer.ok else ""


def with_links(text: str, experiment: str, run: str = "", run_id: Callable[[str], str] = str) -> str:
    """Return `text` with links that work on any server; `run_id` returns the id of a run by its uid.

    The links begin with `#`, so they are independent of the address; the workflow type keeps the page in the
    mode for training runs.
    """
    runs, mode = f"#/experiments/{experiment}/runs", "?workflowType=machine_learning"
    how = {"view": "&compareRunsMode=CHART", "table": ""}
    text = re.sub(
        r"(?<!\\)\]\((view|table):([\w-]+)\)",
        lambda match: f"]({runs}{mode}{how[match[1]]}{VIEW_PARAMETER}{match[2]})",
        text,
    )
    text = re.sub(
        r"(?<!\\)\]\(page:([\w-]+)\)",
        lambda match: f"]({runs}/{run_id(match[1])}/artifacts/{PAGE}{mode})",
        text,
    )
    return re.sub(
        r"(?<!\\)\]\(artifact:([^)\s]+)\)",
        lambda match: f"]({runs}/{run}/artifacts/{quote(match[1])}{mode})",
        text,
    )


def keep_table(client: MlflowClient, run: str, table: TableFile) -> None:
    """Write a table that the UI shows together with those of other runs; writing it again replaces it.

    MLflow's own `log_table` would append to an existing table.
    """
    content = {"columns": list(table.columns), "data": [list(row) for row in table.rows]}
    client.log_text(run, json.dumps(content, ensure_ascii=False), table.name)
    entry = {"path": table.name, "type": "table"}
    known = parse_json(client.get_run(run).data.tags.get(TABLES, "[]"))
    if entry not in known:
        client.set_tag(run, TABLES, json.dumps([*known, entry]))


def keep_image(client: MlflowClient, run: str, local: Path, key: str) -> None:
    """Put a PNG into the image grid as step 0 of `key`, with the file names that the UI parses.

    These names contain a time and an id, which are fixed here, so that the same image replaces itself. The
    grid shows the compressed image and opens the other; both are equal, so that text stays readable.
    """
    check_picture(local)
    name = "~".join(map(ascii_slug, key.split("/"))) + "+step+0+timestamp+0+mtlv"
    with TemporaryDirectory() as folder:
        for end in ("", "+compressed"):
            client.log_artifact(run, str(shutil.copy(local, Path(folder) / f"{name}{end}.png")), "images")
    client.set_tag(run, IMAGES, "True")


def keep_data(client: MlflowClient, run: str, parts: Sequence[DataPart]) -> None:
    """Log the data read by a run. MLflow would keep only the first role for the same name and digest."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    inputs = []
    for part in parts:
        columns = [{"type": "string", "name": "text", "required": True}]
        columns += [{"type": "long", "name": task, "required": True} for task in part.tasks]
        schema = json.dumps({"mlflow_colspec": columns}, ensure_ascii=False)
        profile = json.dumps({"num_rows": part.documents, "num_labels": len(part.tasks)})
        kind, key = ("http", "url") if part.source.startswith(("http://", "https://")) else ("local", "uri")
        source = json.dumps({key: part.source})
        data = Dataset(part.name, part.digest, kind, source, schema, profile)
        inputs.append(DatasetInput(data, [InputTag("mlflow.data.context", part.role)]))
    client.log_inputs(run, inputs)
