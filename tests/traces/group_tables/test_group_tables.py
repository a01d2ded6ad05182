"""Output of kafka-consumer-groups.sh: every shape that versions print, what people make of it, and
no accusation that it does not show.
"""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import pytest
from table_shapes import ID, SHAPES, spread

from groupcheck.oracles.replay.report import ReplayReports, replay
from groupcheck.traces.clients.sentences import kinds
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.group_tables.outputs import Output, Outputs
from groupcheck.traces.group_tables.table_log import Watching

CASES = tomllib.loads(
    (Path(__file__).parents[2] / "data/causes/tables.toml").read_text(encoding="utf-8")
)["case"]


def outputs(text: str) -> list[Output]:
    return [*Outputs().read(enumerate(text.split("\n"), 1))]


def said(text: str, *kinds: str) -> list[Statement]:
    found = Watching().read(Outputs(), enumerate(text.split("\n"), 1))
    return [s for s in found if not kinds or s.kind in kinds]


def answered(text: str, folder: Path) -> ReplayReports:
    path = folder / "out.txt"
    path.write_text(text, encoding="utf-8")
    return replay([path])


@pytest.mark.parametrize("shape", SHAPES)
def test_every_version_is_read(shape: str) -> None:
    (found,) = outputs(SHAPES[shape])
    assert (found.group, found.kind) == ("g", "offsets")
    told = [
        (r.partition, r.number("committed"), r.number("end"), r.name("member").startswith(ID))
        for r in found.rows
    ]
    assert told == [("t-0", 10, 15, True), ("t-1", 7, 7, False)]
    assert not found.rows[1].name("member")
    if shape not in ("0.8",):
        assert found.rows[0].name("host") == "/10.0.0.1"


@pytest.mark.parametrize(
    "frame",
    [
        lambda line: f"> {line}",
        lambda line: f"# {line}",
        lambda line: f"    {line}   ",
        lambda line: line.replace("  ", "\t"),
        lambda line: f"Nov 23 10:00:00 host {line}",
        lambda line: f"2026-11-23T10:00:00.123Z {line}",
        lambda line: f"kafka-1  | {line}",
        lambda line: f"\x1b[1m{line}\x1b[0m" if "GROUP" in line else line,
        lambda line: line[:120],
    ],
)
def test_what_people_put_around_a_table_does_no_harm(frame) -> None:  # type: ignore[no-untyped-def]
    table = "\n".join(map(frame, SHAPES["2.4"].split("\n")))
    (found,) = outputs(f"some words\n```\n{table}\n```\nand 3 more t 5 7 8 1 words")
    assert [(r.partition, r.number("lag")) for r in found.rows] == [("t-0", 5), ("t-1", 0)]


def test_assignments_of_members_are_read_in_both_forms() -> None:
    old = f"CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\n{ID} /h c 3 t(0,1), u.v-w(2)"
    new = (
        "GROUP CONSUMER-ID GROUP-INSTANCE-ID HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH"
        " CURRENT-ASSIGNMENT TARGET-EPOCH TARGET-ASSIGNMENT\n"
        f"g {ID} i-1 /h c 3 4 t:0,1;u.v-w:2 5 t:0"
    )
    for text in (old, new):
        (found,) = outputs(text)
        assert found.rows[0].partitions("assignment") == {"t-0", "t-1", "u.v-w-2"}
    assert found.rows[0].partitions("target") == {"t-0"}
    assert found.rows[0].name("instance") == "i-1"
    (owns,) = said(new, "owns")
    assert owns.member == ID and owns.fields["partitions"] == "t-0, t-1, u.v-w-2"


def test_a_state_is_read_even_without_a_strategy() -> None:
    text = (
        "COORDINATOR (ID)          ASSIGNMENT-STRATEGY       STATE                #MEMBERS\n"
        "b:9092 (0)                                          Empty                0\n"
    )
    (found,) = outputs(text)
    assert (found.state, found.rows[0].name("coordinator")) == ("Empty", "b:9092 (0)")


