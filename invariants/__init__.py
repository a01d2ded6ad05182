"""The promises that must be true of a group: one module for each subject. Each invariant has its
statement and its source.
"""
