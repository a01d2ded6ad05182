"""The Kafka versions whose coordinator can be driven, newest first. Their differences are in
`driver/src/groupcheck/kafka/Versions.java`.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.model.engine import UserError

VERSIONS = ("4.3.0", "4.2.0", "4.1.1", "4.0.0")
NEWEST = VERSIONS[0]


def known(version: str, supported: Sequence[str] = VERSIONS) -> str:
    """The same version. Raises `UserError` if it is not among the supported ones."""
    if version not in supported:
        raise UserError(
            f"no driver for Kafka {version[:20]!r}",
            where="--kafka",
            do=f"choose one of {', '.join(supported)}",
        )
    return version
