"""The protocol in docs/your_own_protocol.md is the one that the tests pin, and the README's picture
is what the command draws.
"""

from __future__ import annotations

from pathlib import Path

from groupcheck.oracles.command_line import cli

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "your_own_protocol.md").read_text("utf-8")


def test_the_page_shows_two_phase_commit_as_it_is_pinned():
    source = (ROOT / "tests" / "examples" / "two_phase_commit.py").read_text("utf-8")
    shown = source[source.index("from attrs") :]
    assert f'```python title="two_phase_commit.py"\n{shown}```' in PAGE


def test_a_whole_protocol_takes_less_than_sixty_lines():
    block = PAGE[PAGE.index("from attrs") : PAGE.index("Name the file and the function")]
    assert len([line for line in block.splitlines() if line and not line.startswith("```")]) < 60


def test_the_picture_is_what_the_command_draws(tmp_path, capsys):
    drawn = tmp_path / "counterexample.svg"
    assert (
        cli.run(
            ["check", "classic", "--mutation", "keeps_partitions_when_lost", "--svg", str(drawn)]
        )
        == 1
    )
    capsys.readouterr()
    assert drawn.read_text("utf-8") == (ROOT / "docs" / "counterexample.svg").read_text("utf-8")
