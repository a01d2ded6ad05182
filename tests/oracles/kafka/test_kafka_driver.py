"""The driver of the real coordinator: what it can be told, that it repeats itself, and that nothing
is made up when it breaks.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.kafka import jvm
from groupcheck.oracles.kafka.commands import (
    Advance,
    AutoCommit,
    Command,
    CommitAppends,
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    EndTxn,
    FailAppends,
    FailOver,
    Fire,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Look,
    LookAfterReload,
    OffsetCommit,
    OffsetFetch,
    ReadLog,
    Reset,
    SetTopics,
    SyncGroup,
    TxnOffsetCommit,
)
from groupcheck.oracles.kafka.driver import Conversation, Driver, DriverLost, shared
from groupcheck.oracles.kafka.jvm import Broken, Jvm
from groupcheck.oracles.kafka.memory import ClassicMemory, ConsumerMemory
from groupcheck.oracles.kafka.records import GroupRecord, MarkerRecord, OffsetRecord, OtherRecord
from groupcheck.oracles.kafka.schedule import Looks, LostSchedule, Schedule, Transcript
from groupcheck.oracles.kafka.versions import VERSIONS

TWO = (
    JoinGroup(),
    JoinGroup(),
    JoinGroup(member="m1"),
    JoinGroup(member="m2"),
    Fire(timer="join-g"),
    Fire(timer="join-g"),
    SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}, "m2": {"t": [1]}}),
    SyncGroup(member="m2", generation=1),
)


def told(driver: Driver, *commands: Command, **setup: object) -> Transcript:
    """The transcript of a schedule that must not be lost, looked at after each command."""
    result = driver.run(Schedule(commands, Reset(**setup), Looks.EACH))  # type: ignore[arg-type]
    assert isinstance(result, Transcript), result
    return result


def test_equal_schedules_have_equal_transcripts(driver: Driver):
    assert told(driver, *TWO) == told(driver, *TWO) != told(driver, *TWO[:-1])


def test_a_round_without_time_passing_ends_in_a_stable_group(driver: Driver):
    seen = told(driver, *TWO)
    memory = seen.memory
    assert isinstance(memory, ClassicMemory)
    assert (memory.state, memory.generation, memory.leader, seen.refused, seen.parked) == (
        "Stable",
        1,
        "m1",
        "",
        (),
    )
    assert [(m.member, m.assigned) for m in memory.members] == [
        ("m1", {("t", 0)}),
        ("m2", {("t", 1)}),
    ]
    assert memory.armed == {"heartbeat-g-m1", "heartbeat-g-m2"}
    assert {s.now_ms for s in seen.steps} == {1_000_000}
    assert seen.answers[3].members and not seen.answers[4].members  # type: ignore[attr-defined]


def test_who_waits_for_an_answer_is_parked(driver: Driver):
    seen = told(driver, *TWO[:6], SyncGroup(member="m2", generation=1))
    assert seen.parked == (7,)
    assert isinstance(seen.memory, ClassicMemory) and seen.memory.members[1].awaiting_sync


def test_timers_fire_in_any_order_while_time_stands_still(driver: Driver):
    late_first = told(driver, *TWO, Fire(timer="heartbeat-g-m2"), Fire(timer="heartbeat-g-m1"))
    assert [(s.memory.state, len(s.memory.members), s.now_ms) for s in late_first.steps[-2:]] == [  # type: ignore[union-attr]
        ("PreparingRebalance", 1, 1_000_000),
        ("Empty", 0, 1_000_000),
    ]


def test_a_timer_that_is_not_armed_is_refused_and_ends_the_schedule(driver: Driver):
    seen = told(driver, JoinGroup(), Fire(timer="sync-g"), JoinGroup())
    assert len(seen.steps) == 2
    assert "no timer sync-g is armed" in seen.refused and "heartbeat-g-m1" in seen.refused


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (Heartbeat(member="m2", generation=1), "m2"),
        (FailAppends(error="NO_SUCH_ERROR"), "NO_SUCH_ERROR"),
        (FailOver(keep="some"), "some"),
        (FailOver(config={"no.such.option": "1"}), "no.such.option"),
        (Look(broker=1), "broker 1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(driver: Driver, command: Command, why: str):
    assert why in told(driver, JoinGroup(), command).refused


def test_a_setup_that_is_refused_has_no_other_steps(driver: Driver):
    (step,) = told(driver, JoinGroup(), config={"no.such.option": "1"}).steps
    assert step.number == 0 and "no.such.option" in step.refused


def test_an_append_that_waits_has_a_time_out_that_can_be_fired(driver: Driver):
    commit = OffsetCommit(member="m1", generation=1, offsets={"t": {0: 5}})
    seen = told(driver, *TWO, AutoCommit(on=False), commit, Fire(timer="append-10"))
    assert seen.steps[9].memory.due("append-10") == 1_005_000  # type: ignore[union-attr]
    assert seen.answers[10].error == 15
    replicated = told(driver, *TWO, AutoCommit(on=False), commit, CommitAppends())
    assert replicated.answers[10].error == 0 and replicated.memory.due("append-10") is None  # type: ignore[union-attr]


def test_seeds_vary_what_hash_orders_decide(driver: Driver):
    third = (JoinGroup(), JoinGroup(member="m3"))
    round_of_three = (
        *TWO[:2],
        third[0],
        *TWO[2:4],
        third[1],
        Fire(timer="join-g"),
        Fire(timer="join-g"),
    )
    leaders = {
        told(driver, *round_of_three, LeaveGroup(member="m1"), seed=seed).memory.leader
        for seed in range(12)
    }  # type: ignore[union-attr]
    assert leaders == {"m2", "m3"}


def test_a_look_after_reload_sees_what_a_fail_over_gives_and_changes_nothing(driver: Driver):
    seen = told(driver, *TWO, JoinGroup(), LookAfterReload(), Look(), FailOver(), Look())
    before, reloaded, same, _, after = (s.memory for s in seen.steps[-5:])
    assert before == same != after == reloaded
    assert isinstance(before, ClassicMemory) and before.pending_join == ("m3",)
    assert isinstance(after, ClassicMemory) and after.pending_join == () and after.state == "Stable"


def test_every_command_tells_the_records_that_it_appended(driver: Driver):
    commit = TxnOffsetCommit(member="m1", generation=1, offsets={"t": {0: 7}})
    seen = told(driver, *TWO, commit, EndTxn(), OffsetCommit(member="m1", generation=1), ReadLog())
    assert [len(s.records or ()) for s in seen.steps[:8]] == [1, 0, 0, 0, 0, 0, 1, 0]
    _, group, pending, marker, plain = seen.steps[-1].records or ()
    assert isinstance(group, GroupRecord) and [m.member for m in group.members] == ["m1", "m2"]
    assert isinstance(pending, OffsetRecord) and (pending.producer, pending.committed) == (1, 7)
    assert isinstance(marker, MarkerRecord) and marker.commit
    assert isinstance(plain, OffsetRecord) and (plain.producer, plain.committed) == (None, 1)


def test_a_deleted_topic_takes_its_offsets_along(driver: Driver):
    seen = told(driver, OffsetCommit(), SetTopics(topics={"u": 1}), OffsetFetch())
    assert seen.answers[3].offsets == (("t", 0, -1),)  # type: ignore[attr-defined]


def test_a_group_of_the_new_protocol_is_looked_into_as_well(driver: Driver):
    join = ConsumerGroupHeartbeat(
        member="a", epoch=0, topics=("t",), owned={}, rebalance_timeout_ms=30_000
    )
    seen = told(driver, join, ConsumerGroupDescribe(), ReadLog())
    memory = seen.steps[0].memory
    assert isinstance(memory, ConsumerMemory)
    assert (memory.members[0].member, memory.members[0].assigned) == ("a", {("t", 0), ("t", 1)})
    assert seen.answers[1].assigned == memory.target[0][1] == {("t", 0), ("t", 1)}  # type: ignore[attr-defined]
    assert seen.answers[2].state == memory.state == "Stable"  # type: ignore[attr-defined]
    assert all(isinstance(r, OtherRecord) for r in seen.steps[-1].records or ())


def test_results_come_in_order_and_a_run_that_is_given_up_spoils_nothing(driver: Driver):
    schedules = [Schedule((*TWO, Advance(ms=n))) for n in range(50)]
    results, restarts = driver.run_all(schedules), driver.restarts
    assert [r.schedule for _, r in zip(range(3), results)] == schedules[:3]
    results.close()  # type: ignore[attr-defined]
    assert driver.restarts == restarts
    assert [r.steps[-1].now_ms for r in driver.run_all(schedules)] == [
        1_000_000 + n for n in range(50)
    ]  # type: ignore[union-attr]


def test_a_driver_in_the_middle_of_a_run_does_not_begin_another():
    with stand_in() as driver:
        results = driver.run_all([FINE] * 3)
        next(results)
        for intruder in (lambda: driver.run(FINE), lambda: Conversation(driver)):
            with pytest.raises(AssertionError, match="in the middle of another run"):
                intruder()
        assert len(list(results)) == 2


def test_a_conversation_ends_where_its_coordinator_does(driver: Driver):
    talk = Conversation(driver)
    assert talk.do(JoinGroup()).answered
    told(driver, JoinGroup())
    with pytest.raises(AssertionError, match="used for something else"):
        talk.do(JoinGroup())


# A process that answers as the driver does, breaks over a Heartbeat, sleeps over an Advance, and is
# killed over an OffsetFetch.
# With a file it breaks only once.
STAND_IN = """
import json, os, sys, time
for line in sys.stdin:
    asked, replies = json.loads(line), []
    for number, command in enumerate(asked if isinstance(asked, list) else [asked]):
        if command["op"] == "Heartbeat" and not os.path.exists(sys.argv[1]):
            if sys.argv[1] != "-": open(sys.argv[1], "w").close()
            print("out of luck", file=sys.stderr)
            os._exit(3)
        if command["op"] == "Advance": time.sleep(60)
        if command["op"] == "OffsetFetch": os.kill(os.getpid(), 9)
        if command["op"] == "LeaveGroup":
            replies.append({"seq": number, "failed": "it threw"})
            break
        replies.append({"seq": number, "now": 0, "end": 0, "highWatermark": 0})
    print(json.dumps(replies if isinstance(asked, list) else replies[0]), flush=True)