LISTS = {
    "state": (("GROUP", "STATE"), ("a", "Stable"), ("b", "Empty"), ("c", "Stable")),
    "type": (("GROUP", "TYPE"), ("a", "Classic"), ("b", "Consumer"), ("c", "Classic")),
    "both": (("GROUP", "TYPE", "STATE"), ("a", "Classic", "Stable"), ("b", "Share", "Empty"),
             ("c", "Classic", "Stable")),
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("state", "2 Stable, 1 Empty"),
        ("type", "2 Classic, 1 Consumer"),
        ("both", "2 Classic Stable, 1 Share Empty"),
    ],
)
def test_a_list_of_groups_counts_their_states(form: str, told: str, tmp_path: Path) -> None:
    rows = LISTS[form]
    text = spread(" ".join(["%-25s"] * (len(rows[0]) - 1) + ["%s"]), *rows)
    found = answered(text, tmp_path)
    assert found[0].reason.startswith(f"listed groups: {told}; --describe --group NAME")
    assert (found.answers, found.exit_code) == ([], 3)


def test_a_group_that_a_list_shows_in_a_rebalance_is_followed() -> None:
    head, busy, done = "GROUP   STATE", "g       PreparingRebalance", "g       Stable"
    asked = "Mon Nov 23 10:0%d:00 UTC 2026"
    lists = [f"{asked % n}\n{head}\n{busy}\nother   Stable" for n in range(3)]
    (round,) = said("\n".join(lists), "round_lasts")
    assert (round.group, round.fields["lasting"], round.fields["outputs"]) == ("g", 1, 3)
    over = [lists[0], f"{asked % 1}\n{head}\n{done}"]
    assert said("\n".join(over), "round_lasts") == []


NAMES = "orders\npayments.v2\nconsole-consumer-4711"


@pytest.mark.parametrize(
    "before", ["", "$ bin/kafka-consumer-groups.sh --bootstrap-server b:9092 --list\n"]
)
def test_a_list_of_names_is_said_to_be_too_little(before: str, tmp_path: Path) -> None:
    found = answered(before + NAMES, tmp_path)
    assert "--describe --group NAME" in found[0].reason and found.exit_code == 3
    assert "--describe" not in answered(f"{NAMES}\nsome other text", tmp_path)[0].reason


def test_groups_of_one_output_are_kept_apart() -> None:
    other = SHAPES["2.4"].replace("g  ", "h  ")
    text = f"Consumer group 'h' has no active members.\n{SHAPES['2.4']}\n\n{other}"
    assert [(o.group, o.state) for o in outputs(text)] == [("g", ""), ("h", "Empty")]


def test_outputs_of_two_clusters_are_not_compared() -> None:
    command = "$ kafka-consumer-groups.sh --bootstrap-server {}:9092 --describe --group g\n"
    later = SHAPES["2.4"].replace("10 ", "3  ").replace("15 ", "5  ")
    text = command.format("a") + SHAPES["2.4"] + "\n" + command.format("b") + later
    assert not said(text, "committed_offset_went_back", "log_end_went_back")
    assert said(text.replace("b:9092", "a:9092"), "log_end_went_back")


def test_outputs_in_the_wrong_order_accuse_nobody() -> None:
    """The latest first: offsets seem to go back."""
    for case in CASES:
        blocks = ("\n" + case["log"]).split("\nMon Nov 23 ")
        if len(blocks) < 3:
            continue
        text = "\nMon Nov 23 ".join([blocks[0], *reversed(blocks[1:])])
        kinds = {s.kind for s in said(text) if s.fields.get("lasting", 1)}
        assert not kinds & {"committed_offset_went_back", "log_end_went_back", "stands_still",
                            "lag_grows", "round_lasts", "partition_unowned"}  # fmt: skip


