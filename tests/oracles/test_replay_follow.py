"""A log that is followed tells of each group what a replay of its lines tells."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from groupcheck.oracles.command_line import cli, documents
from groupcheck.oracles.replay.answers import answers
from groupcheck.oracles.replay.follow import command, windows
from groupcheck.oracles.replay.follow.alerts import alert_document, alert_text
from groupcheck.oracles.replay.follow.judging import Change, Judge
from groupcheck.oracles.replay.follow.windows import (
    LINE_BYTES,
    MOST_BYTES,
    MOST_LINES,
    Line,
    Windows,
    as_sources,
)
from groupcheck.oracles.replay.report import reports_of
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.reading import Part
from groupcheck.traces.replay import ReplayOptions

DATA = Path(__file__).parents[1] / "data"
KNOWN = shipped_knowledge()
BOTH_KINDS = [
    "replay/kafka40-two-groups-expire.log.gz",
    "replay/live-broker_restart.log",
    "replay/live-coop_join_kill.log",
    "requests/live-zombie.log.gz",
    "clients/live-java_kip848.b.log.gz",
    "incidents2/33.log",
    "incidents/20.log",
    "incidents/55.log",
]
ALL = sorted(
    str(p.relative_to(DATA))
    for kind in ("replay", "requests", "clients", "dumps", "incidents", "incidents2")
    for p in (DATA / kind).iterdir()
    if p.name.endswith((".log", ".log.gz"))
)


def lines_of(name: str) -> list[bytes]:
    data = (DATA / name).read_bytes()
    return (gzip.decompress(data) if name.endswith(".gz") else data).splitlines()


def judge(**settings: float) -> Judge:
    return Judge(ReplayOptions(), KNOWN, **settings)


def tell(judge: Judge, lines: Iterable[bytes], first: int = 1, now: float = 0.0) -> list[Change]:
    """The changes that some lines of one log make."""
    some = list(enumerate(lines, first))
    judge.add("a.log", [Part("a.log", 1, first + len(some) - 1)], some, now)
    out = [*judge.changes(now)]
    while judge.fresh:
        out += judge.changes(now)
    return out


def replayed(lines: list[bytes]) -> dict[str, str]:
    """Group -> health, by a replay of these lines alone."""
    some = [Line("a.log", k, text, 0.0) for k, text in enumerate(lines, 1)]
    (source,) = as_sources(some, {"a.log": [Part("a.log", 1, len(lines))]})
    evidence = Evidence(rules=KNOWN.facts)
    reports = [*reports_of(source, ReplayOptions(), evidence)]
    found = answers(reports, evidence, KNOWN)
    return {a.group: a.health for a in found if a.group or a.health != "unknown"}


def same_as_prefixes(lines: list[bytes], step: int) -> None:
    following = judge()
    told: dict[str, str] = {}
    for at in range(0, len(lines), step):
        for change in tell(following, lines[at : at + step], at + 1):
            assert change.before == told.get(change.group)
            assert change.health != change.before
            told[change.group] = change.health
        shown = {n: k.health for n, k in following.known.items() if n or k.health != "unknown"}
        assert shown == replayed(lines[: at + step]), f"after line {at + step}"
        assert {n: h for n, h in told.items() if n in shown} == shown


@pytest.mark.parametrize("name", BOTH_KINDS)
def test_a_followed_log_changes_health_where_its_prefixes_do(name: str) -> None:
    lines = lines_of(name)
    same_as_prefixes(lines, max(1, len(lines) // 6))


@pytest.mark.night
@pytest.mark.parametrize("name", ALL)
def test_every_followed_log_changes_health_where_its_prefixes_do(name: str) -> None:
    lines = lines_of(name)
    same_as_prefixes(lines, max(1, len(lines) // 40))


def broker(group: str, generation: int, *what: str) -> list[bytes]:
    """Lines of a coordinator; `what`: reasons of rounds."""
    out = []
    for k, reason in enumerate(what or ("Adding new member c-1 with group instance id None",)):
        at = f"[2024-10-25 17:25:{generation % 60:02},{100 * k:03}] INFO [GroupCoordinator 0]:"
        out += [
            f"{at} Preparing to rebalance group {group} in state PreparingRebalance with old"
            f" generation {generation + k} (__consumer_offsets-5) (reason: {reason})"
            " (kafka.coordinator.group.GroupCoordinator)",
            f"{at} Stabilized group {group} generation {generation + k + 1}"
            " (__consumer_offsets-5) with 1 members (kafka.coordinator.group.GroupCoordinator)",
        ]
    return [line.encode() for line in out]


REMOVED = (
    b"[2024-10-25 17:40:00,000] INFO [GroupCoordinator 0]: Member c-1 in group orders has failed,"
    b" removing it from the group (kafka.coordinator.group.GroupCoordinator)"
)


def test_trouble_that_names_no_group_is_laid_to_none_of_several() -> None:
    lost = (
        b"org.apache.kafka.clients.consumer.CommitFailedException: Commit cannot be completed since"
        b" the group has already rebalanced and assigned the partitions to another member."
    )
    same_as_prefixes([*broker("a", 1), *broker("b", 1), lost, *broker("a", 2)], 1)


def test_a_line_about_one_group_is_judged_with_its_own_lines_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    following = judge()
    names = [f"group-{k}" for k in range(8)]
    tell(following, [line for name in names for line in broker(name, 1)])
    tell(following, broker("group-3", 2), first=100)
    judged: list[int] = []
    whole = Judge._replayed
    monkeypatch.setattr(
        Judge,
        "_replayed",
        lambda self, sources, *rest, **named: (
            judged.append(sum(len(s.numbers) for s in sources))
            or whole(self, sources, *rest, **named)
        ),
    )
    tell(following, broker("group-3", 3), first=102)
    assert judged == [6]


def test_windows_bound_memory_and_the_cost_of_a_line_whatever_was_read() -> None:
    kept = Windows()
    kept.learn(["orders"])
    sizes = []
    for turn in range(3):
        for k in range(MOST_LINES):
            kept.add(Line("a.log", k, b"group orders " + bytes(10 * turn), 0.0))
            kept.add(Line("a.log", k, b"of no group " + bytes(10 * turn), 0.0))
        kept.trim(0.0)
        each = (kept.groups["orders"], kept.nobody)
        sizes += [len(one.lines) for one in each]
        held = [sum(len(x.text) + LINE_BYTES for x in one.lines) for one in each]
        assert held == [one.size for one in each]
    assert sizes == [MOST_LINES] * 6
    for k in range(20):
        kept.add(Line("a.log", k, b"group orders " + bytes(1 << 20), 0.0))
    kept.trim(0.0)
    assert kept.groups["orders"].size <= MOST_BYTES


def test_of_too_many_groups_those_are_forgotten_that_were_silent_for_the_longest_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(windows, "MOST_GROUPS", 3)
    following = judge()
    for k in range(5):
        tell(following, broker(f"group-{k}", 1), first=10 * k + 1)
    assert [*following.windows.groups] == ["group-2", "group-3", "group-4"] == [*following.known]
    assert following.windows.forgotten == 2


def test_many_new_names_are_looked_at_in_steps_until_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(windows, "AT_ONCE", 10)
    following = judge()
    some = [line for k in range(40) for line in broker(f"group-{k}", 1)]
    following.add("a.log", [Part("a.log", 1, len(some))], [*enumerate(some, 1)], 0.0)
    asked = iter([False, False])  # over after the second step
    assert [*following.changes(0.0, is_over=lambda: next(asked, True))] == []
    assert len(following.windows.groups) == following.unjudged == 10
    assert following.fresh == len(some) - 20
    told = {c.group: c.health for c in tell(following, [])}
    assert {c for c in told if c} == {f"group-{k}" for k in range(40)}
    assert following.unjudged == 0


def test_without_time_to_judge_what_was_read_nothing_is_called_calm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "LATEST_S", -1.0)
    log = tmp_path / "a.log"
    log.write_bytes(b"\n".join(broker("orders", 1)))
    assert cli.run(["replay", "--follow", str(log), "--for", "0.001", "--until", "calm"]) == 3
    assert "the time is over before all lines were judged" in capsys.readouterr().out


def test_a_group_that_was_calm_is_not_while_a_line_about_it_waits() -> None:
    following = judge()
    tell(following, broker("orders", 1))
    end = command.Following([], following)
    assert end.exit_code == 0
    following.add("a.log", following.parts["a.log"], [(3, REMOVED)], 0.0)
    assert end.exit_code == 3


def test_a_group_whose_name_is_a_word_of_all_lines_hides_no_other() -> None:
    following = judge()
    tell(following, broker("0", 1))
    tell(following, broker("orders", 1), first=3)
    assert {*following.known} == {"0", "orders"}


def test_trouble_ends_with_the_window_and_a_calm_group_stays_calm_though_it_is_silent() -> None:
    following = judge(window_s=60.0)
    tell(following, broker("calm", 1), now=0.0)
    (told,) = tell(following, [*broker("orders", 1), REMOVED], first=3, now=0.0)
    assert (told.group, told.health) == ("orders", "broken")
    assert tell(following, broker("calm", 2), first=6, now=50.0) == []
    (gone,) = tell(following, [], now=70.0)
    assert (gone.group, gone.before, gone.health) == ("orders", "broken", "unknown")
    assert gone.reason == "no line about it for 60.0 s"
    assert tell(following, [], now=500.0) == []
    assert following.known["calm"].health == "calm"


def test_an_alert_says_why_with_the_file_that_holds_the_line_now() -> None:
    following = judge()
    tell(following, [*broker("other", 1), *broker("orders", 1)])
    rotated = [Part("server.log.1", 1, 4), Part("server.log", 5, 1)]
    following.add("a.log", rotated, [(5, REMOVED)], 0.0)
    (told,) = following.changes(0.0)
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    text = alert_text(told, at)
    assert "orders: broken (was calm): " in text
    assert text.endswith("(server.log:1)")
    assert "\n" not in text
    document = alert_document(told, at)
    jsonschema.validate(document, schema())
    quoted = [(q["file"], q["line"]) for c in document["causes"] for q in c["evidence"]]
    assert quoted == [("server.log", 1)]
    assert document["before"] == "calm"


def schema() -> Mapping[str, object]:
    return next(d.schema for d in documents.documents() if d.name == "follow")


def test_a_hostile_line_prints_nothing_that_a_terminal_obeys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a.log"
    hostile = "or\x1b[31mders\u202e"
    log.write_bytes(b"\n".join(broker(hostile, 1)) + b"\n\xff\xfe\x00\n")
    cli.run(["replay", "--follow", str(log), "--for", "0.1"])
    assert "\x1b" not in capsys.readouterr().out


def follow(*options: str) -> subprocess.Popen[str]:
    asked = [sys.executable, "-m", "groupcheck", "replay", "--follow", *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(asked, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_it_ends_when_a_group_is_troubled_and_its_lines_fit_the_schema(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"\n".join(broker("orders", 1)) + b"\n")
    process = follow(str(log), "--json", "--until", "troubled", "--for", "100s")
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert (first["group"], first["before"], first["health"]) == ("orders", None, "calm")
    # A moment without a file of this name would be told, too, if it is looked at just then.
    (tmp_path / "next").write_bytes(REMOVED + b"\n")
    Path(f"{log}.1").hardlink_to(log)
    (tmp_path / "next").replace(log)
    rest = [json.loads(line) for line in process.communicate(timeout=100)[0].splitlines()]
    assert process.returncode == 1
    assert [line["event"] for line in rest] == ["log", "health", "end"]
    assert (rest[1]["before"], rest[1]["health"], rest[1]["line"]) == ("calm", "broken", 1)
    assert rest[2]["groups"] == {"orders": "broken"}
    assert rest[2]["exit_code"] == 1
    for line in (first, *rest):
        jsonschema.validate(line, schema())


def test_ctrl_c_ends_it_with_3_and_what_is_known() -> None:
    process = follow("-")
    assert process.stdin is not None and process.stdout is not None
    for line in (*broker("orders", 1), REMOVED):
        process.stdin.write(line.decode() + "\n")
    process.stdin.flush()
    assert "orders: broken" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out = process.stdout.read()  # standard input stays open: its end would end it, too
    assert process.wait(100) == 3
    process.communicate()
    assert out.splitlines()[-1] == "1 group: 1 broken; 3 lines read; interrupted"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--until", "calm"], "--until: is only for --follow"),
        (["--for", "10m"], "--for: is only for --follow"),
        (["--follow", "--html", "x.html"], "--html: cannot be combined with --follow"),
        (["--follow", "--what-if", "static"], "--what-if: cannot be combined with --follow"),
        (["--follow", "sample:ghost-members"], "is compressed (name the file that is being"),
    ],
)
def test_what_does_not_go_together_is_refused(
    options: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_text("a\n")
    assert cli.run(["replay", str(log), *options]) == 2
    assert told in capsys.readouterr().err
