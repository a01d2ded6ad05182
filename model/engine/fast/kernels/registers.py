"""The registers through which Python and the compiled kernels share one search: an array of 64-bit
words, addressed by these names.

A kernel takes the array's address as its only argument. Registers hold addresses of arrays, sizes,
and counters that both sides move. They stand apart from the kernels so that a run whose compiled
code is on disk never imports numba.
"""

(  # the log of states, its index, and the stretch of it to work on
    LOG, STATES, INDEX, INDEX_SLOTS, TAG_BITS, ROOM, MODE, FROM, TO, LIST, TRANSITIONS, TARGET,
    FOUND_AT,
    # of states of one word: remainders in buckets, how many states found theirs full, and bits of a
    # word that no field uses
    BUCKETS, BUCKET_BITS, CROWDED, CROWDED_ROOM, UNUSED_BITS,
    # where several threads share log and index: the words that they share (NEXT_PLACE, STOP), and
    # the end of the segment of the log that this one writes
    SHARED, SEGMENT_END,
    # successors of the block in hand
    BUFFER, HASHES, NEEDS, BUFFER_SIZE, BLOCK, SIEVE, SIEVE_SHIFT,
    # tables: masks and shifts that gather a footprint's bits, dense cells, hashed rows (each a cell
    # and its key), outcomes
    TABLES, MASKS, SHIFTS, BASES, CELLS, HASH, HASH_SIZE, HASH_COUNT, KEY_WORDS, OUTCOMES,
    KIND_NEEDS, KIND_URGENT, FIRED,
    # guards: for each chunk of 64 tables the open ones
    CHUNKS, UNGUARDED, CHUNK_GUARDS, GUARDS, GUARD_BITS,
    # urgent rules: groups of tables, and memory for chains
    URGENT_FIRST, URGENT_UNGUARDED, URGENT_GUARDS, URGENT_GUARDS_END, STACK, STACK_SIZE,
    CURRENT, CHAIN, DONE, DONE_SIZE, OVERFLOW, ENDLESS,
    # what the kernels report: rows asked for, pairs put off, states without successors, predicates
    # put off
    ASKED, ASKED_COUNT, ASKED_SIZE, DEFERRED, DEFERRED_COUNT, DEFERRED_SIZE, QUIET, QUIET_COUNT,
    QUIET_SIZE, UNSURE, UNSURE_COUNT,
    PUT_OFF, PUT_OFF_COUNT, PUT_OFF_SIZE,
    # predicates and views
    LIVE, PREDICATE_FIRST, VIEWED_FROM, VIEW_NEEDS, VIEW_FIRST, VIEW_COUNT, VIEW_WORDS,
    VIEW_PLACES, VIEW_MASKS, VIEW_SHIFTS, VIEW_VALUES,
    # writing rows, and moving everything to wider fields
    TAPE, TAPE_LENGTH, OUTCOMES_USED, WORDS, INPUT_FIRST, INPUTS, KIND_BASES, KIND_LABELS, LABELS,
    OLD_WORDS, FIELDS, FIELD_COUNT, SCRATCH, SOURCE, MOVED_TO,
    OLD_CELLS, OLD_BASES, OLD_INPUTS, OLD_HASH, OLD_HASH_SIZE, OLD_KEY_WORDS,
    # for each state of the log the predicates that must be looked at, where that is kept
    NEED_LOG,
    # narrow levels: the first place of each level that the kernel has begun by itself, how many it
    # has begun, how many it may begin, and the place of the log behind which it begins none
    LEVELS, LEVEL_COUNT, LEVEL_SIZE, LEVEL_STOP,
    # the graph of states: of each state how many successors it has, of each edge its target and the
    # class of its outcome
    DEGREES, EDGES, EDGE_CLASSES, EDGE_COUNT, EDGE_ROOM,
    # steps of states, as (words of the successor, place of the state), and how many there are
    FOLLOWED, FOLLOWED_COUNT, FOLLOWED_SIZE,
    # chains of urgent rules that go on side by side: their pairs (state, table), how many are begun
    # at once, their steps, and lists of steps
    PAIRS, AT_ONCE, ITEMS, ITEMS_SIZE, GOING, FIRING,
    # rows found by a key of one word, each a key and a cell; bits of a key below its table's number
    KEYED, KEYED_SIZE, KEYED_COUNT, KEY_BITS, OLD_KEYED, OLD_KEYED_SIZE,
    # new states of a block whose predicates must be looked at, and where their cells are
    FRESH, FRESH_COUNT, LOOKS, LOOKS_SIZE,
    # symmetry: the fields of the blocks of each group, memory to sort them in, how many states an
    # orbit has by the blocks that are equal; of the state in hand that number, the successors so
    # far times it, and whether one of them is another state
    BLOCKS, BLOCK_GROUPS, SORTED, ORBITS, WEIGHT, WEIGHED, MOVED,
    # urgent rules under symmetry: what each table is (LOCAL ...), its bit among the urgent ones,
    # the last table of the same rule, and the bits of those up to it; values of single slots that
    # direct walks
    URGENT_IS, URGENT_BIT, LAST_SIBLING, SIBLING_BITS, DIRECTING, DIRECTING_COUNT, DIRECTED,
    # walks: their tables, of each rule what it reads, of each value that directs walks what these
    # have read so far, and the rules of the one in hand, as bits; every order of visits, the group
    # they are over; memory for a walk, and walks known to have no order
    WALK_TABLES, WALK_COUNT, WALK_MASKS, WALK_READS, WALK_RULES, ORDERS, ORDER_COUNT, WALK_BLOCKS,
    WALK_PATHS, WALK_SIZE, KNOWN_WALKS, KNOWN_BITS,
    # permutations make a difference: why, and the table in which that shows
    UNEQUAL, UNEQUAL_AT,
    # a log on disk, whose index holds keys: the nodes and roots that fold a state into one, cells
    # of combinations and how many each node has, memory for one state; lines of the index, how many
    # keys belong to one, and keys beside them; a node that has met too many combinations, from 1
    # on, and the states of the buffer that were not entered therefore
    FOLD_NODES, FOLD_NODE_COUNT, FOLD_ROOTS, FOLD_ROOT_COUNT, FOLD_CELLS, FOLD_COUNTS, FOLDED,
    LINES, LINE_COUNT, LINE_WIDTH, OLD_LINE_WIDTH, CROWD, CROWD_SIZE, OUTGROWN, LEFT_OVER,
    COUNT,
) = range(176)  # fmt: skip

