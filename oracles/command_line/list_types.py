"""The type of the entries that `list KIND --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import ABSENT, Positive


@frozen(kw_only=True)
class Entry:
    """One entry."""

    name: Annotated[str, "Name of the entry; mutations have an `id` instead."] = ABSENT
    id: Annotated[str, "mutations: the id that `--mutation` takes."] = ABSENT
    variant: Annotated[str, "The variant to which the entry belongs."] = ABSENT
    title: Annotated[str, "variants, mutations, causes: one sentence."] = ABSENT
    needs: Annotated[list[str], "features: those without which it cannot be."] = ABSENT
    excludes: Annotated[
        list[str], "features: those that no group has beside it, each with the reason."
    ] = ABSENT
    doc: Annotated[str, "What the entry is, in words."] = ABSENT
    statement: Annotated[
        str, "invariants, goals, progress: what is promised, or what should be possible."
    ] = ABSENT
    kind: Annotated[
        str,
        "progress: what is promised of each run: eventually, infinitely often, settles, leads"
        " to, always possible.",
    ] = ABSENT
    source: Annotated[
        str,
        "invariants, causes: where the promise or cause stands (KIP, Kafka class); errors: the Java"
        " class that handles the answer; sources: the article, or groupcheck itself.",
    ] = ABSENT
    known_to_break: Annotated[
        bool,
        "invariants: true if Kafka does not promise it: `check` looks at it only if --invariant"
        " names it.",
    ] = ABSENT
    outcomes: Annotated[
        list[str], "rules: the names of its outcomes; empty if it has one without a name."
    ] = ABSENT
    urgent: Annotated[bool, "rules: whether it fires inside the step that makes it possible."] = (
        ABSENT
    )
    ticket: Annotated[str, "mutations: where the bug was reported."] = ABSENT
    rule: Annotated[
        str,
        "mutations: the rule that it changes; errors: the rule of the model's member that the"
        " answer fires, with its outcome.",
    ] = ABSENT
    when: Annotated[str, "errors: in which situation of the member; empty if always."] = ABSENT
    row: Annotated[
        str,
        "errors: how `conform classic --side member` names the rows that execute the answer on"
        " Kafka's own client.",
    ] = ABSENT
    invariant: Annotated[str, "mutations: the invariant that breaks."] = ABSENT
    replayed: Annotated[
        bool, "formats: whether `replay` judges logs of this format, or only recognises them."
    ] = ABSENT
    type: Annotated[str, "scope: the type of the field's value."] = ABSENT
    default: Annotated[
        str | None,
        "scope: the value if nothing is given, as the command line takes it; null if it depends"
        " on the other fields.",
    ] = ABSENT
    command: Annotated[
        str, "samples: a command that reads the sample; sources: the first one that shows it."
    ] = ABSENT
    verdict: Annotated[
        Literal["agrees", "article wrong", "partly", "other figures", "left out"],
        "sources: what comes out, and who is right.",
    ] = ABSENT
    option: Annotated[str, "scope: the option of `check` that sets the field."] = ABSENT
    logs: Annotated[str, "anomalies: the kinds of logs in which it can be found."] = ABSENT
    threshold: Annotated[
        str, "anomalies: the figures from which on it is reported; empty if one case is enough."
    ] = ABSENT
    severity: Annotated[
        Literal["calm", "troubled", "broken"], "causes: what it does to the group."
    ] = ABSENT
    settings: Annotated[list[str], "causes: the settings to look at."] = ABSENT
    trouble: Annotated[bool, "statements: whether it tells of something that went wrong."] = ABSENT
    version: Annotated[Positive, "schemas: the version of the document."] = ABSENT
    schema: Annotated[
        str,
        "schemas: the value of the document's field `schema`; arrays have no such field, this is"
        " the schema's title.",
    ] = ABSENT
    file: Annotated[
        str,
        "schemas: the file with the JSON Schema, written by this command; absent where the cache"
        " folder takes no files.",
    ] = ABSENT
    families: Annotated[list[str], "variants: the families whose promises it owes."] = ABSENT
    lacks: Annotated[list[str], "variants: faults of its families that it lacks."] = ABSENT
    real: Annotated[
        str,
        "variants: the real coordinator that `conform` executes beside it, or `none: ` and the"
        " reason.",
    ] = ABSENT
    not_executed: Annotated[
        list[str],
        "variants: outcomes of its coordinator that no row of `conform` executes yet; while"
        " there is one, `conform` refuses the variant.",
    ] = ABSENT
