"""The doors that people knock at: command line, pytest plugin, explanations and reports."""
