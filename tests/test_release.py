"""`make release`: the README that a registry shows, the notes of a version, and the files of a
release that people use elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from release import (
    LINK,
    ReleaseError,
    absolute,
    main,
    notes,
    outside_code,
    with_addresses,
    workflows,
)

import groupcheck

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
HERE = "https://example.org/o/r"


def links(text: str) -> list[str]:
    """The targets of links and pictures outside code."""
    found: list[str] = []
    outside_code(text, lambda part: found.extend(x["target"] for x in LINK.finditer(part)) or part)
    return found


def test_every_link_of_the_readme_becomes_an_address_at_the_tag():
    before, after = links(README), links(absolute(README, HERE, "v1"))
    assert len(after) == len(before) > 30
    assert [x for x in after if not x.startswith((f"{HERE}/blob/v1/", f"{HERE}/raw/v1/"))] == []
    assert {x for x in after if "/raw/" in x} == {f"{HERE}/raw/v1/docs/counterexample.svg"}
    # what LINK does not see would stay a dead link
    assert len(before) == len(re.findall(r"\]\([^)]+\)", README))


def test_without_a_repository_no_link_is_left_and_every_word_is():
    plain = absolute(README, "", "v1")
    assert links(plain) == []
    assert "the tutorial reads this log line by line" in " ".join(plain.split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[a](b.md)", f"[a]({HERE}/blob/v1/b.md)"),
        ("[a\nb](b.md#c)", f"[a\nb]({HERE}/blob/v1/b.md#c)"),
        ("[here](#words)", f"[here]({HERE}/blob/v1/README.md#words)"),
        ("![a [b]](b.md)", f"![a [b]]({HERE}/raw/v1/b.md)"),
        ("[a](https://b.org/c.md), [m](mailto:a@b)", "[a](https://b.org/c.md), [m](mailto:a@b)"),
        ("`[a](b.md)`", "`[a](b.md)`"),
        ("```\n[a](b.md)\n```\n[a](b.md)", f"```\n[a](b.md)\n```\n[a]({HERE}/blob/v1/b.md)"),
    ],
)
def test_links_into_the_repository_alone_change(text: str, shown: str, tmp_path: Path):
    (tmp_path / "b.md").touch()
    assert absolute(text, HERE, "v1", tmp_path) == shown


def test_a_link_to_nothing_is_no_release(tmp_path: Path):
    with pytest.raises(ReleaseError, match=r"gone\.md is not there"):
        absolute("[a](gone.md)", HERE, "v1", tmp_path)


def test_one_setting_makes_all_addresses_of_the_project():
    project = tomllib.loads(with_addresses(PROJECT, HERE, "v1"))
    assert project["project"].pop("urls") == {
        "Homepage": HERE,
        "Documentation": f"{HERE}/tree/v1/docs",
        "Changelog": f"{HERE}/blob/v1/CHANGELOG.md",
        "Issues": f"{HERE}/issues",
    }
    assert project == tomllib.loads(PROJECT)
    assert with_addresses(PROJECT, "", "v1") == PROJECT


CHANGES = "# Changes\n## Unreleased (1.2.0)\n### A\n- b\n\n## 1.1.0 - 2030-01-31\n\n## 1.0.0\n- c\n"


@pytest.mark.parametrize(("version", "section"), [("1.2.0", "### A\n- b\n"), ("1.0.0", "- c\n")])
def test_the_notes_are_the_section_of_the_version(version: str, section: str):
    assert notes(CHANGES, version) == section


@pytest.mark.parametrize(("version", "why"), [("1.1.0", "is empty"), ("1.2", "has no section")])
def test_a_version_without_notes_is_no_release(version: str, why: str):
    with pytest.raises(ReleaseError, match=why):
        notes(CHANGES, version)


def test_this_version_has_notes(capsys: pytest.CaptureFixture[str]):
    assert main(["notes", groupcheck.__version__]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 10


def test_the_checksums_are_those_that_the_system_reads(tmp_path: Path):
    (tmp_path / "a.whl").write_bytes(b"abc")
    for _ in "twice":  # the file of checksums is not one of them
        assert main(["checksums", str(tmp_path)]) == 0
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (tmp_path / "SHA256SUMS").read_text() == f"{digest}  a.whl\n"


def test_the_action_keeps_the_search_of_each_run_and_takes_no_input_for_code():
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    steps = action["runs"]["steps"]
    (kept,) = (step["with"] for step in steps if "actions/cache@" in step.get("uses", ""))
    assert "outputs.version" in kept["key"] and "github.run_id" in kept["key"]
    again = kept["restore-keys"].split("\n")[0]
    assert kept["key"].startswith(again) and "run_id" not in again and again.endswith("-")
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []


def test_the_workflows_of_the_documents_give_the_action_inputs_that_it_has():
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    jobs = [yaml.safe_load(text)["jobs"] for text in workflows().values()]
    steps = [step for named in jobs for job in named.values() for step in job["steps"]]
    given = [step["with"].keys() for step in steps if step.get("uses") == "./"]
    assert len(given) == 1 and given[0] <= action["inputs"].keys()


def test_an_address_that_is_none_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["prepare", str(ROOT), "git@example.org:o/r", "1.0"]) == 2
    assert capsys.readouterr().err.startswith("error: REPOSITORY is 'git@example.org:o/r', not")
