"""Times are read in all forms that programs print, and no more is shown of them than they have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.oracles.replay.report import replay
from groupcheck.traces.lines.timestamps import (
    FIRST_DATED,
    Clock,
    Stamp,
    parse_time,
    show_time,
    stamp,
)

AT = 1729877116582  # 2024-10-25 17:25:16.582 UTC
SECOND = 1729877116000


@pytest.mark.parametrize(
    ("text", "time", "zoned"),
    [
        ("2024-10-25 17:25:16,582", AT, False),
        ("2024-10-25T17:25:16.582Z", AT, True),
        ("2024-10-25T17:25:16.582494913Z stdout F", AT, True),
        ("2024-10-25T19:25:16.582+02:00", AT, True),
        ("2024-10-25T15:25:16.582-0200", AT, True),
        ("2024/10/25 17:25:16 consumer.go:12:", SECOND, False),
        ("25 Oct 2024 17:25:16,582", AT, False),
        ("25/Oct/2024:19:25:16 +0200", SECOND, True),
        ("25.10.2024 17:25:16.582", AT, False),
        ("Oct 25, 2024 5:25:16 PM", SECOND, False),
        ("10/25/2024 17:25:16", SECOND, False),
        ("25/10/2024 17:25:16", SECOND, False),
        ("[24-10-25 17:25:16.582] [ INFO]", AT, False),
        ("Fri Oct 25 17:25:16 UTC 2024", SECOND, False),
        ("E, [2024-10-25T17:25:16.582123 #4711] ERROR -- :", AT, False),
        ("%7|1729877116.582|JOIN|rdkafka#consumer-1|", AT, True),
        ("1729877116 INFO", SECOND, True),
        ("[1729877116582] INFO", AT, True),
        ("1729877116582,", AT, True),
        ("1729877116582494 ", AT, True),
        ('level=info ts=1729877116.582 msg="', AT, True),
        ('time="2024-10-25T17:25:16Z" level=info', SECOND, True),
    ],
)
def test_a_time_with_its_date_is_read_in_every_form(text: str, time: int, zoned: bool) -> None:
    assert stamp(text) == Stamp(time, zoned)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Oct 25 17:25:16 host kafka[12]:", "10-25 17:25:16.000"),
        ("Oct  5 17:25:16.582 host kafka[12]:", "10-05 17:25:16.582"),
        ("I1025 17:25:16.582993  141941 file.go:190]", "10-25 17:25:16.582"),
        ("10-25 17:25:16.582", "10-25 17:25:16.582"),
        ("Feb 29 17:25:16", "02-29 17:25:16.000"),
        ("17:25:16,582 INFO", "17:25:16.582"),
        ("SARAMA: 09:30:06 ", "09:30:06.000"),
        ("nothing", "-"),
        ("orders-1729877116-x 12345678901", "-"),
        ("2024-13-45", "-"),
    ],
)
def test_no_more_is_shown_of_a_time_than_the_line_has(text: str, shown: str) -> None:
    assert show_time(parse_time(text)) == shown


@given(st.integers(FIRST_DATED, 4_000_000_000_000))
def test_a_time_that_is_shown_is_read_back(ms: int) -> None:
    assert parse_time(show_time(ms)) == ms


FORMS = {"day": "%H:%M:%S.{ms}", "year": "%b %d %H:%M:%S.{ms}", "glog": "I%m%d %H:%M:%S.{ms}000 1"}


@pytest.mark.parametrize("form", FORMS)
def test_durations_are_right_over_midnight_and_new_year(form: str) -> None:
    start = datetime(2024, 12, 30, 22, 0, tzinfo=UTC)
    clock, times, truth = Clock(), [], []
    for minutes in range(0, 3 * 24 * 60, 17):
        at = start + timedelta(minutes=minutes, milliseconds=minutes % 7)
        text = at.strftime(FORMS[form]).format(ms=f"{at.microsecond // 1000:03}")
        times.append(clock.with_date(parse_time(text)))
        truth.append(int(at.timestamp() * 1000))
    first = times[0]
    assert first is not None
    assert [t - first for t in times if t is not None] == [t - truth[0] for t in truth]


def test_lines_of_two_threads_around_midnight_stay_together() -> None:
    clock = Clock()
    times = [
        clock.with_date(parse_time(text))
        for text in ("23:59:59.990", "00:00:00.010", "23:59:59.995", "00:00:00.020", "10:00:00.000")
    ]
    assert times[1] is not None and times[4] is not None
    assert times[4] - times[1] < 24 * 3_600_000, "the day does not end twice"


def test_a_line_without_a_date_belongs_to_the_day_of_the_line_before_it() -> None:
    clock = Clock()
    texts = ("2024-10-25 23:59:00", "23:59:58.000", "00:00:01.000", "Oct 26 00:00:02")
    times = [show_time(clock.with_date(parse_time(text))) for text in texts]
    assert times == [
        "2024-10-25 23:59:00.000",
        "2024-10-25 23:59:58.000",
        "2024-10-26 00:00:01.000",
        "2024-10-26 00:00:02.000",
    ]


def test_hours_without_a_date_go_on_from_one_line_with_a_date() -> None:
    """As where only the first line of a container has one; another zone's line moves nothing."""
    clock, begin = Clock(), parse_time("2024-05-01 23:50:00")
    minute = 60_000
    assert begin is not None and clock.beside(begin) == begin
    told = [clock.beside(parse_time(f"{at} x")) for at in ("23:59:59", "00:05:00", "00:15:00")]
    assert told == [begin + ms for ms in (10 * minute - 1000, 15 * minute, 25 * minute)]
    assert clock.beside(parse_time("02:15:00 x")) == begin + 25 * minute
    assert clock.beside(parse_time("00:20:00 x")) == begin + 30 * minute


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 28), st.integers(0, 23)), max_size=50))
def test_shuffled_times_without_a_year_never_become_times_with_one(
    days: list[tuple[int, int, int]],
) -> None:
    clock = Clock()
    for month, day, hour in days * 4:
        a = clock.with_date(parse_time(f"{month:02}-{day:02} {hour:02}:00:00"))
        assert a is not None and 0 <= a < FIRST_DATED and len(show_time(a)) == 18
    hours = Clock()
    for _, _, hour in days * 40:
        assert len(show_time(hours.with_date(parse_time(f"{hour:02}:00:00")))) == 12


@given(st.text(max_size=200))
def test_any_text_has_a_time_or_none(text: str) -> None:
    found = parse_time(text)
    assert found is None or show_time(found)


def test_a_log_without_years_shows_none_and_measures_over_new_year(tmp_path: Path) -> None:
    said = "host kafka: INFO [GroupCoordinator 3]:"
    (tmp_path / "messages").write_text(
        f"Dec 31 23:59:58.500 {said} Preparing to rebalance group g in state PreparingRebalance"
        " with old generation 4 (__consumer_offsets-7) (reason: removing member c-1 on LeaveGroup;"
        " client reason: not provided)\n"
        f"Jan  1 00:00:01.500 {said} Stabilized group g generation 5 (__consumer_offsets-7) with 3"
        " members\n"
    )
    together = replay([tmp_path / "messages"])
    ((rebalance,),) = [g["rebalances"] for g in together.document()["groups"]]
    assert (rebalance["started"], rebalance["join_ms"]) == ("12-31 23:59:58.500", 3000)
    assert "1970" not in together.html() and "197" not in str(together.document())
