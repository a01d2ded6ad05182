"""The Kafka versions whose coordinator can be driven, newest first. Their differences are in
`driver/src/groupcheck/kafka/Versions.java` and in `driver/shims`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from groupcheck.model.engine import UserError

VERSIONS = ("4.4.0", "4.3.1", "4.3.0", "4.2.0", "4.1.1", "4.0.0")
DEFAULT = "4.3.0"  # the one that the figures in the documents were measured with


def known(version: str, supported: Sequence[str] = VERSIONS, where: str = "--kafka") -> str:
    """The same version. Raises `UserError` if it is not among the supported ones. `where`: the
    option that names it.
    """
    if version not in supported:
        raise UserError(
            f"no driver for Kafka {version[:20]!r}",
            where=where,
            do=f"choose one of {', '.join(supported)}",
        )
    return version


def number(version: str) -> tuple[int, ...]:
    """The numbers that order versions: 4.10.1-SNAPSHOT is (4, 10, 1). What follows the digits does
    not count.
    """
    found = re.match(r"\d{1,9}(\.\d{1,9})*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def older_than_known(version: str) -> bool:
    """Is it older than the oldest version that is known?"""
    return number(version) < number(VERSIONS[-1])
