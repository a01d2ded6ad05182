"""Weak points of Java's member of a consumer group, each as a reading, and bugs that clients of
KIP-848 have had, put into it.
"""

from __future__ import annotations

from typing import Any

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.mutations.twists import Values, after, reads, sees
from groupcheck.model.protocol.consumer import client_faults
from groupcheck.model.protocol.consumer import java_rules as java
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.java_member import Calls
from groupcheck.model.protocol.consumer.messages import LEAVES, Kind, Tag, idle, leave_of
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.family import JAVA_MEMBERS
from groupcheck.model.protocol.mutation import SEEDED, Mutation

ALONE = {"members": 1, "partitions": 1, "java": True}
LISTENS = {**ALONE, "callbacks": "phased"}


def _sent(link: Any, change: dict[str, Any], *kinds: Kind) -> Any:
    """The link, where the heartbeat of such a kind that is sent last says something else."""

    def changed(request: Any) -> Any:
        wanted = request is not None and request.kind in kinds
        return attrs.evolve(request, **change) if wanted else request

    behind = tuple(map(changed, link.behind))
    return evolve(link, request=changed(link.request), out=changed(link.out), behind=behind)


def _joins_in_part(before: Values, label: str, after: Values) -> Values:
    client = before["client"]
    if client.state != Member.JOINING or client.full:
        return {}
    return {"link": _sent(after["link"], {"full": False, "owned": None}, Kind.JOIN)}


def _joins_with_partitions(before: Values, label: str, after: Values) -> Values:
    return {"link": _sent(after["link"], {"owned": before["client"].subscribed}, Kind.JOIN)}


def _follows_the_answer_to_its_leave(before: Values, label: str, after: Values) -> Values:
    if label != "left" or not after["client"].beats:
        return {}
    return {"client": evolve(after["client"], ended=True)}


def _does_not_see_that_it_joined_again(given: Values) -> Values:
    client = given["client"]
    if client.taking is None:
        return {}
    return {"client": evolve(client, taking=evolve(client.taking, rejoined=False))}


def _takes_equal_for_the_same(before: Values, label: str, after: Values) -> Values:
    client = after["client"]
    reconciles = client.state == Member.RECONCILING and client.taking is None
    if not (reconciles and client.took and client.current == client.target):
        return {}
    return {"client": evolve(client, state=Member.STABLE, done=True)}


def _waits_for_nothing(before: Values, label: str, after: Values) -> Values:
    if label != "fenced" or after["client"].state != Member.JOINING:
        return {}
    return {"client": evolve(after["client"], state=Member.FENCED)}


def _keeps_what_it_has(before: Values, label: str, after: Values) -> Values:
    if after["client"].state not in (Member.STALE, Member.UNSUBSCRIBED):
        return {}
    return {"client": evolve(after["client"], assigned=before["client"].assigned)}


def _stays_when_a_callback_fails(before: Values, label: str, after: Values) -> Values:
    if label != "failed" or before["client"].running.calls != Calls.LEAVING:
        return {}
    return {"client": evolve(before["client"], running=None), "link": before["link"]}


def _goes_on_reconciling(before: Values, label: str, after: Values) -> Values:
    if label != "failed" or before["client"].running.calls == Calls.LEAVING:
        return {}
    return {"client": evolve(after["client"], taking=before["client"].taking)}


def _leaves_at_once(before: Values, label: str, after: Values) -> Values:
    if label != "called":
        return {}
    client, link = after["client"], after["link"]
    leave = leave_of(link)
    behind = link.behind if link.out is None else (*link.behind, leave)
    return {
        "client": evolve(client, state=Member.UNSUBSCRIBED),
        "link": evolve(link, out=link.out or leave, behind=behind),
    }


def _leaves_without_a_word(before: Values, label: str, after: Values) -> Values:
    joins = before["client"].state == Member.JOINING
    if joins or idle(before["link"]) or after["client"].state != Member.UNSUBSCRIBED:
        return {}
    return {"client": evolve(after["client"], leaving=False), "link": before["link"]}


def _remembers_its_assignment(before: Values, label: str, after: Values) -> Values:
    if label != "fenced":
        return {}
    old = before["client"]
    kept = {"took": old.took, "current": old.current, "given": old.given}
    return {"client": evolve(after["client"], **kept, target=old.target, done=old.done)}


def _hears_nothing_of_nothing(given: Values) -> Values:
    answer = given["link"].answer
    if answer.assigned != 0 or given["client"].state == Member.JOINING:
        return {}
    return {"link": evolve(given["link"], answer=attrs.evolve(answer, assigned=None))}


def _asks_no_more(before: Values, label: str, after: Values) -> Values:
    return {"client": evolve(after["client"], full=False, said=True, told=True)}


