"""The encoder's vectors, computed once, with two small layers that are trained in its place.

Training all of a Transformer for every row takes a GPU. With fixed vectors a model takes seconds, so there
can be several seeds. What is shared between tasks and trained is then these two layers.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from mtlv.data.tokens import Tokens
from mtlv.models.encoder import Encoder
from mtlv.seeding import content_key, seed_from
from mtlv.training.embed import embed_texts
from mtlv.units.inputs import UnitInputs


class FixedVectors(nn.Module):
    """Stands for an encoder: a document's only "token" is its row in a table of vectors.

    Args:
        vectors: [N, H], one per document of the corpus; brought to length sqrt(H).
    """

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        super().__init__()
        width = vectors.shape[1]
        table = torch.nn.functional.normalize(torch.from_numpy(vectors)) * width**0.5
        self.register_buffer("table", table, persistent=False)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_from("two small layers", width))
            self.layers = nn.Sequential(
                nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
            )
        self.config = SimpleNamespace(hidden_size=width, hidden_dropout_prob=0.1)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> SimpleNamespace:
        """Rows [B, 1] to `last_hidden_state` [B, 1, H]."""
        return SimpleNamespace(last_hidden_state=self.layers(self.table[input_ids]))


def frozen(inputs: UnitInputs, *, max_length: int, folder: Path) -> UnitInputs:
    """The same corpus with fixed vectors in the encoder's place.

    Args:
        inputs: the corpus and the real encoder, which makes the vectors (mean over tokens).
        max_length: tokens kept of a document.
        folder: where the vectors are kept for the next time.
    """
    corpus, encoder = inputs.corpus, inputs.encoder
    digest = content_key(["fixed vectors", encoder.digest, corpus.digest, max_length])
    path = folder / f"vectors-{digest}.npy"
    if not path.exists():
        vectors = embed_texts(encoder, corpus.texts, special_tokens=True, max_length=max_length)
        beside = path.with_suffix(".tmp.npy")
        np.save(beside, vectors)
        beside.replace(path)
    rows = np.arange(len(corpus))
    tokens = Tokens(rows.astype(np.int32), np.arange(len(corpus) + 1), pad=0, truncated=0)
    module = FixedVectors(np.load(path, allow_pickle=False))
    return UnitInputs(corpus, tokens, Encoder(encoder.name, module, encoder.tokenizer, digest))
