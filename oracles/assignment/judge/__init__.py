"""`groupcheck assign FILE`: reads an assignment or a sequence, judges it and shows the verdict."""
