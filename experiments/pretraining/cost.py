"""Operations and hours of masked language modelling, computed from a model's size; nothing is measured.

    python experiments/pretraining/cost.py

A token takes, forward and backward, 6 operations for each weight of the layers; 12 H L in each layer, for
attention to L tokens; and where it is hidden 6 (H^2 + H V) for the head, with width H and V pieces. Padding
is not computed, and not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

HIDDEN = 0.15  # share of the pieces
USED = 0.4  # assumed share of a GPU's peak; not measured
TOGETHER = 0.9  # assumed share of eight GPUs' speed that is not lost to communication; not measured
PEAKS = {
    "A100": 312e12,
    "H100": 989e12,
}  # bf16 operations/s, by NVIDIA's data sheets


@dataclass(frozen=True)
class Pretraining:
    """An encoder and what it reads.

    Args:
        layers, width, inner: layers, their width H, and the inner width of their feed-forward part.
        pieces: V of the vocabulary.
        length: mean tokens L of a row.
        rows: rows that are read, over all epochs.
    """

    layers: int
    width: int
    inner: int
    pieces: int
    length: float
    rows: float

    @property
    def operations(self) -> float:
        """Operations of the whole training."""
        weights = self.layers * (4 * self.width**2 + 2 * self.width * self.inner)
        attention = 12 * self.layers * self.width * self.length
        head = 6 * HIDDEN * (self.width**2 + self.width * self.pieces)
        return self.rows * self.length * (6 * weights + attention + head)

    def hours(self, peak: float, gpus: int) -> float:
        """Hours on one GPU or several, at the assumed shares of their peak."""
        return self.operations / (peak * USED * gpus * (1 if gpus == 1 else TOGETHER)) / 3600


BASE = Pretraining(12, 768, 3072, 30_000, 240, 62_500 * 8_192)
"""BERT-base of config.yml; 240 pieces in an abstract of PubMed's mean of 229 words."""


def main() -> None:
    """Print operations and hours."""
    print(f"each pretraining: {BASE.rows * BASE.length:.2g} tokens, {BASE.operations:.2g} operations")
    for gpu, peak in PEAKS.items():
        print(f"{gpu}: {BASE.hours(peak, 1):.0f} hours on one, {BASE.hours(peak, 8):.0f} on eight")


if __name__ == "__main__":
    main()
