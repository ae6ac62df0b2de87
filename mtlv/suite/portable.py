"""The command `mtlv export RUN`: a trained model as a folder for programs without mtlv."""

from __future__ import annotations

import json
import logging
import re
import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mtlv.data.texts.lazy import pick
from mtlv.errors import DataError, PlanError, TrackingError
from mtlv.evaluation.bootstrap import document_interval, document_weights, not_of_sums, resample_scores
from mtlv.evaluation.calibration import calibration_error, known_pairs, reliability
from mtlv.evaluation.mixed import evaluate_all
from mtlv.evaluation.scoring import tasks_with_threshold
from mtlv.foreign import read_json
from mtlv.formatting import many, plain
from mtlv.plan import Scores, Task
from mtlv.reporting.descriptions import PAGE
from mtlv.reporting.metric_titles import metric_title
from mtlv.serving.inputs import SECOND
from mtlv.serving.kinds import DECISIONS
from mtlv.serving.model import ServedPlan
from mtlv.serving.predict import find_run, load_plan
from mtlv.serving.texts import InputTexts
from mtlv.store.scores_file import read_scores
from mtlv.suite.export import new_folder
from mtlv.tracking.mlflow_reader import MlflowReader
from mtlv.tracking.reader import FOLD, KIND, UID
from mtlv.units.corpora import read_data_settings, read_documents

if TYPE_CHECKING:
    from mtlv.serving.modeling_mtlv import MtlvModel

PACKAGES = ("onnx", "onnxruntime", "onnxscript")
CARD, TASKS, ENVIRONMENT = Path(__file__).with_name("model_card.txt"), "tasks.json", "environment.txt"
TRACKED = ("scores/test.parquet", TASKS, "config.yml", ENVIRONMENT)
BATCH = 16
INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask"}
INPUTS |= {"token_type_ids": "type_ids"}  # nosec B105 # no password
"""Inputs of an ONNX model, and their names in the package tokenizers."""


def export_run(
    name: str, folder: Path, *, to: str, int8: bool, tolerance: float, uri: str | None, experiment: str | None
) -> list[str]:
    """Write the model of a run to a new folder and return the lines to print.

    Args:
        name, uri, experiment: as for `load_plan`, but no folder.
        folder: folder to create.
        to: `hub` or `onnx`.
        int8: whether ONNX has weights of 8 bits.
        tolerance: as for `compare`.

    Raises:
        PlanError: the model cannot be exported, a package is missing, or ONNX scores otherwise.
        DataError: the documents of the test part are not available.
        TrackingError: as for `load_plan`, files of the run are missing, or the folder exists.
    """
    if lost := [package for package in PACKAGES if to == "onnx" and find_spec(package) is None]:
        raise PlanError(f"`--to onnx` needs {', '.join(lost)}", then="install them: pip install 'mtlv[onnx]'")
    reader = MlflowReader(uri)
    run = find_run(reader, name, experiment)
    plan = load_plan(run.id, uri=uri, device="cpu")
    model, about, lines = as_module(plan), plan.description, list[str]()
    member = run if run.parent is None else reader.run(run.parent) or run
    end = re.sub(r".* · fold (\d+) · seed (\d+)", r"-\1-\2", about.origin)
    folds = [one for one in reader.runs([run.experiment], {KIND: FOLD}) if one.parent == member.id]
    fold = next((one for one in folds if one.tags.get(UID, "").endswith(end)), run)
    files = [Path(file) for file in reader.files([(fold, file) for file in TRACKED]) if file is not None]
    if len(files) < len(TRACKED):
        raise TrackingError(f"run `{fold.name}` ({fold.id}) lacks files", allowed=", ".join(TRACKED))
    scores = read_scores(files[0])
    main = {task["name"]: task["main_metric"] for task in read_json(files[1])["tasks"].values()}
    with new_folder(folder) as made:
        shutil.copyfile(files[3], made / ENVIRONMENT)
        if to == "hub":
            _write_hub(model, plan, made)
        else:
            _write_onnx(model, plan, made, int8=int8)
            lines = [compare(plan, made, _test_texts(files[2], scores.ids), tolerance=tolerance)]
        note = member.tags.get("mlflow.note.content", "").replace(PAGE, "").split("\n\n")
        results = [part for part in note if not part.startswith(("|", "**Artifacts", "- ["))]
        results.append(f"Run `{fold.id}`; packages and machine: `{ENVIRONMENT}`.")
        tasks = [replace(about.tasks[task].task, main_metric=main[task]) for task in plan.tasks]
        results += _results(plan, scores, tasks)
        card = _card(plan, folder.name, to, "\n\n".join(results), lines)
        (made / "README.md").write_text(card, encoding="utf-8")
    return [f"{folder}: {many(len(plan.tasks), 'task')} of `{about.origin}`", *lines]


