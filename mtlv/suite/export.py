"""The command `mtlv export`: the encoder of a trained unit as a folder that Transformers and configs read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mtlv._version import __version__
from mtlv.errors import PlanError, TrackingError
from mtlv.models.published_head import save_with_head
from mtlv.planning.resolve import resolve_all
from mtlv.store.local import Store
from mtlv.units.input_cache import InputCache

if TYPE_CHECKING:
    import torch

    from mtlv.settings import Suite
    from mtlv.units.job import Job

CARD = """\
---
library_name: transformers
base_model: {base}
---
# {name}

The encoder of `{base}` after training by mtlv {version}: stage `{stage}`, {tasks}, {epochs} epochs, learning
rate {rate:g}, on {documents:,} training documents of {corpus} (fold {fold}, seed {seed}). It has {heads}.

```python
from transformers import AutoModel, AutoTokenizer
model, tokenizer = AutoModel.from_pretrained("{folder}"), AutoTokenizer.from_pretrained("{folder}")
```

In a config of mtlv: `encoder: {{name: {folder}}}`. Unit `{key}`.
"""


def export(suite: Suite, folder: Path, *, stage: str | None, unit: str | None) -> list[str]:
    """Write the encoder of a unit to a new folder, as Transformers does, and return the lines to print.

    `stage` and `unit` (a part of its name) select the unit; None selects any.

    Raises:
        PlanError: no unit or several units match.
        TrackingError: the unit is not trained, its weights were not kept, or the folder exists.
    """
    store = Store(suite.members[0].settings.store.folder)
    cache = InputCache(store)
    jobs = {job.unit.key: job for member in resolve_all(cache, suite.members) for job in member.jobs}
    job = _the_one(list(jobs.values()), stage, unit)
    if job.unit.model.private:
        raise PlanError(
            f"`{job.name}` has no single encoder, because its heads have layers of their own",
            then="export a unit of a stage with `architecture.private_layers: 0`",
        )
    if not store.has(job.unit.key):
        raise TrackingError(f"`{job.name}` is not trained yet", then=f"train it: `{suite.command('run')}`")
    path = store.weights(job.unit.key)
    if path is None:
        raise TrackingError(
            f"the weights of `{job.name}` were not kept in the store",
            then="train it again with `store.keep_weights: true`: "
            f"`{suite.command('run')} --if-exists rerun`",
        )
    _write(cache, job, path, folder)
    return [f"{folder}: the encoder of `{job.name}`; use it as `encoder.name`, or with Transformers"]


def _the_one(jobs: Sequence[Job], stage: str | None, unit: str | None) -> Job:
    matches = [job for job in jobs if stage in (None, job.unit.stage)]
    matches = [job for job in matches if unit is None or unit.lower() in job.name.lower()]
    if len(matches) == 1:
        return matches[0]
    names = [job.name for job in matches or jobs]
    raise PlanError(
        "`--stage` and `--unit` must name one unit",
        got=f"{len(matches)} units",
        allowed="; ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else ""),
        then="give the stage's name, or a part of the unit's name that no other has",
    )


def _write(cache: InputCache, job: Job, weights: Path, folder: Path) -> None:
    settings = job.settings
    encoder = cache.encoder(settings.encoder, settings.data).with_weights(weights)
    sources = " + ".join(cache.inputs(settings).sources(job.unit.model.tasks))
    with new_folder(folder) as made:
        head = _masked_head(cache, job, weights)
        with_head = bool(head) and save_with_head(encoder.module, head, made)
        if not with_head:
            encoder.module.save_pretrained(made)
        encoder.tokenizer.save_pretrained(made)
        heads = "its head for masked words (`AutoModelForMaskedLM`)" if with_head else "no heads"
        (made / "README.md").write_text(_card(job, encoder.name, folder, sources, heads), encoding="utf-8")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder that becomes `folder` at the end, if there is no error.

    Raises:
        TrackingError: it exists, or cannot be written.
    """
    from transformers.utils import logging

    if folder.exists():
        raise TrackingError(f"`{folder}` exists already", then="give another folder")
    logging.disable_progress_bar()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    except OSError as error:
        raise TrackingError(f"`{folder}` cannot be written", got=error.strerror) from error
    try:
        yield made
        for weights in made.glob("*.safetensors"):  # safetensors lets only the owner read them
            shutil.copymode(made / "README.md", weights)
        made.chmod(0o755)
        made.replace(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _masked_head(cache: InputCache, job: Job, weights: Path) -> dict[str, torch.Tensor]:
    """Return the weights of the head for masked words; empty if the unit did not learn them."""
    from safetensors.torch import load_file

    from mtlv.models.multitask import module_of

    tasks = cache.inputs(job.settings).tasks
    masked = [head.name for head in job.unit.model.heads if tasks[head.tasks[0]].kind == "mlm"]
    if len(masked) != 1:
        return {}
    start = f"heads.{module_of(masked[0])}."
    return {
        name.removeprefix(start): weight
        for name, weight in load_file(weights).items()
        if name.startswith(start)
    }


def _card(job: Job, base: str, folder: Path, sources: str, heads: str) -> str:
    return CARD.format(
        heads=heads,
        base=base,
        name=folder.name,
        version=__version__,
        stage=job.unit.stage,
        tasks=", ".join(job.unit.model.tasks),
        epochs=job.settings.training.epochs,
        rate=job.settings.training.rate,
        documents=len(job.fold.train) if job.rows is None else job.rows,
        corpus=sources,
        fold=job.unit.fold,
        seed=job.unit.seed,
        folder=folder,
        key=job.unit.key,
    )
