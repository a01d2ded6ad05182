"""Records of a coordinator that a terminal or an editor has wrapped when they were pasted: a record
that goes on in the next lines is one line again. The lines keep their numbers: those that went into
the one before are blank.
"""

from __future__ import annotations

import re

MOST_BYTES = 1 << 18
"""Of a file; people paste less, and a broker's own log has no such lines."""
MOST_PARTS, SHORTEST = 4, 60
"""A record has so many parts at most, and the first is no shorter."""
_RECORD = re.compile(
    rb"[>*\s]{0,4}\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d{3}\]? \w{4,5} +"
    rb"\[Group(?:Coordinator|MetadataManager)\b"
)
_DATED = re.compile(rb".{0,40}\d\d:\d\d:\d\d")
_ENDS = re.compile(rb"\((?:kafka|org\.apache\.kafka)\.[\w.$]{1,200}\)[*\s]{0,10}\Z")
_HALF_A_WORD = re.compile(rb"[^\s()]*[-.\d][^\s()]*")


def joined_again(text: bytes) -> bytes:
    """The text with each wrapped record in one line, and blank lines for the rest of it."""
    lines = text.split(b"\n")
    wrapped = [(k, n) for k in range(len(lines)) if (n := _parts(lines, k)) > 1]
    widths = {len(lines[k].rstrip(b"\r")) for k, _ in wrapped}
    hard = len(widths) == 1 and len(wrapped) > 1
    for k, n in wrapped:
        whole = lines[k].rstrip(b"\r")
        for part in lines[k + 1 : k + n]:
            within = hard or whole.endswith(b" ") or _HALF_A_WORD.match(part) is not None
            whole += (b"" if within else b" ") + part.rstrip(b"\r")
        lines[k : k + n] = [whole, *[b""] * (n - 1)]
    return b"\n".join(lines)


def _parts(lines: list[bytes], k: int) -> int:
    """Of how many lines the record is that begins in line `k`; 0 if none begins there."""
    if len(lines[k]) < SHORTEST or _RECORD.match(lines[k]) is None or _ENDS.search(lines[k]):
        return 0
    for n in range(2, MOST_PARTS + 1):
        part = lines[k + n - 1 : k + n]
        if not part or not part[0].strip() or _DATED.match(part[0]):
            return 0
        if _ENDS.search(b"".join(line.strip() for line in lines[k : k + n])):
            return n
    return 0
