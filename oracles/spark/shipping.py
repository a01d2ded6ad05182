"""groupcheck as one zip file, for executors that do not have it installed."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

NAME = "groupcheck-code.zip"
_LEFT_OUT = {"__pycache__", "driver", "java"}  # Kafka's driver and clients run where the user is


def packed_code(folder: Path) -> Path:
    """Writes the installed package, links followed, into a zip that Python can import from. Returns
    the path of the zip.
    """
    import groupcheck

    root, file = Path(groupcheck.__file__).parent, folder / NAME
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for where, folders, names in os.walk(root, followlinks=True):
            folders[:] = sorted(set(folders) - _LEFT_OUT)
            for name in sorted(names):
                path = Path(where, name)
                if path.suffix != ".java":
                    out.write(path, path.relative_to(root.parent))
    return file
