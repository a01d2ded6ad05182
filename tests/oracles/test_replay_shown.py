"""What a replay shows: the answer first, in a terminal, a ticket and a notebook; calm groups and
equal rounds folded.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from answered import BEGIN, answer, busy, found, report
from attrs import evolve

import groupcheck
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.replay import page as pages
from groupcheck.oracles.replay.handovers import HANDOVER_COLUMNS
from groupcheck.oracles.replay.harm import weight
from groupcheck.oracles.replay.lanes import picture
from groupcheck.oracles.replay.markdown import fenced, markdown, plain, span
from groupcheck.oracles.replay.page import page
from groupcheck.oracles.replay.rounds import fold_cells, folded
from groupcheck.oracles.replay.text import replay_view
from groupcheck.oracles.show.text import as_plain
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import BROKER
from groupcheck.traces.findings.report import UNREADABLE
from groupcheck.traces.reading import Part
from groupcheck.traces.replay import replay_file
from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.moments import Handover, Moment, Round

DATA = Path(__file__).parent.parent / "data"
HOSTILE = "</script><img src=x onerror=alert(1)>\"'\u202e\x00```\n# no heading"


def rounds(*sizes: int, client: str = "c-1") -> list[Round]:
    return [
        Round(
            Moment(k, BEGIN + 1000 * k),
            k,
            k + 1,
            RebalanceCause.JOIN,
            joined_at=Moment(k, BEGIN + 1000 * k + 300),
            assigned=Moment(k, BEGIN + 1000 * k + 310 + k),
            outcome="assigned",
            size=size,
            causers=(f"{client}-{k:08x}-0000-4000-8000-000000000000",),
        )
        for k, size in enumerate(sizes)
    ]


def test_the_text_begins_with_the_answer_and_ends_it_with_the_broker():
    cause = found(quoted=["poll timeout has expired", "leaving"])
    maybe = found("This may be something else.", confidence="possible", decide="the broker's log")
    asked = answer(causes=[cause], candidates=[maybe], hints=["the client's log at DEBUG"])
    told = as_plain(replay_view([], [asked])).splitlines()
    assert told == [
        "broken  group orders",
        "  cause     c1 did not call poll() for 412 s and left the group. (certain)",
        "  when      2024-10-27 03:33:30.000 to 03:34:20.000 (50.0 s)",
        "            line 1: poll timeout has expired",
        "            line 2: leaving",
        "  do        Find out what one batch waits for.",
        "  setting   max.poll.interval.ms: 300000 -> above the longest handling of one batch",
        "  tickets   KAFKA-7610 (fixed in 2.2)",
        "  possible  This may be something else. To decide: the broker's log",
        "  look for  the client's log at DEBUG",
        "  broker    holds: every line is explained",
    ]


def test_the_file_of_a_quoted_line_is_named_where_there_are_several():
    said = [Statement(kind="poll_expired", line=k, text="x", log="a.log") for k in (7, 108)]
    asked = answer(causes=[evolve(found(), evidence=tuple(said))])
    one, other = evolve(report(), path="a.log"), evolve(report(), path="b.log")
    assert "  line 7: x\n" in as_plain(replay_view([one], [asked]))
    assert "  a.log line 7: x\n" in as_plain(replay_view([one, other], [asked]))
    parts = (Part("a.log.1", first_line=1, lines=100), Part("a.log", first_line=101, lines=50))
    rotated = as_plain(replay_view([evolve(one, files=parts)], [asked]))
    assert "  a.log.1 line 7: x\n" in rotated and "  a.log line 8: x\n" in rotated


def test_what_a_candidate_says_is_not_said_again_as_a_hint():
    maybe = found("This may be X.", confidence="possible", decide="line Y")
    hints = ["This may be X.", "look for line Y there", "the broker's log"]
    told = as_plain(replay_view([], [answer("g", "troubled", candidates=[maybe], hints=hints)]))
    assert told.count("look for") == 1 and "look for  the broker's log" in told


@pytest.mark.parametrize(
    ("until", "words"), [(12_345, "12.3 s"), (3_212_600, "53 min 32 s"), (11_520_000, "3 h 12 min")]
)
def test_the_answer_tells_how_long_it_lasted(until: int, words: str):
    cause = evolve(found(), since=BEGIN, until=BEGIN + until)
    assert f"({words})" in as_plain(replay_view([], [answer(causes=[cause])]))


def test_calm_groups_fold_into_one_line_beyond_a_few():
    calm = [answer(f"calm-{k}", "calm") for k in range(97)]
    told = as_plain(replay_view([], [answer("bad"), *calm])).splitlines()
    assert told[0] == "98 groups: 1 broken, 97 calm"
    assert [line.split() for line in told[1:3]] == [
        ["broken", "bad", "nothing", "stands", "out"], ["calm", "97", "groups"],
    ]  # fmt: skip
    assert "broken  group bad" in told and not any("calm-1" in line for line in told)
    few = as_plain(replay_view([], [answer("bad"), *calm[:2]]))
    assert few.startswith("3 groups: 1 broken, 2 calm\n") and few.count("group calm-") == 2


def test_one_group_needs_no_overview():
    assert as_plain(replay_view([], [answer("only")])).startswith("broken  group only\n")


def test_of_many_groups_the_worst_is_told_whole_and_others_in_a_line():
    told = as_plain(replay_view([], [answer(f"g{k}", causes=[found()]) for k in range(30)]))
    assert told.startswith("30 groups: 30 broken\n  broken  g0  poll() was not called in time\n")
    assert told.count("\n  do       ") == 1 and "\n\nbroken  group g0\n" in told
    assert "\n  and 20 more groups (--json has all)\n" in told
    assert told.splitlines().index("broken  group g0") < 15
    three = as_plain(replay_view([], [answer(f"g{k}", causes=[found()]) for k in range(3)]))
    assert three.count("\n  do       ") == 3


def test_figures_of_logs_and_rounds_are_those_of_the_groups_told_whole():
    seen = [busy(5, 2000) for _ in range(20)]
    logs = [
        evolve(one.file, path=f"{k}.log", groups=(evolve(one.group, group=f"g{k}"),))
        for k, one in enumerate(seen)
    ]
    logs[19] = evolve(logs[19], format=UNREADABLE, reason="is no log", groups=())
    told = as_plain(replay_view(logs, [answer(f"g{k}") for k in range(19)]))
    assert told.count("  format  ") == 1 and "holds  group g0" in told
    assert "holds  group g1 " not in told
    assert told.index("19.log  is no log") < told.index("1.log  every answer is explained")


def test_groups_are_sorted_by_harm(tmp_path: Path):
    generated = tmp_path / "many"
    assert cli.run(["generate", "--out", str(generated), "--groups", "12", "--runs", "4"]) == 0
    replayed = groupcheck.replay([str(generated / "logs")])
    broken = [a for a in replayed.answers if a.health == "broken"]
    stood = [max(weight(s.group.findings) for s in a.seen) for a in broken]
    assert len(set(stood)) > 1 and stood == sorted(stood, reverse=True)
    conclusion = replayed.document()["conclusion"]
    assert conclusion == "12 groups: 12 broken"
    assert replayed.markdown().startswith(f"# {conclusion}\n\n| health | group | what happened |\n")
    assert conclusion in replayed.html() and str(replayed).startswith(f"{conclusion}\n")


def test_equal_rounds_are_folded_and_others_are_not():
    alone, turns = rounds(1, client="x"), [*rounds(1), *rounds(1, client="y")]
    some = [*rounds(1, 2, 1, 1), *alone, *turns, *turns, *turns]
    assert [(len(f.rounds), f.cycle) for f in folded(some)] == [(4, 1), (1, 1), (6, 2)]
    assert [x for f in folded(some) for x in f.rounds] == some
    assert fold_cells(folded(some)[0])[4] == "1 to 2"
    assert fold_cells(folded(some)[2])[2] == "3 times these 2 rounds: join: c-1; then join: y"


def test_two_rounds_alike_are_not_folded():
    assert [len(f.rounds) for f in folded([*rounds(1, 1), *rounds(1, 1, client="z")])] == [1] * 4


def test_a_fold_tells_how_many_rounds_it_holds_and_how_long_they_took():
    view = busy(1, 10)
    view.group.timeline.rounds.extend(rounds(*[1] * 34))
    told = as_plain(replay_view([view.file], [answer(seen=[view])]))
    assert "34 rounds alike:" in told and "join: c-1 " in told
    assert "0 to 34" in told and "326 ms, at most" in told


def test_a_ticket_has_answer_evidence_rounds_settings_and_version():
    view = busy(1, 10)
    view.group.timeline.rounds.extend(rounds(*[1] * 34))
    told = markdown([view.file], [answer(causes=[found()], seen=[view])])
    assert told.startswith("# 1 group: 1 broken\n\n## broken: group `orders`\n")
    assert "| max.poll.interval.ms | 300000 | above the longest" in told.replace("\\_", "_")
    assert "```text\nline 1: consumer poll timeout has expired\n```" in told
    assert "34 rounds alike: join: c-1" in told
    assert told.endswith(f"groupcheck {groupcheck.__version__}\n")


def test_nothing_in_a_ticket_is_markup_but_groupcheck_s_own():
    assert fenced(["a", "```` b", "\n# c"]) == "`````text\na\n```` b\n\\n# c\n`````"
    assert span("a`b``c") == "```a`b``c```" and span("`") == "`` ` ``"
    assert plain("<b>[x](y) *a* @me #1 |") == r"\<b\>\[x\](y) \*a\* \@me \#1 \|"
    assert plain("- a") == r"\- a" and plain("1. a") == r"1\. a"
    assert plain("https://x www.y") == r"https:/\/x www\.y"
    view = busy(2, 10, HOSTILE)
    view.group.timeline.rounds.extend(rounds(1, client=HOSTILE))
    cause = found(HOSTILE, who=[HOSTILE], quoted=[HOSTILE], decide=HOSTILE)
    asked = answer(HOSTILE, causes=[cause], candidates=[cause], hints=[HOSTILE], seen=[view])
    told = markdown([view.file], [asked])
    outside = re.sub(r"(?s)^(`{3,})text\n.*?\n\1$", "", told, flags=re.M)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    assert not re.search(r"(?<!\\)[<>]", outside) and "\n# no" not in told
    assert [line for line in told.splitlines() if line.startswith("#")] == [
        "# 1 group: 1 broken",
        f"## broken: group {span(HOSTILE)}",
        "## Logs",
    ]


def test_page_and_ticket_tell_who_handed_partitions_over_and_escape_their_names():
    view = busy(1, 10)
    (made,) = rounds(1)
    since = Moment(7, BEGIN)
    made.handovers.append(Handover((f"{HOSTILE}-3",), HOSTILE, since, "b", asked=since))
    view.group.timeline.rounds.append(made)
    groups = [answer(seen=[view])]
    html, ticket = page([view.file], groups), markdown([view.file], groups)
    (region,) = re.findall(r'(?s)aria-label="handovers of group [^>]*>(.*?)</div>', html)
    assert "given up" in region and "not yet" in region and "&lt;img" in region
    assert "<img" not in html
    (row,) = (r for r in ticket.split("**Handovers**")[1].splitlines() if "not yet" in r)
    assert not re.search(r"(?<!\\)[<>]", row)
    assert len(re.findall(r"(?<!\\)\|", row)) == len(HANDOVER_COLUMNS) + 1
    view.group.timeline.rounds[0].handovers.clear()
    assert "handovers" not in page([view.file], groups).lower()
    assert "Handovers" not in markdown([view.file], groups)


class Elements(HTMLParser):
    """The elements of a page, the text of its scripts, and what stands in its data."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script":
            self.scripts[-1] += data


