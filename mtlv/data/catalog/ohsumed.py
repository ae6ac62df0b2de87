"""OHSUMED: MEDLINE abstracts on cardiovascular diseases, 23 disease categories of MeSH.

Reads the tree `training|test/Cxx/id` with one text file per document, as a folder or as tar.gz, which is
read as a stream without unpacking. A document in several folders has several labels.
"""

from __future__ import annotations

from pathlib import Path

from mtlv.data.archives import documents
from mtlv.data.options import DataOptions
from mtlv.data.source import Card, Corpus, Label, targets_of
from mtlv.data.tables.decoding import decode
from mtlv.errors import DataError

_PARTS = {"training": "train", "test": "test"}

# Categories C01 to C23, in order.
_LABELS = {
    "Bacterial Infections and Mycoses": "Infections caused by bacteria or fungi, such as sepsis, "
    "tuberculosis or candidiasis.",
    "Virus Diseases": "Diseases caused by viruses, such as hepatitis, herpes, influenza or infection with "
    "HIV.",
    "Parasitic Diseases": "Diseases caused by protozoa, worms or other parasites, such as malaria or "
    "toxoplasmosis.",
    "Neoplasms": "Benign and malignant tumours of any organ, including leukaemia, and their spread.",
    "Musculoskeletal Diseases": "Diseases of bones, joints and muscles, such as arthritis, osteoporosis or "
    "myopathy.",
    "Digestive System Diseases": "Diseases of the gullet, stomach, bowel, liver, gall bladder and pancreas.",
    "Stomatognathic Diseases": "Diseases of the mouth, teeth, jaws, salivary glands and pharynx.",
    "Respiratory Tract Diseases": "Diseases of the airways, lungs and pleura, such as asthma, pneumonia or "
    "embolism of the lung.",
    "Otorhinolaryngologic Diseases": "Diseases of the ear, nose and throat, such as loss of hearing, "
    "sinusitis or tumours of the larynx.",
    "Nervous System Diseases": "Diseases of the brain, spinal cord, nerves and their supply, such as "
    "stroke, epilepsy or dementia.",
    "Eye Diseases": "Diseases of the eye, its lids and the optic nerve, such as glaucoma, cataract or "
    "retinopathy.",
    "Urologic and Male Genital Diseases": "Diseases of the kidneys, bladder and urinary tract, and of the "
    "prostate, testis and penis.",
    "Female Genital Diseases and Pregnancy Complications": "Diseases of the uterus, ovaries, vagina and "
    "vulva, and disorders of pregnancy and delivery.",
    "Cardiovascular Diseases": "Diseases of the heart and the blood vessels, such as infarction, "
    "hypertension or arrhythmia.",
    "Hemic and Lymphatic Diseases": "Diseases of the blood, bone marrow, spleen and lymph nodes, such as "
    "anaemia or clotting disorders.",
    "Neonatal Diseases and Abnormalities": "Diseases of newborn infants and malformations that are present "
    "at birth.",
    "Skin and Connective Tissue Diseases": "Diseases of the skin and of connective tissue, such as "
    "psoriasis, melanoma, lupus or scleroderma.",
    "Nutritional and Metabolic Diseases": "Disorders of nutrition and metabolism, such as diabetes, obesity "
    "or inborn errors of metabolism.",
    "Endocrine Diseases": "Diseases of glands that make hormones, such as the thyroid, the pituitary or the "
    "adrenals.",
    "Immunologic Diseases": "Disorders of the immune system, such as allergy, autoimmunity, rejection of "
    "grafts or AIDS.",
    "Disorders of Environmental Origin": "Harm from outside the body, such as injuries, burns, poisoning, "
    "radiation or substance abuse.",
    "Animal Diseases": "Diseases of animals, whether natural or as models of human disease.",
    "Pathological Conditions, Signs and Symptoms": "Abnormal states, signs and symptoms that occur in many "
    "diseases, such as pain, fever or necrosis.",
}

CARD = Card(
    name="ohsumed",
    title="OHSUMED, the first 20,000 abstracts of 1991, 23 MeSH disease categories",
    address="http://disi.unitn.it/moschitti/corpora.htm",
    licence="not stated for this release; the abstracts are MEDLINE's, for research use",
    citation="Hersh W, Buckley C, Leone TJ, Hickam D. OHSUMED: an interactive retrieval evaluation and new "
    "large test collection for research. Proc. SIGIR 1994, 192-201. Categories and split: Joachims T, 1998.",
    labels=tuple(
        Label(name, description, f"C{n:02}") for n, (name, description) in enumerate(_LABELS.items(), 1)
    ),
    by_hand="the source offers plain http only, which mtlv does not download from: get "
    "ohsumed-first-20000-docs.tar.gz from http://disi.unitn.it/moschitti/corpora.htm, set `data.path` to it",
)


def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all documents without duplicates, with the corpus's own training and test parts.

    Raises:
        DataError: missing files, an unknown folder, an id in both parts or with different contents.
    """
    codes = {label.code: label.name for label in CARD.labels}
    texts: dict[str, str] = {}
    labels: dict[str, set[str]] = {}
    parts: dict[str, str] = {}
    archives = sorted(path.glob("*first-20000-docs*.tar.gz"))
    for place, data in documents(archives[0] if archives else path, _is_document):
        part, code, id_ = _parts(place)
        if code not in codes:
            raise DataError(f"`{place}` is not in a known category", got=code, allowed="C01 to C23")
        text = " ".join(decode(data, place).split())
        if parts.setdefault(id_, _PARTS[part]) != _PARTS[part] or texts.setdefault(id_, text) != text:
            raise DataError(f"document `{id_}` is in both parts or has two different contents", got=place)
        labels.setdefault(id_, set()).add(codes[code])
    if not texts:
        raise DataError(
            f"no OHSUMED documents in `{path}`", allowed="training|test/C01..C23/id", then=CARD.by_hand
        )
    ids = sorted(texts, key=lambda id_: (parts[id_] == "test", id_))
    return Corpus(
        name=CARD.name,
        tasks=CARD.tasks(),
        ids=tuple(ids),
        texts=tuple(texts[id_] for id_ in ids),
        targets=targets_of([labels[id_] for id_ in ids], list(codes.values())),
        parts=tuple(parts[id_] for id_ in ids),
    )


def _parts(place: str) -> list[str]:
    """Return the last three names of a path: part, category and id of a document."""
    return place.split("/")[-3:]


def _is_document(place: str) -> bool:
    """Whether a path ends in part/category/id; hidden files of file managers do not count."""
    parts = _parts(place)
    return len(parts) == 3 and parts[0] in _PARTS and not parts[2].startswith(".")
