"""One file a protocol variant, each a function from a scope to a `Spec`."""
