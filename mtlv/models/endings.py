"""What the tokenizer of a decoder often lacks: a token that pads a text, and one that ends it."""

from __future__ import annotations

from typing import Any


def complete(tokenizer: Any) -> tuple[str, ...]:
    """Pad with the tokenizer's end token where it has no pad token, and end texts where it marks nothing.

    Each text then ends in that token, also both of a pair (as in Radford et al. 2018): without it two texts
    would run into each other, and an empty one would have no token.

    Args:
        tokenizer: changed in place; one that marks texts in any way and pads stays as it is.

    Returns:
        Notes of what was changed.
    """
    end, notes = tokenizer.eos_token, []
    if end is None:
        return ()
    if tokenizer.pad_token is None:
        tokenizer.pad_token = end
        notes.append(f"has no pad token: {end} fills short documents, and is not read there")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and not backend.num_special_tokens_to_add(False):
        backend.post_processor = _ending(backend.post_processor, end, tokenizer.eos_token_id)
        notes.append(f"marks no ends of texts: {end} stands behind each")
    return tuple(notes)


def _ending(before: Any, end: str, number: int) -> Any:
    from tokenizers import processors

    ends = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A {end} $B:1 {end}:1", special_tokens=[(end, number)]
    )
    return ends if before is None else processors.Sequence([before, ends])
