"""Findings about a group, whatever log shows them: anomalies, harm to users, the report."""
