"""Known bugs as data: a mutation replaces one named rule and names the invariant that must fall."""
