"""Members of client logs, followed with the model's member: recordings fit it line by line, a line
that is cut out leaves a gap, an impossible line is named, and nothing else is accused.
"""

from __future__ import annotations

import pytest
from java_members import JAVA, followed, heard, recording, tried

from groupcheck.traces.causes.diagnosis import Diagnosis, diagnose
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.members.member_worlds import every_world

# Of the runs in which `a` is frozen for longer than its session: what it held meanwhile.
REMOVED = {
    "recorded-2.8.2.a": (4, ("orders-2", "orders-3")),
    "recorded-3.4.1-cooperative.a": (6, ("orders-0", "orders-1")),
    "recorded-4.1.1.a": (4, ("orders-0", "orders-1")),
}


def diagnosed(log: str) -> Diagnosis:
    (group,) = heard(log.strip().split("\n")).by_group()
    return diagnose(group, shipped_knowledge())


def test_a_member_is_in_one_of_few_worlds() -> None:
    assert len(every_world()) == 20


@pytest.mark.parametrize("name", JAVA)
def test_every_line_of_a_recording_is_a_step_of_the_model(name: str) -> None:
    found = followed(recording(name))
    assert found.members == 1
    assert found.steps >= 10
    assert (found.gaps, found.shared, found.impossible) == ((), (), ())


@pytest.mark.parametrize("name", JAVA)
def test_a_member_that_is_removed_is_told_with_what_it_held(name: str) -> None:
    lapses = followed(recording(name)).lapses
    assert [(x.generation, x.partitions) for x in lapses] == (
        [REMOVED[name]] if name in REMOVED else []
    )


@pytest.mark.parametrize("words", ["(Re-)joining group", "Successfully joined"])
def test_a_line_that_is_cut_out_leaves_a_gap(words: str) -> None:
    lines = recording("recorded-4.1.1.a")
    for number in [n for n, line in enumerate(lines) if words in line][2:-2]:
        assert followed([*lines[:number], *lines[number + 1 :]]).gaps, number
    whole = [line for line in lines if words not in line]
    assert followed(whole).gaps


def test_the_end_of_a_round_that_is_cut_out_is_no_gap_because_the_answer_may_have_been_lost() -> (
    None
):
    lines = recording("recorded-4.1.1.a")
    assert not followed([line for line in lines if "Successfully synced" not in line]).gaps


def prefix(client: str = "c-1", time: str = "10:00:00,100") -> str:
    return f"2024-05-01 {time} INFO [Consumer clientId={client}, groupId=shop]"


def joined(generation: int, member: str, time: str, client: str = "c-1") -> str:
    named = f"Generation{{generationId={generation}, memberId='{member}', protocol='range'}}"
    return f"{prefix(client, time)} Successfully joined group with generation {named}"


def refused(generation: int, member: str, time: str) -> str:
    named = f"Generation{{generationId={generation}, memberId='{member}', protocol='range'}}"
    return (
        f"{prefix(time=time)} Attempt to heartbeat with {named} and group instance id"
        " Optional.empty failed due to UNKNOWN_MEMBER_ID, resetting generation"
    )


BACK = joined(3, "c-1-a", "10:00:09,100")
CLOSED = (
    f"{prefix(time='10:00:09,098')} Member c-1-a sending LeaveGroup request to coordinator"
    " b:9092 (id: 1) due to the consumer is being closed"
)


@pytest.mark.parametrize(
    "before",
    [
        [joined(5, "c-1-a", "10:00:05,100")],
        [joined(2, "c-1-a", "10:00:05,100"), refused(2, "c-1-a", "10:00:06,100")],
        [
            joined(2, "c-1-a", "10:00:05,100"),
            f"{prefix(time='10:00:06,100')} Member c-1-a sending LeaveGroup request to coordinator"
            " b:9092 (id: 1) due to consumer poll timeout has expired.",
        ],
        [  # one answer may be under way when a consumer is closed, and no second one
            joined(1, "c-1-a", "10:00:05,100"),
            CLOSED,
            joined(2, "c-1-a", "10:00:09,099"),
        ],
    ],
    ids=["generation goes back", "after it was unknown", "after it left", "twice after it left"],
)
def test_an_impossible_line_is_named(before: list[str]) -> None:
    found = diagnosed("\n".join([*before, BACK]))
    cause = next(f for f in found.causes if f.cause.kind == "impossible_line")
    assert cause.text.startswith(f"line {len(before) + 1}:")
    assert BACK in [said.text for said in cause.evidence]


@pytest.mark.parametrize(
    "lines",
    [
        [BACK, joined(5, "c-1-a", "10:00:05,100")],  # not in order
        [  # it was closed while its JoinGroup waited
            joined(2, "c-1-a", "10:00:05,100"),
            CLOSED,
            BACK,
        ],
        [joined(1, "c-1-a", "10:00:05,100"), CLOSED, BACK],  # the same, and generation 2 is missing
        [joined(5, "c-1-a", "10:00:05,100"), joined(3, "c-1-b", "10:00:09,100")],  # another id
        [joined(5, "c-1-a", "10:00:05,100"), joined(5, "c-1-a", "10:00:09,100")],  # a fail-over
        [joined(5, "c-1-a", "10:00:05")[11:], joined(3, "c-1-a", "10:00:05")[11:]],  # whole seconds
    ],
    ids=[
        "not in order",
        "closed while it waits",
        "closed, with missing lines",
        "another id",
        "the same generation",
        "the same second",
    ],
)
def test_what_may_happen_is_no_impossible_line(lines: list[str]) -> None:
    assert followed(lines).impossible == ()


