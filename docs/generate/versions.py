"""The page of what differs between versions of Kafka, written from the profiles of its releases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
from reference import cell, code, page, table

from groupcheck.model.protocol.consumer.java_releases import JavaRelease, java_release
from groupcheck.model.protocol.consumer.releases import RELEASES, Release


def rows(kind: type[Any], profile: Callable[[str], Any]) -> Iterator[list[str]]:
    """A row for each rule: its name, what it does, and in which versions it holds. The rules that
    came last are first.
    """
    versions = sorted(RELEASES)
    holds = {f: [getattr(profile(v), f.name) for v in versions] for f in attrs.fields(kind)}
    for f in sorted(holds, key=lambda f: -holds[f].index(True)):
        marks = ["yes" if one else "-" for one in holds[f]]
        yield [code(f.name), cell(f.metadata["doc"]), *marks]


def versions() -> str:
    """The page."""
    heads = ["rule", "what it does", *sorted(RELEASES)]
    return page(
        "Versions of KIP-848",
        "For everybody whose brokers or clients are of one version, and whose question is about"
        " another. You find in which versions of Apache Kafka each rule of consumer groups holds,"
        " as the variant `consumer` has them: `check consumer --set kafka=4.1.1` takes the rules"
        " of a column, and `conform consumer --kafka 4.1.1` compares them with Kafka's own code. A"
        " rule that no column lacks is no row.",
        f"## The coordinator\n\n{table(heads, rows(Release, RELEASES.__getitem__))}",
        f"## Java's member\n\n{table(heads, rows(JavaRelease, java_release))}",
        "Known bugs of each version, with what shows them, are in [Mutations](mutations.md) and"
        " [Consumer groups of KIP-848](../explanation/consumer_groups.md#where-kafka-is-weak).\n",
    )
