"""What commands print with `--json` is as the JSON Schemas say that ship with groupcheck. Documents
for which a JVM is needed are validated where the tests of their commands make them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import fields, types
from jsonschema import Draft202012Validator

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.command_line.documents import documents
from groupcheck.oracles.show.json_schemas import DocumentSchema

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests/data"
ALL = list(documents())
IDS = [one.name for one in ALL]
Misfits = Callable[..., list[str]]

SWEEP = """
[[grid]]
variant = "classic"
members = [1, 2]
generations = 1
[[grid]]
variant = "classic"
mutation = "size_cap_off_by_one"
expect = "violated"
"""

COMMANDS = {
    "a verdict that holds": "check classic --members 1 --generations 1 --engine reference",
    "a violation": "check classic --mutation size_cap_off_by_one --engine reference",
    "progress": "check classic --progress --mutation no_sync_deadline",
    "a path": "explain classic gc1-0.0.1",
    "the path to a goal": "explain classic gc1-0.0.1 --goal preparing",
    "a goal": "check classic --members 1 --generations 1 --engine reference --goal stable",
    "an assignment": f"assign {DATA}/assign/sticky.json",
    "a wrong assignment": f"assign {DATA}/assign/printed-range-after.json",
    "constraints": f"assign {DATA}/assign/constraints-impossible.json",
    "a sequence": f"assign {DATA}/assign/sequence.json",
    "a sequence of somebody's own": f"assign {DATA}/assign/sequence-own.json",
    "proofs": "assign --prove",
    "findings": "assign --against kafka-python --examples 3",
    "findings about a function": "assign --against math:sqrt --examples 3",
    "a simulation": "simulate --members 4 --compare classic,async_server --sensitivity"
    " --replications 2",
    "a curve": "curve initial-delay --members 3 --at 0 --at 500 --replications 2",
    "advice": "advise --members 3 --restart 10s --replications 2",
    "broker logs": "replay " + " ".join(map(str, sorted((DATA / "replay").iterdir()))),
    "request logs": "replay " + " ".join(map(str, sorted((DATA / "requests").glob("*.gz")))),
}


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    cli.run([*command, "--json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_what_a_command_prints_is_as_its_schema_says(
    command: str, capsys: pytest.CaptureFixture[str], misfits: Misfits
):
    assert misfits(printed(capsys, *command.split())) == []


def test_a_sweep_and_generated_logs_are_as_their_schemas_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], misfits: Misfits
):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    out = ("--out", str(tmp_path / "results"))
    sweep = printed(capsys, "sweep", str(tmp_path / "sweep.toml"), *out)
    assert len(sweep["cells"]) == 3 and misfits(sweep) == []
    logs = ("--out", str(tmp_path / "logs"), "--size", "10K", "--groups", "2", "--runs", "1")
    assert misfits(printed(capsys, "generate", *logs)) == []


@pytest.mark.parametrize("kind", cli.KINDS)
def test_every_list_is_as_its_schema_says(
    kind: str, capsys: pytest.CaptureFixture[str], misfits: Misfits
):
    rows = printed(capsys, "list", kind)
    assert rows and misfits(rows, "list") == []


def test_the_array_of_bugs_is_as_its_schema_says(
    capsys: pytest.CaptureFixture[str], misfits: Misfits, only_harmless: None
):
    lost = printed(capsys, "bugs")
    assert lost[0]["found"] is False and misfits(lost, "bugs") == []


def test_a_bug_that_is_found_is_as_its_schema_says(
    capsys: pytest.CaptureFixture[str], misfits: Misfits, small_world: None
):
    found = printed(capsys, "bugs")
    assert found[0]["found"] is True and misfits(found, "bugs") == []


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of a schema that lists the fields of an object."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("type"):
            yield schema
        for inner in schema.values():
            yield from objects(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from objects(inner)


def record(schema: dict[str, Any]) -> dict[str, Any]:
    """The object at the top of a document, or the objects in the array that it is."""
    inner: dict[str, Any] = schema.get("items", schema)
    return inner


@pytest.mark.parametrize("one", ALL, ids=IDS)
def test_a_schema_is_one_of_draft_2020_12_and_describes_every_field(one: DocumentSchema):
    Draft202012Validator.check_schema(one.schema)
    told = {path: part.get("description", "") for path, part in fields(one.schema)}
    assert len(told) > 5
    assert [path for path, text in told.items() if not text.endswith(".")] == []
    assert [path for path, part in fields(one.schema) if not types(part)] == []


@pytest.mark.parametrize("one", ALL, ids=IDS)
def test_no_object_takes_a_field_that_its_schema_does_not_list(one: DocumentSchema):
    there = list(objects(one.schema))
    assert there
    # Those of a difference between assignors have fields with the names of what is compared.
    named = [part for part in there if "maxProperties" not in part]
    assert [
        part["description"] for part in named if part["additionalProperties"] is not False
    ] == []


@pytest.mark.parametrize("one", ALL, ids=IDS)
def test_a_field_too_many_is_refused_and_so_is_each_field_that_is_missing(one: DocumentSchema):
    top = record(one.schema)
    judge = Draft202012Validator(top)
    errors = [error.message for error in judge.iter_errors({"surprise": 1})]
    assert any("'surprise' was unexpected" in message for message in errors)
    missing = {m.group(1) for e in errors if (m := re.match("'(.*)' is a required property", e))}
    assert missing == set(top["required"])
    by_side = {name for case in top.get("allOf", ()) for name in case["then"]["required"]}
    assert one.name in ("list", "event") or set(top["properties"]) - missing - by_side <= {
        "distribution", "answers_judged", "request_facts", "asked", "findings", "coverage",
        "situations", "conformed", "scopes", "group_steps", "random_walks", "progress", "killed_by",
        "goal_paths", "build",
    }  # fmt: skip


def titles_in_the_code() -> set[str]:
    """The value of every constant SCHEMA, and of the field `schema` of every comparison, as the
    commands write it into their documents.
    """
    found = set()
    for path in (*(ROOT / "oracles").rglob("*.py"), ROOT / "traces/event_lines/event.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [ast.unparse(t) for t in node.targets] if isinstance(node, ast.Assign) else []
            if names and (names[0] == "schema" or names[0].endswith("SCHEMA")):
                assert isinstance(node, ast.Assign)
                value = node.value
                if isinstance(value, ast.Constant) and str(value.value).startswith("groupcheck."):
                    found.add(str(value.value))
    return found


def test_every_document_that_the_code_names_has_its_schema():
    arrays = {one.title for one in ALL if one.schema["type"] == "array"}
    assert {one.title for one in ALL} - arrays == titles_in_the_code()
    assert arrays == {"groupcheck.bugs", "groupcheck.list"}


def test_the_lists_of_schemas_name_version_and_file(capsys: pytest.CaptureFixture[str]):
    rows = {row["name"]: row for row in printed(capsys, "list", "schemas")}
    assert list(rows) == IDS
    verdict = rows["verdict"]
    assert (verdict["version"], verdict["schema"]) == (2, "groupcheck.verdict/2")
    assert json.loads(Path(verdict["file"]).read_text("utf-8"))["title"] == "groupcheck.verdict/2"
    assert cli.run(["list", "schemas"]) == 0
    assert "groupcheck.verdict/2" in capsys.readouterr().out


@pytest.mark.parametrize("taken", ["cache", "cache/schemas"])
def test_a_cache_folder_that_takes_no_files_keeps_nobody_from_the_list(
    taken: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    misfits: Misfits,
):
    place = tmp_path / taken
    place.parent.mkdir(exist_ok=True)
    place.write_text("a file where the folder belongs")
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "cache"))
    assert cli.run(["list", "schemas", "--json"]) == 0
    said = capsys.readouterr()
    rows = json.loads(said.out)
    assert [row["name"] for row in rows] == IDS and misfits(rows, "list") == []
    assert not any("file" in row for row in rows)
    assert "no JSON Schema is written" in said.err and "GROUPCHECK_CACHE_DIR" in said.err
