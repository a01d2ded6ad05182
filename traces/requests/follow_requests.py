"""Follows the request log of one group through the model's coordinator, in the order in which the
broker began to handle the requests.

Every world that fits is kept. A request is handled when it arrives; if it could also have been
handled a little later (something else happened at the same moment, and the order makes a
difference), that is another world. Before each request, and when an answer is due, the coordinator
may do by itself what the time allows: end a wait, commit an append, let a session expire.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from attrs import Factory, define, evolve, field

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED, NONE, REBALANCE_IN_PROGRESS
from groupcheck.traces.exchanges.exchange import Exchange, JoinExchange, LeaveExchange, SyncExchange
from groupcheck.traces.requests.coordinator_steps import MOST_MEMBERS, SIZES, Coordinator
from groupcheck.traces.requests.group_rules import (
    AWAY,
    LATENESS_MS,
    SLACK_MS,
    JudgedAssignment,
    Rules,
)
from groupcheck.traces.requests.member_indexes import Instance, Key, MemberIndexes, id_of, keys_of
from groupcheck.traces.requests.moves import (
    SOON_MS,
    Degree,
    Lost,
    Moves,
    answered_within,
    put,
)
from groupcheck.traces.requests.round_start import memory_after_round
from groupcheck.traces.requests.story import Entry, Story
from groupcheck.traces.requests.words import RefusedAnswer
from groupcheck.traces.requests.world import GroupWorld

HANDLED_WITHIN_MS = 25.0
"""How much later a request may be handled that could be handled at once."""
MOST_REFUSALS_IN_A_ROW = 3
IDS_KEPT = 10_000
RECENT_KEPT = 200
TROUBLES_KEPT = 10
MOVES_KEPT = 10_000
RESTART_MS = 60_000.0
STORY_KEPT = 500
PLANS_KEPT = 64
_SHOWS_LIFE = frozenset({NONE, REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED})


@define
class RequestFollower:
    """One group."""

    # Takes what happened, and an answer that cannot be.
    tell: Callable[[Entry], None]
    refuse: Callable[[RefusedAnswer], None]
    rules: Rules = Factory(lambda: Rules(Coordinator(SIZES[0]), MemberIndexes(SIZES[0])))
    worlds: list[GroupWorld] = Factory(list)
    # Why nothing is judged until a round shows all members again; empty while the group is
    # followed.
    lost: str = ""
    # What the beginning of the log leaves open.
    begins: str = ""
    # How many answers were judged, and how often the group was found again.
    judged: int = 0
    synced: int = 0
    # The latest generation, and how many have begun in the log.
    generation: int | None = None
    rounds: int = 0
    # Refused answers without one between them that fits.
    in_a_row: int = 0
    # A fail-over loaded what was written before the log begins.
    blind: bool = False
    # Why the group could not be followed, each time.
    troubles: list[str] = Factory(list)
    # When a member changed its connection.
    moves: deque[float] = field(factory=lambda: deque(maxlen=MOVES_KEPT))
    _recent: deque[JudgedAssignment] = field(factory=lambda: deque(maxlen=RECENT_KEPT))
    _due: list[tuple[float, int, Exchange]] = Factory(list)
    _reported: Story | None = None
    _last_of: dict[str, int] = Factory(dict)
    _strangers: bool = False
    _synced_at: int = 0
    _handed_out: set[str] = Factory(set)
    _given_ids: set[str] = Factory(set)

    # -- what arrives

    def observe(self, e: JudgedAssignment) -> None:
        """The next request of the group, in order of `began`."""
        if not self.begins:
            self._begin(e)
        self._answers_due(e.began)
        self._signs(e)
        if self.lost:
            self._recent.append(e)
        else:
            self._judge(e)
        self.rules.connects(e)
        heappush(self._due, (e.given + SLACK_MS, e.line, e))
        self._hand_on()

    def finish(self) -> None:
        """The log ends."""
        self._answers_due(float("inf"))
        if self.worlds and self.worlds[0].story is not None:
            self._hand_on(at_the_end=True)

    def _begin(self, e: JudgedAssignment) -> None:
        if isinstance(e, JoinExchange) and not e.member and not e.skips:
            self.begins = "the log begins with a member that has no id yet"
            self.worlds = [GroupWorld(self.rules.coordinator.start())]
        else:
            self.begins = (
                "the log begins in the middle: the group is followed from its first complete round"
                " on"
            )
            self.lost = "the log begins in the middle"

    def _signs(self, e: JudgedAssignment) -> None:
        """Notes what the request tells about timers and ids, whatever its answer is."""
        try:
            taken: set[int] = set()
            for key in keys_of(self.rules.indexes, e):
                taken.add(self._seat(key, taken))
        except Lost as why:
            self._trouble(str(why))
            return
        if e.code in _SHOWS_LIFE and self.rules.indexes.as_dynamic(e):
            self._lose("that a member is static was not known")
        name = id_of(e)
        fresh = isinstance(e, JoinExchange) and not e.member
        if e.instance is not None and (fresh or e.code in _SHOWS_LIFE):
            self.rules.indexes.meet(name, e.instance, e.line)
        if fresh and name and len(self._given_ids) < IDS_KEPT:
            self._given_ids.add(name)
        if e.code in AWAY:
            self.rules.interrupted = e.began
        self._moves(e)
        if isinstance(e, SyncExchange) and e.assignments:
            self._keep_plan(e)
        life = self.rules.indexes.lives.get(name)
        if life is None:
            return
        if isinstance(e, JoinExchange):
            first = life.session_ms if fresh and life.session_ms else float("inf")
            life.session_ms = min(first, float(e.session_ms))
            life.rebalance_ms = float(e.rebalance_ms)
            life.parked_since = (
                min(life.parked_since, e.began) if e.code != MEMBER_ID_REQUIRED else float("inf")
            )
        if e.code in _SHOWS_LIFE and not isinstance(e, LeaveExchange):
            # A member whose request is parked does not expire.
            waits = isinstance(e, JoinExchange | SyncExchange)
            life.sign = max(life.sign, e.given if waits else e.began)
            self._strangers = self._strangers or (self.rounds < 2 and name not in self._given_ids)

    def _moves(self, e: JudgedAssignment) -> None:
        """Notes a member that goes on over another connection although the broker did not go away:
        it may have left a request behind that no line shows.
        """
        if not e.member or isinstance(e, LeaveExchange):
            return
        _, known, _ = self.rules.connections.get(e.member, (0, e.connection, ""))
        if known != e.connection and e.began > self.rules.interrupted + RESTART_MS:
            self.moves.append(e.began)

    def _seat(self, key: Key, taken: Iterable[int] = ()) -> int:
        """The index of a member that may be new; `taken`: indexes that no world knows yet."""
        indexes = self.rules.indexes
        if indexes.knows(key):
            return indexes.index(key)
        used = {*taken} | {i for w in self.worlds for i in w.memory.used}
        for e in self.rules.open.values():
            used |= {indexes.index(k) for k in keys_of(indexes, e) if indexes.knows(k)}
        seat = indexes.index_for(key, used)
        if seat is not None:
            static = isinstance(key, Instance)
            self.worlds = [
                evolve(w, memory=self.rules.coordinator.place(w.memory, seat, static))
                for w in self.worlds
            ]
            return seat
        larger = next((size for size in SIZES if size > self.rules.indexes.size), None)
        if larger is None:
            raise Lost(f"more than {MOST_MEMBERS} member ids are known at a time")
        self.rules.coordinator, self.rules.indexes.size = Coordinator(larger), larger
        self.worlds = [
            evolve(w, memory=self.rules.coordinator.grown(w.memory)) for w in self.worlds
        ]
        return self._seat(key, taken)

    def _keep_plan(self, e: SyncExchange) -> None:
        plans = self.rules.plans
        if len(plans) >= PLANS_KEPT:
            used = (plan for w in self.worlds for plan in (w.plan, w.kept_plan) if plan)
            needed = {plan.request for plan in used} | set(self.rules.open)
            for line in [line for line in plans if line not in needed]:
                del plans[line]
        plans[e.line] = dict(e.assignments)

    # -- judging

    def _judge(self, e: JudgedAssignment) -> None:
        self.judged += 1
        before = self._last_of.get(e.connection)
        self._last_of[e.connection] = e.line
        if len(self._last_of) > 10_000:
            self._last_of.clear()
        self.rules.open[e.line] = e
        ready: list[GroupWorld] = []
        for degree in Degree:
            try:
                ready = [
                    w
                    for w in self._moved(e.began, e, degree)
                    if before is None or not w.is_open(before)
                ]
                after = self._handled(ready, e)
            except Lost as why:
                self._trouble(str(why))
                return
            if after:
                self.worlds = after
                self.in_a_row = 0
                if not any(w.is_open(e.line) for w in after):
                    del self.rules.open[e.line]
                return
        blocked = self.rules.open.get(before) if before is not None and not ready else None
        if blocked is None:
            self._refused(e, ready)
            return
        # The request before it on this connection should not have been answered yet, or not so:
        # that one is refused.
        assert isinstance(blocked, JudgedAssignment)
        parked = all(any(r == blocked.line for _, r in w.parked) for w in self.worlds)
        self._refused(blocked, self.worlds, parked)
        if not self.lost:
            self.judged -= 1
            self._last_of.pop(e.connection, None)
            self._judge(e)

    def _moved(self, now: float, e: Exchange, degree: Degree) -> list[GroupWorld]:
        moves = Moves(self.rules, self.synced > 0)
        found = moves.closure(self.worlds, now, e, degree)
        self.blind = self.blind or moves.blind
        return found

    def _handled(self, worlds: list[GroupWorld], e: JudgedAssignment) -> list[GroupWorld]:
        """The worlds in which the request has been handled, and those in which it will be handled
        in a moment.
        """
        found: dict[GroupWorld, GroupWorld] = {}
        for w in worlds:
            turned, fits = False, False
            for after in self.rules.handle(w, e, e.began):
                fits = True
                turned = (
                    turned
                    or _turned(self.rules, w, after, e.began)
                    or (e.code != NONE and after.is_open(e.line))
                )
                put(found, after)
            if turned or not fits:
                until = e.given + SLACK_MS
                put(
                    found,
                    evolve(
                        w,
                        waiting=(
                            *w.waiting,
                            (e.line, min(until, e.began + HANDLED_WITHIN_MS) if fits else until),
                        ),
                    ),
                )
        return list(found.values())

    # -- answers that are due

    def _answers_due(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            due, _, e = heappop(self._due)
            life = self.rules.indexes.lives.get(id_of(e))
            if life is not None and e.code in _SHOWS_LIFE and not isinstance(e, LeaveExchange):
                life.parked_since = float("inf")
            whole = (
                isinstance(e, JoinExchange)
                and e.code == NONE
                and e.to_generation != self.generation
            )
            if isinstance(e, JoinExchange):
                self._handed(e)
            if isinstance(e, JoinExchange) and e.code == NONE:
                self.generation = e.to_generation
                self.rounds += whole
            if self.lost:
                if whole:
                    self._perhaps_synced(e)
            elif e.line in self.rules.open:
                self._must_be_answered(e, due)
                self._hand_on()

    def _handed(self, e: JoinExchange) -> None:
        """Notes which ids have been handed out and not been used, as far as answers tell."""
        if e.code == MEMBER_ID_REQUIRED and len(self._handed_out) < IDS_KEPT:
            self._handed_out.add(e.response_member)
        else:
            self._handed_out.discard(e.member)

    def _must_be_answered(self, e: Exchange, now: float) -> None:
        for degree in Degree:
            try:
                found = [w for w in self._moved(now, e, degree) if not w.is_open(e.line)]
            except Lost as why:
                self._trouble(str(why))
                return
            if found:
                self.worlds = found
                del self.rules.open[e.line]
                return
        assert isinstance(e, JudgedAssignment)
        self._refused(e, self.worlds, due=True)

    def _refused(self, e: JudgedAssignment, worlds: list[GroupWorld], due: bool = False) -> None:
        """No world gives this answer. It is reported, and the replay goes on as if the answer had
        been another one, or from the next round that the log shows whole.
        """
        self.rules.open.pop(e.line, None)
        if self.blind:
            self.blind = False
            self._trouble(
                "the coordinator was interrupted before a complete round had shown the group's"
                " record"
            )
            return
        if self.synced and self.rounds == self._synced_at:
            self._trouble("who else was in the group when it was found again is not known")
            return
        if self._from_before(e):
            self.begins = "the log begins in the middle: members from before take part"
            self._lose("members from before the log take part")
            return
        self.in_a_row += 1
        worlds = [evolve(w, waiting=tuple(x for x in w.waiting if x[0] != e.line)) for w in worlds]
        possible = (
            "; or ".join(dict.fromkeys(w.text() for w in worlds[:3]))
            or "nothing: the request before it on this connection was not answered"
        )
        parked = due and any(e.line in dict(w.parked).values() for w in worlds)
        allowed = (
            frozenset(code for w in worlds for code in self.rules.allowed(w, e))
            if not parked
            else frozenset()
        )
        generations = frozenset(
            n for w in worlds if w.base is not None for n in (w.base, w.base + 1)
        )
        again = self.rules.indexes.given_before(e)
        self.refuse(RefusedAnswer(e, possible, due, allowed, generations, again))
        still = [w for w in worlds if not w.is_open(e.line)]
        if not still or self.in_a_row >= MOST_REFUSALS_IN_A_ROW:
            self._lose("an answer before it cannot be explained")
            return
        found: dict[GroupWorld, GroupWorld] = {}
        for w in still:
            put(found, w)
            for after in self.rules.despite(w, e):
                put(found, after)
        self.worlds = list(found.values())

    def _from_before(self, e: JudgedAssignment) -> bool:
        """Before the second round: has the log shown members that joined before it began?"""
        if self.rounds > 1 or self.synced:
            return False
        return self._strangers or (
            isinstance(e, JoinExchange)
            and not {e.leader, *(id for id, _ in e.members)} - {""} <= self._given_ids
        )

    # -- lost, and found again

    def _trouble(self, why: str) -> None:
        """The group cannot be followed, and that is no mistake of the coordinator: the verdict is
        `unknown` at best.
        """
        if len(self.troubles) < TROUBLES_KEPT:
            self.troubles.append(why)
        self._lose(why)

    def _lose(self, why: str) -> None:
        self.lost = why
        self.worlds = []
        self.rules.open.clear()
        self._last_of.clear()
        self.in_a_row = 0

    def _perhaps_synced(self, e: Exchange) -> None:
        """The first answers of a new generation are due. If the leader's is one of them, it names
        all members, and the group is known again.
        """
        alike = [
            x
            for _, _, x in self._due
            if isinstance(x, JoinExchange)
            and x.code == NONE
            and abs(x.given - e.given) <= LATENESS_MS
        ]
        for x in (e, *alike):
            if (
                isinstance(x, JoinExchange)
                and x.leader == x.response_member
                and x.members
                and not x.skips
                and x.to_generation == self.generation
            ):
                self._go_on_from(x)
                self._judge_again(e.given)
                return

    def _judge_again(self, since: float) -> None:
        """Judges the requests since the end of that round after all."""
        recent = [x for x in self._recent if x.began >= since]
        self._recent.clear()
        for x in recent:
            if self.lost:
                return
            self._answers_due(x.began)
            self._signs(x)
            if self.lost:
                return
            self._judge(x)
            self.rules.connects(x)
            heappush(self._due, (x.given + SLACK_MS, x.line, x))

    def _go_on_from(self, e: JoinExchange) -> None:
        """Goes on with a group whose members have all just been told the new generation."""
        rules, indexes = self.rules, self.rules.indexes
        static = dict(e.static)
        members = [e.response_member, *(id for id, _ in e.members if id != e.response_member)]
        handed = {
            id: indexes.index(id)
            for id, life in indexes.lives.items()
            if id in self._handed_out and id not in members and life.expires > e.given
        }
        taken = set(handed.values())
        try:
            for member in members:
                taken.add(self._seat(indexes.key(member, static.get(member)), taken))
        except Lost as why:
            self._trouble(str(why))
            return
        for member, instance in e.static:
            indexes.meet(member, instance, e.line)
        memory, ids = memory_after_round(rules, e, members, tuple(handed.values()))
        self.worlds = [GroupWorld(memory, e.to_generation, ids=ids, since=e.given)]
        self.lost, self.synced, self._synced_at = "", self.synced + 1, self.rounds

    # -- what is handed on

    def _hand_on(self, at_the_end: bool = False) -> None:
        """Passes on what all worlds tell."""
        if not self.worlds:
            return
        story = self.worlds[0].story
        known = self._reported.length if self._reported else 0
        if (
            len(self.worlds) > 1
            and not at_the_end
            and (story is None or story.length < known + STORY_KEPT)
        ):
            return
        if story is None or story is self._reported:
            return
        for entry in story.since(self._reported):
            self.tell(entry)
        self._reported = story = Story(None, (), story.length)
        self.worlds = [evolve(w, story=story) for w in self.worlds]


def _turned(rules: Rules, before: GroupWorld, after: GroupWorld, now: float) -> bool:
    """Would others get other answers now? (When a round could end, it waits for an id that was
    handed out.)
    """
    memory, then = before.memory, after.memory
    if memory.phase != then.phase or before.base != after.base:
        return True
    return (
        memory.pending != then.pending
        and memory.phase == Phase.PREPARING
        and answered_within(rules, before, now + SOON_MS)
    )
