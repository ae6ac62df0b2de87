"""Missing special tokens of decoders' tokenizers: padding and end of text."""

from __future__ import annotations

from typing import Any


def complete(tokenizer: Any) -> tuple[str, ...]:
    """Use the end token for padding if there is no pad token, and to end texts if nothing marks their ends.

    Each text then ends with this token, also both texts of a pair (as in Radford et al. 2018). Without it,
    two texts would not be separated, and an empty text would have no token.

    Args:
        tokenizer: changed in place, unless it already marks texts and pads.

    Returns:
        Notes on the changes.
    """
    end, notes = tokenizer.eos_token, []
    if end is None:
        return ()
    if tokenizer.pad_token is None:
        tokenizer.pad_token = end
        notes.append(f"has no pad token: {end} is used for padding, and is masked there")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and not backend.num_special_tokens_to_add(False):
        backend.post_processor = _ending(backend.post_processor, end, tokenizer.eos_token_id)
        notes.append(f"marks no ends of texts: {end} is appended to each")
    return tuple(notes)


def _ending(before: Any, end: str, number: int) -> Any:
    from tokenizers import processors

    ends = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A {end} $B:1 {end}:1", special_tokens=[(end, number)]
    )
    return ends if before is None else processors.Sequence([before, ends])
