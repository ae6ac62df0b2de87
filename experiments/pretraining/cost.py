"""Operations and hours of masked language modelling, computed from a model's size; not measured.

    python experiments/pretraining/cost.py

Forward and backward, a token takes 6 operations per weight of the layers, 12 H L per layer for attention to L
tokens, and, if it is masked, 6 (H^2 + H V) for the head, with width H and V pieces in the vocabulary. Padding
is neither computed nor counted.
"""

from __future__ import annotations

from dataclasses import dataclass

HIDDEN = 0.15  # share of masked pieces
USED = 0.4  # assumed share of a GPU's peak; not measured
TOGETHER = 0.9  # assumed share of the speed of eight GPUs that communication leaves; not measured
PEAKS = {
    "A100": 312e12,
    "H100": 989e12,
}  # bf16 operations/s, from NVIDIA's data sheets


@dataclass(frozen=True)
class Pretraining:
    """Size of an encoder and of its pretraining data.

    Args:
        layers, width, inner: number of layers, their width H, and the inner width of their feed-forward part.
        pieces: number V of pieces in the vocabulary.
        length: mean number L of tokens per row.
        rows: number of rows over all epochs.
    """

    layers: int
    width: int
    inner: int
    pieces: int
    length: float
    rows: float

    @property
    def operations(self) -> float:
        """Number of operations of the whole training."""
        weights = self.layers * (4 * self.width**2 + 2 * self.width * self.inner)
        attention = 12 * self.layers * self.width * self.length
        head = 6 * HIDDEN * (self.width**2 + self.width * self.pieces)
        return self.rows * self.length * (6 * weights + attention + head)

    def hours(self, peak: float, gpus: int) -> float:
        """Return the hours on one or several GPUs at the assumed shares of their peak."""
        return self.operations / (peak * USED * gpus * (1 if gpus == 1 else TOGETHER)) / 3600


BASE = Pretraining(12, 768, 3072, 30_000, 240, 62_500 * 8_192)
"""BERT-base of config.yml; 240 pieces per PubMed abstract, whose mean length is 229 words."""


def main() -> None:
    """Print operations and hours."""
    print(f"each pretraining: {BASE.rows * BASE.length:.2g} tokens, {BASE.operations:.2g} operations")
    for gpu, peak in PEAKS.items():
        print(f"{gpu}: {BASE.hours(peak, 1):.0f} hours on one, {BASE.hours(peak, 8):.0f} on eight")


if __name__ == "__main__":
    main()
