"""The story of a group as its members tell it, in words: who was a member from when to when, what
each owned, how long it stood still, and where it stands when its log ends.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate

from groupcheck.model.engine.verdict import UNKNOWN
from groupcheck.oracles.replay.lanes import PARTITIONS_NAMED, held
from groupcheck.oracles.replay.rounds import lasted
from groupcheck.traces.causes.scan_log import NOT_JUDGED
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.members.standing import Standing
from groupcheck.traces.members.story import MemberStory
from groupcheck.traces.phrases import plural, seconds, some_of
from groupcheck.traces.story.moments import Moment, Round

MEMBERS_SHOWN, SEEN_SHOWN = 12, 6
OWNED_SHOWN = 24
SEEN = "as members saw it"
OWNED_COLUMNS = ("member", "owned", "generation", "from", "to", "for")


def told_report(group: str, story: GroupStory) -> GroupReport:
    """The report of a group that only clients' lines name: nothing is judged."""
    return GroupReport(
        group=group,
        coordinator=None,
        protocol="consumer" if any(m.modern for m in story.members) else "classic",
        verdict=UNKNOWN,
        reason=NOT_JUDGED,
        timeline=story.timeline,
        anomalies=(),
        unexplained=(),
        unexplained_count=0,
        assumed_count=0,
        lines=0,
        begins="",
        nothing_judged=True,
    )


def member_sentences(story: GroupStory) -> Iterator[tuple[str, str]]:
    """Each member as (name, sentence)."""
    for m in story.members[:MEMBERS_SHOWN]:
        yield m.name, "; ".join(_life(m))
    if len(story.members) > MEMBERS_SHOWN:
        more = len(story.members) - MEMBERS_SHOWN
        yield "", f"and {plural(more, 'more member')} (--json has all)"


def _life(m: MemberStory) -> Iterator[str]:
    joined = [(at, id) for id, at in m.joined.items()]
    if m.shared:
        ids = some_of([id for _, id in joined], SEEN_SHOWN)
        yield f"several members write under this name ({ids}), so what each of them did is not told"
        return
    for at, id in joined[:1]:
        how = f"was in the group as {id}" if id == m.earlier else f"joined{_at(at)} as {id}"
        yield f"is first seen in the group{_at(at)} as {id}" if id == m.unsure else how
    if len(joined) > 1:
        more = plural(len(joined) - 1, "more id")
        yield f"has {more}" if m.goes_back else f"came back under {more}"
    numbers = [r.generation for r in m.rounds if r.generation is not None]
    if numbers:
        what = "epoch" if m.modern else "generation"
        first, last = numbers[0], numbers[-1]
        yield f"{what} {first}" if first == last else f"{what}s {first} to {last}"
    took = [r.took_ms for r in m.rounds if r.took_ms is not None]
    if took:
        most = f", at most {seconds(max(took))}" if len(took) > 1 else ""
        # A log of whole seconds shows no shorter time.
        whole = f" in {seconds(sum(took))}{most}" if sum(took) else ""
        yield f"{plural(len(took), 'rebalance')}{whole}"
    if m.goes_back and not m.shared:
        yield (
            "its lines go back in time: they are of several processes, or out of order, so what it"
            " owned is not told"
        )
    still = [b - a for a, b in m.still()]
    if still:
        most = f", at most {lasted(max(still))} at a time" if len(still) > 1 else ""
        yield f"owned nothing for {lasted(sum(still))}{most}"
    if m.commits:
        yield plural(m.commits, "commit")
    if m.commits_refused:
        yield f"{plural(m.commits_refused, 'commit')} refused"
    end = m.ends.get(m.member)
    if m.gone and end is not None:
        why = f" ({end.reason})" if end.reason else ""
        yield f"{'left' if end.how == 'left' else 'was closed'}{_at(end.at)}{why}"
    if m.open is not None and m.open.joined is None and m.open.asked is not None:
        joins = "was answered, but it joins no generation"
        so_far = joins if m.open.answered else "has no answer that is understood"
        yield f"its last JoinGroup{_at(m.open.asked_last or m.open.asked)} {so_far} in its log"
    standing = m.standing()
    if standing is not None and standing.stands:
        yield standing_sentence(standing)


def standing_sentence(s: Standing) -> str:
    """Where a member stands when its log ends."""
    state = f"in {s.in_state} " if s.state.told_in in ("join_state", "state") else ""
    when = "" if s.lasted_ms is None else f" for {lasted(s.lasted_ms)}"
    limit = ""
    if s.within_ms is not None:
        due = f"longer than {s.setting} ({s.within_ms})" if s.late else ""
        limit = "; " + (due or f"it may last {lasted(s.within_ms)} ({s.setting})")
    return (
        f"it stands {state}since line {s.since.line}{when}, until its log ends: it waits for"
        f" {s.state.waits_for}; what ends that: {s.state.ends}{limit}"
    )


def _at(at: Moment) -> str:
    return f" at {show_time(at.time)[-12:]}" if at.time is not None else ""


def owned_rows(story: GroupStory) -> list[tuple[str, str, str, str, str, str]]:
    """Who owned what from when to when, in order of time; the cells of `OWNED_COLUMNS`."""
    rows = []
    for m in story.members:
        owned = m.owned()
        times = [o.since for o in owned]
        newest = list(accumulate((o.generation or -1 for o in owned), max))
        open = {o.until for o in owned if o.how == "end of log"}
        for since, until, some in held((o.partition, o.since, o.until) for o in owned):
            got = newest[bisect(times, since) - 1]
            names = some_of(sorted(some), PARTITIONS_NAMED)
            what = f"{len(some)}: {names}" if len(some) > 1 else names
            number = str(got) if got >= 0 else "?"
            end = "end of log" if until in open else show_time(until)[-12:]
            when = show_time(since)[-12:], end, lasted(until - since)
            rows.append((since, (m.name, what, number, *when)))
    return [row for _, row in sorted(rows, key=lambda r: (r[0], r[1][0]))]


def seen_cell(rounds: Sequence[Round], story: GroupStory) -> str:
    """How long a rebalance took each member, by their own logs; of several rounds, the longest."""
    most: dict[str, int] = {}
    for x in rounds:
        for m, r in story.rounds.get(x.to_generation or -1, ()):
            took = r.took_ms
            most[m.name] = max(most.get(m.name, -1), -1 if took is None else took)
    return some_of(
        [f"{name} {seconds(ms)}" if ms >= 0 else f"{name} ?" for name, ms in most.items()],
        SEEN_SHOWN,
    )
