"""`groupcheck replay`: what a replay says, as a document, a page and text."""
