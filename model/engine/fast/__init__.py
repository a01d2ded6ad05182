"""The fast engine: rules as tables, states as packed words, exploration as a native loop."""
