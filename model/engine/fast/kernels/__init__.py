"""The native loop: numba source, kept as object code between runs so that a run need not import
numba.
"""
