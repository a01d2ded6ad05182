"""Building the driver: once, whole or not at all, and one clear line where it cannot be done.

Maven is a script here; the real one builds what every other test runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.install import Program
from groupcheck.oracles.kafka.pins import PINS, pinned
from groupcheck.oracles.kafka.versions import VERSIONS
from groupcheck.oracles.record.broker import RECORDER

Harm = Callable[[Path], object]

GOOD = (
    "[ -d .mvn ] && mkdir -p target built/jars && echo jar > target/driver.jar"
    ' && echo fetched > built/jars/a.jar && echo also > built/jars/b.jar && echo "$@" >> "$CALLS"'
)
# Ends when two processes have found that there is no driver, each of which leaves a file when it is
# about to take the lock.
SHARED = (
    'n=0; while [ "$(ls "$CALLS".waits-* | wc -l)" -lt 2 ] && [ $n -lt 1200 ]; do n=$((n + 1));'
    " sleep 0.1; done; " + GOOD
)
ASKS = """
import attrs, fcntl, os, pathlib
from groupcheck.oracles.kafka import install
lock = fcntl.flock
def leaves_a_file_first(file, how):
    open(f"{os.environ['CALLS']}.waits-{os.getpid()}", "w").close()
    lock(file, how)
fcntl.flock = leaves_a_file_first
program = attrs.evolve(install.DRIVER, pins=pathlib.Path(os.environ["PINS"]))
print(install.classpath("4.3.0", str, program))
"""
BAD = (
    "echo '[INFO] trying'; echo '\x1b[0m[ERROR] Could not transfer artifact: unknown host';"
    " echo '[ERROR] more'; exit 1"
)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The driver, with pins for what the Maven of these tests fetches."""
    pins = {
        "digests": {"a.jar": digest("fetched\n"), "b.jar": digest("also\n")},
        "jars": {"driver.jar": {"4.3.0": ["b.jar", "a.jar"]}},
    }
    (tmp_path / "pins.json").write_text(json.dumps(pins))
    monkeypatch.setenv("PINS", str(tmp_path / "pins.json"))
    return attrs.evolve(install.DRIVER, pins=tmp_path / "pins.json")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty cache and a path on which there is nothing but what a test puts into
    bin.
    """
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def tool(bench: Path, name: str, script: str = "true") -> None:
    shell = shutil.which("sh", path="/bin:/usr/bin")
    (bench / "bin" / name).write_text(f"#!{shell}\nPATH=/bin:/usr/bin\n{script}\n")
    (bench / "bin" / name).chmod(0o755)


def silent(message: str) -> None:
    pass


@pytest.mark.parametrize(("there", "missing"), [((), "mvn"), (("mvn",), "javac")])
def test_without_maven_or_a_jdk_one_line_says_what_to_install(
    bench: Path, there: tuple[str, ...], missing: str
):
    for name in there:
        tool(bench, name)
    with pytest.raises(UserError) as said:
        install.classpath("4.3.0", silent)
    assert f"{missing} is not installed" in str(
        said.value
    ) and "install a JDK 17 or newer and Maven" in str(said.value)
    assert "\n" not in str(said.value)


def test_without_java_one_line_says_what_to_install(bench: Path):
    with pytest.raises(UserError, match=r"java is not installed.*install a JDK 17 or newer"):
        install.java()


def test_the_java_of_java_home_is_preferred(bench: Path, monkeypatch: pytest.MonkeyPatch):
    tool(bench, "java")
    assert install.java() == str(bench / "bin" / "java")
    (bench / "jdk" / "bin").mkdir(parents=True)
    shutil.copy(bench / "bin" / "java", bench / "jdk" / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(bench / "jdk"))
    assert install.java() == str(bench / "jdk" / "bin" / "java")


@pytest.mark.parametrize(
    ("maven", "why"), [("true", "No such file .*driver.jar"), (None, "Exec format error.*mvn")]
)
def test_a_maven_that_builds_nothing_is_told_of_and_leaves_no_folder(
    bench: Path, program: Program, maven: str | None, why: str
):
    tool(bench, "mvn", maven or "")
    tool(bench, "javac")
    if maven is None:
        (bench / "bin" / "mvn").write_bytes(b"\x7fELF")
    with pytest.raises(UserError, match=f"the driver of .* cannot be built: .*{why}"):
        install.classpath("4.3.0", silent, program)
    home = install.folder("4.3.0", program)
    assert [path for path in home.parent.iterdir() if path.is_dir()] == []


def test_a_file_where_the_folder_belongs_is_told_of_before_anything_is_built(
    bench: Path, program: Program
):
    home = install.folder("4.3.0", program)
    home.parent.mkdir(mode=0o700)
    home.touch()
    with pytest.raises(UserError, match=r"built\.sha256 cannot be read: Not a directory"):
        install.classpath("4.3.0", silent, program)


def test_the_first_use_builds_and_says_so_and_the_second_needs_no_maven(
    bench: Path, program: Program
):
    tool(bench, "mvn", GOOD)
    tool(bench, "javac")
    said: list[str] = []
    first = install.classpath("4.3.0", said.append, program)
    (bench / "bin" / "mvn").unlink()
    assert install.classpath("4.3.0", said.append, program) == first
    assert len(said) == 1 and "Kafka 4.3.0" in said[0] and "first use only" in said[0]
    home = install.folder("4.3.0", program)
    assert first == f"{home}/driver.jar:{home}/jars/b.jar:{home}/jars/a.jar"
    assert sorted(p.suffix for p in home.parent.iterdir() if p.is_file()) == [".lock"]
    assert "--strict-checksums" in (bench / "calls").read_text()


def test_whatever_the_umask_nobody_else_can_write_to_what_was_built(bench: Path, program: Program):
    tool(bench, "mvn", GOOD)
    tool(bench, "javac")
    before = os.umask(0)
    try:
        install.classpath("4.3.0", silent, program)
    finally:
        os.umask(before)
    for path in install.folder("4.3.0", program).rglob("*"):
        assert path.stat().st_mode & 0o022 == 0


def test_a_download_that_is_not_the_pinned_one_never_reaches_the_cache(
    bench: Path, program: Program
):
    tool(bench, "mvn", GOOD.replace("echo also", "echo other"))
    tool(bench, "javac")
    with pytest.raises(UserError, match=r"b\.jar is not the file that is pinned.*Maven fetched"):
        install.classpath("4.3.0", silent, program)
    assert not install.folder("4.3.0", program).exists()


def flipped(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda home: flipped(home / "jars" / "a.jar"), "a.jar is not the file that is pinned"),
        (lambda home: flipped(home / "driver.jar"), "driver.jar is not the file that was built"),
        (lambda home: (home / "jars" / "a.jar").unlink(), "a.jar is missing"),
        (lambda home: (home / "driver.jar").unlink(), "driver.jar cannot be read"),
        (lambda home: (home / "built.sha256").unlink(), "built.sha256 cannot be read"),
        (lambda home: shutil.copy(home / "driver.jar", home / "jars"), "driver.jar is not pinned"),
        (lambda home: (home / "jars" / "a.jar").chmod(0o646), "other users can write to"),
        (lambda home: home.parent.chmod(0o777), "other users can write to"),
    ],
)
def test_java_is_not_started_with_a_jar_that_was_changed_added_or_left_open(
    bench: Path, program: Program, monkeypatch: pytest.MonkeyPatch, harm: Harm, why: str
):
    tool(bench, "mvn", GOOD)
    tool(bench, "javac")
    tool(bench, "java", f"touch {bench / 'started'}")
    install.classpath("4.3.0", silent, program)
    classpath = install.classpath
    monkeypatch.setattr(install, "classpath", lambda version, say: classpath(version, say, program))
    harm(install.folder("4.3.0", program))
    with Driver("4.3.0", say=silent) as driver, pytest.raises(UserError, match=why):
        driver.run([])
    assert not (bench / "started").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["conform"],
        ["record", "--out", "out", "--", sys.executable],
        ["assign", "--against", "apache"],
    ],
)
def test_jars_that_were_planted_in_a_cache_for_everybody_are_not_run(
    bench: Path, command: list[str]
):
    tool(bench, "java", f"touch {bench / 'started'}")
    for planted in (install.DRIVER, RECORDER):
        home = install.folder("4.3.0", planted)
        (home / "jars").mkdir(parents=True)
        (home / planted.jar).write_text("planted")
    (bench / "cache").chmod(0o1777)
    ended = subprocess.run(
        [sys.executable, "-m", "groupcheck", *command], cwd=bench, capture_output=True, text=True
    )
    assert ended.returncode == 2 and ended.stderr.count("\n") == 1
    assert f"other users can write to {bench / 'cache'}" in ended.stderr
    assert "set GROUPCHECK_CACHE_DIR to a folder of yours" in ended.stderr
    assert not (bench / "started").exists()


def test_every_version_of_both_programs_has_pins():
    for jar in (install.DRIVER.jar, RECORDER.jar):
        for version in VERSIONS:
            wanted = pinned(jar, version)
            assert f"kafka-clients-{version}.jar" in wanted and len(wanted) > 20
            assert all(re.fullmatch("[0-9a-f]{64}", one) for one in wanted.values())
    assert json.loads(PINS.read_text()).keys() == {"digests", "jars"}


def test_a_build_that_fails_says_mavens_first_error_and_leaves_no_driver(bench: Path):
    tool(bench, "mvn", BAD)
    tool(bench, "javac")
    with pytest.raises(UserError, match="unknown host") as said:
        install.classpath("4.3.0", silent)
    log = Path(said.value.where)
    assert "more" in log.read_text() and not install.folder("4.3.0").exists()
    assert [p for p in log.parent.iterdir() if p.is_dir()] == []


def test_two_processes_that_need_the_driver_at_once_build_it_once(bench: Path, program: Program):
    tool(bench, "mvn", SHARED)
    tool(bench, "javac")
    both = [
        subprocess.Popen([sys.executable, "-c", ASKS], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    first, second = (process.communicate(timeout=300)[0] for process in both)
    assert first == second != "" and len(list(bench.glob("calls.waits-*"))) == 2
    assert len((bench / "calls").read_text().splitlines()) == 1


def test_a_cache_that_cannot_be_written_is_named(bench: Path, monkeypatch: pytest.MonkeyPatch):
    tool(bench, "mvn", GOOD)
    tool(bench, "javac")
    (bench / "file").write_text("")
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(bench / "file"))
    with pytest.raises(UserError, match=r"cannot write to .*/file.*set GROUPCHECK_CACHE_DIR"):
        install.classpath("4.3.0", silent)


def test_other_sources_and_other_versions_have_folders_of_their_own(bench: Path):
    folders = {install.folder(version) for version in VERSIONS}
    assert len(folders) == len(VERSIONS) == 6
    changed = bench / "driver"
    shutil.copytree(install.DRIVER.sources, changed)
    copied = attrs.evolve(install.DRIVER, sources=changed)
    assert install.folder("4.3.0", copied) in folders
    (changed / "src" / "groupcheck" / "kafka" / "Main.java").write_text("class Main {}")
    assert install.folder("4.3.0", copied) not in folders


def test_a_version_without_a_driver_is_refused(bench: Path):
    known = ", ".join(VERSIONS)
    with pytest.raises(UserError, match=rf"no driver for Kafka '2.8.0'.*choose one of {known}"):
        install.classpath("2.8.0", silent)


@pytest.mark.parametrize(
    ("version", "moved"), [("4.4.0", True), ("4.3.1", False), ("4.0.0", False)]
)
def test_each_version_is_compiled_with_the_sources_of_its_time(
    tmp_path: Path, version: str, moved: bool
):
    """LogContext is an internal class from 4.4.0 on."""
    install.DRIVER.sources_for(version, tmp_path)
    shim = (tmp_path / "src" / "groupcheck" / "kafka" / "Shim.java").read_text()
    assert ("utils.internals.LogContext" in shim) == moved
    RECORDER.sources_for(version, tmp_path / "recorder")  # the same for every version
    assert not (tmp_path / "recorder" / "shims").exists()
