"""Recordings of members of the Java client, and what is claimed of them when they are cut."""

from __future__ import annotations

import gzip
import random
from functools import cache
from pathlib import Path

from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.members.members import GroupMembers

DATA = Path(__file__).parents[1] / "data"
JAVA = [
    "recorded-2.2.2.a", "recorded-2.2.2.b", "recorded-2.4.1-cooperative.a",
    "recorded-2.4.1-cooperative.b", "recorded-2.8.2.a", "recorded-2.8.2.b",
    "recorded-3.4.1-cooperative.a", "recorded-3.4.1-cooperative.b", "recorded-4.1.1.a",
    "recorded-4.1.1.b", "live-java_coop.a", "live-java_coop.b", "live-java_coop.console",
]  # fmt: skip


@cache
def recording(name: str) -> tuple[str, ...]:
    with gzip.open(DATA / f"clients/{name}.log.gz", "rt", encoding="utf-8", errors="replace") as f:
        return tuple(f.read().splitlines())


def heard(lines: list[str] | tuple[str, ...]) -> Evidence:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    return evidence


def followed(lines: list[str] | tuple[str, ...]) -> GroupMembers:
    groups = heard(lines).members.of_groups()
    return next(iter(groups.values()), GroupMembers())


def variants(lines: tuple[str, ...], rng: random.Random) -> list[list[str]]:
    """The same log cut, thinned, doubled and shuffled."""
    begin, end = sorted(rng.sample(range(len(lines) + 1), 2))
    kept = [line for line in lines if rng.random() < rng.choice((0.3, 0.7, 0.95))]
    shuffled = rng.sample(lines, len(lines))
    doubled = [line for line in lines for _ in range(rng.choice((1, 1, 2)))]
    window = lines[begin:end]
    return [
        [*window],
        kept,
        shuffled,
        doubled,
        [*lines, *window],
        [*lines[:begin], *lines[end:]],
        rng.sample(window, len(window)),
    ]


def claims(lines: tuple[str, ...] | list[str]) -> set[tuple[str, str]]:
    """What is said about members and single lines: which memberships had ended, and where one had
    not. A membership is told by its last generation that the lines show, so that number may be
    lower where a whole round is missing.
    """
    groups = heard(lines).members.of_groups().values()
    ended = {("ended", x.member) for one in groups for x in one.lapses}
    return ended | {(x.refutes, x.about.text) for one in groups for x in one.proofs}


def tried(lines: tuple[str, ...], seed: int, rounds: int) -> int:
    """Tries variants, and returns how many. None may accuse anybody, nor claim of a line what the
    whole log does not.
    """
    rng, real, number = random.Random(seed), claims(lines), 0
    for _ in range(rounds):
        for variant in variants(lines, rng):
            found = heard(variant).members.of_groups().values()
            assert not [x for one in found for x in one.impossible], variant
            assert claims(variant) <= real, variant
            number += 1
    return number
