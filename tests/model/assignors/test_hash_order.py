"""Java's hash codes and the order of its hash tables."""

from __future__ import annotations

from groupcheck.model.assignors.hash_order import (
    buckets_for,
    by_text,
    copied,
    in_hash_order,
    number_hash,
    partition_hash,
    text_hash,
)


def test_hash_codes_are_those_of_java():
    assert [text_hash(text) for text in ("", "a", "Aa", "BB", "hello")] == [
        0,
        97,
        2112,
        2112,
        99162322,
    ]
    assert text_hash("polygenelubricants") == 0x80000000  # the one that is Integer.MIN_VALUE
    assert text_hash("😀") == 0xD83D * 31 + 0xDE00
    assert partition_hash(("t", 0)) == 31 * 31 + ord("t")


def test_short_names_come_in_the_order_of_the_alphabet_and_long_ones_do_not():
    assert by_text(["C", "A", "B"]) == ("A", "B", "C")
    assert by_text(["consumer-1", "consumer-2", "consumer-10"]) != (
        "consumer-1",
        "consumer-10",
        "consumer-2",
    )


def test_what_falls_into_one_bucket_stays_in_order_of_insertion():
    assert by_text(["BB", "Aa"]) == ("BB", "Aa") and by_text(["Aa", "BB"]) == ("Aa", "BB")


def test_a_table_doubles_when_it_is_three_quarters_full():
    assert [buckets_for(n) for n in (0, 12, 13, 24, 25)] == [16, 16, 32, 32, 64]
    assert in_hash_order([16, 1], number_hash) == [16, 1]
    assert in_hash_order([16, 1, *range(2, 13)], number_hash)[-1] == 16
    assert in_hash_order(list(range(11, -1, -1)), number_hash) == list(range(12))
    assert copied([*range(11), 16], number_hash)[-1] == 16
