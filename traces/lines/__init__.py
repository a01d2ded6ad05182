"""Lines of any log as text: envelopes, times, templates, marks of pasting, duplicates, order."""
