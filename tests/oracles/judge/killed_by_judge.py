"""Every known bug of the coordinator that can be served: `judge broker` finds it, or the table says
why the wire does not show it. At night; `pytest --night`.
"""

from __future__ import annotations

SECONDS, THREADS, SIZE = 60.0, 4, 2