def test_a_hostile_log_adds_no_element_to_the_page_and_stays_whole_in_its_data():
    cause = found(HOSTILE, who=[HOSTILE], quoted=[HOSTILE], decide=HOSTILE)
    asked = answer(HOSTILE, causes=[cause], candidates=[cause], seen=[busy(1, 10, HOSTILE)])
    seen = Elements()
    seen.feed(page([report()], [asked]))
    assert not {"img", "svg", "iframe", "object", "a"} & seen.seen
    data, program = seen.scripts
    assert program.startswith('"use strict"')
    (lane,) = json.loads(data)["lanes"]
    assert lane.startswith("</script><img src=x onerror=alert(1)>\"'\\u202e\\x00")


def test_the_first_cause_is_open_and_the_others_are_folded_with_their_numbers():
    three = [found(f"Cause {k}.") for k in (1, 2, 3)]
    html = page([report()], [answer(causes=three, seen=[busy(1, 10)])])
    assert html.count('<details class="further">') == 2 and html.count("Cause 1.") == 1
    assert html.count("Cause 2.") == html.count("Cause 3.") == 1
    assert re.findall(r'<b class="number">(\d\.)</b>', html) == ["1.", "2.", "3."]


def test_the_worst_groups_have_whole_tables_and_the_others_say_what_is_left_out(monkeypatch):
    monkeypatch.setattr(pages, "WHOLE", 1)
    monkeypatch.setattr(pages, "FEW_ROWS", 5)
    seen = [busy(3, 12), busy(3, 12)]
    for one in seen:
        one.group.timeline.rounds.extend(rounds(*range(12)))
    groups = [answer(f"g{k}", causes=[found()], seen=[one]) for k, one in enumerate(seen, 1)]
    first, second = page([report()], groups).split('id="group2"')
    assert "These are" not in first
    assert "These are the last 5 of 12 rebalances" in " ".join(second.split())
    lines = [found(quoted=["Q1", "Q2", "Q3"]), found(quoted=["Z1", "Z2", "Z3"])]
    told = as_plain(replay_view([], [answer(causes=lines)]))
    assert re.findall(r": ([QZ]\d)$", told, re.M) == ["Q1", "Q2", "Q3", "Z1"]
    assert "and 2 more lines" in told