"""

FINE, DEADLY, SLOW = (
    Schedule((JoinGroup(),)),
    Schedule((JoinGroup(), Heartbeat(member="x", generation=1))),
    Schedule((Advance(ms=1),)),
)


def stand_in(silence_s: float = 20, once: str = "-") -> Driver:
    return Driver(command=(sys.executable, "-c", STAND_IN, once), silence_s=silence_s)


def test_a_driver_that_dies_loses_the_one_schedule_and_says_in_which_command():
    with stand_in() as driver:
        one, lost, other = driver.run_all([FINE, DEADLY, FINE])
        assert isinstance(one, Transcript) and one == other and driver.restarts == 2
        assert isinstance(lost, LostSchedule) and (lost.command, lost.number) == (
            DEADLY.commands[1],
            2,
        )
        assert "has ended (exit code 3), after 3 answers: out of luck" in lost.reason
        assert "Heartbeat" in str(lost)


def test_a_driver_that_hangs_is_ended_and_the_command_named(monkeypatch: pytest.MonkeyPatch):
    """Half a second is for the process that is asked to sleep alone: on a busy machine the others
    may take their time to start.
    """
    send = Jvm.send

    def sends(self: Jvm, line: bytes) -> None:
        if b"Advance" in line:
            self._silence_s = 0.5
        send(self, line)

    monkeypatch.setattr(Jvm, "send", sends)
    with stand_in(silence_s=60) as driver:
        lost, fine = driver.run_all([SLOW, FINE])
        assert (
            isinstance(lost, LostSchedule)
            and lost.command == SLOW.commands[0]
            and "4.3.0 hung: no answer for 0.5 s, after 2 answers" in lost.reason
        )
        assert isinstance(fine, Transcript)


def test_a_death_that_does_not_come_again_is_no_schedules_fault(tmp_path: Path):
    with stand_in(once=str(tmp_path / "broken")) as driver:
        results = driver.run_all([DEADLY, FINE])
        with pytest.raises(OutageError, match=r"has ended \(exit code 3\), after 1 answer: out of"):
            next(results)
        assert isinstance(driver.run(DEADLY), Transcript)


@pytest.mark.parametrize(
    ("number", "became"),
    [
        ("SIGKILL", "was ended by SIGKILL (signal 9), after 2 answers"),
        ("SIGSTOP", "is stopped (SIGSTOP): no answer for 0.3 s, after 2 answers"),
    ],
)
def test_a_driver_that_somebody_kills_or_stops_says_nothing_of_kafka(number: str, became: str):
    with stand_in() as driver:
        assert isinstance(driver.run(FINE), Transcript)
        assert driver._jvm is not None
        driver._jvm._silence_s = 0.3
        driver._jvm._process.send_signal(getattr(signal, number))
        with pytest.raises(OutageError, match=re.escape(became)):
            driver.run(FINE)
        assert isinstance(driver.run(FINE), Transcript)


def test_a_driver_that_is_killed_again_and_again_is_no_schedules_fault_either():
    with stand_in() as driver, pytest.raises(OutageError, match="was ended by SIGKILL"):
        list(driver.run_all([FINE, Schedule((OffsetFetch(),))]))


def test_a_long_silence_is_told_before_it_is_too_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jvm, "REMARK_S", 0.1)
    said: list[str] = []
    silent = Jvm((sys.executable, "-c", "import time; time.sleep(60)"), 0.2, "it", said.append)
    with pytest.raises(Broken, match=r"it hung: no answer for 0\.2 s, after 0 answers"):
        silent.receive()
    assert said == ["it has not answered for 0.1 s; it is ended after 0.2 s"]


def test_a_command_in_which_the_driver_throws_is_lost_and_the_rest_not_run():
    with stand_in() as driver:
        lost = driver.run(Schedule((LeaveGroup(), JoinGroup())))
        assert isinstance(lost, LostSchedule) and lost.reason == "it threw" and lost.number == 1


def test_a_conversation_with_a_driver_that_dies_tells_what_was_said():
    with stand_in() as driver:
        talk = Conversation(driver)
        talk.do(JoinGroup())
        with pytest.raises(DriverLost, match="out of luck") as broken:
            talk.do(Heartbeat(member="x", generation=1))
        assert broken.value.lost.schedule.commands == DEADLY.commands
        assert isinstance(driver.run(FINE), Transcript)


def test_the_real_driver_comes_back_after_a_kill_and_says_the_same_again(driver: Driver):
    before, restarts = told(driver, *TWO), driver.restarts
    os.kill(driver._jvm._process.pid, signal.SIGKILL)  # type: ignore[union-attr]
    with pytest.raises(OutageError, match="SIGKILL"):
        driver.run(Schedule(TWO))
    assert told(driver, *TWO) == before and driver.restarts == restarts + 1


def test_what_the_virtual_machine_itself_says_is_no_answer(monkeypatch: pytest.MonkeyPatch):
    talkative = "-XX:+UseLargePages -XX:+PrintCommandLineFlags -Xlog:safepoint=info"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", talkative)
    with Driver() as driver:
        assert isinstance(driver.run(Schedule(TWO)), Transcript)


def test_a_java_that_cannot_run_the_driver_is_the_users_business():
    too_old = Driver(
        command=(sys.executable, "-c", "raise SystemExit('UnsupportedClassVersionError')")
    )
    with pytest.raises(
        UserError, match=r"does not start.*UnsupportedClassVersionError.*install a JDK 17"
    ):
        too_old.run(FINE)
    with pytest.raises(UserError, match=r"cannot start nothing-of-that-name.*install a JDK 17"):
        Driver(command=("nothing-of-that-name",)).run(FINE)


def test_the_shared_driver_is_one_a_version():
    assert shared("4.3.0") is shared("4.3.0") is not shared("4.0.0")
    with pytest.raises(UserError, match=rf"choose one of {VERSIONS[0]}"):
        shared("3.9.0")


def test_the_command_line_does_not_pay_for_the_driver():
    asked = (
        "import sys, groupcheck.oracles.command_line.cli;"
        " print([m for m in sys.modules if 'oracles.kafka' in m])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", asked], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
