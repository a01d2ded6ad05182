"""Names that others chose (groups, members, topics, files) never steer the terminal of whoever
reads about them, and never reorder or break the lines, in whatever form groupcheck prints or writes
them.
"""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from pathlib import Path

import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.printable import as_json, printable
from groupcheck.oracles.show.pages import render

ROOT = Path(__file__).parent.parent.parent
LOG = ROOT / "tests" / "data" / "replay" / "kafka41-console-group-scale.log"
REQUESTS = ROOT / "traces" / "samples" / "zombie.requests.log.gz"
BIDIRECTIONAL = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
SEPARATORS = "\u2028\u2029\x85"
STEERING = "\x1b[31m\x9b\x7f\x07"
UNSEEN = "\u200b\u2060\ufeff\u00ad\U000e0041"
# What ends a line for Python's text files cannot be part of a name in a log.
IN_A_LOG = "ö" + BIDIRECTIONAL + "\u2028\u2029" + "\x1b[31m\x9b\x7f" + UNSEEN
HOSTILE = "ö" + BIDIRECTIONAL + SEPARATORS + STEERING + UNSEEN


def steering(text: str) -> set[str]:
    """The characters that would do something else than be seen."""
    return {c for c in text if c != "\n" and unicodedata.category(c)[0] in "CZ" and c not in "  "}


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command prints, on both streams."""
    cli.run([str(a) for a in arguments])
    told = capsys.readouterr()
    return told.out + told.err


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A broker's log in a file, with a group and members that have hostile names."""
    path = tmp_path / f"{IN_A_LOG.replace('/', '')}.log"
    text = LOG.read_text().replace("my-consumer-group", f"g{IN_A_LOG}")
    path.write_text(text.replace("console-consumer", f"m{IN_A_LOG}"))
    return path


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    """A broker's request log, whose JSON can say what no text file holds: half a character."""
    path, name = tmp_path / "requests.log", json.dumps(f"{HOSTILE}<b>$x^$\ud800")[1:-1]
    with gzip.open(REQUESTS, "rt") as log:
        path.write_text(re.sub(r'("(?:groupId|clientId)":"\w+)', lambda m: m[1] + name, log.read()))
    return path


@pytest.fixture
def question(tmp_path: Path) -> Path:
    """An assignment with hostile names of members and topics, and a partition given to nobody."""
    member, topic = f"m{HOSTILE}", f"t{HOSTILE}"
    asked = {
        "about": HOSTILE,
        "topics": {topic: 2},
        "members": {member: {"subscribes": [topic]}},
        "assignor": "range",
        "assignment": {member: {topic: [1]}},
    }
    path = tmp_path / "asked.json"
    path.write_text(json.dumps(asked))
    return path


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    name = "".join(f"\\U{ord(c):08x}" for c in HOSTILE)
    path.write_text(f'name: "{name}"\ngrid: [{{variant: classic, members: 1, name: "{name}"}}]\n')
    return path


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_log_with_hostile_names_is_replayed_in_plain_text(
    log: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
):
    told = said(capsys, "replay", log, *options)
    assert "\\u202e" in told and steering(told) == set()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_assignment_with_hostile_names_is_judged_in_plain_text(
    question: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
):
    told = said(capsys, "assign", question, *options)
    assert "\\u202e" in told and steering(told) == set()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_sweep_with_hostile_names_is_told_in_plain_text(
    sweep: Path, tmp_path: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
):
    told = said(capsys, "sweep", sweep, "--out", tmp_path / "out", *options)
    page = (tmp_path / "out" / "sweep.html").read_text()
    assert "\\u202e" in told and steering(told) == set()
    assert "\\u202e" in page and steering(page) == set()


def test_a_folder_with_a_hostile_name_is_told_in_plain_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / f"a{IN_A_LOG}\n"
    told = said(capsys, "generate", "--out", out, "--size", "1K", "--groups", "1", "--runs", "1")
    assert "\\u202e" in told and steering(told) == set() and told.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--json",
        "--html FILE",
        "--markdown FILE",
        "--pytest FILE",
        "--what-if static --replications 2",
        "--what-if static --replications 2 --json",
        "--what-if static --replications 2 --html FILE",
    ],
)
def test_half_characters_and_ends_of_lines_in_requests_are_told_in_plain_text(
    requests: Path, options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    told = said(capsys, "replay", requests, *options.replace("FILE", str(out)).split())
    told += out.read_text("utf-8") if out.exists() else ""
    assert "\\ud800" in told and "\\u202e" in told and "bug in groupcheck" not in told
    assert out.exists() == ("FILE" in options)
    assert steering(told) == set()


def test_no_page_shows_a_hostile_name_as_it_is(
    log: Path, question: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for command in (("replay", log), ("assign", question)):
        said(capsys, *command, "--html", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert "\\u202e" in page and steering(page) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", HOSTILE),
        ("check", "classic", "--set", f"{HOSTILE}=1"),
        ("check", "classic", "--mutation", HOSTILE),
        ("explain", "classic", "--key", HOSTILE),
        ("bugs", HOSTILE),
        ("list", HOSTILE),
        ("conform", "--kafka", HOSTILE),
        ("record", "--scenario", HOSTILE),
        ("assign", "--against", HOSTILE),
        ("replay", HOSTILE),
        ("generate", "--dialect", HOSTILE),
        (HOSTILE,),
    ],
)
def test_an_error_about_a_hostile_argument_is_one_plain_line(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
):
    told = said(capsys, *arguments)
    assert told.startswith("groupcheck: error: ") and told.count("\n") == 1
    assert steering(told) == set()


def test_json_is_printable_ascii_and_still_says_the_same():
    told = as_json({HOSTILE: [HOSTILE, 1.5, None]}, indent=2)
    assert told.isascii() and steering(told) == set()
    assert json.loads(told) == {HOSTILE: [HOSTILE, 1.5, None]}


def test_whatever_a_template_shows_is_made_printable():
    assert steering(printable(HOSTILE)) == set()
    page = render("assign.html", verdict=HOSTILE, title=HOSTILE, facts=[], core=(), sections=[])
    assert page.count("\\u202e") >= 3 and steering(page) == set()


def test_json_that_people_read_is_written_in_one_place():
    """Only `reading.py`, of assignments, lets other letters through; it makes them printable."""
    loose = [
        path.name
        for path in (ROOT / "oracles").rglob("*.py")
        if "ensure_ascii=False" in path.read_text()
    ]
    assert loose == ["reading.py"]
