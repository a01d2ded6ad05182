"""Answers that are impossible, whatever other requests are missing from the log.

A request log may be filtered, cut or pieced together. Some facts hold over any gap: the generation
of a classic group only grows, and a request of an older one is refused; a generation has one
leader, one list of members and one assignment; a member that was told that it is none, or that a
later generation does not have, never comes back under its id; while a JoinGroup is parked, a
heartbeat is told of the rebalance. An answer that the coordinator is elsewhere begins all of them
anew, because another record of the group may be loaded; so does an answer that names only ids that
are later than all of it, because the group may have been deleted and made again.
"""

from __future__ import annotations

from collections import Counter, deque

from attrs import Factory, define, frozen

from groupcheck.model.protocol.codes import (
    ILLEGAL_GENERATION,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.traces.exchanges.exchange import (
    CommitExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    SyncExchange,
)
from groupcheck.traces.lines.sequences import Growing, Wrong
from groupcheck.traces.requests.group_rules import AWAY, LATENESS_MS, SLACK_MS
from groupcheck.traces.requests.words import exchange_text

MEMBERS_KEPT = 20_000
GENERATIONS_KEPT = 64
PARKED_KEPT = 200
HANDLED_MS = 200.0
"""A request that arrived this long ago has been handled."""
_ALIVE = frozenset({NONE, REBALANCE_IN_PROGRESS})


@define
class _Gone:
    """A member that is gone, since when, and the answers since then that take it for one."""

    line: int
    at: float
    text: str
    since: list[tuple[int, str]] = Factory(list)


@define
class _Generation:
    """The facts about one generation that answers tell."""

    # Leader -> the lines that name it, with their text.
    leaders: dict[str, list[tuple[int, str]]] = Factory(dict)
    # The members, as the leader was told.
    members: frozenset[str] = frozenset()
    named_at: int = 0
    # The leader's assignment, and its line.
    plan: dict[str, bytes] = Factory(dict)
    planned_at: int = 0
    # Shares that were told before the plan was known: (line, member, share, text).
    shares: list[tuple[int, str, bytes, str]] = Factory(list)


@frozen(order=True)
class _Step:
    """The group was in a generation."""

    at: float
    generation: int
    line: int
    text: str
    # All that it names are new: the group may have been deleted and made again before it.
    new: bool


def _eased(steps: list[_Step]) -> None:
    """Puts steps in the order of their generations where their moments do not tell their order: an
    answer is logged up to `SLACK_MS` after it was decided.
    """
    for k in range(1, len(steps)):
        step, place = steps[k], k
        while (
            place
            and steps[place - 1].generation > step.generation
            and step.at - steps[place - 1].at <= 2 * SLACK_MS
        ):
            steps[place] = steps[place - 1]
            place -= 1
        steps[place] = step


@define
class CertainAnswers:
    """The facts of one group that hold over any gap. Exchanges come in the order in which the
    broker began to handle them.
    """

    wrong: dict[int, Wrong] = Factory(dict)
    _growing: Growing = Factory(lambda: Growing("generation"))
    # Steps of the generation, by the moment at which they show it.
    _steps: list[_Step] = Factory(list)
    # The generation of the latest step that is settled.
    _reached: int = 0
    # Id -> when it was told or sent a request first; and when a generation was shown last.
    _met: dict[str, float] = Factory(dict)
    _shown: float = float("-inf")
    _generations: dict[int, _Generation] = Factory(dict)
    _gone: dict[str, _Gone] = Factory(dict)
    _parked: deque[JoinExchange] = Factory(lambda: deque(maxlen=PARKED_KEPT))
    _given_ids: Counter[str] = Factory(Counter)
    _highest: int = 0
    # Static members (KIP-345) change their ids, so only the generations of their group tell.
    static: bool = False

    def observe(self, e: Exchange) -> None:
        if e.code in AWAY:
            self._begin_anew()
            return
        if isinstance(e, JoinExchange):
            self._joined(e)
        elif isinstance(e, SyncExchange | HeartbeatExchange | CommitExchange):
            self._in_generation(e)
        if not self.static:
            self._membership(e)

    def turn_static(self) -> None:
        """The group has static members: what was known of members is void."""
        if not self.static:
            self.static = True
            self._generations.clear()
            self._gone.clear()

    def finish(self) -> list[Wrong]:
        """All impossible answers, in order of their lines."""
        self._begin_anew()
        for w in self._growing.wrong:
            self.wrong.setdefault(w.line, w)
        return [self.wrong[line] for line in sorted(self.wrong)]

    def _refuse(self, line: int, text: str, why: str) -> None:
        if len(self.wrong) < 200:
            self.wrong.setdefault(line, Wrong(line, text, why))

    # -- generations

    def _joined(self, e: JoinExchange) -> None:
        if e.code != NONE:
            self._meet(e.response_member or e.member, e.given)
            return
        self._parked.append(e)
        text = exchange_text(e)
        new = self._all_new({e.response_member, e.leader, *(id for id, _ in e.members)})
        if new and (e.to_generation == 1 or e.to_generation <= self._highest):
            self._begin_anew()  # the group may have been deleted and made again
        self._meet(e.response_member, e.began)
        self._shown = max(self._shown, e.given)
        self._given_ids[e.response_member] += 1
        self._step(_Step(e.given + SLACK_MS, e.to_generation, e.line, text, new))
        twice = [i for i, n in Counter(i for _, i in e.static).items() if n > 1]
        if twice:
            why = f"two members of generation {e.to_generation} have the instance id {twice[0]}"
            self._refuse(e.line, text, f"{why} (one_id_per_instance)")
        if self.static:
            return
        g = self._generation(e.to_generation)
        if e.members and e.response_member != e.leader:
            self._refuse(e.line, text, "only the leader is told who the members are")
        lines = g.leaders.setdefault(e.leader, [])
        if len(lines) < 50:
            lines.append((e.line, text))
        self._highest = max(self._highest, e.to_generation)
        if e.leader == e.response_member and e.members and not g.named_at:
            g.members, g.named_at = frozenset(id for id, _ in e.members), e.line
            if e.response_member not in g.members:
                self._refuse(e.line, text, "the leader is not among the members that it is told")
            older = e.to_generation < self._highest
            for id in [id for id in self._given_ids if id not in g.members and not older]:
                del self._given_ids[id]
                self._goes(id, e.line, e.given, text)
        if len(self._given_ids) > MEMBERS_KEPT:
            self._given_ids.clear()

    def _all_new(self, ids: set[str]) -> bool:
        """Are all of them later than what is known of the group? Then it may have been deleted and
        made again in between.
        """
        return all(self._met.get(id, float("inf")) > self._shown for id in ids - {""})

    def _meet(self, id: str, at: float) -> None:
        if len(self._met) < MEMBERS_KEPT:
            self._met.setdefault(id, at)

    def _generation(self, number: int) -> _Generation:
        found = self._generations.get(number)
        if found is None:
            if len(self._generations) >= GENERATIONS_KEPT:
                self._one_leader(next(iter(self._generations)))
            found = self._generations[number] = _Generation()
        return found

    def _step(self, step: _Step) -> None:
        self._steps.append(step)
        if len(self._steps) > 256:
            self._settle(128)

    def _settle(self, keep: int) -> None:
        self._steps.sort()
        _eased(self._steps)
        done = len(self._steps) - keep
        for step in self._steps[:done]:
            if step.new and step.generation < self._reached:
                self._growing.settle()
            self._growing.add((step.generation, 0), step.line, step.text)
            self._reached = step.generation
        del self._steps[:done]

    def _in_generation(self, e: SyncExchange | HeartbeatExchange | CommitExchange) -> None:
        if e.code not in _ALIVE or e.generation < 0 or not e.member:
            return
        text = exchange_text(e)
        new = self._all_new({e.member})
        if new and e.generation <= self._highest:
            self._begin_anew()
        self._meet(e.member, e.began)
        self._shown = max(self._shown, e.given)
        self._step(_Step(e.began, e.generation, e.line, text, new))
        if self.static:
            return
        g = self._generations.get(e.generation)
        if g is not None and g.members and e.member not in g.members:
            why = f"{e.member} is no member of generation {e.generation} (line {g.named_at})"
            self._refuse(e.line, text, why)
        if isinstance(e, CommitExchange) or e.code != NONE:
            return
        for join in self._parked:
            if join.began + HANDLED_MS < e.began and e.given < join.given - LATENESS_MS:
                why = (
                    f"the JoinGroup of line {join.line} waited then, so a rebalance was under way:"
                    " the answer is 27 REBALANCE_IN_PROGRESS (round_announced)"
                )
                self._refuse(e.line, text, why)
                break
        if isinstance(e, SyncExchange):
            self._shared(e, text)

    def _shared(self, e: SyncExchange, text: str) -> None:
        g = self._generation(e.generation)
        if len(g.shares) < MEMBERS_KEPT:
            g.shares.append((e.line, e.member, e.share, text))
        if e.assignments and e.member in g.leaders and not g.planned_at:
            g.plan, g.planned_at = dict(e.assignments), e.line
        for line, member, share, said in g.shares if g.planned_at else ():
            if share != g.plan.get(member, b""):
                why = f"the leader gave {member} another share (line {g.planned_at})"
                self._refuse(line, said, f"{why} (views_agree)")
        if g.planned_at:
            g.shares.clear()

    def _one_leader(self, number: int) -> None:
        g = self._generations.pop(number)
        if len(g.leaders) < 2:
            return
        right = max(g.leaders, key=lambda id: (len(g.leaders[id]), -g.leaders[id][0][0]))
        for leader, lines in g.leaders.items():
            for line, text in lines if leader != right else ():
                why = (
                    f"{leader} is called the leader of generation {number}, and line"
                    f" {g.leaders[right][0][0]} names {right}"
                )
                self._refuse(line, text, why)

    # -- members

    def _membership(self, e: Exchange) -> None:
        if isinstance(e, LeaveExchange):
            for x in e.leavers:
                if x.member and x.code in (NONE, UNKNOWN_MEMBER_ID):
                    self._goes(x.member, e.line, e.given, exchange_text(e))
            return
        if not e.member:
            return
        if e.code == UNKNOWN_MEMBER_ID:
            self._goes(e.member, e.line, e.given, exchange_text(e))
        illegal = e.code == ILLEGAL_GENERATION and not isinstance(e, CommitExchange)
        gone = self._gone.get(e.member)
        alive = e.code in _ALIVE or illegal
        if gone is None or not alive or e.began <= gone.at + SLACK_MS or len(gone.since) > 2:
            return
        if not (isinstance(e, CommitExchange) and e.generation < 0):
            gone.since.append((e.line, exchange_text(e)))

    def _goes(self, id: str, line: int, at: float, text: str) -> None:
        if id not in self._gone and len(self._gone) < MEMBERS_KEPT:
            self._gone[id] = _Gone(line, at, text)

    def _begin_anew(self) -> None:
        self._settle(0)
        self._growing.settle()
        for number in list(self._generations):
            self._one_leader(number)
        for id, gone in self._gone.items():
            if len(gone.since) > 2:
                why = f"{id} is told to be none, and line {gone.since[0][0]} takes it for a member"
                self._refuse(gone.line, gone.text, why)
            else:
                for line, text in gone.since:
                    why = f"{id} was no member any more since line {gone.line} (sync_fenced)"
                    self._refuse(line, text, why)
        self._gone.clear()
        self._parked.clear()
        self._given_ids.clear()
        self._met.clear()
        self._highest = self._reached = 0
