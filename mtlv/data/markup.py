"""XML from elsewhere, without what makes it dangerous."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree  # nosec B405 # without a DOCTYPE, see parsed

from mtlv.errors import DataError


def parsed(name: str, data: bytes, *, largest: int, what: str) -> ElementTree.Element:
    """The root of an XML file.

    A DOCTYPE is where entities that expand without end are declared; none of our corpora has one. In UTF-16
    or UTF-32, which have NULs, it could not be seen.

    Args:
        name: what a message calls it.
        data: of one file.
        largest: bytes.
        what: the file should be.

    Raises:
        DataError: a DOCTYPE, an entity, a NUL, too large, or broken.
    """
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data or b"\0" in data or len(data) > largest:
        got = f"a DOCTYPE, an entity, a NUL or over {largest:,} bytes"
        raise DataError(f"`{name}` is no plain {what}", got=got)
    try:
        return ElementTree.fromstring(data)  # nosec B314 # no DOCTYPE, so no entities
    # An encoding may be named that is unknown, or that the bytes are not in.
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise DataError(f"`{name}` is broken XML", got=str(error), then="fetch the archive again") from error
