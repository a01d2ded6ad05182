"""Requests with their answers, and the facts about a group that follow without a model."""