def synced(generation: int, member: str, time: str) -> str:
    named = f"Generation{{generationId={generation}, memberId='{member}', protocol='range'}}"
    return f"{prefix(time=time)} Successfully synced group in generation {named}"


def test_a_new_coordinator_may_forget_a_generation_of_which_nobody_has_a_share() -> None:
    """It failed before the leader's assignment was written."""
    before = [joined(3, "c-1-a", "10:00:03,100"), synced(3, "c-1-a", "10:00:03,200")]
    later, back = joined(5, "c-1-a", "10:00:05,100"), joined(3, "c-1-a", "10:00:09,100")
    assert followed([*before, later, back]).impossible == ()
    (one,) = followed([*before, later, synced(5, "c-1-a", "10:00:05,200"), back]).impossible
    assert one.said.text == back


def test_a_block_of_lines_that_was_copied_is_no_impossible_line() -> None:
    block = [joined(g, "c-1-a", f"10:00:0{g},100") for g in (1, 2, 3)]
    again = [line.replace("10:00", "10:10") for line in block]
    assert followed([*block, *again]).impossible == ()
    assert followed([*block, again[0]]).impossible != ()


COMMIT = (
    f"{prefix(time='10:00:06,100')} Offset commit failed on partition t-0 at offset 5: The"
    " coordinator has already rebalanced\norg.apache.kafka.clients.consumer.CommitFailedException:"
    " Commit cannot be completed since the group has already rebalanced"
)


def test_a_frame_of_a_stack_trace_has_no_time_of_its_own() -> None:
    frame = (
        "at org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
        ".sendOffsetCommitRequest(ConsumerCoordinator.java:1165)"
    )
    rejoins = f"{prefix(time='10:00:06,100')} (Re-)joining group"
    lines = [joined(5, "c-1-a", "10:00:05,100"), rejoins, frame, joined(6, "c-1-a", "10:00:07,100")]
    (proof,) = followed(lines).proofs
    assert proof.about.text == frame
    assert followed([joined(5, "c-1-a", "10:00:09,100"), *lines]).proofs == ()


def test_a_member_that_keeps_its_id_has_neither_left_nor_expired() -> None:
    first, later = joined(5, "c-1-a", "10:00:05,100"), joined(6, "c-1-a", "10:00:07,100")
    kinds = {"poll_timeout", "session_expired_client"}
    open_ = diagnosed(f"{first}\n{COMMIT}")
    assert kinds <= {f.cause.kind for f in open_.candidates}
    assert open_.refuted == ()
    decided = diagnosed(f"{first}\n{COMMIT}\n{later}")
    assert {r.cause.kind for r in decided.refuted} == kinds
    assert {r.by.text for r in decided.refuted} == {later}
    assert not kinds & {f.cause.kind for f in (*decided.causes, *decided.candidates)}
    replaced = diagnosed(f"{first}\n{COMMIT}\n{joined(6, 'c-1-b', '10:00:07,100')}")
    assert replaced.refuted == ()


def session(ms: int) -> str:
    return (
        f"{prefix()} ConsumerConfig values: \n\tclient.id = c-1\n\tgroup.id = shop\n"
        f"\tsession.timeout.ms = {ms}\n"
    )


@pytest.mark.parametrize(("ms", "early"), [(10_000, True), (4_000, False)])
def test_a_session_that_cannot_be_over_is_not_the_cause(ms: int, early: bool) -> None:
    joining = f"{prefix(time='10:00:04,900')} (Re-)joining group"
    member = joined(5, "c-1-a", "10:00:05,100")
    log = f"{session(ms)}{joining}\n{member}\n{refused(5, 'c-1-a', '10:00:09,100')}"
    found = diagnosed(log)
    assert ("session_expired_broker" in {f.cause.kind for f in found.causes}) != early
    assert ("session_expired_broker" in {r.cause.kind for r in found.refuted}) == early
    assert ("removed_early" in {f.cause.kind for f in found.candidates}) == early


def test_a_join_that_is_refused_does_not_begin_a_session() -> None:
    """The member was frozen: what it sends first afterwards is refused at once."""
    lines = [
        f"{prefix(time='10:00:00,100')} (Re-)joining group",
        joined(5, "c-1-a", "10:00:00,200"),
        f"{prefix(time='10:00:30,100')} (Re-)joining group",
        f"{prefix(time='10:00:30,110')} Resetting generation and member id due to: encountered"
        " UNKNOWN_MEMBER_ID from JOIN_GROUP response",
    ]
    found = diagnosed(session(10_000) + "\n".join(lines))
    assert "session_expired_broker" in {f.cause.kind for f in found.causes}
    assert found.refuted == ()


def test_two_processes_of_one_name_are_told_and_nothing_else_is_claimed() -> None:
    log = [
        f"{prefix(time=f'10:00:0{n},100')} (Re-)joining group\n"
        + joined(n, f"c-1-{'ab'[n % 2]}", f"10:00:0{n},200")
        for n in range(1, 6)
    ]
    found = followed("\n".join(log).split("\n"))
    assert found.shared == ("c-1",)
    assert (found.lapses, found.proofs, found.impossible) == ((), (), ())


@pytest.mark.parametrize("name", JAVA)
def test_no_variant_of_a_recording_accuses_anybody(name: str) -> None:
    assert tried(recording(name), seed=3, rounds=1) == 7
