"""The README's protocol is the one that the tests pin, and its picture is what the command draws."""

from __future__ import annotations

from pathlib import Path

from groupcheck.oracles import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_shows_two_phase_commit_as_it_is_pinned():
    source = (ROOT / "tests" / "examples" / "two_phase_commit.py").read_text("utf-8")
    assert f"```python\n{source[source.index('from attrs') :]}```" in README


def test_the_readme_shows_a_protocol_of_less_than_sixty_lines():
    block = README[README.index("from attrs") : README.index("`groupcheck.check(two_phase_commit")]
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
