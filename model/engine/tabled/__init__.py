"""A spec over numbers: the values of each slot are numbered, and rules, views and predicates are
called once for each combination of the numbers that they read. All searches stand on this.
"""
