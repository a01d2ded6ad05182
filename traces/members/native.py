"""The life of a member of librdkafka by its log with `debug=cgrp`: which generation it was in, what
it held, and when the coordinator had thrown it out.

The model's member is Kafka's own client, so no worlds are followed here: only what lines say
themselves counts. A new member id inside a generation shows that two processes write under one
name; then nothing is claimed.
"""

from __future__ import annotations

from attrs import Factory, define, evolve

from groupcheck.traces.clients.partitions import Holdings
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.members.life import FINDINGS_KEPT, Lapse

_OWN_DOING = {
    "poll_expired", "session_timed_out", "left", "closed", "started", "subscribed", "member_fenced",
    "instance_fenced", "generation_old",
}  # fmt: skip
"""After these the member is in no generation that the coordinator could end."""
_APIS = ("OffsetCommit", "Heartbeat", "JoinGroup", "SyncGroup")


@define
class NativeLife:
    """One member. Statements are added in the order of the log."""

    client: str
    # The generation that it is in, its id, and the line that shows both last.
    generation: int | None = None
    member: str = ""
    begun: Statement | None = None
    sure: Statement | None = None
    # Two processes have the name.
    shared: bool = False
    lapses: list[Lapse] = Factory(list)
    holdings: Holdings = Factory(Holdings)
    _former: set[str] = Factory(set)

    def add(self, said: Statement) -> None:
        if said.kind == "id_given":
            self.shared = self.shared or self.generation is not None
        elif said.kind == "joined":
            self._joins(said)
        elif said.kind in ("synced", "committed"):
            self.sure = said if self.generation is not None else None
        elif said.kind == "member_unknown" and self.generation is not None:
            self._note_lapse(said)
        elif said.kind in _OWN_DOING:
            self.generation = None
        elif said.kind == "lost":
            self._gives_up(said)
        self.holdings.add(said)

    def _joins(self, said: Statement) -> None:
        generation = said.fields.get("generation")
        if not isinstance(generation, int) or not said.member:
            return
        if said.member != self.member:
            self.shared = self.shared or said.member in self._former or self.generation is not None
            self._former.add(self.member)
        if self.lapses and self.lapses[-1].again is None:
            self.lapses[-1] = evolve(self.lapses[-1], again=said, next_generation=generation)
        self.generation, self.member = generation, said.member
        self.begun = self.sure = said

    def _note_lapse(self, said: Statement) -> None:
        generation, begun, sure = self.generation, self.begun, self.sure
        assert generation is not None and begun is not None and sure is not None
        api = next((api for api in _APIS if api.lower() in said.text.lower()), "")
        held = tuple(sorted(self.holdings.now))
        if len(self.lapses) < FINDINGS_KEPT:
            self.lapses.append(
                Lapse(self.client, self.member, generation, begun, sure, said, api, held)
            )
        self.generation = None

    def _gives_up(self, said: Statement) -> None:
        if self.lapses and self.lapses[-1].given_up is None and self.lapses[-1].again is None:
            self.lapses[-1] = evolve(self.lapses[-1], given_up=said)
        self.generation = None
