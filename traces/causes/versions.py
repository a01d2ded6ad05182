"""Which versions run, as far as logs tell, and which of them a ticket affects. Whatever follows the
numbers of a version (-ccs, -SNAPSHOT, .redhat-1) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from attrs import Factory, define, evolve

from groupcheck.traces.causes.knowledge import Ticket, in_ranges, numbers
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import BROKER, JAVA, LIBRDKAFKA

MOST_LOGS, MOST_VERSIONS = 10_000, 20
_NUMBERS = re.compile(r"v?(\d{1,6}(?:\.\d{1,6}){1,3})")


@define
class Versions:
    """The versions of Kafka's clients, of librdkafka and of brokers that the logs tell."""

    # Log -> the versions that its lines tell, each with the library that prints it.
    _versions: dict[str, set[tuple[str, str]]] = Factory(dict)
    # Logs that have lines of a coordinator: Kafka's own version there is the broker's.
    _brokers: set[str] = Factory(set)
    # Logs that have lines of Java clients about groups.
    _clients: set[str] = Factory(set)

    def add(self, said: Statement) -> None:
        if len(self._versions) >= MOST_LOGS and said.log not in self._versions:
            return
        some = self._versions.setdefault(said.log, set())
        if said.library == BROKER:
            self._brokers.add(said.log)
        elif said.library == JAVA and said.client:
            self._clients.add(said.log)
        library = said.library or JAVA
        if said.kind == "started" and library in (JAVA, LIBRDKAFKA):
            found = _NUMBERS.match(str(said.fields.get("version", "")))
            if found is not None and len(some) < MOST_VERSIONS:
                some.add((library, found[1]))

    def of(self, software: str) -> set[str]:
        """The versions of this software, `broker`, `java` or `librdkafka`. A log with lines of
        brokers and of clients does not tell whose its version is.
        """
        out: set[str] = set()
        for log, told in self._versions.items():
            for library, version in told:
                whose = library
                if library == JAVA and log in self._brokers:
                    whose = "" if log in self._clients else BROKER
                if whose == software:
                    out.add(version)
        return out

    def of_these_versions(self, tickets: Iterable[Ticket]) -> tuple[Ticket, ...]:
        """The tickets that may concern what runs here, each with the versions that it affects."""
        out = []
        for ticket in tickets:
            told = self.of(ticket.software) if ticket.ranges else set()
            here = [v for v in sorted(told, key=numbers) if in_ranges(v, ticket.ranges)]
            if not told or here:
                out.append(evolve(ticket, here=tuple(here)))
        return tuple(out)
