"""What the documents say can be typed: every command is taken by the command line's own parser,
every name exists, every block compiles.
"""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.variants import load
from groupcheck.oracles.command_line import cli, commands

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
GUIDES = sorted(ROOT.glob("docs/**/*.md"))
PLACEHOLDER = re.compile(
    r"\.\.\.|…|\b[A-Z]{2,}\b(?!-)|\["
)  # VARIANT, FILE, [ID]: a form, not a command


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """(language, content) of fenced blocks, and ("", content) of indented ones."""
    for match in re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.M | re.S):
        yield match[1], match[2]
    bare = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for match in re.finditer(r"(?:^(?: {4}|\t).*\n)+", bare, re.M):
        yield "", re.sub(r"^(?: {4}|\t)", "", match[0], flags=re.M)


def typed(text: str, program: str) -> list[str]:
    """The commands of a program that a document shows, in blocks and in backquotes, without prompt,
    path, comment and pipe.
    """
    lines = [line for _, block in blocks(text) for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    found = []
    for line in lines:
        match = re.match(rf"\s*(?:\$ )?(?:\.venv/bin/)?({program} .*)", line)
        if match:
            found.append(re.split(r"\s#|\s[|>]|\s&&|;", match[1])[0].strip())
    return found


def parse(command: str) -> tuple[click.Context, dict[str, object]]:
    """What click makes of a command; nothing runs. Raises `click.UsageError` for what it does not
    know.
    """
    arguments = [word for word in shlex.split(command)[1:] if word != "--debug"]
    context = click.Context(cli.command, info_name="groupcheck")
    name, sub, rest = cli.command.resolve_command(context, arguments)
    assert sub is not None
    inner = sub.make_context(name, rest, parent=context)
    return inner, inner.params


def shown(program: str) -> list[tuple[str, str]]:
    return [
        (document.name, command)
        for document in DOCUMENTS
        for command in typed(document.read_text("utf-8"), program)
    ]


def test_the_readme_shows_the_commands_that_matter():
    commands_shown = {
        shlex.split(command)[1] for name, command in shown("groupcheck") if name == "README.md"
    }
    assert commands_shown >= {"check", "bugs", "replay", "list"}


@pytest.mark.parametrize(
    ("document", "command"), [c for c in shown("groupcheck") if not PLACEHOLDER.search(c[1])]
)
def test_every_command_in_the_documents_can_be_typed(document, command):
    words = shlex.split(command)[1:]
    if words in (["--help"], ["--version"]):
        assert cli.run(words) == 0
        return
    if len(words) == 1:  # `groupcheck check`: the command by its name
        assert words[0] in cli.command.commands
        return
    context, options = parse(command)
    is_own = re.search(r"\.py:\w", command)  # a file of the reader's
    if context.command.name == "check" and not is_own:
        about = commands._subject(options)
        assert about.spec.invariants or about.spec.progress


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_option_in_the_documents_exists(document):
    known = {
        option
        for sub in cli.every_command().values()
        for p in sub.params
        for option in (*p.opts, *p.secondary_opts)
    }
    known |= {"--help", "--version", "--debug", "--groupcheck-html"}
    ours = re.findall(r"`(--[a-z][a-z-]*)[^`]*`", document.read_text("utf-8"))
    foreign = {"--strict"}  # mypy's
    assert [option for option in ours if option not in known | foreign] == []


@pytest.mark.parametrize(("document", "command"), shown("make"))
def test_every_make_target_in_the_documents_exists(document, command):
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    assert set(re.sub(r"""\s[A-Z]+=("[^"]*"|\S+)""", "", command).split()[1:]) <= targets


@pytest.mark.parametrize(
    ("document", "block"),
    [
        (d.name, b)
        for d in DOCUMENTS
        for language, b in blocks(d.read_text("utf-8"))
        if language == "python"
    ],
)
def test_every_python_block_in_the_documents_compiles_and_says_something(document, block):
    assert ast.parse(block).body


def test_every_picture_in_the_documents_is_there_and_is_one():
    for document in DOCUMENTS:
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", document.read_text("utf-8")):
            path = document.parent / target
            if path.suffix == ".png":
                assert path.read_bytes().startswith(b"\x89PNG\r\n"), target
            else:
                assert ElementTree.parse(path).getroot().tag.endswith("svg"), target


def test_a_command_that_does_not_exist_is_found():
    assert typed(
        "    $ groupcheck check classic --membres 3  # x\n`groupcheck list faults`", "groupcheck"
    ) == [
        "groupcheck check classic --membres 3",
        "groupcheck list faults",
    ]
    with pytest.raises(click.UsageError):
        parse("groupcheck check classic --membres 3")
    with pytest.raises(click.UsageError):
        parse("groupcheck chekc classic")


@pytest.mark.parametrize("page", GUIDES, ids=lambda path: path.stem)
def test_each_guide_says_for_whom_it_is_and_what_the_reader_has_at_the_end(page):
    title, lead = page.read_text("utf-8").split("\n\n")[:2]
    assert title.startswith("# ")
    assert lead.startswith("For ")
    assert re.search(r"At the\s+end|In ten\s+minutes", lead)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_extra_in_the_documents_exists(document):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    named = re.findall(r"groupcheck\[(\w+)\]", document.read_text("utf-8"))
    assert [extra for extra in named if extra not in extras] == []


def test_every_link_of_the_readme_leads_to_a_file():
    links = re.findall(r"\]\(([^)#\s]+)", (ROOT / "README.md").read_text("utf-8"))
    inside = [link for link in links if "://" not in link]
    assert inside
    assert [link for link in inside if not (ROOT / link).is_file()] == []


def test_the_worked_step_of_the_architecture_is_one_that_the_model_takes():
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    section = text[text.index("## One step, rule by rule") : text.index("## One log line")]
    told = re.findall(r"^- `([a-z_:]+)`(?:, (\d))? in `([^`]+)`", section, re.M)
    steps = [(name, int(me) if me else None) for name, me, _ in told]
    spec = load("classic").spec(Scope(members=2, generations=2, assignor="range"))
    semantics = Semantics(spec)
    assert any(steps == taken for taken in chains(semantics))
    for name, _, file in told:
        assert f"def {name.partition(':')[0]}(" in (ROOT / file).read_text("utf-8")


def chains(semantics: Semantics) -> Iterator[list[tuple[str, int | None]]]:
    """What fires in each step that the model can take: rule and index."""
    frontier = [state for _, _, state in semantics.starts()]
    seen = set(frontier)
    for state in frontier:
        for step, _ in semantics.steps(state):
            yield [(f.name, f.me) for f in (step.firing, *step.urgent)]
            if step.state not in seen:
                seen.add(step.state)
                frontier.append(step.state)


def test_code_that_a_page_takes_from_a_file_is_in_that_file():
    """A block with the title of a path quotes that file."""
    quoted = [
        (document, path, code)
        for document in DOCUMENTS
        for path, code in re.findall(
            r'^```python title="([^"]*/[^"]*)"\n(.*?)^```$',
            document.read_text("utf-8"),
            re.M | re.S,
        )
    ]
    assert len(quoted) > 5
    for document, path, code in quoted:
        assert code in (ROOT / path).read_text("utf-8"), (document.name, path)