def as_module(plan: ServedPlan) -> MtlvModel:
    """Return the networks of a plan as a module of Transformers alone.

    Raises:
        PlanError: tasks read more than texts, or heads are not linear layers on a shared encoder.
    """
    import torch

    from mtlv.models.multitask import module_of
    from mtlv.serving.modeling_mtlv import POOLINGS, SCORES, MtlvConfig, MtlvModel

    about = plan.description
    served = [about.tasks[name] for name in plan.tasks]
    schemas = {one.schema for one in served}
    why = {
        "tags": any(one.task.kind not in SCORES for one in served),
        "marked entities": any(schema.roles for schema in schemas),
        "windows of long texts": any(schema.window_pooling for schema in schemas),
        "tasks with different inputs": len(schemas) > 1,
        "an average of models": about.models > 1,
        "private layers": any(network.model.private for network in plan.networks),
        f"features `{about.features}`": about.features not in POOLINGS,
    }
    if any(why.values()):
        raise PlanError(
            f"`{about.origin}` cannot be exported",
            got=", ".join(text for text in why if why[text]),
            allowed="tasks with the same inputs, texts or pairs, whose heads share encoders",
            then="serve it with MLflow (docs/serving.md)",
        )
    tasks, columns, heads, start = list[dict[str, Any]](), list[int](), list[tuple[int, Any]](), 0
    for number, network in enumerate(plan.networks):
        asked = set(network.tasks) & set(plan.tasks)
        specs = [head for head in network.model.specs.values() if asked & set(head.tasks)]
        heads += [(number, network.model.heads[module_of(head.name)]) for head in specs]
        for task in (about.tasks[name].task for head in specs for name in head.tasks):
            count, first = max(1, len(task.classes)), len(columns)
            if task.name in asked:
                columns += range(start, start + count)
                tasks.append({"name": task.name, "kind": task.kind, "outputs": [first, first + count]})
                tasks[-1] |= {"classes": list(task.classes), "threshold": about.thresholds.get(task.name)}
                tasks[-1]["temperature"] = about.temperatures.get(task.name)
            start += count
    values: dict[str, Any] = {
        "encoder": plan.encoder.module.config.to_dict() | {"_name_or_path": ""},  # no folder of this machine
        "encoders": len(plan.networks),
        "features": about.features,
        "tasks": tasks,
        "columns": columns,
        "heads": [(n, len(head.layers) // 3 + 1, head.layers[-1].out_features) for n, head in heads],
    }
    model = MtlvModel(MtlvConfig(**values)).eval()
    for encoder, network in zip(model.encoders, plan.networks, strict=True):
        encoder.load_state_dict(network.model.encoder.state_dict())
    for layers, (_, head) in zip(model.heads, heads, strict=True):
        layers.load_state_dict(head.layers.state_dict())
        if hasattr(head, "deviation"):  # its outputs are standard scores: give the unit of the targets
            with torch.no_grad():
                layers[-1].weight.mul_(head.deviation.unsqueeze(1))
                layers[-1].bias.mul_(head.deviation).add_(head.mean)
    return model


def _write_hub(model: MtlvModel, plan: ServedPlan, folder: Path) -> None:
    """Write weights, code, config and tokenizer; `pipeline("text-classification")` reads them, too."""
    config, code = model.config, Path(__file__).parents[1] / "serving" / "modeling_mtlv.py"
    name = f"{code.stem}.{type(model).__name__}"
    config.auto_map = {"AutoModel": name, "AutoModelForSequenceClassification": name}
    config.auto_map["AutoConfig"] = f"{code.stem}.{type(config).__name__}"
    labels = [f"{task['name']}: {label}" for task in config.tasks for label in task["classes"] or [""]]
    config.id2label = dict(enumerate(label.removesuffix(": ") for label in labels))
    if {task["kind"] for task in config.tasks} == {"binary"}:
        config.problem_type = "multi_label_classification"
    plan.encoder.tokenizer.model_max_length = plan.description.tasks[plan.tasks[0]].schema.max_length
    model.save_pretrained(folder)
    plan.encoder.tokenizer.save_pretrained(folder)
    shutil.copyfile(code, folder / code.name)


def _write_onnx(model: MtlvModel, plan: ServedPlan, folder: Path, *, int8: bool) -> None:
    """Write `model.onnx`, with tokenizer and tasks; raise PlanError if ONNX cannot express the encoder."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from tokenizers import Tokenizer

    names = list(INPUTS)[: 3 if model.reads_types else 2]
    mask = (torch.arange(8) < torch.tensor([[8], [5]])).long()  # [2, 8]: its values do not matter
    path = folder / "model.onnx"
    logging.disable(logging.WARNING)  # those of the exporter are for its developers
    try:
        with warnings.catch_warnings(action="ignore"):
            torch.onnx.export(
                model,
                tuple(mask.clone() for _ in names),
                path,
                input_names=names,
                output_names=["logits", "scores"],
                dynamic_shapes=tuple({0: "batch", 1: "tokens"} for _ in names),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
            if int8:
                quantize_dynamic(path, path, weight_type=QuantType.QInt8)
    except torch.onnx.errors.OnnxExporterError as error:
        what = f"PyTorch cannot write `{plan.description.encoder}` as ONNX"
        raise PlanError(what, got=str(error).splitlines()[0], then="export it with `--to hub`") from error
    finally:
        logging.disable(logging.NOTSET)
    tokenizer, length = plan.encoder.tokenizer, plan.description.tasks[plan.tasks[0]].schema.max_length
    fast = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    fast.enable_truncation(length, direction=tokenizer.truncation_side)
    pad = {"pad_id": tokenizer.pad_token_id, "pad_token": tokenizer.pad_token}
    fast.enable_padding(direction=tokenizer.padding_side, **pad)
    fast.save(str(folder / "tokenizer.json"))
    (folder / TASKS).write_text(json.dumps(model.config.tasks, indent=1), encoding="utf-8")


def _test_texts(config: Path, ids: Sequence[str]) -> InputTexts:
    """Return the documents of the test part; raise DataError if they are not available."""
    corpus = read_documents(read_data_settings(config, "config.yml of the run"))
    places = {id_: row for row, id_ in enumerate(corpus.ids)}
    if lost := [id_ for id_ in ids if id_ not in places]:
        raise DataError(f"`{corpus.name}` has changed: no document `{lost[0]}` of the run's test part")
    rows = np.array([places[id_] for id_ in ids])
    more = {} if corpus.seconds is None else {SECOND: tuple(pick(corpus.seconds, rows))}
    return InputTexts(tuple(pick(corpus.texts, rows)), tuple(range(len(rows))), "row", more)


def compare(plan: ServedPlan, folder: Path, texts: InputTexts, *, tolerance: float) -> str:
    """Compare the ONNX model in `folder` with PyTorch in fp32, and add the changes to its `tasks.json`.

    Args:
        plan: the model in PyTorch.
        folder: folder with the same tasks.
        texts: N texts; empty ones are left out.
        tolerance: largest change of a probability; of a number, in standard deviations.

    Returns:
        What changes.

    Raises:
        PlanError: a score changes more.
    """
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    exact = ServedPlan(replace(plan.description, precision="fp32"), plan.networks, plan.encoder)
    predictions = exact.predict(texts)
    rows: Any = [*map(str, texts.texts)]
    if SECOND in plan.description.tasks[plan.tasks[0]].schema.reads:
        rows = [*zip(rows, map(str, texts.more[SECOND]), strict=True)]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    session, outputs = InferenceSession(folder / "model.onnx"), []
    for start in range(0, len(rows), BATCH):
        tokens = tokenizer.encode_batch(rows[start : start + BATCH])
        names = [one.name for one in session.get_inputs()]
        inputs = {name: np.array([getattr(row, INPUTS[name]) for row in tokens]) for name in names}
        outputs.append(session.run(["scores"], inputs)[0])
    scores, tasks = np.concatenate(outputs), read_json(folder / TASKS)
    decisions = 0
    for task in tasks:
        before = predictions[task["name"]]
        values = scores[:, slice(*task["outputs"])].reshape(before.outputs.shape)
        values[before.empty] = before.outputs[before.empty]
        after = replace(before, outputs=values)
        unit = 1.0 if before.kind.probable else float(before.outputs.std()) or 1.0
        task["largest_change"] = float(np.abs(values - before.outputs).max()) / unit
        decided = before.kind.columns(before.task, DECISIONS)[0].values
        is_other = (decided(before) != decided(after)) & before.kind.probable  # numbers are no decisions
        task["changed_decisions"] = int(is_other.sum())
        decisions += before.kind.probable * (len(rows) - len(before.empty))
    worst = tasks[int(np.argmax([task["largest_change"] for task in tasks]))]  # NaN, if there is one
    changed = sum(task["changed_decisions"] for task in tasks)
    what = f"ONNX changes {changed} of {many(decisions, 'decision')} and a score by up to "
    what += f"{worst['largest_change']:.2g} on {many(len(rows), 'document')}, against PyTorch in fp32"
    if not worst["largest_change"] <= tolerance:
        raise PlanError(
            f"{what}; most for `{worst['name']}`",
            allowed=f"{tolerance:g} (`--tolerance`)",
            then="allow more, or export without `--int8`",
        )
    (folder / TASKS).write_text(json.dumps(tasks, indent=1), encoding="utf-8")
    return what


def _results(plan: ServedPlan, scores: Scores, tasks: Sequence[Task]) -> Iterator[str]:
    """Yield a table of test scores with intervals, thresholds and temperatures, and the calibration error."""
    about, groups, draws = plan.description, len(set(scores.groups or scores.ids)), dict[str, Any]()
    if not not_of_sums(tasks):
        weights = document_weights(scores.ids, scores.groups)
        resampled = resample_scores(scores, tasks, about.thresholds, weights)
        draws = {"all": resampled.main, **resampled.tasks}
    metrics = evaluate_all(scores, tasks, about.thresholds)
    lines = ["| task | metric | test score | 95% interval | threshold | temperature | support |"]
    lines.append("| --- | --- | ---: | --- | ---: | ---: | ---: |")
    rows = [("all", "mean", metrics.plan.main, len(scores.ids))]
    for task in tasks:
        result = metrics.tasks[task.name]
        rows.append((task.name, metric_title(task.main_metric), result.main, result.support))
    for name, metric, value, support in rows:
        interval = document_interval([draws[name]], [np.zeros(1)], groups=groups) if draws else None
        ends = "" if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"
        fits = [f"{fit[name]:.3g}" if name in fit else "" for fit in (about.thresholds, about.temperatures)]
        lines.append(f"| {' | '.join([plain(name), metric, f'{value:.3f}', ends, *fits, str(support)])} |")
    yield "\n".join(lines)
    if names := tasks_with_threshold(tasks):
        error = calibration_error(reliability(*known_pairs(scores, names)))
        yield f"Expected calibration error: {error:.3f}."


def _card(plan: ServedPlan, name: str, to: str, results: str, lines: Sequence[str]) -> str:
    schema = plan.description.tasks[plan.tasks[0]].schema
    texts = ["a text", "its second text"] if SECOND in schema.reads else ["a text"]
    example = CARD.with_name(f"example_{to}.txt").read_text("utf-8")
    template = CARD.read_text("utf-8").replace("{example}", example)
    return template.format(
        name=name,
        library={"hub": "transformers", "onnx": "onnx"}[to],
        about=plan.description,
        texts=", ".join(json.dumps([text]) for text in texts),
        rows=json.dumps([texts] if len(texts) > 1 else texts),
        results=results,
        length=schema.max_length,
        changes="".join(f"- {line}.\n" for line in lines),
    )
