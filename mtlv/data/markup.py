"""Safe parsing of XML from untrusted sources."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree  # nosec B405 # without a DOCTYPE, see parsed

from mtlv.errors import DataError


def parsed(name: str, data: bytes, *, largest: int, what: str) -> ElementTree.Element:
    """Return the root of an XML file.

    A DOCTYPE could declare entities that expand without end; none of the corpora has one. It could not be
    detected in UTF-16 or UTF-32, which contain NULs.

    Raises:
        DataError: a DOCTYPE, an entity, a NUL, too large, or invalid.
    """
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data or b"\0" in data or len(data) > largest:
        got = f"a DOCTYPE, an entity, a NUL or over {largest:,} bytes"
        raise DataError(f"`{name}` is not a plain {what}", got=got)
    try:
        return ElementTree.fromstring(data)  # nosec B314 # no DOCTYPE, so no entities
    # The declared encoding may be unknown or wrong.
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise DataError(
            f"`{name}` is invalid XML", got=str(error), then="download the archive again"
        ) from error
