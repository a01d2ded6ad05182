"""Differences are tried again, at leisure, and get short schedules."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import chain, takewhile

from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.row import Asks, Fires, Memory
from groupcheck.oracles.judge.broker.acts import fields_of, versions_of
from groupcheck.oracles.judge.broker.differences import Difference
from groupcheck.oracles.judge.broker.exploring import FAR, Judging
from groupcheck.oracles.judge.broker.judging import root_of
from groupcheck.oracles.judge.broker.kinds import ANY_GROUP, Edge, Way
from groupcheck.oracles.judge.broker.ledger import ShownDifference
from groupcheck.oracles.judge.broker.profiles import ONE_STEP, Profile
from groupcheck.oracles.judge.broker.refusals import LOOKS
from groupcheck.oracles.judge.broker.surroundings import Asking
from groupcheck.oracles.judge.broker.target import Pace
from groupcheck.oracles.judge.following import requests
from groupcheck.oracles.judge.following.nearest import nearest
from groupcheck.oracles.judge.report.schedules import Act, Line
from groupcheck.traces.messages.apis import Api, api

REPEATS = 3
AT_ONCE = 6  # schedules of one difference
HEDGE_S = 0.3  # after which a schedule does not keep the next one waiting
GONE = "the broker is gone"
OUTLIVED_S = 8.0  # so long a broker may take to die of it; rounds end meanwhile
SHORT = 8  # requests; a schedule that has no more is short
WAYS = 3  # of the model to one kind of row that are tried, each with another outcome
SHORTENING_S, RENEWING_S = 15.0, 5.0  # so long is tried to shorten one


def confirmed(
    judging: Judging,
    first: Sequence[ShownDifference],
    others: Sequence[ShownDifference],
    until: float,
    threads: int,
    tell: Callable[[], None],
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Confirms the `first` difference of each root, those before the others that wait for what does
    not come; then makes schedules of the others short. Those that are not begun in time are left.
    """
    every = judging.ledger.found.values()

    def one(found: ShownDifference, repeats: int) -> None:
        if time.monotonic() < until and not judging.stopped.is_set():
            like = (other for other in every if other.again and root_of(other) == root_of(found))
            confirm(judging, found, repeats, None if repeats else next(like, None))

    ordered = sorted(first, key=lambda found: not found.difference.is_silence)
    jobs = [partial(one, found, REPEATS) for found in ordered]
    shorter = [partial(one, found, 0) for found in others]
    judging.all([*jobs, meanwhile, *shorter], threads, tell)


def confirm(
    judging: Judging,
    found: ShownDifference,
    repeats: int = REPEATS,
    like: ShownDifference | None = None,
) -> None:
    """Makes its schedule shorter while the difference shows, and tries it again, at leisure. If
    the short schedule does not show it at leisure, the one that was met is tried. `like`: one of
    its root that has a short schedule.
    """
    met = found.acts, found.lines, found.needs
    # Without any step the group is not even made; and what a pause of this machine has made does
    # not show again: in neither is there anything to be shortened.
    if (
        found.acts
        and not _short_way(judging, found, like)
        and _first(judging, found, [found.acts] * 2) is not None
    ):
        if repeats or _asks(found) > SHORT:
            _shorten(judging, found)
        _renew(judging, found)
    _repeat(judging, found, repeats)
    if repeats and not found.again and found.acts != met[0]:
        found.acts, found.lines, found.needs = met
        _repeat(judging, found, repeats)


def _asks(found: ShownDifference) -> int:
    return sum(act.kind != "wait" for act in found.acts)


def _repeat(judging: Judging, found: ShownDifference, repeats: int) -> None:
    found.repeated = found.again = 0
    for shown in _carried_out(judging, found, [found.acts] * repeats):
        found.repeated += 1
        if shown is not None:
            found.again += 1
            _keep(found, shown)


Shown = tuple[Difference, tuple[Act, ...], tuple[Line, ...]]  # with its schedule and its transcript


def _keep(found: ShownDifference, shown: Shown) -> None:
    found.difference, found.acts, found.lines = shown


