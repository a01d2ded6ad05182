"""Steps of the protocol in words, and a path as a `Story`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any, Literal

from attrs import frozen

from groupcheck.model.engine.verdict import Firing, Path, Step
from groupcheck.model.protocol.classic.step_words import (
    COORDINATOR,
    THE_COORDINATOR,
    member,
    partitions,
)
from groupcheck.model.protocol.codes import name_of
from groupcheck.model.protocol.consumer.commits import NOT_STORED, REFUSED_COMMITS
from groupcheck.model.protocol.consumer.heartbeats import REFUSED
from groupcheck.model.protocol.consumer.messages import Tag
from groupcheck.model.protocol.story import Lane, Line, Message, Note, Span, Story

State = Mapping[str, Any]
# Request about offsets -> why it is refused.
OFFSET_REQUESTS: Mapping[str, tuple[str, ...]] = {
    "offset_commit": REFUSED_COMMITS,
    "offset_fetch": ("unknown", "stale", "unstable"),
}
# Outcome -> what the member does, or the coordinator where {who} stands in the words.
DOES: Mapping[str, str] = {
    "subscribe_all": "subscribes {how}",
    "send_consumer_heartbeat": "sends a heartbeat",
    "request_arrives": "is heard by the coordinator",
    "answer_arrives": "gets its answer",
    "reconcile:taken": "takes {share}",
    "reconcile:revoking": "calls onPartitionsRevoked, on the way to {share}",
    "reconcile:assigning": "calls onPartitionsAssigned for {share}",
    "callback_returns:revoked": "has revoked what it should",
    "callback_returns:assigned": "has taken its assignment",
    "callback_returns:dropped": "ends a callback of an assignment that it has lost",
    "crash": "crashes",
    "close_consumer:well": "closes and leaves",
    "close_consumer:failed": "closes and leaves, and the append of that fails",
    "poll_timeout": "does not poll in time: it leaves, and still holds its partitions",
    "poll_again": "polls again: it gives up its partitions and joins",
    "lose_answer:answer": "sends a heartbeat whose answer is lost",
    "lose_answer:connection": "loses its connection with all that is on its way",
    "lose_heartbeat": "sends a heartbeat that never arrives",
    "fail_append": "sends a heartbeat whose append fails",
    "delay_heartbeat": "sends a heartbeat that is held up, and connects again",
    "late_heartbeat:handled": "is heard over a former connection",
    "late_heartbeat:dropped": "is heard over a former connection, to no effect",
    "change_subscription": "subscribes to other topics",
    "fetch_position": "asks where to begin in {watched}",
    "process_watched_record": "processes the watched record of {watched}",
    "commit_position": "commits its position in {watched}",
    "delay_commit": "commits its position in {watched}; that is held up, and it connects again",
    "late_commit": "is heard over a former connection",
    "anybody_commits:request": "sends some commit",
    "anybody_commits:failing": "sends some commit whose append fails",
    "anybody_fetches": "asks what is committed",
    "anybody_holds_up": "sends a commit that is held up",
    "send_offsets_to_transaction": "commits its position in {watched} in its transaction",
    "end_transaction:commit": "commits its transaction",
    "end_transaction:abort": "aborts its transaction, or it times out",
    "marker_arrives": "has ended its transaction, and the marker arrives",
    "anybody_commits_in_transaction:request": "sends some commit in a transaction",
    "anybody_commits_in_transaction:failing": "sends one in a transaction whose append fails",
    "anybody_ends_a_transaction:commit": "commits its transaction",
    "anybody_ends_a_transaction:abort": "aborts its transaction",
    "anybody_fetches_unstable": "asks what is committed, whatever transactions are open",
    "retention_passes": "has waited for as long as offsets are kept",
    "sweep_begins": "looks for offsets that have expired",
    "anybody_sends:request": "sends some heartbeat",
    "anybody_sends:failing": "sends some heartbeat whose append fails",
    "session_timeout:removed": "hears nothing from {who} and removes it",
    "session_timeout:failed": "hears nothing from {who}, and the append of that fails",
    "rebalance_timeout:removed": "waits no longer for {who} to revoke, and removes it",
    "rebalance_timeout:failed": "waits no longer for {who}, and the append of that fails",
    "ghost_expires": "removes a member whose process is gone",
    "application_subscribes": "subscribes {how}",
    "application_polls:polled": "polls",
    "application_polls:called": "polls and calls {calls} for {called}",
    "application_polls:assigned": "polls and takes what was assigned to it",
    "application_polls:dropped": "polls and drops an assignment that it has lost",
    "unsubscribe_goes_on:called": "calls {calls} for {called} in unsubscribe",
    "unsubscribe_goes_on:skipped": "skips an assignment in unsubscribe",
    "java_callback_returns:revoked": "has revoked what it should",
    "java_callback_returns:assigned": "has taken its assignment",
    "java_callback_returns:lost": "has been told that its partitions are lost",
    "java_callback_returns:left": "has revoked all and leaves",
    "java_callback_returns:closed": "has revoked all, leaves, and ends",
    "java_callback_returns:failed": "throws in a callback",
    "java_heartbeat": "sends a heartbeat",
    "background_reconciles": "begins to take its assignment in the background",
    "commit_ends": "has committed before the rebalance",
    "find_coordinator": "finds its coordinator",
    "java_poll_timeout": "does not poll in time: it leaves, and still holds its partitions",
    "application_unsubscribes:left": "unsubscribes and leaves",
    "application_unsubscribes:called": "unsubscribes, and has to revoke all partitions first",
    "application_closes:closed": "closes and leaves",
    "application_closes:called": "closes, and revokes all first",
    "session_over": "hears nothing more from {who} and removes it",
    "interval_passes": "may compute a target again",
    "move_coordinator": "moves to another broker, which starts all timers anew",
    "add_partition": "sees a new partition",
    "delete_topic": "sees that a topic is gone",
    "resolver_looks": "looks for the topics that the regular expressions match",
    "resolution_ends:written": "knows which topics the regular expressions mean",
    "resolution_ends:superfluous": "drops the topics of regular expressions that nobody has",
    "resolution_ends:failed": "fails to append which topics the regular expressions mean",
    "time_passes:ten_seconds": "has not looked for 10 s",
    "time_passes:interval": "has not looked for as long as its refresh interval",
}
# Outcome of a request -> what the coordinator does with member {who}.
HANDLES: Mapping[str, str] = {
    "consumer_heartbeat:added": "adds {who}",
    "consumer_heartbeat:replaced": "lets {who} take the place of its predecessor",
    "consumer_heartbeat:rejoined": "lets {who} begin anew",
    "reconcile_member:unrevoked": "waits for {who} to give up {revoking}",
    "reconcile_member:advanced": "has {assigned} for {who}",
    "reconcile_member:failed": "answers 15 COORDINATOR_NOT_AVAILABLE",
    "leave_consumer_group:left": "removes {who}",
    "leave_consumer_group:parked": "keeps the place of {who}",
    "leave_consumer_group:failed": "answers 15 COORDINATOR_NOT_AVAILABLE",
    "offset_commit:accepted": "stores the offset of {who}",
    "offset_commit:by_partition": "stores the offset of {who}, whose epoch has grown since",
    "offset_commit:simple": "stores an offset for a client that is no member",
    "offset_fetch:found": "tells {who} what is committed",
    "offset_fetch:simple": "tells a client that is no member what is committed",
    "offset_fetch:absent": "knows no such group, and of no offset",
    "txn_offset_commit:accepted": "keeps the offset of {who} for the end of the transaction",
    "txn_offset_commit:by_partition": (
        "keeps the offset of {who}, whose epoch has grown since, for the end of the transaction"
    ),
    "txn_offset_commit:nameless": "keeps an offset for a transaction that names no member",
    "txn_offset_commit:stale": "refuses the offset of {who}, whose epoch is stale",
    "txn_offset_commit:absent": "knows no such group",
    "txn_offset_commit:unknown": f"answers {name_of(NOT_STORED['unknown'])}",
    "txn_offset_commit:failed": f"answers {name_of(NOT_STORED['failed'])}",
    "write_txn_marker:committed": "stores the offset of the transaction",
    "write_txn_marker:superseded": "drops the offset of the transaction: a newer one counts",
    "write_txn_marker:aborted": "drops the offset of the transaction",
    "offsets_expire:kept": "keeps all",
    "offsets_expire:expired": "lets the offset expire",
    "offsets_expire:deleted": "deletes the group, which has no member and no offset any more",
    "target_written": "has a new target",
    "resolve_pattern": "knows which topics the pattern of {who} means",
    **{
        f"{rule}:{why}": f"answers {name_of(code)}"
        for rule in ("consumer_heartbeat", "leave_consumer_group")
        for why, code in REFUSED.items()
    },
    **{
        f"{rule}:{why}": f"answers {name_of(NOT_STORED[why])}"
        for rule, whys in OFFSET_REQUESTS.items()
        for why in whys
    },
}
# What follows by itself, or is said by another outcome of the step.
SILENT = frozenset(
    """
    begin_errand read_member read_ghosts compute_target give_target give_ghosts load_member
    load_ghosts timers_restarted consumer_heartbeat:accepted reconcile_member:kept hear_answer:well
    hear_answer:unavailable leave_ghost nobody_hears java_hears:well java_hears:ignored
    java_hears:unavailable java_hears:left hear_of_offsets position_is_lost
    nobody_hears_of_offsets read_subscription read_subscriptions_of_ghosts tell_member tell_ghosts
    move_up moved_up
    all_told
    """.split()
)
HEARS: Mapping[str, str] = {
    "hear_answer:fenced": "gives up its partitions and joins again",
    "hear_answer:fatal": "stops with an error",
    "java_hears:fenced": "has lost its partitions",
    "java_hears:fatal": "stops with an error",
}
TIMERS = (
    "session_timeout",
    "rebalance_timeout",
    "ghost_expires",
    "session_over",
    "interval_passes",
    "retention_passes",
    "sweep_begins",
    "time_passes",
)
FAULTS = (
    "crash",
    "close_consumer",
    "poll_timeout",
    "java_poll_timeout",
    "application_unsubscribes",
    "application_closes",
    "lose_answer",
    "fail_append",
    "change_subscription",
    "move_coordinator",
    "add_partition",
    "delete_topic",
)
LOST = ("lose_heartbeat",)
HEARTBEATS = ("send_consumer_heartbeat", "java_heartbeat")
# Rule that handles a request -> what is sent.
HANDLERS: Mapping[str, str] = {
    "consumer_heartbeat": "heartbeat",
    "leave_consumer_group": "heartbeat",
    "offset_commit": "OffsetCommit",
    "offset_fetch": "OffsetFetch",
    "txn_offset_commit": "TxnOffsetCommit",
    "write_txn_marker": "WriteTxnMarkers",
}
# What TxnOffsetCommit is told by version (KIP-1319).
BY_VERSION = ("txn_offset_commit:stale", "txn_offset_commit:absent")
LAST_WORDS = (*HANDLERS, "reconcile_member")


@frozen
class Words:
    """The words of a protocol whose members send heartbeats, by outcomes and by rules."""

    does: Mapping[str, str] = DOES
    handles: Mapping[str, str] = HANDLES
    silent: frozenset[str] = SILENT
    hears: Mapping[str, str] = HEARS
    timers: tuple[str, ...] = TIMERS
    faults: tuple[str, ...] = FAULTS
    heartbeats: tuple[str, ...] = HEARTBEATS
    handlers: Mapping[str, str] = HANDLERS
    # The rules one of which answers.
    last: tuple[str, ...] = LAST_WORDS
    # The rules that hear an answer.
    hearers: tuple[str, ...] = ("hear_answer", "hear_of_offsets", "java_hears")
    # What members have.
    shown: Callable[[int], str] = partitions


CONSUMER = Words()


def tell(step: Step, before: State, after: State, words: Words = CONSUMER) -> str:
    """One sentence for a step; `before` and `after` map slots to values (arrays: tuples)."""
    clauses = [(_subject(step.firing, words), _does(step.firing, after, words))]
    clauses += [said for firing in step.urgent for said in _follows(firing, after, words)]
    return "; ".join(
        f"{who} {' and '.join(what for _, what in several)}"
        for who, several in groupby(clauses, key=lambda clause: clause[0])
    )


def _subject(firing: Firing, words: Words) -> str:
    coordinator = firing.me is None or "{who}" in words.does[firing.name]
    return THE_COORDINATOR if coordinator else member(firing.me)


def _does(firing: Firing, after: State, words: Words) -> str:
    said = words.does[firing.name]
    if firing.me is None:
        return said
    client = after["client"][firing.me]
    called = getattr(client, "running", None)
    return said.format(
        who=member(firing.me),
        share=partitions(getattr(client, "target", 0)),
        calls=called.calls.value if called else "",
        called=partitions(called.partitions) if called else "",
        how=_how(client, after["core"].topics) if "{how}" in said else "",
        watched=partitions(after["offsets"].bit) if "offsets" in after else "",
    )


def _how(client: Any, topics: int) -> str:
    """How a member has subscribed, of these topics."""
    regex = getattr(client, "regex", 0)
    if getattr(client, "pattern", 0) or regex == 1:
        return "by a regular expression to all topics"
    if regex:
        return "by a regular expression to the last topic"
    return "by name to one topic" if topics & ~client.subscribed else "to all topics"


def _follows(firing: Firing, after: State, words: Words) -> Iterator[tuple[str, str]]:
    """What an urgent outcome adds to the sentence."""
    if firing.name in words.silent:
        return
    if firing.name in words.hears:
        yield member(firing.me), words.hears[firing.name]
        return
    said = words.handles[firing.name]
    if firing.me is None:
        yield THE_COORDINATOR, said
        return
    seat = after["seat"][firing.me]
    yield (
        THE_COORDINATOR,
        said.format(
            who=member(firing.me),
            revoking=words.shown(seat.revoking) if seat else "",
            assigned=words.shown(seat.assigned) if seat else "",
        ),
    )


def story_of(path: Path, words: Words = CONSUMER) -> Story:
    """The story of a path: the coordinator, and a lane for each process."""
    states = [_named(path, state) for state in path.states]
    members = range(len(states[0]["client"]))
    lanes = (Lane(COORDINATOR, COORDINATOR), *(Lane(member(i), member(i), i) for i in members))
    lines: list[Line] = []
    events: list[Message | Note] = []
    for number, step in enumerate(path.steps, 1):
        before, after = states[number - 1], states[number]
        who = _subject(step.firing, words)
        lane = COORDINATOR if who == THE_COORDINATOR else who
        changes = tuple(_changes(before, after, words))
        dull = step.firing.name in words.heartbeats and not changes
        lines.append(Line(number, lane, tell(step, before, after, words), changes, not dull))
        events += _events(number, step, lane, words)
    spans = [span for i in members for span in _held(states, i, words)]
    return Story(lanes, lines, events, spans)


def _named(path: Path, state: tuple[Any, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for (name, index), value in zip(path.places, state, strict=True):
        out[name] = value if index is None else (*out.get(name, ()), value)
    return out


def _changes(before: State, after: State, words: Words) -> Iterator[str]:
    for i, (a, b) in enumerate(zip(before["client"], after["client"], strict=True)):
        if a.state != b.state:
            yield f"{member(i)} {a.state.value} -> {b.state.value}"
        if a.holds != b.holds:
            yield f"{member(i)} holds {words.shown(a.holds)} -> {words.shown(b.holds)}"


def _events(number: int, step: Step, lane: str, words: Words) -> Iterator[Message | Note]:
    rule = step.firing.name.partition(":")[0]
    handled = [f for f in step.urgent if f.name.partition(":")[0] in words.handlers]
    if rule in LOST:
        yield Message(number, lane, COORDINATOR, "heartbeat", lost=True)
    elif rule == "delay_heartbeat":
        yield Message(number, lane, COORDINATOR, "heartbeat, held up")
    elif rule == "delay_commit":
        yield Message(number, lane, COORDINATOR, "OffsetCommit, held up")
    elif not handled or rule in (*words.timers, *words.faults):
        yield Note(number, lane, rule.replace("_", " "), _kind(rule, words))
    for firing in handled:
        if rule not in ("late_heartbeat", "late_commit", "request_arrives"):
            sent = words.handlers[firing.name.partition(":")[0]]
            yield Message(number, member(firing.me), COORDINATOR, sent)
    answers = [f for f in step.urgent if f.name.partition(":")[0] in words.last]
    heard = rule != "late_commit" and any(f.name.startswith(words.hearers) for f in step.urgent)
    if answers and answers[-1].me is not None:
        yield Message(
            number, COORDINATOR, member(answers[-1].me), _code(answers[-1]), lost=not heard
        )


def _kind(rule: str, words: Words) -> Literal["event", "timer", "fault"]:
    return "timer" if rule in words.timers else "fault" if rule in words.faults else "event"


def _code(firing: Firing) -> str:
    if firing.name in BY_VERSION:
        return "refused"
    label = firing.name.partition(":")[2]
    about_offsets = firing.name.startswith(("offset_", "txn_offset_"))
    refused = NOT_STORED if about_offsets else REFUSED
    return name_of(15 if label == "failed" else refused.get(label, 0))


def _held(states: list[dict[str, Any]], i: int, words: Words) -> Iterator[Span]:
    """The spans in which a process holds a partition, as a member or as a zombie."""
    bits = max(s["client"][i].holds for s in states).bit_length()
    for p in range(bits):
        kinds = [_holding(s, i) if s["client"][i].holds >> p & 1 else None for s in states]
        since = 0
        for kind, run in groupby(kinds):
            until = since + len(list(run))
            if kind is not None:
                end = until if until < len(states) else None
                yield Span(member(i), since, end, words.shown(1 << p), kind)
            since = until


def _holding(state: State, i: int) -> Literal["owns", "stale"]:
    known = state["seat"][i] is not None and state["link"][i].tag != Tag.OLD
    return "owns" if known and state["client"][i].beats else "stale"
