"""The feature `regexes`: the coordinator resolves regular expressions in the
background (TopicRegexResolver, GroupMetadataManager.maybeUpdateRegularExpressions).

A heartbeat starts a resolution of all that the group subscribes to, if none runs and the last one
is older than 10 s: because one is not resolved, topics were created, or the last one is older than
group.consumer.regex.refresh.interval.ms. The resolver looks at the topics that there are, with the
rights of the member that sent the heartbeat, and its result is written later. What is not resolved
counts as no subscription.

Left out: expressions that do not compile (128), a resolver that throws, and more than one change of
topics by creation and one by deletion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any

from attrs import frozen

from groupcheck.model.engine import Spec, evolve, rule, single, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.consumer import client, client_faults, heartbeats, timers
from groupcheck.model.protocol.consumer.client import Client
from groupcheck.model.protocol.consumer.memory import (
    END,
    GHOSTS,
    REST,
    Collect,
    Core,
    Errand,
    Seat,
    Walk,
    order,
)
from groupcheck.model.protocol.consumer.messages import Kind, Link, Request
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, MENDED, ConsumerScope
from groupcheck.model.protocol.consumer.subscriptions import hidden, there
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.transform import extended, inserted, own, rebuilt, rewritten

Values = dict[str, Any]
Masks = tuple[int | None, ...]


class Age(IntEnum):
    """How long ago the resolver has looked."""

    # At most 10 s: nothing is resolved anew.
    RECENT = 0
    OLDER = 1
    # Longer than the refresh interval.
    DUE = 2


@frozen
class Task:
    """A resolution under way."""

    # The expressions.
    asked: tuple[int, ...]
    # The topics that the member may not describe whose heartbeat started it.
    hidden: int
    # What it has found, in the order of `asked`; None: it has not looked yet.
    found: tuple[int, ...] | None = None
    # Since it looked: how long that is ago, whether topics were created, or changed at all.
    age: Age = Age.RECENT
    behind: bool = False
    moved: bool = False


@frozen
class Regexes:
    """What the coordinator knows of the group's regular expressions. They are numbered from 1."""

    # How many members subscribe to each, and to each topic by its name.
    members: tuple[int, ...] = ()
    named: tuple[int, ...] = ()
    # What each was resolved to, as the partitions that its topics may have; None: it is not.
    found: Masks = ()
    # Since the resolver looked: how long that is ago, whether topics were created, or changed.
    age: Age = Age.OLDER
    behind: bool = False
    moved: bool = False
    # The partitions of subscribed topics at the last rebalance (ModernGroup.metadataHash).
    hashed: int = 0
    # Do all members subscribe to the same (ConsumerGroup.subscriptionType)? The next heartbeat asks
    # that again, and looks at the topics: the group is new, or it is loaded.
    alike: bool = True
    looks: bool = True
    task: Task | None = None

    @property
    def resolved(self) -> bool:
        """Is any of them?"""
        return any(mask is not None for mask in self.found)

    def of(self, number: int) -> int | None:
        """What an expression was resolved to; 0: no expression, which has no topics."""
        return self.found[number - 1] if number else 0

    def hash_of(self, core: Core, scope: ConsumerScope) -> int:
        """The partitions of subscribed topics as they are now."""
        topics = sum(scope.topic(t) for t, n in enumerate(self.named) if n)
        for mask in self.found:
            topics |= mask or 0
        return topics & core.topics

    def uniform(self, members: int) -> bool:
        """Do so many members all subscribe to the same (subscriptionType)?"""
        names = [n for n in self.named if n]
        if not any(self.members):
            return all(n == members for n in names)
        return members in self.members and not names


@frozen
class Resolve(Errand):
    """Tells the members' records what their expressions mean now."""

    found: Masks = ()


def nothing(scope: ConsumerScope) -> Regexes:
    """Before anybody has subscribed."""
    return Regexes((0,) * scope.regexes, (0,) * scope.topics, (None,) * scope.regexes)


def subscribed(seat: Seat, found: Masks, scope: ConsumerScope) -> Seat:
    """The record of a member, with what its expression means; only the mended reading asks what it
    may describe itself.
    """
    mask = found[seat.regex - 1] or 0 if seat.regex else 0
    return evolve(seat, pattern=mask if scope.k34 == AS_KAFKA else mask & ~hidden(seat, scope))


def counted(regexes: Regexes, seat: Seat | None, by: int, scope: ConsumerScope) -> Regexes:
    """With the subscription of one member more, or less."""
    if seat is None:
        return regexes
    members, named = [*regexes.members], [*regexes.named]
    if seat.regex:
        members[seat.regex - 1] += by
    for t in range(scope.topics):
        named[t] += by if seat.subscribed & scope.topic(t) else 0
    return evolve(regexes, members=tuple(members), named=tuple(named))


