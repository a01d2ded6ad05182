"""Mistakes in the rules of the protocol: the catalogues that people wrote, and every mutant of
`mutate`.

A mistake is on the side of the coordinator, of the member, of the link (the connection between
them), or of the coordinator of consumer groups, whose mistakes are all written. `dead_values` is
left out: it resets what no rule of the scope reads any more, and conformance lets every fault
happen any number of times, so it never begins.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen
from mutate import mutants

HERE = Path(__file__).parent
PROTOCOL = Path("model/protocol")
COORDINATOR, MEMBER, LINK, GROUPS = "coordinator", "member", "link", "consumer groups"
CATALOGUES = {
    COORDINATOR: "mistakes_of_coordinator.toml",
    MEMBER: "mistakes_of_member.toml",
    GROUPS: "mistakes_of_consumer_groups.toml",
}
TOKEN = "token"  # the kind of those that `mutate` makes
FILES = {
    **dict.fromkeys(
        [f"classic/{n}.py" for n in "coordinator rounds group timers failover assignment".split()],
        COORDINATOR,
    ),
    "classic/walks.py": COORDINATOR,
    "classic/offsets.py": MEMBER,
    "classic/client.py": MEMBER,
    "classic/client_faults.py": MEMBER,
    "link.py": LINK,
}
# Functions whose side is not that of their file.
SIDES = {("classic/offsets.py", "store_offset"): COORDINATOR}


@frozen
class Mistake:
    """One change of one file below model/protocol."""

    # Its name: a sentence of the catalogue; or file, function and the changed line.
    name: str
    side: str
    kind: str
    file: str
    # The changed lines, as a diff shows them.
    diff: tuple[str, ...]
    # The changed file.
    source: str


class StaleMistake(Exception):
    """An entry of a catalogue that does not fit the file any more."""


def mistakes(root: Path) -> list[Mistake]:
    """All mistakes of a checkout: first those of the catalogues, then the generated ones."""
    return [*_written(root), *_generated(root)]


def _written(root: Path) -> Iterator[Mistake]:
    for side, catalogue in CATALOGUES.items():
        for entry in tomllib.loads((HERE / catalogue).read_text())["mistake"]:
            yield written(root, side, catalogue, entry)


def written(root: Path, side: str, catalogue: str, entry: Mapping[str, str]) -> Mistake:
    """An entry of a catalogue. Raises `StaleMistake` unless its old text stands once in its file,
    and the new one is Python.
    """
    good = (root / PROTOCOL / entry["file"]).read_text()
    if (count := good.count(entry["old"])) != 1:
        raise StaleMistake(
            f"{catalogue}: {entry['about']!r}: its old text stands {count} times in"
            f" {entry['file']}; write the mistake anew for the rule as it is now"
        )
    source = good.replace(entry["old"], entry["new"])
    compile(source, entry["file"], "exec")
    side = LINK if entry["file"] == "link.py" else side
    diff = _diff(entry["old"], entry["new"])
    kind = entry.get("kind", "rule")
    return Mistake(entry["about"], side, kind, entry["file"], diff, source)


def _diff(old: str, new: str) -> tuple[str, ...]:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    return tuple(x for x in lines if not x.startswith(("---", "+++", "@@")))


def _generated(root: Path) -> Iterator[Mistake]:
    for file, side in FILES.items():
        for m in mutants(file, (root / PROTOCOL / file).read_text()):
            nth = f" ({m.nth})" if m.nth > 1 else ""
            name = f"{file} {m.function}: {m.before} -> {m.after}{nth}"
            function = m.function.partition(".")[0]
            diff = (f"-{m.before}", f"+{m.after}")
            of = SIDES.get((file, function), side)
            yield Mistake(name, of, TOKEN, file, diff, m.source)


def equivalents(file: Path) -> dict[str, str]:
    """Name of a mistake -> why no judge can tell it from the original."""
    return {e["name"]: e["reason"] for e in tomllib.loads(file.read_text()).get("mistake", [])}
