"""`conform --jars`: which jars are taken, which release they are compared with, which source of the
driver compiles, and one line where it cannot be done.

javac is a script here, but in the last test, which compiles and runs a build with a change in it.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs
import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka import own_build as own_build_module
from groupcheck.oracles.kafka.install import DRIVER
from groupcheck.oracles.kafka.own_build import (
    CONSUMER,
    INFO,
    LOGGERS,
    PROJECTS,
    nearest,
    own_build,
    releases_of,
    served,
)
from groupcheck.oracles.kafka.versions import VERSIONS

OF_4_4, OF_4_0 = DRIVER.shims
INNER = "org/apache/kafka/Inner.class"
ERRORS = """src/groupcheck/kafka/Shim.java:4: error: cannot find symbol
import org.apache.kafka.common.utils.LogContext;
                                    ^
  symbol:   class LogContext
  location: package org.apache.kafka.common.utils
src/groupcheck/kafka/Broker.java:9: error: incompatible types
1 error
"""


def jar(path: Path, files: Mapping[str, str] | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as opened:
        for name, text in (files or {INNER: ""}).items():
            opened.writestr(name, text)
    return path


def release(folder: Path, version: str = "4.5.0-SNAPSHOT", without: Iterable[str] = ()) -> Path:
    """A folder with the jars that the driver needs."""
    info = f"commitId=1234567890abcdef\nversion={version}\n"
    for name in PROJECTS.keys() - {*without}:
        of_clients = {INFO: info, CONSUMER: "", INNER: ""} if name == "kafka-clients" else None
        jar(folder / f"{name}-{version}.jar", of_clients)
    return folder


@pytest.fixture
def javac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A javac for which every source compiles, but those named in a file; and a driver of the
    release, as if it were built.
    """
    home = tmp_path / "cache" / "4.4.0-abc"
    home.mkdir(parents=True)
    path = [home / "driver.jar", home / "kafka-clients-4.4.0.jar", home / "jackson-databind.jar"]
    monkeypatch.setattr(install, "classpath", lambda *_: os.pathsep.join(map(str, path)))
    script = tmp_path / "javac"
    errors = tmp_path / "errors"
    errors.write_text(ERRORS)
    shell = shutil.which("sh")
    script.write_text(
        f'#!{shell}\necho "$@" > {tmp_path}/told\n'
        f'case "$PWD" in {{fails}}) cat {errors} >&2; exit 1;; esac\n'
    )
    script.chmod(0o755)
    monkeypatch.setattr(install, "tools", lambda _: ("mvn", str(script)))
    return script


def fails(javac: Path, pattern: str) -> None:
    javac.write_text(javac.read_text().replace("{fails}", pattern))


def refused(folder: Path, **options: str) -> str:
    with pytest.raises(UserError) as said, own_build(folder, say=lambda _: None, **options):
        pass
    assert "\n" not in str(said.value)
    return str(said.value)


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("4.5.0-SNAPSHOT", "4.4.0"),
        ("4.4.0-SNAPSHOT", "4.4.0"),
        ("10.0", "4.4.0"),
        ("4.3.2-fork+1", "4.3.1"),
        ("4.3", "4.3.0"),
        ("4.1.0", "4.0.0"),
        ("4.0.1", "4.0.0"),
    ],
)
def test_the_nearest_release_is_the_newest_that_is_not_newer(version: str, release: str):
    assert nearest(version, VERSIONS) == release


def test_each_release_is_served_by_one_source_of_the_driver():
    every = [one for shim in DRIVER.shims for one in releases_of(shim)]
    assert every == list(VERSIONS)
    assert served(OF_4_4) == "Kafka 4.4.0 and later" and served(OF_4_0) == "Kafka 4.0.0 to 4.3.1"
    assert nearest("4.4.0-SNAPSHOT", releases_of(OF_4_0)) == "4.3.1"


