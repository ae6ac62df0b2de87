"""Vectors of texts from an untrained encoder, for clustering tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from mtlv.data.batches import PartDocuments
from mtlv.data.tokens import Tokens, tokenise
from mtlv.models.base import token_types
from mtlv.models.encoder import Encoder, check_length
from mtlv.models.pooling import mean_of_windows, mean_vector, pool_windows
from mtlv.training.predict import inference_batches


def embed_texts(
    encoder: Encoder, texts: Sequence[str], *, special_tokens: bool, max_length: int
) -> NDArray[np.float32]:
    """Return the mean of the last layer's token vectors of each text [N, H], in fp32 and without dropout.

    Args:
        encoder: the encoder, which is not trained.
        texts: N texts.
        special_tokens: whether to include the vectors of [CLS] and [SEP] in the mean (as in the thesis).
        max_length: maximum tokens of a text.
    """
    check_length(encoder, max_length)
    tokenizer = encoder.tokenizer
    tokens = tokenise(texts, tokenizer, max_length=max_length, pad=tokenizer.pad_token_id)
    return embed(encoder, tokens, np.arange(len(texts)), special_tokens=special_tokens)


def embed(
    encoder: Encoder, tokens: Tokens, rows: NDArray[np.int64], *, special_tokens: bool
) -> NDArray[np.float32]:
    """Return the vectors of n rows of tokens [n, H], as `embed_texts` does.

    Args:
        encoder: the encoder.
        tokens: tokens of a corpus.
        rows: n different rows, in order.
        special_tokens: see `embed_texts`.
    """
    special = torch.tensor(sorted(encoder.tokenizer.all_special_ids))
    out = np.zeros((len(rows), encoder.width), dtype=np.float32)
    device = next(encoder.module.parameters()).device
    encoder.module.eval()
    with torch.inference_mode():
        for batch in inference_batches(PartDocuments(tokens, {}, rows), device, "fp32"):
            types = token_types(encoder.module, batch.segments)
            output = encoder.module(
                input_ids=batch.input_ids.to(device),
                attention_mask=batch.attention_mask.to(device),
                **{name: values.to(device) for name, values in types.items()},
            )
            counted = batch.attention_mask
            if not special_tokens:
                counted = counted & ~torch.isin(batch.input_ids, special)
            means = mean_vector(output, counted.to(device))
            if batch.windows is not None:
                windows = batch.windows.to(device)
                means = pool_windows(mean_of_windows, means, counted.to(device), windows)
            out[np.searchsorted(rows, batch.index)] = means.cpu().numpy()
    return out
