"""Open-I: chest X-ray reports of Indiana University, 19 labels, by the rule of the thesis.

Reads the CSV edition (`indiana_reports.csv`) and the official XML archive (`NLMCXR_reports.tgz`, packed or
unpacked). A report has a label if one of its headings, with its qualifiers, contains the label's pattern,
ignoring case. Of reports with equal text, compared before `XXXX` is removed, the first is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mtlv.data.archives import documents, parse_xml
from mtlv.data.options import DataOptions
from mtlv.data.source import Card, Corpus, Download, Label, targets_of
from mtlv.data.tables.rows import read_table
from mtlv.errors import DataError

MASK = "XXXX"
LARGEST_REPORT = 1_000_000

_LABELS = {
    "Airspace Disease": "The air sacs of the lung are filled with fluid, pus, blood or cells, and the patch "
    "looks white.",
    "Atelectasis": "Part of a lung has collapsed or is not fully expanded, seen as bands or as loss of "
    "volume.",
    "Calcified granuloma": "A small, dense, calcium-bearing nodule in the lung that an old, healed "
    "infection has left behind.",
    "Calcinosis": "Calcium has been laid down in tissue such as lymph nodes, the wall of the aorta or the "
    "lungs.",
    "Cardiomegaly": "The heart is enlarged: its shadow takes up more than half of the width of the chest.",
    "Cicatrix": "Scar tissue in the lung or pleura, seen as fibrous strands or thickening after an earlier "
    "disease.",
    "Deformity": "A bone of the chest, such as a rib or a vertebra, has an abnormal shape, often after a "
    "fracture.",
    "Effusion": "Fluid has gathered in a space round an organ, mostly between the lung and the wall of the "
    "chest.",
    "Emphysema": "The walls between air sacs are destroyed and leave large, trapped air spaces in the lung. "
    "Air under the skin is counted here too.",
    "Medical Device": "A device such as a pacemaker, a defibrillator or a stimulator has been placed in or "
    "on the chest.",
    "Nodule": "A small, round, well-defined spot in the lung, at most three centimetres wide.",
    "granulomatous disease": "An earlier infection such as tuberculosis or histoplasmosis left granulomas "
    "in lungs or nodes.",
    "indwelling catheters": "A tube that stays in a vessel or body cavity is seen, such as a central venous "
    "line or a drain.",
    "lung hyperdistention": "The lungs are over-expanded with air, with a flat diaphragm, as in chronic "
    "obstructive disease.",
    "lung hypoinflation": "The lungs hold little air, mostly because the patient breathed in too shallowly "
    "for the picture.",
    "opacity": "An area of the lung lets fewer X-rays through and looks whiter than the rest, whatever the "
    "cause.",
    "spine degenerative": "Wear of the spine with age, such as narrowed discs and bony spurs.",
    "surgical instrument": "Material that surgery left in the body is seen, such as clips, staples, sutures "
    "or wires.",
    "thoracic vertebrae degenerative": "Wear of the vertebrae of the chest, with bony spurs and loss of "
    "disc height.",
}
# Text that a heading of the label contains: its name, but for some.
_PATTERNS = {name: name.lower() for name in _LABELS} | {
    "indwelling catheters": "catheters, indwelling",
    "lung hyperdistention": "lung/hyperdistention",
    "lung hypoinflation": "lung/hypoinflation",
    "spine degenerative": "spine/degenerative",
    "thoracic vertebrae degenerative": "thoracic vertebrae/degenerative",
}

CARD = Card(
    name="openi",
    title="Open-I, Indiana University chest X-ray reports",
    address="https://openi.nlm.nih.gov/faq#collection",
    licence="CC BY-NC-ND 4.0, as the National Library of Medicine states for the collection; see its address",
    citation="Demner-Fushman D, Kohli MD, Rosenman MB, et al. Preparing a collection of radiology "
    "examinations for distribution and retrieval. J Am Med Inform Assoc 23(2):304-310, 2016.",
    labels=tuple(Label(name, description) for name, description in _LABELS.items()),
    downloads=(
        Download(
            "https://openi.nlm.nih.gov/imgs/collections/NLMCXR_reports.tgz",
            "NLMCXR_reports.tgz",
            max_bytes=50_000_000,
        ),
    ),
)


@dataclass(frozen=True)
class RadiologyReport:
    """One report: its headings with qualifiers, and its two sections ("" if absent)."""

    uid: str
    headings: tuple[str, ...]
    findings: str
    impression: str

    @property
    def text(self) -> str:
        return " ".join(part for part in (self.findings, self.impression) if part)

    @property
    def labels(self) -> set[str]:
        lower = [heading.lower() for heading in self.headings]
        return {name for name, pattern in _PATTERNS.items() if any(pattern in heading for heading in lower)}


def load(path: Path, options: DataOptions) -> Corpus:  # noqa: ARG001
    """Load all reports with text, without duplicate texts."""
    reports = list(_reports(path))
    known: dict[str, RadiologyReport] = {}
    for report in reports:
        if known.setdefault(report.uid, report) != report:
            raise DataError(f"report `{report.uid}` has two different contents", then="keep one of them")
    with_text = [report for report in reports if report.text]
    first: dict[str, RadiologyReport] = {}
    for report in with_text:
        first.setdefault(report.text, report)
    kept = list(first.values())
    notes = (
        f"{len(reports) - len(with_text)} reports without findings and impression dropped",
        f"{len(with_text) - len(kept)} reports dropped, because their text equals an earlier one",
    )
    return Corpus(
        name=CARD.name,
        tasks=CARD.tasks(),
        ids=tuple(report.uid for report in kept),
        texts=tuple(" ".join(report.text.replace(MASK, "").split()) for report in kept),
        targets=targets_of([report.labels for report in kept], list(_LABELS)),
        notes=notes,
    )


def _reports(path: Path) -> Iterator[RadiologyReport]:
    """Read the reports of a CSV file, an archive, or a folder with one of them or the XML files."""
    for name in ("indiana_reports.csv", "ecgen-radiology", "NLMCXR_reports.tgz"):
        if (path / name).exists():
            return _reports(path / name)
    if path.suffix.lower() == ".csv":
        return _from_csv(path)
    files = list(documents(path, lambda name: name.endswith(".xml"), largest=LARGEST_REPORT))
    if not files:
        raise DataError(
            f"no Open-I reports in `{path}`",
            allowed="indiana_reports.csv, NLMCXR_reports.tgz or ecgen-radiology/*.xml",
            then="run `mtlv data fetch openi`",
        )
    return _from_xml(sorted(files, key=lambda file: (len(file[0]), file[0])))  # by their numbers


def _from_csv(path: Path) -> Iterator[RadiologyReport]:
    table = read_table(path, encoding="utf-8")
    table.need(("uid", "MeSH", "findings", "impression"), "the CSV edition of Open-I")
    for _, row in table.rows:
        headings = tuple(part.strip() for part in row["MeSH"].split(";"))
        yield RadiologyReport(row["uid"], headings, row["findings"], row["impression"])


def _from_xml(files: Iterable[tuple[str, bytes]]) -> Iterator[RadiologyReport]:
    for place, data in files:
        name = place.rpartition("/")[2]
        root = parse_xml(name, data, largest=LARGEST_REPORT, what="report")
        headings = tuple((major.text or "").strip() for major in root.findall(".//MeSH/major"))
        sections = {
            (part.get("Label") or "").upper(): "".join(part.itertext()).strip()
            for part in root.iter("AbstractText")
        }
        uid = root.find(".//uId")
        yield RadiologyReport(
            (uid is not None and uid.get("id")) or name,
            headings,
            sections.get("FINDINGS", ""),
            sections.get("IMPRESSION", ""),
        )
