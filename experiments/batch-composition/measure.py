"""Does the training loop learn as fast as a plain PyTorch loop that reshuffles every epoch?

    python experiments/batch-composition/measure.py train ARM SEED --data FOLDER/indiana_reports.csv
    python experiments/batch-composition/measure.py show [--size tiny]

Arms: `mtlv` (this package's batches, model and loop, computed without padding), `parts` (the same, computed
in padded parts of similar length), `windows` and `pairs` (as `parts`, but documents are sorted by length
within windows of 50 or of two batches) and `plain` (Transformers' model, PyTorch's dropout, a new permutation
each epoch, a smaller last batch). All train MTL of 19 labels on all of Open-I: `minilm`, 128 tokens, batches
of 16, 10 epochs, learning rate 2e-4, warm-up over a tenth of the steps, linear decay, AdamW with weight decay
0.01, clipping at 1, one split. With `--size tiny`: an encoder of two layers with random weights, 64 tokens,
12 epochs, learning rate 1e-3, fp32. Validation is scored after each epoch by scikit-learn; no test document
is scored. `train` writes results/ARM-SEED.json (of `tiny`, to results/tiny/); `show` prints differences,
paired by seed, with 95% t intervals, and draws curves.png beside them.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import average_precision_score, f1_score
from torch import nn

from mtlv.data import catalog
from mtlv.data.batches import PartDocuments
from mtlv.data.columns import dense
from mtlv.data.options import DataOptions
from mtlv.data.source import Corpus
from mtlv.data.splits import make_folds
from mtlv.data.tokens import Tokens, tokenise
from mtlv.formatting import many
from mtlv.models.encoder import Encoder, load_encoder
from mtlv.models.multitask import MultiTaskModel
from mtlv.plan import Task
from mtlv.registries import ARCHITECTURES
from mtlv.training import loop, optim
from mtlv.training.hooks import EpochLosses, Hook
from mtlv.training.memory import keep_freed_memory
from mtlv.training.objective import Objective
from mtlv.training.predict import predict
from mtlv.training.state import TrainingState

RESULTS = Path(__file__).parent / "results"
BATCH, WARMUP, DECAY, CLIP = 16, 0.1, 0.01, 1.0
THRESHOLDS = np.arange(0.05, 0.96, 0.05)
Batches = list[NDArray[np.int64]]


@dataclass(frozen=True)
class Size:
    """Encoder and training of all arms."""

    encoder: str
    length: int  # tokens
    epochs: int
    rate: float
    precision: str
    results: Path


SIZES = {
    "minilm": Size("minilm", 128, 10, 2e-4, "auto", RESULTS),
    "tiny": Size("tiny", 64, 12, 1e-3, "fp32", RESULTS / "tiny"),
}


@dataclass(frozen=True)
class Work:
    """Documents, encoder and precision that all arms share: N documents of one split."""

    size: Size
    corpus: Corpus
    encoder: Encoder
    tokens: Tokens
    targets: NDArray[np.float32]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    precision: str

    def scores(self, found: NDArray[np.float32]) -> dict[str, float]:
        """Return the metrics of probabilities [N, T] on the validation part, at its best single threshold."""
        true = self.targets[self.validation]
        f1 = [f1_score(true, found >= at, average="macro", zero_division=0) for at in THRESHOLDS]
        precision = average_precision_score(true, found, average="macro")
        return {"average_precision_macro": float(precision), "f1_macro": float(max(f1))}


def prepare(path: Path, size: Size) -> Work:
    corpus = catalog.load("openi", DataOptions(path=path))
    encoder = load_encoder(size.encoder, texts=corpus.texts)
    pad = encoder.tokenizer.pad_token_id
    tokens = tokenise(corpus.texts, encoder.tokenizer, max_length=size.length, pad=pad)
    (fold,) = make_folds(corpus, repeats="keep")  # split by exact texts
    precision = optim.resolve_precision(size.precision, torch.device("cpu"))
    targets = corpus.matrix().astype(np.float32)
    return Work(size, corpus, encoder, tokens, targets, fold.train, fold.validation, precision)


def sorted_windows(
    lengths: NDArray[np.int64], batch_size: int, *, seed: int, epoch: int, window: int = 50
) -> Batches:
    """Return batches of similar length, sorted within windows of `window` batches, in random order."""
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    batches: Batches = []
    for start in range(0, len(order), window * batch_size):
        part = order[start : start + window * batch_size]
        part = part[np.argsort(-lengths[part], kind="stable")]
        batches += [part[at : at + batch_size] for at in range(0, len(part), batch_size)]
    return [batches[place] for place in rng.permutation(len(batches))]


class Scored(Hook):
    """A hook that records loss and validation scores of each epoch."""

    def __init__(self, work: Work, model: MultiTaskModel) -> None:
        self.work, self.model, self.epochs = work, model, list[dict[str, float]]()

    def on_epoch(self, losses: EpochLosses) -> None:
        work = self.work
        part = PartDocuments(work.tokens, dense(work.corpus.targets), work.validation)
        found = predict(self.model, part, precision=work.precision)
        scores = work.scores(np.stack([found[task.name] for task in work.corpus.tasks], axis=1))
        self.epochs.append({"loss": losses.loss, "seconds": losses.seconds} | scores)
        print(self.epochs[-1], flush=True)


def ours(
    work: Work, seed: int, order: Callable[..., Batches] | None = None, *, padded: bool = True
) -> list[dict[str, float]]:
    """Train with this package's model and loop, and batches by `order` if given; return scores by epoch."""
    keep_freed_memory()
    tasks = {task.name: Task(task.name) for task in work.corpus.tasks}
    heads = ARCHITECTURES["mtl"].build(list(tasks), (), 1).models[0].heads
    module = copy.deepcopy(work.encoder.module)
    model = MultiTaskModel(module, heads, tasks=tasks, features="mean", seed=seed)
    if padded:
        model.__dict__["_packable"] = False
    documents = PartDocuments(work.tokens, dense(work.corpus.targets), work.train)
    lengths = work.tokens.lengths[work.train]
    steps = -(-len(documents) // BATCH) * work.size.epochs
    optimizer = optim.make_optimizer(model, learning_rate=work.size.rate, weight_decay=DECAY)
    scored = Scored(work, model)
    loop.train(
        TrainingState(model, optimizer, optim.schedule(optimizer, "linear", steps=steps, warmup=WARMUP)),
        lambda epoch: (
            documents.training(BATCH, seed=seed, epoch=epoch)
            if order is None
            else documents._batches(order(lengths, BATCH, seed=seed, epoch=epoch))
        ),
        objective=Objective(heads, tasks=tasks, combine="sum", head_weights=None),
        epochs=work.size.epochs,
        precision=work.precision,
        clip_norm=CLIP,
        hooks=[scored],
    )
    return scored.epochs


class Plain(nn.Module):
    """Transformers' encoder with mean pooling, dropout and a linear layer."""

    def __init__(self, encoder: Any, outputs: int) -> None:
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(encoder.config.hidden_dropout_prob)
        self.out = nn.Linear(encoder.config.hidden_size, outputs)
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        return self.out(self.dropout((hidden * weights).sum(1) / weights.sum(1)))


def plain(work: Work, seed: int) -> list[dict[str, float]]:
    """Train with a plain loop without this package's training code; return scores by epoch."""
    model = Plain(copy.deepcopy(work.encoder.module), len(work.corpus.tasks))
    steps = -(-len(work.train) // BATCH) * work.size.epochs
    warm = round(steps * WARMUP)
    matrices = [each for each in model.parameters() if each.ndim > 1]
    vectors = [each for each in model.parameters() if each.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=work.size.rate)

    def rate(step: int) -> float:
        return (step + 1) / (warm + 1) if step < warm else (steps - step) / (steps - warm)

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    rng = np.random.default_rng(seed)
    epochs = []
    for _ in range(work.size.epochs):
        model.train()
        begun, losses = time.perf_counter(), []
        order = rng.permutation(work.train)
        for first in range(0, len(order), BATCH):
            index = order[first : first + BATCH]
            with torch.autocast("cpu", torch.bfloat16, enabled=work.precision == "bf16"):
                logits = model(*_tensors(work, index))
            loss = nn.functional.binary_cross_entropy_with_logits(
                logits.float(), torch.from_numpy(work.targets[index])
            )
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            losses.append(loss.item())
        seconds = time.perf_counter() - begun
        epochs.append(
            {"loss": float(np.mean(losses)), "seconds": seconds} | work.scores(_answers(work, model))
        )
        print(epochs[-1], flush=True)
    return epochs


def _tensors(work: Work, index: NDArray[np.int64]) -> Sequence[torch.Tensor]:
    return [torch.from_numpy(each) for each in work.tokens.pad_rows(index)]


@torch.no_grad()
def _answers(work: Work, model: Plain) -> NDArray[np.float32]:
    model.eval()
    found = []
    for first in range(0, len(work.validation), 32):
        with torch.autocast("cpu", torch.bfloat16, enabled=work.precision == "bf16"):
            logits = model(*_tensors(work, work.validation[first : first + 32]))
        found.append(logits.float().sigmoid().numpy())
    return np.concatenate(found)


ARMS: dict[str, Callable[[Work, int], list[dict[str, float]]]] = {
    "mtlv": lambda work, seed: ours(work, seed, padded=False),
    "parts": ours,
    "windows": lambda work, seed: ours(work, seed, sorted_windows),
    "pairs": lambda work, seed: ours(work, seed, partial(sorted_windows, window=2)),
    "plain": plain,
}


def train(arm: str, seed: int, path: Path, size: Size) -> None:
    """Train one arm with one seed, unless its file exists."""
    file = size.results / f"{arm}-{seed}.json"
    if file.exists():
        return
    work = prepare(path, size)
    torch.manual_seed(seed)
    epochs = ARMS[arm](work, seed)
    sizes = {"train": len(work.train), "validation": len(work.validation), "precision": work.precision}
    setting = sizes | {"torch": torch.__version__.split("+")[0], "threads": torch.get_num_threads()}
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(
        json.dumps({"arm": arm, "seed": seed, "setting": setting, "epochs": epochs}, indent=1) + "\n"
    )


def kept(size: Size) -> dict[str, dict[int, list[dict[str, float]]]]:
    """Return the results by arm and seed."""
    found: dict[str, dict[int, list[dict[str, float]]]] = {}
    for file in sorted(size.results.glob("*-*.json")):
        content = json.loads(file.read_text())
        found.setdefault(content["arm"], {})[content["seed"]] = content["epochs"]
    return found


def show(size: Size) -> None:
    """Print differences to `plain`, paired by seed, and draw the curves."""
    found = kept(size)
    for metric in ("loss", "average_precision_macro", "f1_macro"):
        for arm in (name for name in ARMS if name != "plain" and name in found):
            seeds = sorted(set(found[arm]) & set(found["plain"]))
            print(f"\n{metric}: {arm} - plain, {len(seeds)} seeds")
            for epoch in range(size.epochs):
                pairs = [[found[name][seed][epoch][metric] for name in (arm, "plain")] for seed in seeds]
                values = np.array(pairs)
                difference = values[:, 0] - values[:, 1]
                middle = difference.mean()
                half = (
                    stats.t.ppf(0.975, len(seeds) - 1) * stats.sem(difference) if len(seeds) > 1 else np.nan
                )
                print(
                    f"epoch {epoch + 1:2}: {values[:, 0].mean():.3f} - {values[:, 1].mean():.3f} = "
                    f"{middle:+.4f} ({middle - half:+.4f} to {middle + half:+.4f})"
                )
    draw(found, size)


def draw(found: dict[str, dict[int, list[dict[str, float]]]], size: Size) -> None:
    import matplotlib.pyplot as plt

    titles = {"loss": "Training loss", "average_precision_macro": "Validation average precision (macro)"}
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    colours = dict(zip(ARMS, ("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#555555"), strict=True))
    for axis, (metric, title) in zip(axes, titles.items(), strict=True):
        for arm, by_seed in found.items():
            for number, epochs in enumerate(by_seed.values()):
                values = [epoch[metric] for epoch in epochs]
                label = f"{arm} ({many(len(by_seed), 'seed')})" if not number else None
                axis.plot(range(1, size.epochs + 1), values, color=colours[arm], alpha=0.6, label=label)
        axis.set(title=title, xlabel="Epoch")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False)
    figure.savefig(size.results / "curves.png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("train", help="train one arm with one seed")
    one.add_argument("arm", choices=list(ARMS))
    one.add_argument("seed", type=int)
    one.add_argument("--data", type=Path, required=True, help="Open-I's CSV")
    two = commands.add_parser("show", help="compare the results in results/")
    for command in (one, two):
        command.add_argument("--size", choices=list(SIZES), default="minilm", help="default: %(default)s")
    args = parser.parse_args()
    if args.command == "train":
        train(args.arm, args.seed, args.data, SIZES[args.size])
    else:
        show(SIZES[args.size])


if __name__ == "__main__":
    main()
