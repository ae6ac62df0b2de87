"""BC5CDR, chemicals: PubMed abstracts by sentences, in the form of the Cambridge language lab.

Reads `train.tsv`, `devel.tsv` and `test.tsv`: word, tab, tag; a blank line ends a sentence.
"""

from __future__ import annotations

from mtlv.data.conll import cambridge_card, tagged
from mtlv.plan.task import Task

CARD = cambridge_card(
    Task(
        "BC5CDR chemical",
        kind="tagging",
        source="bc5cdr_chem",
        classes=("Chemical",),
        description="Names of chemicals and drugs in abstracts of biomedical papers.",
        main_metric="entity_f1",
    ),
    title="BC5CDR chemical, names of chemicals in PubMed abstracts",
    citation="Li J, Sun Y, Johnson RJ, et al. BioCreative V CDR task corpus: a resource for chemical "
    "disease relation extraction. Database 2016:baw068, 2016.",
    folder="d62961c5750439aec6396f5703f3a1c03d97ebd3/data/BC5CDR-chem-IOB",
    sha256=(
        "165c4cd2efadd0caf1bb8f3c6bcd3acca199446bb3d55eb06d9137114c9a0b2d",
        "3f1df5cfcff95735663ffc37121fd3687e82b1e9a019bec0480491502652721b",
        "6fce42139a9d819151eff3ab8cb0eda6fbf861fd17d4cfe6be2123f010a3b6c5",
    ),
)

load = tagged(CARD)
