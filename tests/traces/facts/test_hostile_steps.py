"""The steps that are told are those of the lines, whatever the lines are: in the order of time, of
the right client, in few words, and as text only.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.oracles.replay.markdown import markdown
from groupcheck.oracles.replay.page import page
from groupcheck.oracles.replay.report import replay
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.facts.steps import NO_TROUBLE, steps_told

LINE = "{} INFO [Consumer clientId={}, groupId=g] {}"
JOIN, JOINED = "(Re-)joining group", "Successfully joined group with generation 5"
SYNCED = "Successfully synced group in generation 5"
REASON = "Request joining group due to: "


def told(*lines: str, sound: bool = True) -> str:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    return " / ".join(f.text for g in evidence.by_group() for f in steps_told(g.all(), sound))


def at(time: str, text: str, client: str = "c-1") -> str:
    return LINE.format(time, client, text)


def order(text: str) -> list[str]:
    some = {"asks to join": text.find("asks to join"), "is in gen": text.find("is in generation"),
            "share": text.find("is answered its share")}  # fmt: skip
    return sorted((name for name, place in some.items() if place >= 0), key=lambda name: some[name])


IN_ORDER = ["asks to join", "is in gen", "share"]


@pytest.mark.parametrize(
    "lines",
    [
        [at("10:00:00,000", JOIN), at("10:00:03,000", JOINED), at("10:00:04,000", SYNCED)],
        # Exported with the newest line first, in seconds.
        [at("10:00:03", SYNCED), at("10:00:03", JOINED), at("10:00:00", JOIN)],
        # Midnight.
        [at("23:59:59,000", JOIN), at("00:00:01,000", JOINED), at("00:00:02,000", SYNCED)],
        # One line out of its place.
        [at("10:00:00,000", JOIN), at("10:00:09,000", SYNCED), at("10:00:03,000", JOINED)],
        # Threads that write within a second.
        [at("10:00:00,000", JOIN), at("10:00:03,000", JOINED), at("10:00:02,900", SYNCED)],
    ],
    ids=["in order", "newest first", "midnight", "shuffled", "jitter"],
)
def test_steps_are_told_in_the_order_in_which_they_happened(lines: list[str]) -> None:
    assert order(told(*lines)) == IN_ORDER


def test_a_line_without_a_name_is_nobody_s_where_there_are_several() -> None:
    nameless = "10:00:02,000 INFO (Re-)joining group g"
    alone = told(at("10:00:00,000", JOINED), nameless)
    assert "c-1 is in generation 5 (line 1); asks to join (line 2)" in alone
    several = told(at("10:00:00,000", JOINED), at("10:00:01,000", SYNCED, "c-2"), nameless)
    assert "a client asks to join (line 3)" in several


@pytest.mark.parametrize(
    "line",
    [
        '# grep -c "Attempt to heartbeat failed since group is rebalancing" app.log',
        'user@host:~$ zgrep "(Re-)joining group g" *.gz',
        'if (log.contains("Revoke previously assigned partitions")) { fail(); }',
        "",
        " ",
        "\t\t|",
        "not (Re-)joining group",
    ],
)
def test_a_line_that_says_nothing_tells_no_step(line: str) -> None:
    assert told(line) == ""


def test_thousands_of_steps_are_told_in_few_words() -> None:
    reasons = [f"{REASON}no {n} {'x' * 9_000}" for n in range(1500)]
    lines = [at("10:00:00,000", text, "c" * 220 + str(n)) for n, text in enumerate(reasons)]
    text = told(*lines)
    assert "more steps" in text and len(text) < 5_000


@pytest.mark.parametrize(
    "hostile", ["{reason}", "{reason.__class__}", "{x!r:>99999999}", "%s %d", "{{ 1/0 }}", "a|b|c"]
)
def test_what_a_log_says_is_no_template(hostile: str) -> None:
    assert f"decides to join again: {hostile} (line 1)" in told(
        at("10:00:00,000", REASON + hostile)
    )


def test_what_a_log_says_is_no_markup(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    script = "<img src=x onerror=alert(1)>"
    path.write_text(at("10:00:00,000", REASON + script, "<script>alert(2)</script>\u202e"), "utf-8")
    found = replay([path])
    assert "\u202e" not in str(found)
    shown = page(found, found.answers)
    assert "decides to join again" in shown
    assert script not in shown and "<script>alert(2)" not in shown
    assert script not in markdown(found, found.answers).replace("\\<", "").split("```")[0]


def test_an_error_among_the_steps_is_not_called_none() -> None:
    assert NO_TROUBLE in told(at("10:00:00,000", JOIN))
    assert NO_TROUBLE not in told(at("10:00:00,000", JOIN), sound=False)
    assert NO_TROUBLE not in told(at("10:00:00,000", REASON + "rebalance failed due to: x"))


def test_both_protocols_in_one_log_are_told_by_their_own_words() -> None:
    text = told(
        at("10:00:00,000", JOIN),
        at(
            "10:00:01,000",
            "Member abc with epoch 5 transitioned from JOINING to RECONCILING",
            "c-2",
        ),
        at(
            "10:00:02,000",
            "Member abc with epoch 5 transitioned from ACKNOWLEDGING to STABLE",
            "c-2",
        ),
    )
    assert "c-1 asks to join" in text
    assert "c-2 takes over a changed assignment" in text and "epoch 5" in text


def test_a_session_that_ended_for_no_told_reason_is_not_said_to_be_no_error() -> None:
    ends = "[sarama] 2020/04/30 10:15:44 consumer/broker/2 closed dead subscription to t/2"
    also = (
        'time="2023-12-12T21:22:16Z" name=w_0[INFO] assigning partitions; why: clearing assignment'
        " at end of group management session, how: unassigning everything, input: "
    )
    for line in (ends, also):
        text = told(line)
        assert "ends its session" in text and NO_TROUBLE not in text
