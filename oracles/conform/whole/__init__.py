"""Compares a whole real group with the model's whole spec, step by step on random schedules: real
members on a real coordinator, joined by connections that can break.
"""
