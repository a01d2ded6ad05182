"""A client library under test: a coordinator on the loopback plays with it."""
