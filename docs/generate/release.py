"""What `make release` writes from the documents: the README of a package registry, which knows no
files of a repository, the project's addresses, and the notes of a version.

    python docs/generate/release.py notes VERSION
        prints the section of CHANGELOG.md
    python docs/generate/release.py prepare TREE REPOSITORY VERSION
        changes README.md and pyproject.toml of TREE, a copy of the checkout
    python docs/generate/release.py checksums FOLDER
        writes SHA256SUMS
    python docs/generate/release.py workflows FOLDER
        writes the workflows that the documents show, with the action in FOLDER

REPOSITORY is an address such as https://github.com/OWNER/groupcheck, or empty: then links into the
repository are left out, with the project's addresses.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUMS = "SHA256SUMS"
LINK = re.compile(r"(?P<bang>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.M | re.S)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.I)
PLACES = {  # of the project's addresses, below that of the repository
    "Homepage": "",
    "Documentation": "/tree/{tag}/docs",
    "Changelog": "/blob/{tag}/CHANGELOG.md",
    "Issues": "/issues",
}


class ReleaseError(Exception):
    """What stands in the way of a release."""


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """A text of Markdown, changed but for its code."""
    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def absolute(text: str, repository: str, tag: str, root: Path = ROOT) -> str:
    """The README with addresses of the repository in place of links to its files, at a tag; without
    these links and pictures if there is no repository. Raises `ReleaseError` for a link to a file
    that is not there.
    """

    def moved(link: re.Match[str]) -> str:
        target, is_picture = link["target"], bool(link["bang"])
        path, _, anchor = target.partition("#")
        if ELSEWHERE.match(target):
            return link[0]
        if path and not (root / path).exists():
            raise ReleaseError(f"README.md: {target} is not there")
        if not repository:
            return "" if is_picture else link["text"]
        kind = "raw" if is_picture else "blob"
        at = f"#{anchor}" if anchor else ""
        return (
            f"{link['bang']}[{link['text']}]({repository}/{kind}/{tag}/{path or 'README.md'}{at})"
        )

    return outside_code(text, lambda part: LINK.sub(moved, part))


def with_addresses(project: str, repository: str, tag: str) -> str:
    """The text of a pyproject.toml with the table of the project's addresses."""
    if not repository:
        return project
    rows = [f'{name} = "{repository}{place.format(tag=tag)}"' for name, place in PLACES.items()]
    before, scripts, after = project.partition("[project.scripts]\n")
    if not scripts or "[project.urls]" in project:
        raise ReleaseError("pyproject.toml: [project.scripts] is missing, or [project.urls] there")
    return "\n".join([f"{before}[project.urls]", *rows, "", f"{scripts}{after}"])


def notes(changelog: str, version: str) -> str:
    """The section of a version, without its heading: `## 1.2.0 - 2030-01-31`, or `## Unreleased
    (1.2.0)` before its day is known. Raises `ReleaseError` where there is none or nothing in it.
    """
    heading = rf"^## (?:Unreleased \({re.escape(version)}\)|\[?{re.escape(version)}\]?(?: .*)?)$"
    if not (found := re.search(heading, changelog, re.M)):
        raise ReleaseError(f"CHANGELOG.md has no section for {version} (## {version} - DATE)")
    section = re.split(r"^## ", changelog[found.end() :], maxsplit=1, flags=re.M)[0].strip()
    if not section:
        raise ReleaseError(f"CHANGELOG.md: the section for {version} is empty")
    return section + "\n"


def prepare(tree: Path, repository: str, version: str) -> None:
    """Changes README and pyproject.toml of a copy of the checkout."""
    if repository and not re.fullmatch(r"https://[\w.-]+(?:/[\w.-]+)+", repository):
        raise ReleaseError(f"REPOSITORY is {repository!r}, not an address such as https://HOST/O/R")
    readme, project, tag = tree / "README.md", tree / "pyproject.toml", f"v{version}"
    readme.write_text(absolute(readme.read_text("utf-8"), repository, tag, tree), "utf-8")
    project.write_text(with_addresses(project.read_text("utf-8"), repository, tag), "utf-8")


def checksums(folder: Path) -> None:
    """Writes the digests of all files of a folder, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.iterdir() if path.name != SUMS)
    rows = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / SUMS).write_text("".join(rows), "utf-8")


def workflows(root: Path = ROOT) -> dict[str, str]:
    """The text of each workflow that the documents show, by its path. They use the action of the
    checkout in place of the published one, so that a linter sees its inputs.
    """
    page = "\n".join(path.read_text("utf-8") for path in sorted(root.glob("docs/**/*.md")))
    shown = re.findall(
        r'^```yaml title="(\.github/workflows/[^"]+)"\n(.*?)^```$', page, re.M | re.S
    )
    return {path: re.sub(r"uses: \w+/groupcheck@\S+", "uses: ./", text) for path, text in shown}


def write_workflows(folder: Path) -> None:
    """Writes them, and the action."""
    for path, text in workflows().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    shutil.copy(ROOT / "action.yml", folder)


def main(arguments: list[str]) -> int:
    """The command."""
    try:
        match arguments:
            case ["notes", version]:
                print(notes((ROOT / "CHANGELOG.md").read_text("utf-8"), version), end="")
            case ["prepare", tree, repository, version]:
                prepare(Path(tree), repository.rstrip("/"), version)
            case ["checksums", folder]:
                checksums(Path(folder))
            case ["workflows", folder]:
                write_workflows(Path(folder))
            case _:
                raise ReleaseError("usage: see the first lines of docs/generate/release.py")
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
