"""The deviations that a user accepts (`--known FILE`): a TOML file with one entry for each, with a
reason. A broker that simplifies on purpose stays green, and what is new shows.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from groupcheck.model.engine import UserError

DO = 'give [[known]] entries, each with root = "..." (or row, or rule) and reason = "..."'
NAMES = ("root", "row", "rule")


def read(path: Path | None) -> Mapping[str, str]:
    """Root, row or rule -> why its deviations are accepted. Raises `UserError` for a file that is
    not so.
    """
    if path is None:
        return {}
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}", where="--known", do=DO) from None
    entries = given.get("known")
    if not isinstance(entries, list) or given.keys() != {"known"}:
        raise UserError(f"{path} has no [[known]] entries alone", where="--known", do=DO)
    found = {}
    for k, entry in enumerate(entries, 1):
        names = [name for name in NAMES if isinstance(entry, dict) and name in entry]
        reason = entry.get("reason") if isinstance(entry, dict) else None
        if len(names) != 1 or not isinstance(reason, str) or not reason.strip():
            raise UserError(f"entry {k} of {path} is not complete", where="--known", do=DO)
        found[str(entry[names[0]])] = reason
    return found
