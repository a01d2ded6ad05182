"""Differences are tried again, at leisure, and get short schedules."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.row import Asks, Fires, Memory
from groupcheck.oracles.judge.broker.acts import fields_of, versions_of
from groupcheck.oracles.judge.broker.differences import Difference
from groupcheck.oracles.judge.broker.exploring import FAR, MOST, Judging
from groupcheck.oracles.judge.broker.judging import root_of
from groupcheck.oracles.judge.broker.kinds import ANY_GROUP, Edge, Way
from groupcheck.oracles.judge.broker.ledger import Found
from groupcheck.oracles.judge.broker.profiles import ONE_STEP, Profile
from groupcheck.oracles.judge.broker.refusals import LOOKS
from groupcheck.oracles.judge.broker.surroundings import Asking
from groupcheck.oracles.judge.broker.target import Pace
from groupcheck.oracles.judge.following import requests
from groupcheck.oracles.judge.following.nearest import nearest
from groupcheck.oracles.judge.report.schedules import Act
from groupcheck.traces.messages.apis import Api, api

REPEATS = 3
OUTLIVED_S = 8.0  # so long a broker may take to die of it; rounds end meanwhile
SHORT = 8  # requests; a schedule that has no more is short
WAYS = 3  # of the model to one kind of row that are tried, each with another outcome
SHORTENINGS, SHORTENING_S, RENEWING_S = 40, 10.0, 5.0  # schedules that are tried to shorten one


def confirmed(
    judging: Judging,
    some: Sequence[Found],
    until: float,
    threads: int,
    tell: Callable[[], None],
    repeats: int = REPEATS,
) -> None:
    """Confirms the differences in their order, but first those that wait for what does not come.
    Those that are not begun in time are left. `repeats`: 0 for those of a root that has been tried.
    """
    tried = {root_of(one): one for one in judging.ledger.found.values() if one.again}

    def one(found: Found) -> None:
        if time.monotonic() < until and not judging.stopped.is_set():
            confirm(judging, found, repeats, None if repeats else tried.get(root_of(found)))

    ordered = sorted(some, key=lambda one: not one.difference.is_silence)
    judging.all([partial(one, found) for found in ordered], threads, tell)


def confirm(
    judging: Judging, found: Found, repeats: int = REPEATS, like: Found | None = None
) -> None:
    """Makes its schedule shorter while the difference shows, and tries it again, at leisure. If
    the short schedule does not show it at leisure, the one that was met is tried. `like`: one of
    its root that has a short schedule.
    """
    met = found.acts, found.lines, found.needs
    # Without any step: the group is not even made.
    if found.acts and not _short_way(judging, found, like):
        if repeats or _asks(found) > SHORT:
            _shorten(judging, found)
        _renew(judging, found)
    _repeat(judging, found, repeats)
    if repeats and not found.again and found.acts != met[0]:
        found.acts, found.lines, found.needs = met
        _repeat(judging, found, repeats)


def _asks(found: Found) -> int:
    return sum(act.kind != "wait" for act in found.acts)


def _repeat(judging: Judging, found: Found, repeats: int) -> None:
    found.repeated = found.again = 0
    for _ in range(repeats):
        if judging.stopped.is_set():
            return
        found.repeated += 1
        found.again += bool(_shows(judging, found, found.acts))


def _shows(judging: Judging, found: Found, acts: Sequence[Act], pace: Pace | None = None) -> bool:
    """Does the schedule show the difference? Then its transcript is kept."""
    walk = judging.again(found.profile, acts, pace)
    for difference, some, lines in walk.met.differences:
        if difference == found.difference:
            found.difference, found.acts, found.lines = difference, some, lines
            return True
    return False


def outlives(judging: Judging) -> None:
    """Sends what a broker may not outlive. Nothing can be tried on it afterwards."""
    target = judging.target
    for look in [one for one in LOOKS.values() if one.is_harsh]:
        spoken = look.versions(target.announced.get(look.api.key, range(0)))
        for version in dict.fromkeys([*spoken[:1], *spoken[-1:]]):
            walk = judging.again(ONE_STEP, [Act("look", look.name, -1, version)])
            is_gone = bool(walk.met.differences) and _ends(judging)
            if is_gone:
                kind = look.kind(walk.worlds[0])
                allowed, rules = ("a broker that goes on",), ("goes_on",)
                walk.note(Difference(kind, allowed, "the broker is gone", rules))
            judging.ledger.note(ONE_STEP, walk.met)
            for difference, _, _ in walk.met.differences:
                found = judging.ledger.found[difference]
                found.is_final = is_gone
                if not is_gone:
                    _repeat(judging, found, REPEATS)
            if is_gone:
                return


def _ends(judging: Judging) -> bool:
    """Does the broker end within the time that it may take for it?"""
    until = time.monotonic() + OUTLIVED_S
    while is_there := _answers(judging):
        if time.monotonic() >= until:
            break
        time.sleep(0.2)
    return not is_there


def _answers(judging: Judging) -> bool:
    """Does the broker answer?"""
    try:
        Asking(judging.target.address, judging.security).close()
    except UserError:
        return False
    return True


# -- The shortest way of the model


def _short_way(judging: Judging, found: Found, like: Found | None) -> bool:
    """Tries the model's shortest ways to the kind of row, in the newest versions, and that of one
    that is like it; False if none shows the difference. `needs` are the old versions of the last
    step that it takes.
    """
    last, pace = found.acts[-1], judging.pace(MOST)
    newest = evolve(last, version=_newest(judging, found.profile, last))
    others = [[*like.acts[:-1], last]] if like and len(like.acts) < len(found.acts) else []
    for acts in chain(_ways(judging, found), others):
        for end in dict.fromkeys((evolve(acts[-1], version=newest.version), acts[-1])):
            if judging.stopped.is_set():
                return False
            if _shows(judging, found, [*acts[:-1], end], pace):
                is_old = end.kind != "wait" and end.version < newest.version
                found.needs = (f"{end.api} v{end.version}",) if is_old else ()
                return True
    return False


def _ways(judging: Judging, found: Found) -> Iterator[list[Act]]:
    """Schedules that come to the kind of row, the shortest first; the last step has the version
    that it was met with.
    """
    profile, kind, last = found.profile, found.difference.kind, found.acts[-1]
    rows, seen = judging.rows(profile), set[str]()

    def edges(at: Memory) -> list[Edge]:
        differs = judging.ledger.differs
        return [
            e for e in judging.edges(profile, at) if e.kind == kind or not differs(profile, e.kind)
        ]

    def after(at: Memory, edge: Edge) -> tuple[Memory, ...]:
        return () if edge.kind == kind else rows.kept_after(at, edge.given)

    def is_goal(at: Memory, edge: Edge) -> bool:
        if last.kind == "look":
            return kind.phase in (str(at.core.phase), ANY_GROUP) and str(at) not in seen
        return edge.kind == kind and rows.what(at, edge.given) not in seen

    for _ in range(WAYS):
        way = nearest(rows.start(), edges, after, is_goal, FAR)
        if way is None:
            return
        at, edge = way[-1]
        if last.kind == "look":
            seen.add(str(at))
            yield [*_acts(judging, profile, way[:-1]), last]
        else:
            seen.add(rows.what(at, edge.given))
            *steps, end = _acts(judging, profile, way)
            yield [*steps, evolve(end, version=last.version)]


def _acts(judging: Judging, profile: Profile, way: Sequence[Way]) -> Iterator[Act]:
    """The steps of a way, in the newest versions."""
    rows = judging.rows(profile)
    for at, edge in way:
        given = edge.given
        if isinstance(given, Fires):
            yield Act("wait", given.rule)
            continue
        assert isinstance(given, Asks)
        of = requests.API_OF[type(given.request)]
        versions = versions_of(judging.target, rows, at, given)
        newest = _common(profile, of, versions.start, versions.stop - 1)
        yield Act("ask", of.name, given.member, newest, fields_of(given, at))


# -- Shorter than what was met


def _shorten(judging: Judging, found: Found) -> None:
    """Leaves out steps as long as the difference shows, first many at once, then one by one."""
    tries, many = 0, max(1, len(found.acts) // 2)
    until = time.monotonic() + SHORTENING_S
    while True:
        at = 0
        while at < len(found.acts) - 1:
            late = time.monotonic() > until or judging.stopped.is_set()
            if tries == SHORTENINGS or late:
                return
            tries += 1
            end = min(at + many, len(found.acts) - 1)
            fewer = [*found.acts[:at], *found.acts[end:]]
            if not _shows(judging, found, fewer, judging.pace(MOST)):
                at += many
        if many == 1:
            return
        many = max(1, many // 2)


def _renew(judging: Judging, found: Found) -> None:
    """Speaks newer versions where the difference shows in them, too: the old ones that are left may
    be what it needs.
    """
    until, needs = time.monotonic() + RENEWING_S, []
    for at, act in enumerate(found.acts):
        newer = _newest(judging, found.profile, act)
        if act.kind == "wait" or act.version >= newer:
            continue
        if time.monotonic() > until or judging.stopped.is_set():
            return
        acts = [*found.acts[:at], evolve(act, version=newer), *found.acts[at + 1 :]]
        if not _shows(judging, found, acts, judging.pace(MOST)):
            needs.append(f"{act.api} v{act.version}")
    if needs:
        found.needs = tuple(dict.fromkeys(needs))


def _newest(judging: Judging, profile: Profile, act: Act) -> int:
    """The newest version in which an act of that profile may be carried out."""
    if act.kind == "wait":
        return 0
    of, target = api(act.api), judging.target
    if act.kind == "look":
        return LOOKS[act.name].versions(target.announced[of.key]).stop - 1
    newest = min(of.newest, target.announced[of.key].stop - 1)
    if of is requests.OFFSET_COMMIT and target.topic_id is None:
        newest = min(newest, requests.TOPIC_IDS - 1)
    return _common(profile, of, target.announced[of.key].start, newest)


def _common(profile: Profile, of: Api, oldest: int, newest: int) -> int:
    """The newest version in which the request means the same to a broker that makes members at once
    in all versions and to Kafka, which does so in old ones.
    """
    is_old = profile.settings.get("two_step") == "no" and oldest < requests.TWO_STEP
    return min(newest, requests.TWO_STEP - 1) if of is requests.JOIN_GROUP and is_old else newest
