"""What came out: rules with their verdicts, rows that differ, what was not reached."""