def test_times_are_those_of_date_watch_and_the_prompt() -> None:
    table = SHAPES["2.4"]
    heads = (
        "Mon Nov 23 10:00:05 UTC 2026",
        "Mon 23 Nov 2026 10:00:05 AM UTC",
        "2026-11-23 10:00:05",
        "Every 2.0s: kafka-consumer-groups --describe --group g    h: Mon Nov 23 10:00:05 2026",
        "[2026-11-23 10:00:05] me@h:~$ kafka-consumer-groups --describe --group g",
        "1795428005",
    )
    assert {outputs(f"{head}\n\n{table}")[0].time for head in heads} == {1795428005000}
    assert outputs(f"Mon 23 Nov 2026 10:00:05 PM UTC\n{table}")[0].time == 1795471205000
    first, second = outputs(f"{heads[0]}\n{table}\n{table}")
    assert first.time and second.time is None


def test_health_and_exit_code_follow(tmp_path: Path) -> None:
    calm = SHAPES["2.4"].replace("15              5", "10              0").replace("-\n", "-")
    calm = "\n".join(calm.split("\n")[:2])
    assert (answered(calm, tmp_path).health, answered(calm, tmp_path).exit_code) == ("calm", 0)
    once = "\n".join(SHAPES["2.4"].split("\n")[:2])
    answer = answered(once, tmp_path)
    assert (answer.health, answer.exit_code) == ("unknown", 3)
    (candidate,) = answer.answers[0].diagnosis.candidates
    assert "a second output" in candidate.decide
    assert answer[0].format == "consumer-groups" and len(answer) == 1


def test_who_owned_what_stands_in_the_time_line(tmp_path: Path) -> None:
    text = f"2026-11-23 10:00:00\n{SHAPES['2.4']}\n2026-11-23 10:05:00\n{SHAPES['2.4']}"
    assert "owns t-0" in answered(text, tmp_path).html()


def test_no_broken_text_breaks_the_parser() -> None:
    """Characters changed, lines cut, repeated and shuffled: nothing raises, and what is said is of
    a known kind.
    """
    draw = random.Random(7)
    texts = [*SHAPES.values(), *(case["log"] for case in CASES)]
    for _ in range(300):
        lines = "\n".join(draw.choices(texts, k=4)).split("\n")
        for _ in range(draw.randrange(12)):
            at = draw.randrange(len(lines))
            line = lines[at]
            cut = draw.randrange(len(line) + 1)
            lines[at] = draw.choice(
                [line[:cut], line[cut:], line + line, line[:cut] + "\0\ufffd-9" + line[cut + 2 :],
                 line.replace(" ", ""), line.upper(), "9" * 400 + line, " " * 9000 + line]
            )  # fmt: skip
        if draw.random() < 0.3:
            draw.shuffle(lines)
        assert {s.kind for s in said("\n".join(lines))} <= kinds().keys()


def test_memory_is_bounded() -> None:
    head, row, _ = SHAPES["2.4"].split("\n")
    many = (row.replace("g ", f"g{n} ", 1) for n in range(5_000))
    watching = Watching()
    watching.read(Outputs(), enumerate([head, *many], 1))
    assert len(watching.groups) == 2_000 and watching.left_out
    again = (line for n in range(800) for line in (head, row.replace("10 ", f"{n % 2} ")))
    watching = Watching()
    assert len(watching.read(Outputs(), enumerate(again, 1))) < 1_700


def test_a_member_without_partitions_counts_though_its_last_column_is_trimmed() -> None:
    head = "GROUP  CONSUMER-ID  HOST  CLIENT-ID  #PARTITIONS  ASSIGNMENT"
    rows = "g  c-1-aa  /10.0.0.1  c-1  1  t(0)\ng  c-2-bb  /10.0.0.2  c-2  0"
    found = Watching().read(Outputs(), enumerate(f"{head}\n{rows}".split("\n"), 1))
    (told,) = (said for said in found if said.kind == "described")
    assert (told.fields["members"], told.fields["shares"], told.fields["idle"]) == (2, 1, 1)
