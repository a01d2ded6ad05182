"""The site without building it: the reference has an entry for all that the code has, each page is
in the navigation, and each link between pages leads to one.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import assemble
import attrs
import pytest
import yaml

import groupcheck
from groupcheck.model.protocol.consumer.java_releases import JavaRelease, java_release
from groupcheck.model.protocol.consumer.releases import RELEASES, Release
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.command_line.documents import documents
from groupcheck.oracles.command_line.listing import listing
from groupcheck.traces.causes.knowledge import read_causes
from groupcheck.traces.findings.anomaly_kinds import KINDS

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "docs"
    assemble.assemble(folder)
    return folder


def text(site: Path, name: str) -> str:
    return (site / "reference" / f"{name}.md").read_text("utf-8")


def headings(page: str) -> set[str]:
    return set(re.findall(r"^###? (\S+)$", page, re.M))


def entry(page: str, name: str) -> str:
    """The part of a page below one heading of the second level."""
    return re.split(r"^## ", page.split(f"\n## {name}\n")[1], flags=re.M)[0]


@pytest.mark.parametrize("command", sorted(cli.every_command()))
def test_each_command_has_its_entry_with_every_option_and_an_example(site, command):
    told = entry(text(site, "commands"), command)
    options = [
        name for p in cli.every_command()[command].params for name in p.opts if name[0] == "-"
    ]
    assert [name for name in options if f"`{name}" not in told] == []
    assert f"groupcheck {command} " in told.replace("\n", " ").split("meaning")[1]


@pytest.mark.parametrize("kind", ["invariants", "goals", "rules"])
def test_each_promise_and_rule_has_its_entry(site, kind):
    names = {row["name"] for row in listing(kind)}
    assert len(names) > 5
    assert names - headings(text(site, kind)) == set()


def test_each_mutation_has_its_entry_and_names_the_invariant_that_falls(site):
    page = text(site, "mutations")
    for row in listing("mutations"):
        assert f"(invariants.md#{row['invariant']})" in entry(page, row["id"])


@pytest.mark.parametrize(
    ("page", "kind"),
    [("faults", "faults"), ("scope", "assignors"), ("scope", "scope"), ("formats", "formats")],
)
def test_each_row_of_a_list_is_in_its_table(site, page, kind):
    assert [
        row["name"] for row in listing(kind) if f"| `{row['name']}` |" not in text(site, page)
    ] == []


def test_each_cause_and_statement_has_its_entry(site):
    page = text(site, "causes")
    assert {row["name"] for row in listing("causes")} - headings(page) == set()
    assert {row["name"] for row in listing("statements")} == headings(text(site, "statements"))
    told = entry(page, "poll_timeout")
    assert "max.poll.interval.ms" in told and "sending LeaveGroup request" in told
    assert "Not to be confused with [client_bug](#client_bug)" in told
    assert not re.search(r"{%|{{ (?!who)", page.split("## Your own causes")[0])


def test_the_example_of_own_causes_can_be_read(site):
    example = text(site, "causes").split("```toml\n")[1].split("```")[0]
    (cause,) = read_causes(example, "example")
    assert cause.kind == "nightly_export"


def test_each_public_name_has_its_entry(site):
    public = {name for name in groupcheck.__all__ if not name.startswith("_")}
    assert len(public) > 5
    assert public - headings(text(site, "python")) == set()


def test_each_document_is_listed_with_its_fields(site):
    page = text(site, "documents")
    assert [one.title for one in documents() if f"\n## {one.title}\n" not in page] == []
    for field in ("violations[].path[].changes[].slot", "groups[].rebalances[].cause"):
        assert f"| `{field}` |" in page
    assert "| `replay` |" not in page and "| `[].replayed` |" in page


def kinds_in_the_code() -> set[str]:
    """Every text that is given as the kind of an anomaly, or chosen for it."""
    given: list[ast.AST] = []
    for path in sorted((ROOT / "traces").rglob("*.py")):
        source = path.read_text("utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and node.args:
                called = ast.unparse(node.func).rpartition(".")[2]
                given += [node.args[0]] if called in ("Anomaly", "note", "assume") else []
            elif isinstance(node, ast.Assign) and "Anomaly(" in source:
                given += [node.value] if ast.unparse(node.targets[0]) == "kind" else []
    return {text.value for kind in given for text in texts(kind)}


def texts(node: ast.AST) -> list[ast.Constant]:
    """The text that an expression is, or those between which it chooses."""
    if isinstance(node, ast.IfExp):
        return texts(node.body) + texts(node.orelse)
    return [node] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def test_each_kind_of_anomaly_is_explained_and_none_is_invented(site):
    assert kinds_in_the_code() == {kind.name for kind in KINDS}
    assert [k.name for k in KINDS if f"| `{k.name}` |" not in text(site, "anomalies")] == []


def pages_of(navigation: object) -> list[str]:
    if isinstance(navigation, str):
        return [navigation]
    parts = navigation.values() if isinstance(navigation, dict) else navigation
    return [page for part in parts for page in pages_of(part)]  # type: ignore[attr-defined]


def test_each_page_is_in_the_navigation_once(site):
    listed = pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])
    there = [str(path.relative_to(site)) for path in site.rglob("*.md")]
    assert sorted(listed) == sorted(there)


def test_the_site_names_no_other_host_for_what_its_pages_load(site):
    given = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    loaded = [*given["extra"]["polyfills"], *given["extra_css"]]
    assert [name for name in loaded if not (site / name).is_file()] == []
    # The plugin `offline` adds one from another host unless a name has this in it.
    assert any("iframe-worker" in name for name in given["extra"]["polyfills"])
    assert given["theme"]["font"] is False


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as mkdocs makes them."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    words = [
        re.sub(r"[^\w\s-]", "", h).strip().lower() for h in re.findall(r"^#+ (.*)$", prose, re.M)
    ]
    return {re.sub(r"[-\s]+", "-", heading) for heading in words}


def test_each_link_between_pages_leads_to_a_page_and_to_a_heading_of_it(site):
    broken, followed = [], 0
    for page in site.rglob("*.md"):
        prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", prose):
            if "://" in target:
                continue
            followed += 1
            file = page.parent / target if target else page
            found = file.is_file() and (not anchor or anchor in anchors(file))
            broken += [] if found else [(page.name, target, anchor)]
    assert followed > 50
    assert broken == []


def test_each_rule_that_differs_between_versions_has_a_row_with_where_it_holds(site):
    rows = {
        cells[0].strip("`"): cells[2:]
        for line in text(site, "versions").splitlines()
        if (cells := line.strip("| ").split(" | "))[0].startswith("`")
    }
    assert {*rows} == {f.name for kind in (Release, JavaRelease) for f in attrs.fields(kind)}
    for name, marks in rows.items():
        kind = RELEASES.__getitem__ if hasattr(Release(), name) else java_release
        assert marks == ["yes" if getattr(kind(v), name) else "-" for v in sorted(RELEASES)], name
        assert "yes" in marks and "-" in marks, f"{name} differs nowhere"
