"""The JSON of a request log's line as people paste it: with the quotes doubled by a table, escaped,
or as HTML.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from groupcheck.traces.lines.marks import plain_typography, without_bold, without_html

_DECODE = json.JSONDecoder().raw_decode


def decode_pasted(line: str, mark: str) -> tuple[int, Any]:
    """(where the mark stands, what follows it). Raises `ValueError` or `RecursionError` if no
    reading of the line has JSON there.
    """
    failed: Exception | None = None
    for text in _readings(line):
        at = text.find(mark)
        begin = at + len(mark)
        while text[begin : begin + 1].isspace():
            begin += 1
        try:
            return at, _DECODE(text, begin)[0]
        except (ValueError, RecursionError) as e:
            failed = failed or e
    assert failed is not None
    raise failed


def _readings(line: str) -> Iterator[str]:
    yield line
    if '""' in line:
        yield line.replace('""', '"')
    if "&" in line:
        yield without_html(line)
    if '\\"' in line:
        yield line.replace('\\"', '"')
    if not line.isascii() or "**" in line:
        yield without_bold(plain_typography(line))
