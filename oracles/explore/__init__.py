"""Walking a protocol state by state: a library without a server, a terminal, and a page."""
