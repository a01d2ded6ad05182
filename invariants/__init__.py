"""What must be true of a group: one file a subject, each invariant with its statement and its
source.
"""
