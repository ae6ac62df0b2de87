"""BC2GM: sentences of PubMed abstracts with names of genes, in the form of the Cambridge language lab.

Reads `train.tsv`, `devel.tsv` and `test.tsv`: word, tab, tag; a blank line ends a sentence.
"""

from __future__ import annotations

from mtlv.data.conll import cambridge_card, tagged
from mtlv.plan.task import Task

CARD = cambridge_card(
    Task(
        "BC2GM gene",
        kind="tagging",
        source="bc2gm",
        classes=("GENE",),
        description="Names of genes and gene products in sentences from abstracts.",
        main_metric="entity_f1",
    ),
    title="BC2GM, names of genes in PubMed abstracts",
    citation="Smith L, Tanabe LK, Ando RJ, et al. Overview of BioCreative II gene mention recognition. "
    "Genome Biol 9(Suppl 2):S2, 2008.",
    folder="954a98f80c443ea96cc4af742eb0f6a7c89c40a2/data/BC2GM-IOB",
    sha256=(
        "46e17f4e1509483b82c03f27d6f0214020f738fb71704356fb3445eb824ab38d",
        "33a94577aa22f1e70ec9e02781a05baa4e1390e866d28bf2b344888e4e3d4103",
        "30d7a4f571ca8ed22a044528063ba5d0388d666d8b8b329733d6927e5fb30764",
    ),
)

load = tagged(CARD)