# Modes of the search kernel: a stretch of the log; pairs put off; do these states rest; which state
# reaches the target; predicates put off; a new index; states from elsewhere into log and index; a
# stretch of a list of places; the edges of a stretch of the log; the steps of a list of places;
# states of the log to other places; the edges of a list of places; a larger index of keys; keys of
# a list into it
(
    EXPAND,
    RETRY,
    CHECK,
    BACKWARD,
    RECHECK,
    REINDEX,
    TAKE_IN,
    LISTED,
    LINK,
    FOLLOW,
    RELOCATE,
    EDGES_OF,
    SPREAD_LINES,
    ENTER_KEYS,
) = range(14)

# Of the words that threads share: the place of the log from which on no segment is taken, and
# whether all are to stop; each on a cache line of its own.
NEXT_PLACE, STOP, SHARED_WORDS = 0, 8, 16
SEGMENT = 256  # states of a segment of the log

# Values of a cell: unknown, asked for, a row without outcomes; from OUTCOMES_START on, where the
# row's outcomes begin
UNKNOWN, ASKED_FOR, NOTHING, OUTCOMES_START = range(4)

# The base of a table: where its cells begin; or, where its rows are found by a key, its number from
# bit KEY_BITS on; or this where they are found by the words of the state.
HASHED = (1 << 64) - 1
DENSE_END = 1 << 48  # bases of tables with cells are below
# What an urgent table is under symmetry: it touches one element alone and stands before all others;
# it belongs to a rule with an index; its guard knows its index; it touches no element
LOCAL, INDEXED, VISIT, PLAIN = range(4)
# Why permutations make a difference: two indexes of one rule are urgent at once; a walk goes on at
# rest, or while another urgent rule fires; the order of its visits shows, or it has too many ends
TWO_AT_ONCE, DIRECTED_AT_REST, IN_A_WALK, ORDER_SHOWS, TOO_MANY_ENDS = range(1, 6)
WALK_RULES_TOLD = 64  # rules of walks that are told apart; the last one stands for all others
LONGEST_CHAIN = 10_000

OPEN = 1 << 31  # in the degree of a state: rows of its successors are missing
NOWHERE = (1 << 32) - 1  # the target of an edge to a state that is not in the log

# The registers of the kernel that looks for strongly connected components. Of each state: where its
# edges begin; flags; its number in the search, which ends as CLOSED; and, where its component is
# fair, the place of some state of it, from 1 on. Of each class of edges the fair actions that it is
# of, as bits in a number of words. Then memory of the search: the stack of states, and frames of
# state, next edge, and lowest number met.
(
    G_STATES, G_OFFSETS, G_TARGETS, G_CLASSES, G_FLAGS, G_NUMBERS, G_FAIR, G_MASKS, G_MASK_WORDS,
    G_ALL, G_STACK, G_FRAME_STATES, G_FRAME_EDGES, G_FRAME_LOWS, G_COUNT,
) = range(15)  # fmt: skip

# Flags of a state: the component with it is of interest; it has, or leads to, what is looked for
WANTED, REACHES = 1, 2
CLOSED = (1 << 32) - 1
# Words of a pair (state, table), and of a step of a chain beside those of its state.
PAIR_WORDS, ITEM_WORDS = 6, 6
# Numbers in a line of an index of keys, and bytes of a line.
LANES, LINE_BYTES = 16, 64
# A node: of its left and right side where they stand (a word of the state, or behind these a node),
# shift and mask; bits of the right side; how many combinations have a number; where its cells
# begin. A root: where it stands, shift and mask, and its shift in the key.
NODE_WORDS, ROOT_WORDS = 9, 4