def test_a_source_may_stand_ready_for_a_release_that_is_to_come(
    tmp_path: Path, javac: Path, monkeypatch: pytest.MonkeyPatch
):
    """So does who makes the driver fit Kafka's trunk (docs/howto/trunk.md)."""
    fails(javac, "none")
    sources = shutil.copytree(DRIVER.sources, tmp_path / "driver")
    shutil.copytree(sources / "shims" / OF_4_4, sources / "shims" / "4.10.0")
    monkeypatch.setattr(own_build_module, "DRIVER", attrs.evolve(DRIVER, sources=sources))
    with own_build(release(tmp_path / "libs", "4.10.0-SNAPSHOT"), say=lambda _: None) as build:
        assert (build.shim, build.release) == ("4.10.0", "4.4.0")
        assert "the driver's source for Kafka 4.10.0 and later compiles" in build.summary()
    assert (served(OF_4_4), releases_of("4.10.0")) == ("Kafka 4.4.0 to 4.4.0", ())


@pytest.mark.parametrize(
    ("pattern", "shim", "compared"), [("none", OF_4_4, "4.4.0"), (f"*{OF_4_4}", OF_4_0, "4.3.1")]
)
def test_the_newest_source_that_compiles_is_chosen_and_with_it_the_nearest_release(
    tmp_path: Path, javac: Path, pattern: str, shim: str, compared: str
):
    fails(javac, pattern)
    folder = release(tmp_path / "kafka" / "libs")
    jar(folder / "kafka-clients-4.5.0-SNAPSHOT-sources.jar")
    jar(folder / "log4j-slf4j-impl-2.25.1.jar", {LOGGERS[0]: ""})
    copy = jar(folder / "kafka-all.jar")  # holds what others hold, too
    said: list[str] = []
    with own_build(tmp_path / "kafka", say=said.append) as build:
        assert (build.shim, build.release) == (shim, compared)
        assert build.shown().commit == "1234567890abcdef"
        classes, *path = map(Path, build.classpath.split(os.pathsep))
        assert {one.name for one in path} == {*build.jars, "jackson-databind.jar"}
        needed = {f"{name}-4.5.0-SNAPSHOT.jar" for name in PROJECTS}
        assert build.jars.keys() == {*needed, copy.name}
        assert (classes.parent / "src/groupcheck/kafka/Shim.java").read_text() == (
            DRIVER.shims[shim] / "groupcheck/kafka/Shim.java"
        ).read_text()
        assert path.index(folder / copy.name) == len(PROJECTS)
    assert not classes.parent.exists()
    assert len(said) == 1 and "whose code it runs with your rights" in said[0]


def test_a_release_may_be_chosen(tmp_path: Path, javac: Path):
    fails(javac, "none")
    folder = release(tmp_path / "libs", "8.1.0-fork")
    with own_build(folder, "4.1.1", lambda _: None) as build:
        assert (build.version, build.release, build.title) == (
            "8.1.0-fork",
            "4.1.1",
            "build 8.1.0-fork",
        )
    assert "no driver for Kafka '3.9.0'" in refused(folder, release="3.9.0")


def test_the_jars_of_a_checkout_stand_in_its_projects(tmp_path: Path, javac: Path):
    fails(javac, "none")
    for path in release(tmp_path / "flat").iterdir():
        project = PROJECTS[path.name.removesuffix("-4.5.0-SNAPSHOT.jar")].strip(":")
        libs = tmp_path / "kafka" / project.replace(":", "/") / "build" / "libs"
        libs.mkdir(parents=True)
        path.rename(libs / path.name)
    beside = tmp_path / "kafka" / "core" / "build" / "dependant-libs-2.13.18"
    jar(beside / "caffeine-3.2.0.jar", {"com/Cache.class": ""})
    jar(beside / "kafka-raft-4.5.0-SNAPSHOT.jar")
    with own_build(tmp_path / "kafka", say=lambda _: None) as build:
        assert len(build.jars) == len(PROJECTS)
        assert build.classpath.count("caffeine") == build.classpath.count("kafka-raft") == 1


