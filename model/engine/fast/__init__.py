"""The fast engine: rules as tables, states as packed words, exploration as a native loop.

What was tried and is not in:

- Partial-order reduction by footprints. In the classic group nearly every step of a member sends a
  request, and the urgent rules that handle it touch the coordinator's slots; the other steps share
  the budget of faults or the offsets. An optimistic search that explored one member's steps alone
  wherever no slot is shared kept every state of three scopes.
- Tree compression: each word of a state as a number in a table of the word's values. It saved
  memory and cost time, because every state is unfolded before it is expanded. Symmetry saves more
  memory, and time as well.
- Guards that are derived from tables as they fill. A rule that was empty so far for a value may
  have an outcome with the next combination, so only a complete table could tell.
- Rows of other indexes that are written ahead: nearly all of them are asked for in the same batch.
- Rows that are kept from run to run (see `identity`).
"""
