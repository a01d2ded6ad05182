"""Templates of log lines: what they match, and that no line makes them slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.traces.broker.grammar import member_ids, option
from groupcheck.traces.broker.grammar_java import JAVA
from groupcheck.traces.broker.grammar_scala import SCALA
from groupcheck.traces.lines.template import compile_template

UUID = "23a5cab4-de06-4358-8220-add81426c9af"
free_text = st.text(
    st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=30
).filter(lambda s: "{" not in s)


def test_ids_with_spaces_commas_and_parentheses_are_read_whole() -> None:
    member = f"consumer@48f1 (github.com/segmentio/kafka-go), <0.1.0>-{UUID}"
    found = SCALA.find(
        f"Member {member} in group orders, all of (them) has failed, removing it from the group"
    )
    assert found is not None
    assert found[1] == {"member": member, "group": "orders, all of (them)"}


def test_a_template_that_ends_in_literal_text_needs_it_at_the_end() -> None:
    template = compile_template("Group {group} is gone.")
    assert template.match("Group a is gone. is gone.") == {"group": "a is gone."}
    assert template.match("Group a is gone. really") is None


def test_a_free_field_is_never_empty_unless_it_is_the_last() -> None:
    assert compile_template("Member {member} left").match("Member  left") is None
    assert compile_template("Member {member}").match("Member ") == {"member": ""}


@given(free_text, free_text, st.integers(0, 10**9))
def test_what_a_template_prints_it_reads_back(group: str, reason: str, generation: int) -> None:
    template = compile_template(
        "Preparing group {group} with old generation {generation:int} (reason: {reason})"
    )
    if " with old generation " in group:
        return
    found = template.match(
        f"Preparing group {group} with old generation {generation} (reason: {reason})"
    )
    assert found == {"group": group, "generation": str(generation), "reason": reason}


def test_ids_in_a_collection_are_told_apart_by_their_uuid() -> None:
    one, two = f"a, b (c)-{UUID}", f"x-{UUID}"
    for text in (
        f"Set({one}, {two})",
        f"HashSet({one}, {two})",
        f"[{one}, {two}]",
        f"{one}, {two}",
    ):
        assert member_ids(text) == (one, two)
    assert member_ids("Set()") == ()
    assert member_ids("[m1, m2]") == ("m1", "m2")


def test_options_of_both_languages_are_one() -> None:
    assert [option(t) for t in ("Some(i-1)", "Optional[i-1]", "i-1")] == ["i-1"] * 3
    assert [option(t) for t in ("None", "null", "Some(null)", "Optional.empty")] == [None] * 4


# how it begins, what follows again and again, and how many of the readings below find a sentence in
# it
HOSTILE = [
    (
        "Preparing to rebalance group ",
        " in state Stable with old generation 1 (__consumer_offsets-1) (reason: ",
        1,
    ),
    ("Member ", " in group ", 0),
    ("[GroupId ", "] Member ", 2),
    ("Group ", " removed dynamic members who haven't joined: ", 4),
    ("Group x removed dynamic members who haven't joined: Set(", "a, ", 4),
    ("Member MemberMetadata(memberId=", ", groupInstanceId=", 0),
    ("Assignment received from leader ", " for group ", 0),
]


@pytest.mark.parametrize(("begins", "goes_on", "found"), HOSTILE)
def test_a_hostile_line_takes_time_in_proportion_to_its_length(
    begins: str, goes_on: str, found: int
) -> None:
    """Ten million characters: what takes time in proportion to the square of that does not end."""
    line = begins + goes_on * (10_000_000 // len(goes_on))
    assert (
        sum(table.find(line + end) is not None for table in (SCALA, JAVA) for end in ("", ")"))
        == found
    )
