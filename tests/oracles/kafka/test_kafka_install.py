"""Building the driver: once, whole or not at all, and one clear line where it cannot be done.

Maven is a script here; the real one builds what every other test runs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.versions import VERSIONS

GOOD = (
    'echo "$@" >> calls; cd "$PWD"; mkdir -p target built/jars; echo jar > target/driver.jar; echo'
    ' $PWD >> "$CALLS"'
)
# Ends when two processes have found that there is no driver, each of which leaves a file when it is
# about to take the lock.
SHARED = (
    'n=0; while [ "$(ls "$CALLS".waits-* | wc -l)" -lt 2 ] && [ $n -lt 1200 ]; do n=$((n + 1));'
    " sleep 0.1; done; " + GOOD
)
ASKS = """
import fcntl, os
from groupcheck.oracles.kafka import install
lock = fcntl.flock
def leaves_a_file_first(file, how):
    open(f"{os.environ['CALLS']}.waits-{os.getpid()}", "w").close()
    lock(file, how)
fcntl.flock = leaves_a_file_first
print(install.classpath("4.3.0", str))
"""
BAD = (
    "echo '[INFO] trying'; echo '[ERROR] Could not transfer artifact: unknown host'; echo '[ERROR]"
    " more'; exit 1"
)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty cache and a path on which there is nothing but what a test puts into
    bin.
    """
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
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
    assert f"there is no {missing}" in str(
        said.value
    ) and "install a JDK 17 or newer and Maven" in str(said.value)
    assert "\n" not in str(said.value)


def test_without_java_one_line_says_what_to_install(bench: Path):
    with pytest.raises(UserError, match=r"there is no java.*install a JDK 17 or newer"):
        install.java()


def test_the_java_of_java_home_is_preferred(bench: Path, monkeypatch: pytest.MonkeyPatch):
    tool(bench, "java")
    assert install.java() == str(bench / "bin" / "java")
    (bench / "jdk" / "bin").mkdir(parents=True)
    shutil.copy(bench / "bin" / "java", bench / "jdk" / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(bench / "jdk"))
    assert install.java() == str(bench / "jdk" / "bin" / "java")


def test_the_first_use_builds_and_says_so_and_the_second_needs_no_maven(bench: Path):
    tool(bench, "mvn", GOOD)
    tool(bench, "javac")
    said: list[str] = []
    first = install.classpath("4.3.0", said.append)
    (bench / "bin" / "mvn").unlink()
    assert install.classpath("4.3.0", said.append) == first
    assert len(said) == 1 and "Kafka 4.3.0" in said[0] and "first use only" in said[0]
    assert Path(first.split(":")[0]).read_text() == "jar\n"
    assert sorted(
        p.suffix for p in (bench / "cache" / "groupcheck" / "kafka").iterdir() if p.is_file()
    ) == [".lock"]


def test_a_build_that_fails_says_mavens_first_error_and_leaves_no_driver(bench: Path):
    tool(bench, "mvn", BAD)
    tool(bench, "javac")
    with pytest.raises(UserError, match="unknown host") as said:
        install.classpath("4.3.0", silent)
    log = Path(said.value.where)
    assert "more" in log.read_text() and not install.folder("4.3.0").exists()
    assert [p for p in log.parent.iterdir() if p.is_dir()] == []


def test_two_processes_that_need_the_driver_at_once_build_it_once(bench: Path):
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
    monkeypatch.setenv("XDG_CACHE_HOME", str(bench / "file"))
    with pytest.raises(UserError, match=r"cannot write to the cache.*XDG_CACHE_HOME"):
        install.classpath("4.3.0", silent)


def test_other_sources_and_other_versions_have_folders_of_their_own(bench: Path):
    folders = {install.folder(version) for version in VERSIONS}
    assert len(folders) == len(VERSIONS) == 4
    changed = bench / "driver"
    shutil.copytree(install.DRIVER.sources, changed)
    copied = attrs.evolve(install.DRIVER, sources=changed)
    assert install.folder("4.3.0", copied) in folders
    (changed / "src" / "groupcheck" / "kafka" / "Main.java").write_text("class Main {}")
    assert install.folder("4.3.0", copied) not in folders


def test_a_version_without_a_driver_is_refused(bench: Path):
    with pytest.raises(
        UserError, match=r"no driver for Kafka '2.8.0'.*choose one of 4.3.0, 4.2.0, 4.1.1, 4.0.0"
    ):
        install.classpath("2.8.0", silent)
