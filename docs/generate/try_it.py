"""Puts `try/` into the site: groupcheck in a browser tab, with Python from the site itself.

    python docs/generate/try_it.py FOLDER

FOLDER/try has the pages of docs/try already; this adds Pyodide (CPython in WebAssembly), the
package with what it needs as one archive, the examples, and a list of all for the service worker.

Pyodide comes from npm. `.ci/pyodide.json` pins its version and the digest of its archive. A
package-lock.json would do the same, but it holds the address of a registry, and an installation may
have a registry of its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from markupsafe import escape

from groupcheck.model.variants.registry import names
from groupcheck.oracles.command_line.tab import FRAMED, digest
from groupcheck.traces.sample_files import SAMPLES

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "try"
PIN = ROOT / ".ci" / "pyodide.json"
OF_PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
LOCK = "pyodide-lock.json"
NEEDED = ("attrs", "cattrs", "click", "jinja2", "markupsafe", "rich", "typing_extensions")
LEFT_OUT = (
    "model/engine/fast/kernels",
    "model/engine/fast/shards",
    *(
        f"oracles/{door}"
        for door in (
            "archive", "assignment", "conform", "connect", "consumer", "coordinator", "generate",
            "judge", "kafka", "museum", "processes/java", "record", "simulate", "spark", "sweep",
            "wire",
        )
    ),
)  # fmt: skip
"""Of the package: what needs a JVM, a network, processes or compiled code, which a tab has not."""
TUTORIAL = ROOT / "docs" / "tutorials" / "protocol.md"
TWO_PHASE = ROOT / "tests" / "examples" / "two_phase_commit.py"
TEMPLATES = ROOT / "oracles" / "templates"
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' {digests};"
    " worker-src 'self' blob:; connect-src 'self'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'"
)


def pyodide() -> Path:
    """The archive that npm has, in the build folder. Raises `SystemExit` if its digest is not the
    pinned one.
    """
    pin = json.loads(PIN.read_text("utf-8"))
    archive = BUILD / f"{pin['package']}-{pin['version']}.tgz"
    kind, _, wanted = pin["integrity"].partition("-")
    if not archive.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        wanted_one = f"{pin['package']}@{pin['version']}"
        command = ["npm", "pack", "--silent", wanted_one, "--pack-destination", str(BUILD)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    digest = base64.b64encode(hashlib.new(kind, archive.read_bytes()).digest()).decode()
    if digest != wanted:
        archive.unlink()
        raise SystemExit(f"{archive.name}: its digest is {digest}, and {PIN.name} has {wanted}")
    return archive


def put_python(into: Path) -> None:
    """Unpacks what a page loads of Pyodide. Its list of packages is emptied: a page loads none, and
    they would come from another host.
    """
    into.mkdir()
    with tarfile.open(pyodide()) as archive:
        for name in (*OF_PYODIDE, LOCK):
            member = archive.extractfile(f"package/{name}")
            assert member is not None
            (into / name).write_bytes(member.read())
    lock = json.loads((into / LOCK).read_text("utf-8"))
    (into / LOCK).write_text(json.dumps({**lock, "packages": {}}), "utf-8")


def _of_package() -> Iterator[tuple[Path, str]]:
    """Files of groupcheck, each with its name in the archive."""
    package = ROOT / "src" / "groupcheck"
    floors = ("model", "invariants", "traces", "oracles")  # links, which rglob does not follow
    for top in (package, *(package / floor for floor in floors)):
        for path in sorted(top.glob("*") if top == package else top.rglob("*")):
            name = path.relative_to(package).as_posix()
            left_out = any(name == one or name.startswith(f"{one}/") for one in LEFT_OUT)
            if path.is_file() and not left_out and "__pycache__" not in path.parts:
                yield path, f"groupcheck/{name}"


def _of_needed() -> Iterator[tuple[Path, str]]:
    """Pure Python files of the packages that groupcheck needs, and their licenses."""
    for name in NEEDED:
        for file in distribution(name).files or ():
            is_code = {"..", "__pycache__"}.isdisjoint(file.parts)
            if is_code and file.suffix not in (".so", ".pyd", ".c"):
                yield Path(str(file.locate())), file.as_posix()


def put_packages(tree: Path) -> None:
    """Copies all that is imported into an empty folder."""
    shutil.rmtree(tree, ignore_errors=True)
    for path, name in (*_of_package(), *_of_needed()):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tree / name)


def examples() -> list[dict[str, str]]:
    """The protocols that the editor offers: file, name in it, settings and text."""
    block = re.compile(r'^```python title="(\w+\.py)"\n(.*?)^```$', re.M | re.S)
    blocks = dict(block.findall(TUTORIAL.read_text("utf-8")))
    found = [("Two-phase commit", TWO_PHASE.name, "two_phase_commit", "managers=3")]
    found += [
        ("A lease, as in the tutorial", "lease.py", "lease", "workers=2"),
        ("The lease with a fencing token", "fenced.py", "lease", "workers=2 leases=3"),
    ]
    texts = {**blocks, TWO_PHASE.name: TWO_PHASE.read_text("utf-8")}
    names = ("title", "file", "name", "settings")
    return [{**dict(zip(names, one, strict=True)), "text": texts[one[1]]} for one in found]


def samples() -> list[dict[str, str]]:
    """The logs that the page offers."""
    return [{"name": k, "doc": s.doc} for k, s in SAMPLES.items() if s.command == "replay"]


def policy() -> str:
    """What the page may do. It names the digests of the scripts that pages of answers have."""
    scripts = [(TEMPLATES / f"{name}.js").read_text("utf-8") for name in ("timeline", "explore")]
    return POLICY.format(digests=" ".join(map(digest, (*scripts, FRAMED))))


def with_policy(page: str) -> str:
    """The page with its policy in place."""
    return page.replace("@POLICY@", str(escape(policy())))


def put_headers(site: Path) -> None:
    """Writes the policy where some hosts read headers from."""
    headers = f"/try/*\n  Content-Security-Policy: {policy()}\n  X-Content-Type-Options: nosniff\n"
    (site / "_headers").write_text(headers, "utf-8")


def put_list(folder: Path) -> None:
    """Writes the list of what the service worker keeps, with the SHA-256 of each file in base64, a
    version that changes with any of them, and the policy.
    """
    digests = {
        path.relative_to(folder).as_posix(): base64.b64encode(
            hashlib.sha256(path.read_bytes()).digest()
        ).decode()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("files.js", "sw.js")
    }
    files = {"./": digests["index.html"], **digests}
    version = hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16]
    told = {"VERSION": version, "FILES": files, "POLICY": policy()}
    lines = [f"self.{name} = {json.dumps(value)};\n" for name, value in told.items()]
    (folder / "files.js").write_text("".join(lines), "utf-8")


def main(site: Path) -> None:
    folder = site / "try"
    shutil.rmtree(folder / "python", ignore_errors=True)
    put_python(folder / "python")
    put_packages(BUILD / "tree")
    compiler = ["node", str(Path(__file__).with_name("precompile.mjs"))]
    subprocess.run([*compiler, folder / "python", BUILD / "tree", folder], check=True)
    (folder / "offered.json").write_text(
        json.dumps({"examples": examples(), "samples": samples(), "variants": list(names())}),
        "utf-8",
    )
    put_headers(site)
    put_list(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