def test_several_groups_are_listed_with_links_to_their_answers():
    html = page([report()], [answer("g1", causes=[found()]), answer("g2", "troubled")])
    assert '<a href="#group1">group g1</a>' in html and 'id="group2"' in html
    assert "<nav" not in page([report()], [answer()])


def test_the_policy_of_the_page_names_the_digest_of_its_script():
    html = page([report()], [answer(seen=[busy(1, 10)])])
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    (script,) = re.findall(r"(?s)<script>(.*?)</script>", html)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.split("; ") == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        f"script-src 'sha256-{digest}'",
    ]


@pytest.mark.parametrize("name", ["requests/live-zombie.log.gz", "replay/live-zombie.log"])
def test_a_picture_has_a_lane_for_each_member_and_all_inside_its_time(name: str):
    (group,) = replay_file(str(DATA / name)).groups
    told = picture([group], [], []).document()
    assert set(told["lanes"]) >= {id for id, m in group.timeline.members.items() if m.joined}
    everything = [*told["items"], *told["bands"], *told["marks"]]
    assert all(0 <= since <= until <= told["length"] for _, since, until, *_ in everything)
    kinds = {kind for _, _, _, kind, *_ in everything}
    assert {"member", "joined", "preparing", "stable"} <= kinds
    assert ({"owns", "joining", "syncing", "refused", "harm"} <= kinds) == ("requests" in name)


