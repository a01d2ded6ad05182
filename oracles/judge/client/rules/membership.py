"""Rules about ids, joining, heartbeats and leaving."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import inf

from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID
from groupcheck.oracles.judge.client.events import Closed, Failed
from groupcheck.oracles.judge.client.knowledge import GRACE_S, OF_THE_MEMBER
from groupcheck.oracles.judge.client.record import (
    App,
    Asked,
    Ended,
    Moved,
    Stopping,
    Told,
)
from groupcheck.oracles.judge.client.record import Closed as Gone
from groupcheck.oracles.judge.client.rules.rule import Case, KnownRun

UNDER_WAY_S = 0.2  # a request that was written before the answer was read
# Far above what retry.backoff.ms = 50 gives.
MOST_REFUSED_A_SECOND = 60
ELSEWHERE = (15, 16)  # the coordinator is somewhere else, or nowhere
NEARLY = 0.9  # of a session: then it is over before the next heartbeat can come
FATAL_S = 3.0
FENCED_S = 1.0


def uses_the_id_it_is_given(run: KnownRun) -> Iterator[Case]:
    given: tuple[str, float] | None = None
    requests: dict[int, Asked] = {}
    for event, _ in run.events:
        if isinstance(event, Told) and event.error == MEMBER_ID_REQUIRED and event.member:
            given = (event.member, event.at)
        if not isinstance(event, Asked) or event.api != "JoinGroup":
            continue
        requests[event.number] = event
        if given is None or (event.at - given[1] < UNDER_WAY_S and event.member != given[0]):
            continue
        yield Case(
            event.at,
            ""
            if event.member == given[0]
            else f"it joins with the id {event.member!r}, {event.at - given[1]:.1f} s after it was"
            f" given {given[0]!r}",
        )
        given = None


def forgets_a_refused_id(run: KnownRun) -> Iterator[Case]:
    for event, now in run.events:
        if not isinstance(event, Asked) or event.api != "JoinGroup" or now.refused is None:
            continue
        id, at = now.refused
        if event.member == "" or (event.member == id and event.at - at > UNDER_WAY_S / 2):
            yield Case(
                event.at,
                f"it joins with the id {id!r}, {event.at - at:.1f} s after that was answered"
                " 25 UNKNOWN_MEMBER_ID"
                if event.member == id
                else "",
            )


def keeps_its_id(run: KnownRun) -> Iterator[Case]:
    """Whatever happens to its connections, as long as it neither left nor was refused, and has
    heard of its coordinator within its session.
    """
    left = _dropped(run)
    real = run.record.clock.real
    for event, now in run.events:
        if isinstance(event, Asked) and event.api == "LeaveGroup":
            left |= {*event.members, *([event.member] if event.member else [])}
        if not isinstance(event, Asked) or event.api != "JoinGroup" or now.share is None:
            continue
        over = real(event.at) - real(now.heard_at) >= now.session_ms / 1000
        if now.id and now.id not in left and now.fenced is None and not over:
            yield Case(
                event.at,
                ""
                if event.member
                else f"it joins without an id, and nobody has refused its id {now.id!r}",
            )


def _dropped(run: KnownRun) -> set[str]:
    """The ids in answers to JoinGroup that a client may throw away, because it learns meanwhile
    that it is no member: a request that it sent without an id was refused with 25. Kafka's own does
    so (AbstractCoordinator.JoinGroupResponseHandler: UnjoinedGroupException).
    """
    asked: dict[int, Asked] = {}
    joins: dict[int, bool] = {}
    dropped: set[str] = set()
    refused_at = -inf
    for event, _ in run.events:
        if isinstance(event, Asked):
            asked[event.number] = event
            if event.api == "JoinGroup":
                joins[event.number] = event.at - refused_at < UNDER_WAY_S
        elif isinstance(event, Told) and (request := asked.pop(event.number, None)):
            if joins.pop(event.number, False):
                dropped.add(event.member)
            elif event.error == UNKNOWN_MEMBER_ID and not request.member:
                refused_at = event.at
                joins = dict.fromkeys(joins, True)
    return dropped


def joins_again(run: KnownRun) -> Iterator[Case]:
    """A cooperative member that has to give something up joins again, so that another gets it."""
    asked, late = None, False
    for event, now in run.events:
        if now.to_join is not None and now.to_join is not asked:
            asked, late = now.to_join, False
        if isinstance(event, Moved | Stopping | Ended):
            late = True  # what happens now may hold it up
        if asked is None:
            continue
        deadline = asked.at + now.rebalance_ms / 1000 + GRACE_S
        if isinstance(event, Asked) and event.api == "JoinGroup":
            in_time = event.at <= deadline or late
            yield Case(event.at, "" if in_time else _joins_late(asked.words, event.at - asked.at))
            asked = None
        elif event.at > deadline and not late and now.fatal is None and now.stopping is None:
            yield Case(event.at, _joins_late(asked.words, event.at - asked.at))
            asked = None


def _joins_late(words: str, seconds: float) -> str:
    return f"no JoinGroup for {seconds:.1f} s after it was answered {words}"


def backs_off(run: KnownRun) -> Iterator[Case]:
    """Requests of one kind that follow a refused one of the same kind are counted, in seconds that
    may have stalls in them.
    """
    requests: dict[int, str] = {}
    refused: dict[str, bool] = {}
    recent: dict[str, deque[float]] = {}
    worst: dict[str, tuple[int, float]] = {}
    for event, _ in run.events:
        if isinstance(event, Told) and event.number in requests:
            api = requests.pop(event.number)
            refused[api] = bool(event.error)
            if event.error:
                worst.setdefault(api, (0, event.at))
        elif isinstance(event, Asked):
            requests[event.number] = event.api
            if refused.get(event.api):
                times = recent.setdefault(event.api, deque())
                now_s = run.record.clock.real(event.at)
                times.append(now_s)
                while times[0] < now_s - 1:
                    times.popleft()
                if len(times) > worst[event.api][0]:
                    worst[event.api] = (len(times), event.at)
    for api, (count, at) in worst.items():
        storm = count > MOST_REFUSED_A_SECOND
        yield Case(at, f"{count} {api} in one second, each after an error" if storm else "")


def keeps_its_session(run: KnownRun) -> Iterator[Case]:
    """While it is a member, nothing is silent and its last heartbeat was answered 0."""
    last: float | None = None
    begun = 0.0
    requests: dict[int, Asked] = {}
    for event, now in run.events:
        if now.share_at != begun:
            last = begun = now.share_at
        calm = now.share is not None and now.joining is None and now.lost is None
        if isinstance(event, Moved | Stopping | Ended) or not calm or now.to_join:
            last = None
        limit = NEARLY * now.session_ms / 1000
        if last is not None and event.at - last > limit:
            yield Case(event.at, f"no Heartbeat for {event.at - last:.1f} s")
            last = None
        if isinstance(event, Asked) and event.api == "Heartbeat":
            requests[event.number] = event
            if last is not None:
                yield Case(event.at)
            last = None
        elif isinstance(event, Told):
            request = requests.pop(event.number, None)
            if request is not None and not event.error:
                last = request.at


def gives_up_a_silent_coordinator(run: KnownRun) -> Iterator[Case]:
    """After twice the session timeout it has looked for its coordinator again, or fetches
    nothing.
    """
    silent: Moved | None = None
    fetched, looked = False, False
    before: set[int] = set()
    for event, now in run.events:
        if silent is None and isinstance(event, Asked):
            before.add(event.connection)
        if isinstance(event, Moved) and event.kind == "silence":
            silent, fetched, looked = event, False, False
        if silent is None:
            continue
        late = event.at - silent.at
        limit = 2 * now.session_ms / 1000 + GRACE_S
        if isinstance(event, Asked) and late > GRACE_S:
            anew = event.api in OF_THE_MEMBER and event.connection not in before
            looked = looked or anew or event.api == "FindCoordinator"
            fetched = fetched or (event.api == "Fetch" and bool(event.offsets) and late > limit)
        if late > limit + 1 or isinstance(event, Stopping | Ended):
            if silent.seconds > limit and late > limit:
                yield Case(
                    event.at,
                    f"the coordinator is silent for {late:.1f} s (session.timeout.ms is"
                    f" {now.session_ms}), and it fetches on and looks for no coordinator"
                    if fetched and not looked
                    else "",
                )
            silent = None


def tells_what_is_fatal(run: KnownRun) -> Iterator[Case]:
    fatal, told = None, False
    for event, now in run.events:
        if now.fatal is not None and fatal is None:
            fatal = now.fatal
        if fatal is None:
            continue
        says = isinstance(event, App) and isinstance(event.said, Failed | Closed)
        told = told or says or (isinstance(event, Ended) and now.stopping is None)
        if told:
            break
        if event.at > fatal.at + FATAL_S:
            break
    if fatal is not None and (told or run.end > fatal.at + FATAL_S):
        yield Case(
            fatal.at,
            "" if told else f"its application is told nothing of {fatal.words}",
        )


def stops_when_fenced(run: KnownRun) -> Iterator[Case]:
    fenced = None
    for event, now in run.events:
        fenced = fenced or now.fenced
        if fenced is None or now.stopping is not None:
            continue
        late = event.at - fenced.at
        goes_on = isinstance(event, Asked) and (
            event.api in OF_THE_MEMBER or (event.api == "Fetch" and bool(event.offsets))
        )
        if goes_on and late > FENCED_S:
            assert isinstance(event, Asked)
            yield Case(event.at, f"{event.api} {late:.1f} s after {fenced.words}")
            return
    if fenced is not None and run.end > fenced.at + FENCED_S:
        yield Case(fenced.at)


def leaves_on_close(run: KnownRun) -> Iterator[Case]:
    """A dynamic member sends LeaveGroup if it knows its coordinator and does not look for it,
    unless it learns while it closes that it is no member; a static one sends none.
    """
    stopping: float | None = None
    member, left, ended = False, False, False
    known, over = False, 0
    requests: dict[int, Asked] = {}
    for event, now in run.events:
        if isinstance(event, Asked) and event.api in OF_THE_MEMBER:
            requests[event.number] = event
        elif isinstance(event, Told) and event.number in requests:
            over = requests.pop(event.number).connection
            known = event.error not in ELSEWHERE
        elif isinstance(event, Gone) and event.connection == over:
            known = False
        looks = isinstance(event, Asked) and event.api == "FindCoordinator"
        known = known and not looks
        if isinstance(event, Stopping):
            stopping = event.at
            member = bool(now.id) and now.lost is None and now.fatal is None and known
        elif stopping is not None:
            member = member and now.lost is None and not looks
            left = left or (isinstance(event, Asked) and event.api == "LeaveGroup")
        ended = ended or isinstance(event, Ended)
    if stopping is None or not member:
        return
    static = run.record.static
    if static or left or (ended and run.end > stopping):
        broken = ""
        if static and left:
            broken = "it has an instance id, and sends LeaveGroup when it is closed"
        elif not static and not left:
            broken = f"no LeaveGroup in the {run.end - stopping:.1f} s of its close"
        yield Case(stopping, broken)
