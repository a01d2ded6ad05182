"""The variants of the protocol: one file each, which gives its `Variant` the name `VARIANT`."""