def settled(regexes: Regexes) -> Regexes:
    """Without the results of expressions that nobody has any more. The time of the last resolution
    is that of any result, so it is forgotten with the last one.
    """
    kept = tuple(mask if n else None for mask, n in zip(regexes.found, regexes.members))
    regexes = evolve(regexes, found=kept)
    if regexes.resolved:
        return regexes
    return evolve(regexes, age=Age.OLDER, behind=False, moved=False)


def _asked(seat: Seat | None, request: Request, scope: ConsumerScope) -> int:
    """The expression that a member has from now on."""
    if request.regex is not None:
        return request.regex
    if seat is None or (request.kind == Kind.JOIN and scope.k22 == MENDED):
        return 0
    return seat.regex


def started(
    regexes: Regexes, counts: tuple[int, ...], regex: int, changes: bool, scope: ConsumerScope
) -> tuple[int, ...] | None:
    """The expressions that a heartbeat has resolved; None: it starts nothing. `regexes`: before it;
    `counts`: of members, after it; `regex`: that of its member, which it `changes`.
    """
    brings = changes and regex > 0 and not regexes.members[regex - 1]
    if not brings and not any(regexes.members):
        return None
    if regexes.task is not None or (regexes.resolved and regexes.age == Age.RECENT):
        return None
    # Counted with the result that this very heartbeat may make superfluous.
    results = sum(mask is not None for mask in regexes.found)
    asked = tuple(k + 1 for k, n in enumerate(counts) if n)
    due = regexes.age == Age.DUE and scope.release.refreshes
    wanted = brings or len(asked) != results or regexes.behind or due
    return asked if wanted and asked else None


def _heartbeat(before: Values, label: str, after: Values, scope: Any) -> Values:
    """A heartbeat that is accepted: its member's expression, and perhaps a resolution."""
    link: Link = after["link"]
    if not link.accepted or before["link"].accepted:
        return after
    regexes, old = before["regexes"], before["seat"]
    request, seat, core = before["link"].request, after["seat"], after["core"]
    was = old.regex if old is not None else 0
    now = _asked(old, request, scope)
    changes = now != was
    seat = evolve(seat, regex=now, blind=link.blind)
    new = counted(counted(regexes, old, -1, scope), seat, 1, scope)
    asked = started(regexes, new.members, now, changes, scope)
    task = regexes.task if asked is None else Task(asked, hidden(link, scope))
    # An expression that has other members keeps its result; one that is new has none.
    resolved = now > 0 and regexes.members[now - 1] > 0 and regexes.of(now) is not None
    ended = not now and was > 0 and scope.release.pattern_ends
    bumps = changes and (resolved or ended)
    new = settled(new)
    seat = subscribed(seat, new.found, scope)
    core = evolve(core, pending=core.pending or bumps, matching=0)
    named = seat.subscribed != (old.subscribed if old is not None else 0)
    looks = bumps or named or before["core"].stale or regexes.looks
    if looks:
        new = evolve(new, hashed=new.hash_of(core, scope), looks=False)
    alike = scope.k35 == AS_KAFKA and not looks and regexes.alike
    new = evolve(new, alike=new.uniform(core.members))
    # Tasks are started whatever becomes of the records.
    lost = evolve(regexes, looks=regexes.looks or bumps or named)
    regexes = evolve(lost if link.fails else new, task=task)
    changed = link.changed or (changes and label not in ("added", "replaced"))
    link = evolve(link, changed=changed, wrote=link.wrote or changes)
    if core.pending and core.due and core.errand is None:
        core = evolve(core, errand=Collect(link.fails))
        seat, link = evolve(seat, asks=link.fails), evolve(link, wrote=True)
    if isinstance(core.errand, Collect):
        core = evolve(core, errand=evolve(core.errand, alike=alike))
    return {"core": core, "seat": seat, "link": link, "regexes": regexes}


def _without(regexes: Regexes, gone: Iterable[Seat], core: Core, scope: Any) -> Values:
    """The group without these members."""
    for seat in gone:
        regexes = counted(regexes, seat, -1, scope)
    regexes = settled(regexes)
    hashed, alike = regexes.hash_of(core, scope), regexes.uniform(core.members)
    regexes = evolve(regexes, hashed=hashed, alike=alike)
    return {"core": evolve(core, matching=0), "regexes": regexes}


def member_removed(before: Values, label: str, after: Values, scope: Any) -> Values:
    """A member is removed."""
    if before["seat"] is None or after["seat"] is not None:
        return after
    return {**after, **_without(before["regexes"], [before["seat"]], after["core"], scope)}