def test_what_is_not_a_folder_with_the_jars_of_a_kafka_is_refused_in_one_line(tmp_path: Path):
    assert "nowhere does not exist" in refused(tmp_path / "nowhere")
    file = jar(tmp_path / "one.jar")
    assert "one.jar is a file, not a folder" in refused(file)
    (tmp_path / "empty").mkdir()
    assert "there are no jars in" in refused(tmp_path / "empty")
    assert "`./gradlew jar` has run" in refused(tmp_path / "empty")
    other = jar(tmp_path / "other" / "guava-33.jar").parent
    assert "none of the 1 jars" in refused(other) and "kafka-clients-VERSION.jar" in refused(other)
    (other / "kafka-clients-4.4.0.jar").write_text("hello")
    assert "kafka-clients-4.4.0.jar: it is not a jar" in refused(other)
    colon = release(tmp_path / "a:b")
    assert "':' in a class path" in refused(colon)
    old = release(tmp_path / "old", "3.9.1")
    assert "jars of Kafka 3.9.1, and the driver knows 4.0.0 and later" in refused(old)
    nameless = release(tmp_path / "nameless", "trunk")
    assert f"its {INFO} names no version of Kafka" in refused(nameless)


def test_jars_of_two_builds_in_one_folder_are_refused(tmp_path: Path):
    folder = release(tmp_path / "libs")
    jar(folder / "kafka-raft-4.4.0.jar")
    assert "there are two jars of kafka-raft" in refused(folder)
    (folder / "kafka-raft-4.5.0-SNAPSHOT.jar").unlink()
    assert "several versions" in refused(folder) and "kafka-raft-4.4.0.jar" in refused(folder)


def test_where_no_source_compiles_the_first_errors_of_each_are_told(tmp_path: Path, javac: Path):
    fails(javac, "*")
    said = refused(release(tmp_path / "libs"))
    assert "no source of the driver compiles against these jars of Kafka 4.5.0-SNAPSHOT" in said
    errors = (
        "Shim.java:4: error: cannot find symbol (class LogContext), Broker.java:9: error:"
        " incompatible types"
    )
    assert f"that for Kafka 4.4.0 and later: {errors}; that for Kafka 4.0.0 to 4.3.1: " in said
    assert said.count(errors) == 2 and "docs/howto/trunk.md" in said
    (log,) = (tmp_path / "cache").glob("javac-*.log")
    assert said.startswith(str(log)) and log.read_text().count("symbol:") == 2


def test_where_no_source_compiles_and_jars_are_missing_these_are_the_reason(
    tmp_path: Path, javac: Path
):
    fails(javac, "*")
    folder = release(tmp_path / "libs", without=["kafka-storage-api", "kafka-raft"])
    said = refused(folder)
    assert "4.5.0-SNAPSHOT are missing: kafka-storage-api-*.jar, kafka-raft-*.jar" in said
    assert "(./gradlew :storage:storage-api:jar :raft:jar)" in said


@pytest.mark.parametrize(
    "others", ["--live", "--whole", "--diff 4.0.0 4.3.0", "--side leader", "connect"]
)
def test_a_build_is_compared_row_by_row_with_a_release_alone(
    others: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.run(["conform", "--jars", "nowhere", *others.split()]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "--jars: compares a build with a release" in said


def test_a_build_with_a_change_differs_from_its_nearest_release_in_that_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], misfits
):
    """The build names the timer of a round's SyncGroups otherwise; the rest is 4.3.0's."""
    jars = [Path(one) for one in install.classpath("4.3.0").split(os.pathsep)]
    (tmp_path / "libs").mkdir()
    for path in jars:
        if path.name.startswith("kafka-"):
            (tmp_path / "libs" / path.name).symlink_to(path)
    coordinator = tmp_path / "libs" / "kafka-group-coordinator-4.3.0.jar"
    with zipfile.ZipFile(coordinator) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    manager = "org/apache/kafka/coordinator/group/GroupMetadataManager.class"
    key = b"\x00\x06sync-\x01"  # a constant of six bytes
    assert files[manager].count(key) == 1
    files[manager] = files[manager].replace(key, b"\x00\x06sinc-\x01")
    coordinator.unlink()
    with zipfile.ZipFile(coordinator, "w") as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    small = ["--members", "1", "--generations", "1", "--max-rows", "60"]
    code = cli.run(["conform", *small, "--jars", str(tmp_path), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (code, document["versions"]) == (1, ["4.3.0", "build 4.3.0"])
    assert document["build"]["driver"] == OF_4_0 and misfits(document) == []
    assert [change["differs"] for change in document["changes"]] == [["memory: timers"]]
    (change,) = document["changes"]
    due = [(one["what"], one["old"], one["new"]) for one in change["values"]]
    assert ("memory, timers, sinc-g, key", "nothing", "sinc-g") in due
