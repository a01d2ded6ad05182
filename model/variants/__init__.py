"""One file a protocol variant, each a function from a scope to a `Spec`, under the name
`VARIANT`.
"""

from groupcheck.model.variants.registry import every_name, load, names

__all__ = ["every_name", "load", "names"]