def _ghost_removed(before: Values, label: str, after: Values, scope: Any) -> Values:
    """A member whose process is gone is removed."""
    gone = [*before["ghosts"]]
    for ghost in after["ghosts"]:
        gone.remove(ghost)
    return {**after, **_without(before["regexes"], gone, after["core"], scope)}


def _published(core: Core, regexes: Regexes, topics: int, scope: Any) -> tuple[Core, Regexes]:
    """The coordinator is told of a change of topics. A group that subscribes to one of those looks
    at them again; expressions are resolved anew only for new ones.
    """
    later = evolve(core, topics=topics)
    stale = regexes.hash_of(core, scope) != regexes.hash_of(later, scope)
    created = bool(there(later, scope) & ~there(core, scope))
    task = regexes.task
    if task is not None and task.found is not None:
        task = evolve(task, behind=task.behind or created, moved=True)
    known = regexes.resolved
    behind, moved = known and (regexes.behind or created), known
    regexes = evolve(regexes, behind=behind, moved=moved, task=task)
    return evolve(later, stale=core.stale or stale), regexes


@rule(when=lambda budget: budget.allows("metadata"))
def delete_topic(
    core: Core, budget: Budget, regexes: Regexes, scope: ConsumerScope
) -> Iterator[tuple[Core, Budget, Regexes]]:
    """The first topic is deleted, while there is another one."""
    topics = core.topics & ~scope.topic(0)
    if topics and topics != core.topics:
        later, known = _published(core, regexes, topics, scope)
        yield later, budget.spend("metadata"), known


@rule(when=lambda regexes: regexes.task is not None and regexes.task.found is None)
def resolver_looks(
    core: Core, regexes: Regexes, scope: ConsumerScope
) -> Iterator[tuple[Core, Regexes]]:
    """The resolver matches the topics that there are, and leaves out what the member may not
    describe that asked (resolveRegularExpressions).
    """
    task = regexes.task
    assert task is not None
    topics = there(core, scope)
    if scope.k34 == AS_KAFKA:
        topics &= ~task.hidden
    found = tuple(scope.meaning(number) & topics for number in task.asked)
    yield core, evolve(regexes, task=evolve(task, found=found, hidden=0))


@rule("written", "superfluous", "failed", when=lambda regexes: regexes.task is not None)
def resolution_ends(
    core: Core, budget: Budget, regexes: Regexes, scope: ConsumerScope
) -> Iterator[tuple[str, Core, Budget, Regexes]]:
    """The result comes (handleRegularExpressionsResult). Of expressions that nobody has any more
    it is dropped.
    """
    task = regexes.task
    if task is None or task.found is None:
        return
    found = [*regexes.found]
    kept = [(k, mask) for k, mask in zip(task.asked, task.found) if regexes.members[k - 1]]
    for number, mask in kept:
        found[number - 1] = mask
    new = evolve(regexes, found=tuple(found), task=None)
    if kept:
        new = evolve(new, age=task.age, behind=task.behind, moved=task.moved)
    hashed = new.hash_of(core, scope)
    other = any((regexes.of(number) or 0) != mask for number, mask in kept)
    bumps = core.exists and (other or hashed != regexes.hashed)
    after = core
    if bumps:
        new = evolve(new, hashed=hashed, looks=False)
        after = evolve(core, pending=True, stale=False)
    if other:
        after = evolve(after, errand=Resolve(new.found))
    yield "written" if kept or bumps else "superfluous", after, budget, new
    if (kept or bumps) and budget.allows("append_failure"):
        # The group looks at its topics again: that it has just done so counts only with the
        # epoch that is lost (setMetadataRefreshDeadline).
        again = core.stale or (bumps and regexes.hash_of(core, scope) != regexes.hashed)
        failed = evolve(core, stale=again)
        left = budget.spend("append_failure")
        yield "failed", failed, left, evolve(regexes, task=None, looks=regexes.looks or bumps)


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Resolve))
def tell_member(
    walk: Walk, seat: Seat | None, scope: ConsumerScope
) -> Iterator[tuple[Walk, Seat | None]]:
    """A member subscribes to what its expression means now."""
    errand = walk.errand
    assert isinstance(errand, Resolve)
    seat = None if seat is None else subscribed(seat, errand.found, scope)
    yield walk.passed(errand, scope.members), seat


@urgent(when=lambda walk: walk.at == GHOSTS and isinstance(walk.errand, Resolve))
def tell_ghosts(
    walk: Walk, ghosts: tuple[Seat, ...], scope: ConsumerScope
) -> Iterator[tuple[Walk, tuple[Seat, ...]]]:
    """So do members whose processes are gone."""
    errand = walk.errand
    assert isinstance(errand, Resolve)
    yield Walk(END, errand), order([subscribed(g, errand.found, scope) for g in ghosts])


