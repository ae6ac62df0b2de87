"""BC5CDR, chemicals: PubMed abstracts by sentences, in the form of the Cambridge language lab.

Reads `train.tsv`, `devel.tsv` and `test.tsv`: word, tab, tag; a blank line ends a sentence.
"""

from __future__ import annotations

from mtlv.data.conll import tagged
from mtlv.data.parts import from_github
from mtlv.data.source import Card
from mtlv.plan.task import Task

CARD = Card(
    name="bc5cdr_chem",
    title="BC5CDR chemical, names of chemicals in PubMed abstracts",
    address="https://github.com/cambridgeltl/MTL-Bioinformatics-2016",
    licence="CC BY 4.0 for the data, as its repository states",
    citation="Li J, Sun Y, Johnson RJ, et al. BioCreative V CDR task corpus: a resource for chemical "
    "disease relation extraction. Database 2016:baw068, 2016. This form: Crichton G et al, BMC "
    "Bioinformatics 18:368, 2017.",
    other_tasks=(
        Task(
            "BC5CDR chemical",
            kind="tagging",
            source="bc5cdr_chem",
            classes=("Chemical",),
            description="Names of chemicals and drugs in abstracts of biomedical papers.",
            main_metric="entity_f1",
        ),
    ),
    main_metric="entity_f1",
    downloads=from_github(
        "cambridgeltl/MTL-Bioinformatics-2016",
        "d62961c5750439aec6396f5703f3a1c03d97ebd3/data/BC5CDR-chem-IOB",
        {
            "train.tsv": "165c4cd2efadd0caf1bb8f3c6bcd3acca199446bb3d55eb06d9137114c9a0b2d",
            "devel.tsv": "3f1df5cfcff95735663ffc37121fd3687e82b1e9a019bec0480491502652721b",
            "test.tsv": "6fce42139a9d819151eff3ab8cb0eda6fbf861fd17d4cfe6be2123f010a3b6c5",
        },
    ),
)

load = tagged(CARD)
