"""The encoder's vectors, computed once, and two small layers that are trained instead of the encoder.

Training a whole Transformer for every row requires a GPU. With fixed vectors, a model takes seconds, which
allows several seeds. The trained layers that tasks share are then these two.
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
    """Replacement of an encoder: a document's only "token" is its row in a table of vectors.

    Args:
        vectors: [N, H] vectors of the documents of the corpus; scaled to length sqrt(H).
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
        """Return `last_hidden_state` [B, 1, H] of rows [B, 1]."""
        return SimpleNamespace(last_hidden_state=self.layers(self.table[input_ids]))


def frozen(inputs: UnitInputs, *, max_length: int, folder: Path) -> UnitInputs:
    """Return the same corpus with fixed vectors instead of the encoder.

    Args:
        inputs: the corpus and the encoder that computes the vectors (mean over tokens).
        max_length: maximum number of tokens per document.
        folder: folder in which the vectors are cached.
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
