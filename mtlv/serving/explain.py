"""The words to which label-wise attention gives most weight (`encoder.features: attention`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from numpy.typing import NDArray

from mtlv.data.batches import PartDocuments
from mtlv.models.heads import Head
from mtlv.models.pooling import join_windows
from mtlv.training.loop import autocast, logits_of
from mtlv.training.predict import inference_batches

if TYPE_CHECKING:
    from mtlv.models.multitask import MultiTaskModel

SHOWN_WORDS = 5


def attended_words(
    model: MultiTaskModel,
    documents: PartDocuments,
    outputs: Mapping[str, NDArray],
    *,
    tokenizer: Any,
    precision: str,
) -> dict[str, dict[int, Mapping[str, float]]]:
    """Return the `SHOWN_WORDS` words with the largest weights, in order, by task and place of a document.

    A word's weight is the sum over its tokens, wherever it occurs; special tokens have the rest of 1. Of a
    task with classes, the weights are those of the class with the largest output. Tasks whose heads do not
    weigh tokens are left out.

    Args:
        model: the model.
        documents: n documents.
        outputs: the model's outputs for them by task, in the order of `documents.index`.
        tokenizer: tokenizer of the encoder.
        precision: `fp32` or `bf16`.
    """
    device = next(model.parameters()).device
    specs = {
        name: spec
        for name, spec in model.specs.items()
        if model.readers[name].by_token and spec.tasks[0] in documents.targets
    }
    places = {document: place for place, document in enumerate(documents.index.tolist())}
    words: dict[str, dict[int, Mapping[str, float]]] = {}
    model.eval()
    for batch in inference_batches(documents, device, precision) if specs else ():
        with torch.no_grad(), autocast(device, precision):
            weights = logits_of(model, batch.to(device), list(specs), read=Head.attention)
        ids = join_windows((batch.input_ids + 1) * batch.attention_mask, batch.windows) - 1
        rows = [(places[n], _words(tokenizer, row)) for n, row in zip(batch.index, ids.tolist(), strict=True)]
        for name, spec in specs.items():
            # Outputs are divided among tasks like a teacher's: [B, L], or [B, C, L].
            by_task = model.kinds[name].teacher_outputs(weights[name].transpose(1, 2))
            for task, of_documents in zip(spec.tasks, by_task, strict=True):
                for (place, its_words), values in zip(rows, of_documents.cpu(), strict=True):
                    of_tokens = values if values.ndim == 1 else values[outputs[task][place].argmax()]
                    total = {word: 0.0 for word, _ in its_words}
                    for word, tokens in its_words:
                        total[word] += float(of_tokens[tokens].sum())
                    largest = sorted(total, key=total.__getitem__, reverse=True)[:SHOWN_WORDS]
                    words.setdefault(task, {})[place] = {word: total[word] for word in largest}
    return words


def _words(tokenizer: Any, ids: Sequence[int]) -> list[tuple[str, list[int]]]:
    """Return the words of token ids, -1 for padding, and the places of their tokens.

    A token continues a word if the tokenizer decodes them together to one run of letters and digits.
    """
    special, words = {-1, *tokenizer.all_special_ids}, list[list[int]]()

    def decode(tokens: Sequence[int]) -> str:
        return str(tokenizer.decode(tokens)).replace(" ##", "").strip()  # own vocabularies have no decoder

    for place, token in enumerate(ids):
        if token in special:
            continue
        is_next = bool(words) and words[-1][-1] == place - 1
        if is_next and decode([*(ids[one] for one in words[-1]), token]).isalnum():
            words[-1].append(place)
        else:
            words.append([place])
    return [(decode([ids[place] for place in places]), places) for places in words]