def _takes_another_id(before: Values, label: str, after: Values) -> Values:
    return {"link": evolve(after["link"], dead=True)} if label == "fenced" else {}


def _never_fetches(before: Values, label: str, after: Values) -> Values:
    if label != "assigned":
        return {}
    return {"client": evolve(after["client"], awaiting=after["client"].assigned)}


def _goes_back(before: Values, label: str, after: Values) -> Values:
    known = before["link"].tag == Tag.CURRENT and after["client"].state == Member.STABLE
    return {"link": evolve(after["link"], tag=Tag.PREVIOUS)} if known else {}


def _leaves_for_good(before: Values, label: str, after: Values) -> Values:
    return {"link": _sent(after["link"], {"kind": Kind.LEAVE}, *LEAVES)}


READINGS = (
    Mutation(
        id="heartbeat_lacks_what_is_taken",
        ticket="K1'",
        title="A full heartbeat is under way, and does not say what the member takes meanwhile.",
        family=JAVA_MEMBERS,
        invariant="member_holds_what_it_was_given",
        doc=(
            "A full heartbeat of a member that reconciles says what it had before. It needs no"
            " listener: what is taken between the heartbeat and its arrival counts as given up."
            " Reading: `k1_prime=as_kafka`."
        ),
        scope={**ALONE, "members": 2, "wire": "explicit", "faults": {"lose_request": 1}},
        twists=reads(
            java.java_heartbeat,
            client_faults.lose_answer,
            client_faults.fail_append,
            client_faults.delay_heartbeat,
            k1_prime=AS_KAFKA,
        ),
    ),
    Mutation(
        id="lost_assignment_is_applied",
        ticket="K16, KAFKA-20106",
        title="A fenced member takes the assignment that waited for its application.",
        family=JAVA_MEMBERS,
        invariant="who_is_out_consumes_nothing",
        doc=(
            "Since Kafka 4.3 an assignment waits for the next poll. Fencing does not take it back,"
            " and the poll applies it without a look at the state of the member. Reading:"
            " `k16=as_kafka`."
        ),
        scope={**ALONE, "faults": {"session_timeout": 1}},
        twists=reads(java.application_polls, k16=AS_KAFKA),
    ),
    Mutation(
        id="old_answer_is_followed",
        ticket="K23",
        title="The answer to a heartbeat from before the poll timer ran out is followed.",
        family=JAVA_MEMBERS,
        invariant="member_joins_by_its_join",
        doc=(
            "The poll timer does not wait for a heartbeat that is under way. If the application"
            " polls before the answer, the member joins, and takes its epoch and assignment from"
            " it, although it has left. Reading: `k23=as_kafka`."
        ),
        scope={**ALONE, "wire": "explicit", "faults": {"poll_timeout": 1}},
        twists=reads(java.java_hears, k23=AS_KAFKA),
    ),
    Mutation(
        id="unsubscribe_returns_too_soon",
        ticket="K25",
        title="unsubscribe() returns before its callback, which ends the next subscription.",
        family=JAVA_MEMBERS,
        invariant="unsubscribe_runs_its_callback",
        doc=(
            "A member that is fenced while it prepares to leave ends the wait of unsubscribe(). The"
            " callback that was asked of the application runs in a later poll, and what follows it"
            " unsubscribes and leaves again. Reading: `k25=as_kafka`."
        ),
        scope={**LISTENS, "faults": {"session_timeout": 1, "unsubscribe": 1}},
        twists=reads(java.java_hears, k25=AS_KAFKA),
    ),
)
BUGS = (
    Mutation(
        id="old_reconciliation_goes_on",
        ticket="KAFKA-16375",
        title="A member that has joined again goes on to take its former assignment.",
        family=JAVA_MEMBERS,
        invariant="member_holds_what_it_was_given",
        doc=(
            "Kafka's member before 3.8 only asked whether it reconciles, which it does again after"
            " its new join is answered."
        ),
        scope={**ALONE, "members": 2, "faults": {"session_timeout": 1}},
        twists=sees(java.application_polls, _does_not_see_that_it_joined_again),
    ),
    Mutation(
        id="equal_assignment_is_not_acknowledged",
        ticket="KAFKA-16312, KAFKA-16185",
        title="An assignment that comes back is taken for the one that the member has.",
        family=JAVA_MEMBERS,
        invariant="revocation_is_answered",
        doc=(
            "Kafka's member before 3.8 compared partitions only. If it is given A, B and A before"
            " it reconciles, it acknowledges nothing, and the coordinator waits."
        ),
        scope={**ALONE, "members": 2, "partitions": 2, "faults": {"metadata": 1}},
        twists=after(java.java_hears, change=_takes_equal_for_the_same),
    ),
    Mutation(
        id="join_carries_only_news",
        ticket="KAFKA-16190",
        title="A member that joins again leaves out what it has sent before.",
        family=JAVA_MEMBERS,
        invariant="join_carries_everything",
        doc="Kafka's member before 3.8 sent what had changed, also in a join: 42 INVALID_REQUEST.",
        scope={**ALONE, "faults": {"unsubscribe": 1}},
        twists=after(java.java_heartbeat, change=_joins_in_part),
    ),
    Mutation(
        id="join_owns_partitions",
        ticket="franz-go 8e7cfc60",
        title="A member that joins names partitions as its own.",
        family=JAVA_MEMBERS,
        invariant="join_carries_everything",
        doc=(
            "franz-go kept partitions of topics that it could not resolve in the list that it sent:"
            " 42 INVALID_REQUEST, again and again."
        ),
        scope=ALONE,
        twists=after(java.java_heartbeat, change=_joins_with_partitions),
    ),
    Mutation(
        id="answer_to_leave_is_followed",
        ticket="KAFKA-19335",
        title="A member that joins again takes its epoch from the answer to its leave.",
        family=JAVA_MEMBERS,
        invariant="member_has_an_epoch",
        doc=(
            "Kafka's member before 4.1.0 followed an answer with epoch -1 in any state. The error"
            " of an earlier heartbeat has ended the wait of unsubscribe(), and the application has"
            " subscribed again."
        ),
        scope={
            **ALONE,
            "partitions": 2,
            "wire": "explicit",
            "faults": {"unsubscribe": 1, "append_failure": 1, "metadata": 1},
        },
        twists=after(java.java_hears, change=_follows_the_answer_to_its_leave),
    ),
    Mutation(
        id="fenced_member_waits_for_nothing",
        ticket="KAFKA-16215, KAFKA-16178",
        title="A member that was fenced does not join again.",
        family=JAVA_MEMBERS,
        invariant="fenced_member_joins_again",
        doc=(
            "Kafka's member before 3.8 could stop sending heartbeats after an error. Here it waits"
            " for its application to lose partitions that it does not have."
        ),
        scope={**ALONE, "faults": {"session_timeout": 1}},
        twists=after(java.java_hears, change=_waits_for_nothing),
    ),
    Mutation(
        id="stale_member_keeps_partitions",
        ticket="KAFKA-16258",
        title="A member that did not poll in time keeps its partitions when it joins again.",
        family=JAVA_MEMBERS,
        invariant="who_is_out_consumes_nothing",
        doc="Kafka's member before 3.8 left the group and did not release its assignment.",
        scope={**ALONE, "faults": {"poll_timeout": 1}},
        twists=after(java.java_poll_timeout, change=_keeps_what_it_has),
    ),
    Mutation(
        id="failing_callback_keeps_member",
        ticket="KAFKA-16933",
        title="A callback throws in unsubscribe, and the member never leaves.",
        family=JAVA_MEMBERS,
        invariant="leaving_member_leaves",
        doc="Kafka's member before 3.8 sent its leave only if the callback returned well.",
        scope={**LISTENS, "faults": {"unsubscribe": 1, "callback_failure": 1}},
        twists=after(java.java_callback_returns, change=_stays_when_a_callback_fails),
    ),
    Mutation(
        id="unsubscribe_keeps_partitions",
        ticket="KAFKA-17017",
        title="unsubscribe() leaves partitions assigned.",
        family=JAVA_MEMBERS,
        invariant="who_is_out_consumes_nothing",
        doc="Kafka's member before 3.9 left the group, and its assignment was still there.",
        scope={**ALONE, "faults": {"unsubscribe": 1}},
        twists=after(java.application_unsubscribes, change=_keeps_what_it_has),
    ),
    Mutation(
        id="failed_reconciliation_stays",
        ticket="KAFKA-20860",
        title="An exception ends a reconciliation, which counts as under way for ever.",
        family=JAVA_MEMBERS,
        invariant="reconciliation_ends",
        doc=(
            "In Kafka's member, up to 4.4.0, an exception that is thrown and not a failed future"
            " does not take back the mark, so no other reconciliation begins. Here the exception"
            " is that of a callback."
        ),
        scope={**LISTENS, "faults": {"callback_failure": 1}},
        twists=after(java.java_callback_returns, change=_goes_on_reconciling),
    ),
    Mutation(
        id="part_is_acknowledged_again",
        ticket="KAFKA-20145",
        title="What a member can resolve of its assignment is acknowledged again and again.",
        family=JAVA_MEMBERS,
        invariant="part_is_acknowledged_once",
        doc=(
            "Kafka's member before 4.4, of a topic that it does not find: it acknowledges the rest"
            " in each round, at once. Here it has unsubscribed from that topic meanwhile."
        ),
        scope={
            **ALONE,
            "topics": 2,
            "wire": "explicit",
            "kafka": "4.4.0",
            "faults": {"subscription": 1},
        },
        twists=reads(java.application_polls, java.background_reconciles, kafka="4.3.1"),
    ),
    Mutation(
        id="leave_does_not_wait",
        ticket="librdkafka #5541",
        title="A member leaves before its application has revoked its partitions.",
        family=JAVA_MEMBERS,
        invariant="who_leaves_has_given_up",
        doc="librdkafka 2.12 to 2.14 sent the leave while the revocation was still going on.",
        scope={**LISTENS, "wire": "explicit", "faults": {"unsubscribe": 1}},
        twists=after(java.application_unsubscribes, change=_leaves_at_once),
    ),
    Mutation(
        id="leave_is_dropped",
        ticket="librdkafka #4672",
        title="A member that leaves with a heartbeat on its way does not say so.",
        family=JAVA_MEMBERS,
        invariant="leave_is_sent",
        doc="librdkafka before 2.12.0 sent no leave then, so the member was removed much later.",
        scope={**ALONE, "wire": "explicit", "faults": {"unsubscribe": 1}},
        twists=after(java.application_unsubscribes, change=_leaves_without_a_word),
    ),
    Mutation(
        id="fenced_member_remembers",
        ticket="librdkafka #4634",
        title="A fenced member does not forget its assignment, and takes the next one for it.",
        family=JAVA_MEMBERS,
        invariant="acknowledged_is_consumed",
        doc="librdkafka's preview did not reset the target of a member that was fenced.",
        scope={**ALONE, "faults": {"session_timeout": 1}},
        twists=after(java.java_hears, change=_remembers_its_assignment),
    ),
    Mutation(
        id="empty_assignment_is_no_news",
        ticket="franz-go 0af2689c",
        title="An assignment without partitions is taken for no change.",
        family=JAVA_MEMBERS,
        invariant="member_knows_its_assignment",
        doc="franz-go took both for null, so the member never gave up its last partition.",
        scope={**ALONE, "members": 2},
        twists=sees(java.java_hears, _hears_nothing_of_nothing),
    ),
    Mutation(
        id="lost_assignment_is_not_asked",
        ticket="franz-go eca3a457",
        title="An assignment whose answer is lost is never asked for again.",
        family=JAVA_MEMBERS,
        invariant="member_knows_its_assignment",
        doc="franz-go went on with heartbeats that say nothing new, which get no assignment.",
        scope={**ALONE, "members": 2, "faults": {"lose_response": 1}},
        twists=after(client_faults.lose_answer, change=_asks_no_more),
    ),
    Mutation(
        id="fenced_member_takes_another_id",
        ticket="franz-go 2f945862",
        title="A fenced member joins with a new id and strands the old one.",
        family=JAVA_MEMBERS,
        invariant="member_keeps_its_id",
        doc="franz-go made a new id; the record of the old one keeps its partitions.",
        scope={**ALONE, "faults": {"session_timeout": 1}},
        twists=after(java.java_hears, change=_takes_another_id),
    ),
    Mutation(
        id="assigned_is_never_fetched",
        ticket="franz-go 8038d16d",
        title="A member acknowledges an assignment and does not consume it.",
        family=JAVA_MEMBERS,
        invariant="acknowledged_is_consumed",
        doc="In franz-go an error of a fetch of offsets ended the preparation of the partitions.",
        scope=ALONE,
        twists=after(java.application_polls, change=_never_fetches),
    ),
    Mutation(
        id="static_member_leaves_for_good",
        ticket="Dekaf #1348",
        title="A static member leaves with epoch -1, and the group is rebalanced.",
        family=JAVA_MEMBERS,
        invariant="static_member_keeps_its_place",
        doc="Dekaf left as dynamic members do, so each restart moved partitions twice.",
        scope={**ALONE, "static_members": 1, "faults": {"unsubscribe": 1}},
        twists=after(java.application_unsubscribes, change=_leaves_for_good),
    ),
    Mutation(
        id="answer_takes_epoch_back",
        ticket=SEEDED,
        title="A member goes back to the epoch that it had before.",
        family=JAVA_MEMBERS,
        invariant="known_epoch_grows",
        doc="Seeded: a member that is stable follows the epoch of an older answer.",
        scope=ALONE,
        twists=after(java.java_hears, change=_goes_back),
    ),
)
MUTATIONS = (*READINGS, *BUGS)