def _shows(
    judging: Judging,
    found: ShownDifference,
    acts: Sequence[Act],
    pace: Pace | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> Shown | None:
    """The difference, if the schedule shows it."""
    walk = judging.again(found.profile, acts, pace, is_over)
    some = walk.met.differences
    return next((shown for shown in some if shown[0] == found.difference), None)


def _carried_out(
    judging: Judging,
    found: ShownDifference,
    some: Iterable[Sequence[Act]],
    pace: Pace | None = None,
    *,
    until_shown: bool = False,
) -> list[Shown | None]:
    """What each schedule shows, in their order. Most of their time is spent waiting: one that takes
    long does not keep the next one waiting. `until_shown`: up to the first that shows it.
    """
    enough, left = threading.Event(), iter(some)
    running: list[Future[Shown | None]] = []

    def is_over() -> bool:
        return enough.is_set() or judging.stopped.is_set()

    def ended() -> list[Shown | None]:
        return [one.result() for one in takewhile(Future.done, running)]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            while not (until_shown and any(ended())) and not judging.stopped.is_set():
                acts = next(left, None) if len(running) - len(ended()) < AT_ONCE else None
                if acts is not None:
                    job = pool.submit(_shows, judging, found, acts, pace, is_over)
                    running.append(job)
                    wait([job], HEDGE_S)
                elif len(ended()) == len(running):
                    break
                else:
                    wait([one for one in running if not one.done()], HEDGE_S, FIRST_COMPLETED)
        finally:
            enough.set()
    return [] if judging.stopped.is_set() else ended()


def outlives(judging: Judging) -> None:
    """Sends what a broker may not outlive. Nothing can be tried on it afterwards."""
    ledger, some = judging.ledger, list[ShownDifference]()
    ends, acts, lines = time.monotonic(), list[Act](), list[Line]()
    for act in _harsh(judging):
        ends = time.monotonic() + OUTLIVED_S
        walk = judging.again(ONE_STEP, [act])
        ledger.note(ONE_STEP, walk.met)
        some += [ledger.found[difference] for difference, _, _ in walk.met.differences]
        acts += walk.acts
        lines += [evolve(line, number=len(acts)) for line in walk.transcript.lines]
        if walk.met.differences and not _answers(judging):
            break
    if some and _ends(judging, ends):
        kind, allowed = some[-1].difference.kind, ("a broker that goes on",)
        gone = Difference(kind, allowed, GONE, ("goes_on",))
        ledger.found[gone] = ShownDifference(gone, ONE_STEP, tuple(acts), tuple(lines))
        for found in (*some, ledger.found[gone]):
            found.is_final = True
        return
    for found in some:
        _repeat(judging, found, REPEATS)


def _harsh(judging: Judging) -> Iterator[Act]:
    """The questions that come last, in the oldest and the newest version."""
    for look in [one for one in LOOKS.values() if one.is_harsh]:
        spoken = look.versions(judging.target.announced.get(look.api.key, range(0)))
        for version in dict.fromkeys([*spoken[:1], *spoken[-1:]]):
            yield Act("look", look.name, -1, version)


def _ends(judging: Judging, until: float) -> bool:
    """Does the broker end within the time that it may take for it?"""
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


def _short_way(judging: Judging, found: ShownDifference, like: ShownDifference | None) -> bool:
    """Tries the model's shortest ways to the kind of row, in the newest versions, and that of one
    that is like it; False if none shows the difference. `needs` are the old versions of the last
    step that it takes.
    """
    last = found.acts[-1]
    newest = evolve(last, version=_newest(judging, found.profile, last))
    others = [[*like.acts[:-1], last]] if like and len(like.acts) < len(found.acts) else []
    tried = list[Sequence[Act]]()

    def some() -> Iterator[Sequence[Act]]:
        for acts in chain(_ways(judging, found), others):
            for end in dict.fromkeys((evolve(acts[-1], version=newest.version), acts[-1])):
                tried.append([*acts[:-1], end])
                yield tried[-1]

    at = _first(judging, found, some())
    if at is None:
        return False
    end = tried[at][-1]
    is_old = end.kind != "wait" and end.version < newest.version
    found.needs = (f"{end.api} v{end.version}",) if is_old else ()
    return True


def _first(judging: Judging, found: ShownDifference, some: Iterable[Sequence[Act]]) -> int | None:
    """The place of the first schedule that shows the difference, which is kept."""
    every = _carried_out(judging, found, some, judging.haste(), until_shown=True)
    for at, shown in enumerate(every):
        if shown is not None:
            _keep(found, shown)
            return at
    return None


def _ways(judging: Judging, found: ShownDifference) -> Iterator[list[Act]]:
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


def _shorten(judging: Judging, found: ShownDifference) -> None:
    """Leaves out steps as long as the difference shows, first many at once, then one by one, until
    none can be left out.
    """
    many, until = max(1, len(found.acts) // 2), time.monotonic() + SHORTENING_S
    while True:
        at, before = 0, len(found.acts)
        while at < len(found.acts) - 1:
            if time.monotonic() > until or judging.stopped.is_set():
                return
            last = len(found.acts) - 1
            places = range(at, last, many)[:AT_ONCE]
            some = ([*found.acts[:k], *found.acts[min(k + many, last) :]] for k in places)
            place = _first(judging, found, list(some))
            at = places[-1] + many if place is None else places[place]
        if many == 1 and len(found.acts) == before:
            return
        many = max(1, many // 2)


def _renew(judging: Judging, found: ShownDifference) -> None:
    """Speaks newer versions where the difference shows in them, too: the old ones that are left may
    be what it needs.
    """
    until, needs = time.monotonic() + RENEWING_S, []
    newer = [max(act.version, _newest(judging, found.profile, act)) for act in found.acts]
    old = [k for k, act in enumerate(found.acts) if act.kind != "wait" and act.version < newer[k]]
    newest = [evolve(act, version=newer[k]) for k, act in enumerate(found.acts)]
    if not old or _first(judging, found, [newest]) is not None:
        return
    for at in old:
        act = found.acts[at]
        if time.monotonic() > until or judging.stopped.is_set():
            return
        acts = [*found.acts[:at], evolve(act, version=newer[at]), *found.acts[at + 1 :]]
        if _first(judging, found, [acts]) is None:
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
