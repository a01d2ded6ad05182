"""Logs of clients: sentences that libraries and their frameworks print, and what each one says."""
