"""Puts the pages of the site together in a folder for mkdocs: those of docs/, those of the root of
the checkout (README is the first page), and the reference, which is written from the code.

    python docs/generate/assemble.py FOLDER
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import causes
import documents
import facts
import reference
import try_it
import versions

ROOT = Path(__file__).parents[2]
OF_THE_ROOT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "FINDINGS.md")
START = ("README.md", "index.md")  # of the root, and as a page of the site
MOST_EXAMPLES = 4
# The reference has every word many times; the search shows pages that explain it first.
BEHIND_OTHERS = "---\nsearch:\n  boost: 0.3\n---\n\n"
# Both words of its title stand on nearly every page, so nothing else tells the search of it.
COMMON_TITLE = "what_if.md"
BEFORE_OTHERS = "---\nsearch:\n  boost: 2\n---\n\n"
PLACEHOLDER = re.compile(r"\.\.\.|…|\b[A-Z]{2,}\b(?!-)|\[")


def sources() -> list[Path]:
    """The pages and pictures of docs/, and what all pages load."""
    kinds = ("*.md", "*.svg", "*.png", "*.css", "*.js", "*.html")
    return sorted(p for kind in kinds for p in (ROOT / "docs").rglob(kind))


def relinked(text: str) -> str:
    """Links between docs/ and the root of the checkout as they are in the site, where the pages of
    both lie in one folder.
    """
    text = re.sub(r"\]\(docs/", "](", text)
    roots = "|".join(map(re.escape, OF_THE_ROOT))
    return re.sub(rf"\]\(((?:\.\./)*)\.\./({roots})", r"](\1\2", text)


def shown(name: str) -> list[str]:
    """Examples of a command: the first different ones that pages show in blocks."""
    pattern = re.compile(rf"^(?: {{4}}|\$ )(groupcheck {name}(?: .*)?)$", re.M)
    found: dict[str, None] = {}
    for path in (*sources(), ROOT / "README.md"):
        if path.suffix == ".md":
            for line in pattern.findall(path.read_text("utf-8").replace("\\\n", " ")):
                typed = re.split(r"\s#|\s[|>;]|\s&&", line)[0].strip()
                found |= {} if PLACEHOLDER.search(typed) else {shlex.join(shlex.split(typed)): None}
    return sorted(found, key=len)[:MOST_EXAMPLES]


def assemble(into: Path) -> None:
    """Writes every page of the site below `into`, which is emptied first."""
    shutil.rmtree(into, ignore_errors=True)
    pages = {
        **reference.pages(shown),
        "reference/causes.md": causes.causes(),
        "reference/statements.md": causes.statements(),
        "reference/facts.md": facts.facts(),
        "reference/documents.md": documents.documents(),
        "reference/versions.md": versions.versions(),
    }
    for path in sources():
        target = into / path.relative_to(ROOT / "docs")
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            before = BEFORE_OTHERS if path.name == COMMON_TITLE else ""
            target.write_text(before + relinked(path.read_text("utf-8")), "utf-8")
        elif path.suffix == ".html":
            target.write_text(try_it.with_policy(path.read_text("utf-8")), "utf-8")
        else:
            shutil.copyfile(path, target)
    for name, page in (*((name, name) for name in OF_THE_ROOT), START):
        (into / page).write_text(relinked((ROOT / name).read_text("utf-8")), "utf-8")
    for name, text in pages.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_text(BEHIND_OTHERS + text, "utf-8")


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
