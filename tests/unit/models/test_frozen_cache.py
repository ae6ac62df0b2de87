"""Vectors of frozen layers: kept by all that they depend on."""

from __future__ import annotations

import torch

from mtlv.models.frozen_cache import FrozenCache


def test_documents_with_other_second_texts_are_other_documents() -> None:
    asked: list[list[int]] = []

    def lower(ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor | None) -> torch.Tensor:
        asked.append(ids[0].tolist())
        known = torch.zeros_like(ids) if segments is None else segments
        return torch.stack([ids, known], -1).float()

    below = FrozenCache(10**6)
    ids = torch.tensor([[5, 6, 7, 0], [5, 6, 7, 8]])
    mask = ids > 0
    for segments in (torch.tensor([[0, 0, 1, 0], [0, 0, 1, 1]]), torch.tensor([[0, 1, 1, 0], [0, 0, 1, 1]])):
        found = below.vectors(lower, ids, mask, segments)
        wanted = torch.stack([ids, segments], -1) * mask.unsqueeze(-1)
        assert torch.equal(found, wanted.float())
    assert asked == [[5, 6, 7], [5, 6, 7, 8], [5, 6, 7]]
    assert torch.equal(below.vectors(lower, ids, mask, None)[..., 1], torch.zeros(2, 4))
