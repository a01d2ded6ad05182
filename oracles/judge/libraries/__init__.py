"""Client libraries under test: for each an adapter, a small consumer that a maintainer of the
library can read and change.
"""

from groupcheck.oracles.judge.libraries.catalogue import LACKS, Library, libraries
from groupcheck.oracles.judge.libraries.preparing import Program, prepare

__all__ = ["LACKS", "Library", "Program", "libraries", "prepare"]
