"""Makes Cargo.lock of `pinned.lock`, which is the same without the names of registries: cargo has
just written a lock of the newest versions, and that names the registry.
"""

from __future__ import annotations

import re
from pathlib import Path

source = re.search(r"^source = .*\n", Path("Cargo.lock").read_text(), re.MULTILINE)
assert source, "cargo wrote no source"
pinned = Path("pinned.lock").read_text()
Path("Cargo.lock").write_text(re.sub("^checksum = ", source[0] + "checksum = ", pinned, flags=re.M))
