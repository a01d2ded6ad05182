"""Whether brokers of a version have KIP-848, and which bugs of it they have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.consumer.java_releases import java_release
from groupcheck.model.protocol.consumer.releases import RELEASES, Release

FIRST = (4, 0)
"""Kafka 4.0 is the first version with it for production; 3.7 to 3.9 have previews."""
TICKET = re.compile(r"KAFKA-\d+")
VERSION = re.compile(r"\d+\.\d+(\.\d+)?")


def parsed(version: str) -> tuple[int, ...]:
    """A version such as 4.3.1 or 3.9 as numbers. Raises `UserError`."""
    if not VERSION.fullmatch(version):
        raise UserError(
            f"{version!r} is no version of Kafka", where="--kafka", do="give one such as 4.3.1"
        )
    numbers = (*map(int, version.split(".")), 0)
    return numbers[:3]


def has_protocol(version: str) -> bool:
    """Do brokers of this version have KIP-848 for production? Raises `UserError`."""
    return parsed(version) >= FIRST


def nearest(version: str) -> str:
    """The newest version with a profile that is no newer than this one, which is 4.0 or newer."""
    return max((one for one in RELEASES if parsed(one) <= parsed(version)), key=parsed)


def release(version: str) -> Release | None:
    """The rules of the brokers of a version; None before 4.0. Raises `UserError`."""
    return RELEASES[nearest(version)] if has_protocol(version) else None


def bugs(version: str, profile: Callable[[str], Any]) -> list[tuple[str, str]]:
    """(ticket, version in which it is mended at the latest) for each rule with a ticket that a
    later version has, and this one has not. `profile`: the rules of a version of `RELEASES`.
    """
    known = nearest(version)
    mine = profile(known)
    later = [one for one in sorted(RELEASES, key=parsed) if parsed(one) > parsed(known)]
    found = []
    for rule in attrs.fields(type(mine)):
        mended = [one for one in later if getattr(profile(one), rule.name)]
        if not getattr(mine, rule.name) and mended:
            found += [(t, mended[0]) for t in TICKET.findall(rule.metadata["doc"])]
    return sorted(found, key=lambda one: (parsed(one[1]), one[0]))


NEEDS = (
    "group.protocol=consumer needs brokers of Kafka 4.0 or newer and clients that have it (Java"
    " 4.0, librdkafka 2.12). Its session timeout and its heartbeat interval are the broker's:"
    " group.consumer.session.timeout.ms and group.consumer.heartbeat.interval.ms."
)


def needs(version: str, has_it: bool = False) -> Iterator[str]:
    """What somebody has to know who takes KIP-848 with brokers of this version, or has it now."""
    if not has_it:
        yield NEEDS
    known = nearest(version)
    by = "" if parsed(known) == parsed(version) else f" (by the rules of {known}, the nearest one)"
    for who, profile in (("Kafka", RELEASES.__getitem__), ("Java's consumer of", java_release)):
        if found := bugs(version, profile):
            told = ", ".join(f"{ticket} (until {mended})" for ticket, mended in found)
            yield f"{who} {version}{by} has bugs of it that later versions have not: {told}."
