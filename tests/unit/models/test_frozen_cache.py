"""Vectors of frozen layers: kept by all that they depend on."""

from __future__ import annotations

import pytest
import torch
from families import config_of
from one_head import with_head

from mtlv.models.base import base_class
from mtlv.models.encoder import Encoder
from mtlv.models.fast.frozen_cache import FrozenCache
from mtlv.plan import Task


@pytest.mark.parametrize(
    ("name", "kept"),
    [("bert", True), ("roberta", True), ("mpnet", False), ("deberta-v2", False), ("modernbert", False)],
)
def test_weights_that_are_trained_are_in_no_kept_vector(name: str, kept: bool) -> None:
    """Tables of relative positions act in all layers, and ModernBERT's last norm in any view of it."""
    config = config_of(name)
    encoder = Encoder(name, base_class(config).from_config(config), None, "")
    plain, model = (
        with_head(encoder, Task("a"), frozen_layers=1, below=below) for below in (None, FrozenCache(10**6))
    )
    assert model.keeps_below is kept
    for parameter in plain.parameters():  # norms that are not all alike
        if parameter.ndim == 1:
            torch.nn.init.uniform_(parameter, 0.5, 2)
    model.load_state_dict(plain.state_dict())
    ids = torch.randint(5, 37, (2, 8), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids, dtype=torch.bool)
    with torch.no_grad():
        found, wanted = (each.eval()(ids, mask) for each in (model, plain))
    assert torch.allclose(found["a"], wanted["a"], atol=1e-5)


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
