"""Ranges of versions, as tickets have them: `>=2.3 <2.3.1`. Numbers are compared part by part."""

from __future__ import annotations

import re
from collections.abc import Iterable

_BOUND = re.compile(r"(>=|<=|<|>)(\d{1,6}(?:\.\d{1,6}){0,3})\Z")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def in_ranges(version: str, ranges: Iterable[str]) -> bool:
    """Does one of the ranges hold the version?"""
    return any(all(_meets(version, bound) for bound in one.split()) for one in ranges)


def is_range(text: str) -> bool:
    """Is it a range?"""
    return bool(text.split()) and all(_BOUND.match(bound) for bound in text.split())


def _meets(version: str, bound: str) -> bool:
    found = _BOUND.match(bound)
    assert found is not None
    mine, limit = numbers(version), numbers(found[2])
    width = max(len(mine), len(limit))
    a = mine + (0,) * (width - len(mine))
    b = limit + (0,) * (width - len(limit))
    return {">=": a >= b, ">": a > b, "<=": a <= b, "<": a < b}[found[1]]
