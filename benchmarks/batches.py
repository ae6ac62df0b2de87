"""Cost of random batches: training throughput, and how often documents share a batch again; about 6 minutes.

    python benchmarks/batches.py --reports FOLDER/indiana_reports.csv --abstracts OHSUMED.tar.gz

MTL with `minilm`, 128 tokens and batches of 16, on 160, 600 and 2,366 Open-I reports (without --reports:
generated ones) and, with --abstracts, on 14,000 OHSUMED abstracts. Four kinds of batches are compared: random
without padding (this package's), the same in parts of similar length (as for an encoder that needs padding),
sorted by length within windows of 50 batches and padded, and random and padded.
The first batches of an epoch are timed. The details contain how often documents that share a batch do so
again in the next epoch, relative to chance, and the padding of an epoch in percent of its tokens.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from harness import Claim, Result, interleaved, parser_of, publish, shares, sized
from numpy.typing import NDArray
from throughput import Work, learn, multi_task, open_i, read, spent

from mtlv.data.batches import PartDocuments
from mtlv.data.columns import dense
from mtlv.data.sampling import random_batches
from mtlv.training import loop
from mtlv.training.optim import resolve_device, resolve_precision

SIZE, LENGTH, EPOCHS, WINDOW = 16, 128, 4, 50
Order = Callable[[NDArray[np.int64], int], list[NDArray[np.int64]]]


def at_random(lengths: NDArray[np.int64], epoch: int) -> list[NDArray[np.int64]]:
    """Return random batches, as this package makes them."""
    return random_batches(lengths, SIZE, seed=0, epoch=epoch)


def windows(lengths: NDArray[np.int64], epoch: int) -> list[NDArray[np.int64]]:
    """Return batches that are sorted by length within windows of `WINDOW` batches."""
    rng = np.random.default_rng([0, epoch])
    order = rng.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), WINDOW * SIZE):
        part = order[start : start + WINDOW * SIZE]
        part = part[np.argsort(-lengths[part], kind="stable")]
        batches += [part[at : at + SIZE] for at in range(0, len(part), SIZE)]
    return [batches[place] for place in rng.permutation(len(batches))]


WAYS: dict[str, Order] = {
    "mtlv": at_random,
    f"at random, in parts of {loop.DOCUMENTS_PER_PART}": at_random,
    f"windows of {WINDOW} batches, padded": windows,
    "at random, padded": at_random,
}
OURS, IN_PARTS, BEFORE, RANDOM = WAYS
PARTS = {IN_PARTS: loop.DOCUMENTS_PER_PART}
"""Documents per part, for batches that are computed in parts."""


@dataclass(frozen=True)
class Case:
    """A number of documents of one corpus."""

    work: Work

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.work.tokens.lengths[self.work.index]

    def speed(self, way: str, count: int) -> float:
        """Return the documents per second of the first `count` batches of an epoch."""
        work = self.work
        model = multi_task(work)
        if way != OURS:
            model.__dict__["_packable"] = False
        documents = PartDocuments(work.tokens, dense(work.corpus.targets), work.index)
        batches = list(documents._batches(WAYS[way](self.lengths, 0)[:count]))
        loop.DOCUMENTS_PER_PART = PARTS.get(way, SIZE)
        begun = time.perf_counter()
        learn(model, lambda _: batches, precision=work.precision)
        return sum(len(batch.index) for batch in batches) / (time.perf_counter() - begun)

    def padding(self, way: str) -> float:
        if way == OURS:
            return 0.0
        lengths, size = self.lengths, PARTS.get(way, SIZE)
        parts = [
            batch[at : at + size] for batch in WAYS[way](lengths, 0) for at in range(0, len(batch), size)
        ]
        padded = sum(len(part) * int(lengths[part].max()) for part in parts)
        return 100 * (padded / int(lengths.sum()) - 1)

    def again(self, order: Order) -> float:
        """Return how often documents that share a batch do so in the next epoch, relative to chance."""
        epochs, pairs = [order(self.lengths, epoch) for epoch in range(EPOCHS)], []
        for before, after in pairwise(epochs):
            place = np.empty(len(self.lengths), np.int64)
            for number, batch in enumerate(after):
                place[batch] = number
            same = sum(int(c * (c - 1)) for b in before for c in np.unique(place[b], return_counts=True)[1])
            pairs.append(same / sum(len(b) * (len(b) - 1) for b in before))
        return float(np.mean(pairs)) * (len(self.lengths) - 1) / (SIZE - 1)


def case(path: Path | None, name: str, documents: int) -> Case:
    corpus, encoder, tokens = read(
        name if path else "synthetic",
        path,
        documents=documents,
        encoder=sized("minilm", "tiny"),
        max_length=LENGTH,
    )
    index = np.random.default_rng(0).permutation(len(corpus))[:documents]
    device = resolve_device("cpu")
    precision = resolve_precision("auto", device)
    targets = corpus.matrix().astype(np.float32)
    return Case(Work(corpus, encoder, tokens, targets, index, SIZE, LENGTH, device, precision))


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--reports", type=Path, default=open_i())
    parser.add_argument("--abstracts", type=Path)
    parser.add_argument("--batches", type=int, default=sized(10, 2))
    parser.add_argument("--repeats", type=int, default=sized(3, 1))
    args = parser.parse_args()
    wanted = [(args.reports, "openi", count) for count in sized((160, 600, 2366), (40,))]
    wanted += [(args.abstracts, "ohsumed", 14_000)] if args.abstracts else []
    made = [(name, case(path, name, count)) for path, name, count in wanted]
    cases = {f"{len(each.work.index):,} of {name}": each for name, each in made}
    values = {
        row: interleaved(
            {way: lambda c=each, w=way: c.speed(w, args.batches) for way in WAYS},
            args.repeats,
        )
        for row, each in cases.items()
    }
    result = Result("batches", "Training by how batches are made: documents/s", "documents/s", values)
    result.setting = {"batches": args.batches, "max_length": LENGTH, "encoder": sized("minilm", "tiny")}
    result.details = {
        f"{row}, {way}": {"padding, %": each.padding(way), "times as often as by chance": each.again(order)}
        for row, each in cases.items()
        for way, order in WAYS.items()
    }
    for row in cases:
        met = result.details[f"{row}, {OURS}"]["times as often as by chance"]
        result.claims += [
            Claim(f"{row}: against batches at random", None, result.ratio(row, OURS, RANDOM)),
            Claim(f"{row}: against parts of similar length", None, result.ratio(row, OURS, IN_PARTS)),
            Claim(f"{row}: against windows of 50 batches", None, result.ratio(row, OURS, BEFORE)),
            Claim(f"{row}: documents meet again, against chance", 2, met, at_least=False),
        ]
    few = next(iter(cases.values()))
    result.profile = shares(spent(lambda: few.speed(OURS, 2), few.work))
    return publish(result)


if __name__ == "__main__":
    sys.exit(main())
