"""groupcheck as one zip file, for executors that do not have it installed."""

from __future__ import annotations

import zipfile
from pathlib import Path

NAME = "groupcheck-code.zip"
_LEFT_OUT = {"__pycache__", "driver", "java"}  # Kafka's driver and clients run where the user is


def packed_code(folder: Path) -> Path:
    """Writes the installed package, links followed, into a zip that Python can import from. Returns
    the zip's path.
    """
    import groupcheck

    root = Path(groupcheck.__file__).parent
    file = folder / NAME
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for path, name in _files(root, Path("groupcheck")):
            out.write(path, name)
    return file


def _files(folder: Path, name: Path) -> list[tuple[Path, Path]]:
    found: list[tuple[Path, Path]] = []
    for path in sorted(folder.iterdir()):
        if path.name in _LEFT_OUT:
            continue
        if path.is_dir():
            found += _files(path, name / path.name)
        else:
            found.append((path, name / path.name))
    return found