@urgent(when=lambda walk: walk.at == END and isinstance(walk.errand, Resolve))
def all_told(walk: Walk) -> Iterator[Walk]:
    """Each member's record says what its expression means."""
    yield REST


@rule("ten_seconds", "interval", when=lambda regexes: regexes.resolved or regexes.task is not None)
def time_passes(regexes: Regexes) -> Iterator[tuple[str, Regexes]]:
    """10 s are over since the last resolution, or the refresh interval is."""
    for label, age in (("ten_seconds", Age.OLDER), ("interval", Age.DUE)):
        task = regexes.task
        if task is not None and task.found is not None:
            task = evolve(task, age=max(task.age, age))
        own = max(regexes.age, age) if regexes.resolved else regexes.age
        new = evolve(regexes, age=own, task=task)
        if new != regexes:
            yield label, new


def _moved(before: Values, label: str, after: Values, scope: Any) -> Values:
    """A new coordinator has no resolution under way, takes the topics that it sees first for new
    ones, and looks at those of the group again.
    """
    regexes, core = before["regexes"], after["core"]
    stale = core.exists and regexes.hash_of(core, scope) != regexes.hashed
    behind = regexes.behind or regexes.moved
    regexes = evolve(regexes, task=None, behind=behind, looks=True)
    return {**after, "core": evolve(core, stale=core.stale or stale), "regexes": regexes}


def _choices(scope: ConsumerScope) -> list[tuple[int, int]]:
    """What a member may subscribe to: by names, or by an expression."""
    by_name = [(names, 0) for names in scope.subscriptions]
    return by_name + [(0, number + 1) for number in range(scope.regexes)]


def _subscribes(original: Rule) -> Rule:
    """A process subscribes to all topics by their names, or by an expression."""

    def call(process: Client, scope: ConsumerScope) -> Iterator[Client]:
        for began in original.call(process, scope):
            yield began
            for number in range(scope.regexes):
                yield evolve(began, subscribed=0, regex=number + 1)

    return rewritten(original, call)


def _changes(original: Rule) -> Rule:
    """The application subscribes to something else."""

    def call(
        process: Client, budget: Budget, scope: ConsumerScope
    ) -> Iterator[tuple[Client, Budget]]:
        if process.beats:
            for names, regex in _choices(scope):
                if (names, regex) != (process.subscribed, process.regex):
                    other = evolve(process, subscribed=names, regex=regex, told=False)
                    yield other, budget.spend("subscription")

    return rewritten(original, call)


OWN_RULES = (resolver_looks, resolution_ends, time_passes)
TELL_RULES = (tell_member, tell_ghosts, all_told)
COORDINATOR_RULES = (*OWN_RULES, delete_topic, *TELL_RULES)
REMOVALS = (
    heartbeats.leave_consumer_group,
    timers.session_timeout,
    timers.rebalance_timeout,
)


def regexes(spec: Spec) -> Spec:
    """The feature, on the spec of simple members, or of anybody."""
    scope: ConsumerScope = spec.scope
    names = {r.name for r in spec.rules}
    changed = [
        extended(own(spec, heartbeats.consumer_heartbeat), _heartbeat, "regexes"),
        *(extended(own(spec, removal), member_removed, "regexes") for removal in REMOVALS),
        extended(own(spec, timers.ghost_expires), _ghost_removed, "regexes"),
        extended(own(spec, timers.move_coordinator), _moved, "regexes"),
        _added(own(spec, timers.add_partition)),
    ]
    if client.subscribe_all.name in names:
        changed.append(_subscribes(own(spec, client.subscribe_all)))
        changed.append(_changes(own(spec, client_faults.change_subscription)))
    slots = {"regexes": single(nothing(scope), of=Regexes)}
    spec = rebuilt(spec, changed, (*OWN_RULES, delete_topic), **slots)
    first = next(r for r in spec.rules if r.urgent)
    return inserted(spec, first, *TELL_RULES)


def _added(original: Rule) -> Rule:
    """A partition is added although the first topic may be gone."""

    def call(
        core: Core, budget: Budget, regexes: Regexes, scope: ConsumerScope
    ) -> Iterator[tuple[Core, Budget, Regexes]]:
        if scope.everything & ~scope.at_first & ~core.topics:
            topics = core.topics | scope.everything & ~scope.at_first
            later, known = _published(core, regexes, topics, scope)
            yield later, budget.spend("metadata"), known

    return rewritten(original, call, *original.slots, "regexes")
