"""The member's rows by the rules of a group whose offsets are modelled in full (`offsets`): it asks
for the committed offset by a request of its own, may be told to ask again, or finds nothing and
goes on where auto.offset.reset says.

Source: KafkaConsumer.updateFetchPositions, ConsumerCoordinator.initWithCommittedOffsetsIfNeeded,
SubscriptionState.resetInitializingPositions.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.client import WATCHED
from groupcheck.model.protocol.classic.features.full_offsets.kept import NO_OFFSET, Fetched
from groupcheck.model.protocol.classic.features.full_offsets.members import fetch_answer
from groupcheck.model.protocol.classic.offsets import fetch_offset
from groupcheck.model.protocol.codes import NONE, UNSTABLE_OFFSET_COMMIT
from groupcheck.model.protocol.messages import OffsetFetch
from groupcheck.oracles.conform.member.application import ApplicationRows
from groupcheck.oracles.conform.member.expected_steps import Effect, Standing
from groupcheck.oracles.conform.member.firing import clean
from groupcheck.oracles.conform.member.group_steps import GroupSteps, Misfit
from groupcheck.oracles.conform.member.member_memory import Does, Input, Memory, Outcome
from groupcheck.oracles.conform.member.rows import Rows

RESET = fetch_answer.names[1]


class Asking(Rows):
    """The rows of the group's model."""

    def fetches(self, m: Memory) -> Iterator[Input]:
        """The offsets that an OffsetFetch may find, and where the log ends if it finds nothing."""
        last = self.scope.records
        if not m.client.owned & WATCHED or m.client.position >= 0:
            yield Input(Does.FETCH, end=last)
            return
        for offset in range(last + 1):
            yield Input(Does.FETCH, offset=offset, end=last)
        yield Input(Does.FETCH, offset=NO_OFFSET, code=UNSTABLE_OFFSET_COMMIT)
        for end in range(last + 1) if self.scope.skips else (last,):
            yield Input(Does.FETCH, offset=NO_OFFSET, end=end)

    def _starts(self, m: Memory, given: Input) -> Iterator[Outcome]:
        """OffsetFetch and its answer. An application that is told that there is no offset gets the
        exception at once, and may go on; in the group's model it does not.
        """
        for asked, sent in self._fire(fetch_offset, m):
            request = sent["link"].request
            assert isinstance(request, OffsetFetch)
            answer = Fetched(request=request, code=given.code, offset=given.offset)
            for name, now in self._fire(fetch_answer, m, answer=answer):
                client = now["client"]
                if self.scope.skips and name == RESET and client.position != given.end:
                    continue
                thrown = client.failed
                after = evolve(m, client=clean(evolve(client, failed=NONE)))
                yield Outcome((asked, name), after, thrown=thrown)


class FullOffsetRows(Asking, ApplicationRows):
    """The rows of a member of `offsets`: the application's, too."""


class FullOffsetSteps(GroupSteps):
    """All steps of such a member in the group's model."""

    told_by = Asking

    def _fetches(self, at: Standing, m: Memory) -> Iterator[Standing | Misfit]:
        """OffsetFetch goes over the member's one connection, so it waits for what is in flight."""
        for given in self.rows.fetches(m):
            row = self._counterparts.row(m, given)
            fired = [
                done
                for asked in self._fire(fetch_offset.name, at)
                for done in self._told_offset(at, asked, given)
            ]
            starts = at.link.idle and row is not None and fetch_offset.name in row.rules
            if bool(fired) != starts:
                yield self._misfit(f"fetch_offset fires {len(fired)} times", given)
            for done in fired:
                if row is None or row.after is None:
                    continue
                if done.name not in row.rules:
                    yield self._misfit(f"{done.name} has no row", given)
                # Kafka's member asks behind its SyncGroup, which the group's may send later.
                prepare = row.after.client.prepare if row.sent else done.client.prepare
                client = evolve(done.client, prepare=prepare)
                if row.sent or row.thrown:
                    yield from self._same(evolve(client, failed=NONE), row.after, given)
                else:
                    yield from self._rests(client, done.link, client.position, row.after, given)

    def _told_offset(self, at: Standing, asked: Effect, given: Input) -> Iterator[Effect]:
        """The answer to the OffsetFetch; of those that auto.offset.reset allows, the input's."""
        request = asked.link.request
        assert isinstance(request, OffsetFetch)
        answer = Fetched(request=request, code=given.code, offset=given.offset)
        told = Standing(
            asked.client, evolve(asked.link, request=None, answer=answer), at.known, None
        )
        for done in self._fire(fetch_answer.name, told):
            if not self.rows.scope.skips or done.name != RESET or done.client.position == given.end:
                yield done
