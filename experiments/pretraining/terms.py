"""Which biomedical terms are one piece in which vocabulary: Table 1 of Gu et al. (2021), for any tokenizers.

    python experiments/pretraining/terms.py NAME=FOLDER ...

A folder has a tokenizer as Transformers saves it, such as that of `mtlv export`. Prints a table: `yes` for a
term of one piece, else its pieces.
"""

from __future__ import annotations

import sys

TERMS = {
    "disease": ("diabetes", "leukemia", "hypertension", "nephropathy", "lymphoma"),
    "drug": ("lithium", "insulin", "lidocaine", "chloramphenicol", "clonidine", "naloxone"),
    "gene": ("DNA", "promoter", "RecA", "acetyltransferase"),
    "organ": ("oropharyngeal",),
    "cell": ("cardiomyocyte",),
}


def main(arguments: list[str]) -> None:
    """Print the table of the tokenizers in `NAME=FOLDER`."""
    from transformers import AutoTokenizer

    if not arguments or not all("=" in argument for argument in arguments):
        sys.exit("usage: python experiments/pretraining/terms.py NAME=FOLDER ...")
    folders = dict(argument.split("=", 1) for argument in arguments)
    tokenizers = {name: AutoTokenizer.from_pretrained(folder) for name, folder in folders.items()}
    print(f"| term | category | {' | '.join(tokenizers)} |")
    print(f"| --- | --- |{' --- |' * len(tokenizers)}")
    for category, terms in TERMS.items():
        for term in terms:
            pieces = [tokenizer.tokenize(term) for tokenizer in tokenizers.values()]
            cells = ["yes" if len(split) == 1 else " ".join(split) for split in pieces]
            print(f"| {term} | {category} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
