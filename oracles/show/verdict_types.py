"""The types of the documents that `check --json` and `explain --json` print."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from attrs import field, frozen

from groupcheck.oracles.show.json_schemas import ABSENT, BESIDE, Also, Amount, Count, Positive


@frozen(kw_only=True)
class Symmetry:
    """Whether the search stored one state for all that differ only in the order of elements that
    no rule tells apart. `states`, `transitions`, `depth` and `rules` count all states either
    way.
    """

    used: Annotated[bool, "Whether it was used."]
    reason: Annotated[
        str,
        "Why it was not used, or which arrays it leaves out and why, each with what to change in"
        " parentheses; empty if it leaves out none.",
    ]
    arrays: Annotated[list[list[str]], "Groups of arrays whose elements were exchanged together."]
    representatives: Annotated[Count, "States that were stored; 0 if symmetry was not used."]


@frozen(kw_only=True)
class Zero:
    """Something that never happened."""

    name: Annotated[str, "The outcome or goal."]
    cover: Annotated[
        str | None,
        "A command that explores a small scope in which it happens; null if none is known.",
    ]


Scope = Annotated[
    dict[str, Any],
    "Every field of the scope with its value (`groupcheck list scope`). `faults` maps each fault"
    ' to its budget; null is "no limit" or the variant\'s default.',
]
MutationId = Annotated[
    str | None, "Id of the known bug that was put into the model; null for the healthy model."
]
PathKey = Annotated[
    str, "Replays the path: `groupcheck explain VARIANT KEY` with the same scope and mutation."
]


@frozen(kw_only=True)
class Firing:
    """One rule that fired."""

    rule: Annotated[str, "The rule, with its outcome after a colon if it has several."]
    me: Annotated[
        Count | None,
        "Index of the member or request for which the rule fired; null for a rule without an"
        " index.",
    ]
    others: Annotated[
        list[Count],
        Also(minItems=1),
        "The other indexes of a rule that has several; absent for all others.",
    ] = ABSENT


@frozen(kw_only=True)
class Change:
    """A slot that the step changed."""

    slot: Annotated[str, "The slot, such as `core` or `client[1]`."]
    before: Annotated[Any, "Its value before the step."]
    after: Annotated[Any, "Its value after the step."]


@frozen(kw_only=True)
class Step:
    """One step of a path."""

    step: Annotated[Positive, "Number of the step, from 1."]
    firing: Firing = field(metadata=BESIDE)
    urgent: Annotated[list[Firing], "Urgent rules that fired inside the step, in order."]
    changes: Annotated[
        list[Change],
        "Slots that the step changed. Frozen values are objects, sets are sorted arrays,"
        " enumerations are names.",
    ]


@frozen(kw_only=True)
class StoryStep:
    """One step of a path."""

    step: Step = field(metadata=BESIDE)
    words: Annotated[str, "What the step does, in words."]


@frozen(kw_only=True)
class Story:
    """A path in words and as values."""

    prose: Annotated[str, "The story in sentences, one for each step."]
    evidence: Annotated[list[str], "The values that break the invariant, or that meet the goal."]
    initial: Annotated[
        dict[str, Any],
        "Slot -> value in the initial state. Frozen values are objects, sets are sorted arrays,"
        " enumerations are names.",
    ]
    path: Annotated[list[StoryStep], "The steps."]


@frozen(kw_only=True)
class Violation:
    """An invariant that breaks, with a shortest path to the broken state."""

    invariant: Annotated[
        str, "Name of the invariant; `deadlock` for a state in which nothing can happen."
    ]
    statement: Annotated[str, "What it promises."]
    source: Annotated[str, "Where the promise stands (KIP, Kafka class)."]
    promised: Annotated[
        bool, "False if Kafka does not promise it; --invariant asked for it by name."
    ]
    depth: Annotated[Count, "Steps to the broken state."]
    loop_from: Annotated[
        Count | None,
        "A promise about progress: the number of the state at which the loop begins, which the"
        " last step closes; as large as the number of steps if the run stays in its last state"
        " for ever. Null without a loop: for an invariant, and where what is promised is out of"
        " reach.",
    ]
    key: PathKey
    sentence: Annotated[str, "What broke, for whom, in one sentence."]
    story: Story = field(metadata=BESIDE)


@frozen(kw_only=True)
class GoalPath:
    """A goal that was asked for and is met, with a shortest path to a state that meets it."""

    goal: Annotated[str, "Name of the goal."]
    statement: Annotated[str, "What the goal says."]
    source: Annotated[str, "Where the situation is described (KIP, Kafka class, finding)."]
    depth: Annotated[Count, "Steps to the first state that meets it."]
    key: PathKey
    story: Story = field(metadata=BESIDE)


@frozen(kw_only=True)
class RandomWalks:
    """The random walks that took the place of a search; missing where there was one."""

    number: Annotated[
        Positive | None, "How many were asked for. Null: until nothing new had come for long."
    ]
    length: Annotated[Positive, "The most steps of each."]
    seed: Annotated[Count, "The same seed gives the same walks."]


@frozen(kw_only=True)
class ConformScope:
    """A scope of `conform`."""

    members: Annotated[Count, "Members at once."]
    generations: Annotated[Count, "Generations."]
    faults: Annotated[
        Literal["all"] | list[str],
        "The faults that may happen, any number of times; `all`: all of the coordinator's.",
    ]
    settings: Annotated[dict[str, str], "Settings that are not the defaults."]


@frozen(kw_only=True)
class ConformedShare:
    """Only with `--conformed`: how much of what was explored lies inside scopes whose rows
    `conform` has executed on the real coordinator, where they agree.
    """

    scopes: Annotated[list[ConformScope], "The scopes that were looked at, the largest first."]
    memories: Annotated[Count, "Different memories of the coordinator that were explored."]
    inside: Annotated[Count, "Those inside."]
    outside: Annotated[Count, "Those outside."]
    example: Annotated[
        str | None, "A memory outside, of the lowest generation; null if there is none."
    ]


@frozen(kw_only=True)
class Level:
    """One level."""

    level: Annotated[Count, "Its number."]
    states: Annotated[Count, "Its new states."]
    seconds: Annotated[Amount, "Seconds of wall clock."]
    skew: Annotated[float, "New states of the largest shard, divided by the mean."]
    read: Annotated[Count, "Bytes that executors read."]
    written: Annotated[Count, "Bytes that executors wrote."]
    rounds: Annotated[Count, "Rounds of jobs that the level took."]
    rebuilt: Annotated[Count, "Shards that were rebuilt from the store."]


@frozen(kw_only=True)
class CpuTime:
    """CPU seconds of a search over Spark, user and system."""

    driver: Annotated[Amount, "The driver's process."]
    executors: Annotated[Amount, "Python on the executors."]
    spark: Annotated[Amount, "Spark's own processes."]
    one_process: Annotated[
        Amount,
        "One process, estimated: the levels before the hand-over, the expansion of every state, and"
        " the calls of rules, as measured in this run.",
    ]
    ratio: Annotated[Amount, "The first three, divided by `one_process`."]


@frozen(kw_only=True)
class Distribution:
    """Only with `--spark`: how the search was spread."""

    shards: Annotated[Count, "Parts of the states; 0 if the search ended before it was spread."]
    store: Annotated[str, "Where the states are kept."] = ABSENT
    handed_over_at_level: Annotated[
        Count | None, "The first level that was spread; null if none was."
    ]
    states_per_shard: Annotated[list[Count], "Stored states of each shard."] = ABSENT
    skew: Annotated[float, "States of the largest shard, divided by the mean."] = ABSENT
    retries: Annotated[Count, "Calls of executors that were repeated."] = ABSENT
    bytes_exchanged: Annotated[Count, "Bytes that executors wrote."] = ABSENT
    cpu: CpuTime = ABSENT
    levels: Annotated[list[Level], "The levels that were spread."]


@frozen(kw_only=True)
class VerdictDocument:
    """What `groupcheck check --json` prints: the verdict of one search. The same question gives
    the same document, except for `seconds`.
    """

    variant: Annotated[str, "The protocol variant."]
    scope: Scope
    mutation: MutationId
    engine: Annotated[
        str,
        Also(enum=["fast", "plain", "reference", "walks"]),
        "The engine that searched; `walks`: random walks took the place of a search.",
    ]
    verdict: Annotated[
        Literal["holds", "violated", "unknown"],
        "`holds`: every state was explored and nothing broke. `violated`: an invariant breaks."
        " `unknown`: neither, see `reason`.",
    ]
    reason: Annotated[str, "Why the verdict is what it is."]
    states: Annotated[Count, "Distinct states, the initial ones included, without border states."]
    border_states: Annotated[Count, "States beyond a constraint: checked, but not expanded."]
    transitions: Annotated[
        Count,
        "Outcomes of rules that fired. What urgent rules add inside a step is not counted by"
        " itself.",
    ]
    depth: Annotated[Count, "Levels of the search; the initial states are level 1."]
    seconds: Annotated[Amount, "Seconds of wall clock, without the start of Python."]
    rule_calls: Annotated[
        Count,
        "Calls of Python rules with different arguments, the same number for any `--workers` and"
        " after `--resume`; 0 for the reference engine, which does not count them.",
    ]
    bytes_per_state: Annotated[
        Amount,
        "Bytes that the search held in memory at its peak (states, if they are not on disk by"
        " `--store`, index, packing, and the values of slots as far as a sample tells), divided by"
        " `states`; 0 if not measured.",
    ]
    rules: Annotated[dict[str, Count], "`rule` or `rule:outcome` -> how often it fired."]
    goals: Annotated[
        dict[str, Count | None],
        "Goal -> steps from an initial state to the first state that meets it; null if none does.",
    ]
    never_fired: Annotated[list[Zero], "Outcomes that never fired."]
    goals_not_met: Annotated[list[Zero], "Goals that no state met."]
    invariants: Annotated[list[str], "The invariants that were checked."]
    constraints: Annotated[list[str], "The constraints that bounded the search."]
    refinements: Annotated[
        list[str],
        "The refinements that were checked, by name: smaller specs whose steps every step must be.",
    ]
    deadlock: Annotated[bool, "Whether a state in which nothing can happen is a violation."]
    progress: Annotated[
        dict[str, Literal["holds", "violated", "unknown"]],
        "Only with `--progress`: each promise about progress, and whether it holds.",
    ] = ABSENT
    progress_not_judged: Annotated[
        list[str],
        "The promises about progress that this check left aside: `verdict` says nothing of them."
        " `--progress` judges them; empty if it did, or there are none.",
    ]
    violations: Annotated[
        list[Violation],
        "The invariants that break. The first level in which one breaks is explored to its end,"
        " so there may be several.",
    ]
    goal_paths: Annotated[
        list[GoalPath],
        "Only with `--goal`: the goals that were named and are met, each with a shortest path."
        " None from `--random-walks`.",
    ] = ABSENT
    symmetry: Symmetry
    notes: Annotated[list[str], "What else a reader should know."]
    random_walks: RandomWalks = ABSENT
    conformed: ConformedShare = ABSENT
    distribution: Distribution = ABSENT


@frozen(kw_only=True)
class PathDocument:
    """What `groupcheck explain --json` prints: the path to which a key leads."""

    variant: Annotated[str, "The protocol variant."]
    scope: Scope
    mutation: MutationId
    key: Annotated[str, "The key that was followed."]
    broken: Annotated[
        dict[str, Count],
        "Invariant -> number of the first step that breaks it (0: the initial state).",
    ]
    goals: Annotated[
        dict[str, Count],
        "Every goal that is met along the path -> the first step after which it is; 0 is the"
        " initial state.",
    ]
    path: Annotated[list[Step], "The steps."]
    violations: Annotated[list[Violation], "The path told once for each invariant that it breaks."]
    goal_paths: Annotated[
        list[GoalPath],
        "Only with `--goal`: the goals that were named and are met, each with the path to the"
        " first state that meets it.",
    ] = ABSENT