def test_lines_of_clients_make_lanes_and_what_they_own():
    def line(kind: str, at: int | None, partitions: str = "") -> Statement:
        fields = {"partitions": partitions} if partitions else {}
        time = None if at is None else BEGIN + at
        return Statement(kind=kind, line=1, text=kind, time=time, client="c", fields=fields)

    said = [
        line("assigned", 0, "t-0, t-1"),
        line("assigned", 3, "t-2"),
        line("poll_expired", 5),
        line("revoked", 9, "t-0, t-1"),
        line("left", 12),
        line("joined", None),
    ]
    # This one names nobody, and `c` is the only one that does.
    said.append(evolve(line("heartbeat", 6), client=""))
    told = picture([], said, [found(who=["c"])]).document()
    assert told["lanes"] == ["c"] and [0, 6, 6, "said", "heartbeat", 1] in told["items"]
    assert [item[1:5] for item in told["items"] if item[3] == "owns"] == [
        [0, 3, "owns", "owns t-0, t-1"],
        [3, 9, "owns", "owns t-0, t-1, t-2"],
        [9, 12, "owns", "owns t-2"],
    ]
    assert [0, 5, 5, "trouble", "poll_expired", 1] in told["items"]
    assert told["marks"] == [[1, 10_000, 60_000, "cause", "poll() was not called in time", 1]]


def test_a_cause_without_times_is_marked_where_its_line_stands():
    view = busy(2, 100)
    line = Statement(kind="died_together", line=2, text="2 members died", library=BROKER)
    cause = evolve(found("2 members died: cut off."), since=None, until=None, evidence=(line,))
    told = picture([view.group], [], [cause]).document()
    assert told["marks"] == [[1, 100, 100, "cause", "poll() was not called in time", 2]]
    shown = as_plain(replay_view([], [answer(causes=[cause])]))
    assert "           line 2\n" in shown and shown.count("2 members died") == 1


def test_members_that_a_cause_concerns_stand_first():
    view = busy(5, 100)
    told = picture([view.group], [], [found(who=["member-0003"])]).document()
    assert told["lanes"][:2] == ["member-0003", "member-0000"]
    begin = next(item for item in told["items"] if item[3] == "member" and item[0] == 0)
    assert begin[1] == 300
