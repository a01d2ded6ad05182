"""The work of each command: run, print, write files, and return the exit code. Imported only when a
command runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine import Limits, UserError, compiler
from groupcheck.oracles.check.run import CheckResult, run, walk
from groupcheck.oracles.check.spreadable import Spreading
from groupcheck.oracles.check.walks import walks_of
from groupcheck.oracles.explain.subject import Subject, subject
from groupcheck.oracles.printable import as_text
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.show.files import not_read, write, written
from groupcheck.oracles.show.suite import tell
from groupcheck.oracles.show.terminal import EXIT_CODES, answer, say

SCOPE = ("members", "partitions", "generations", "any_faults", "assignor")
OF_FOLLOW = ("until", "seconds", "window", "from_end")  # options of `replay`
OF_WHAT_IF = ("settings", "partitions", "replications", "seed", "workers")  # options of `replay`
OF_CHECK = ("html", "svg", "pytest", "itf")  # files that `check` writes


def check(**options: Any) -> int:
    """`groupcheck check`: explore, then show the verdict and write what was asked for. Raises
    `UserError` last for a checkpoint that could not be written.
    """
    from groupcheck.oracles.check.compile_notice import announce_compiling
    from groupcheck.oracles.check.free_memory import bounded
    from groupcheck.oracles.show.text import report_view
    from groupcheck.oracles.show.verdict_cases import verdict_suite

    not_read({f"--{name}": options[name] for name in (*OF_CHECK, "junit")}, _resumed(options))
    about = _subject(options)
    limits = Limits(
        options["max_states"],
        options["max_seconds"],
        options["max_memory"],
        depth=options["max_depth"],
    )
    if options["engine"] != "reference":
        limits = bounded(limits)
    announce_compiling()
    result = _explored(about, limits, options)
    answer(result.document, lambda: report_view(result.report()), options["as_json"])
    for name in OF_CHECK:
        _save(result, name, options[name])
    tell(lambda: verdict_suite(result), options["junit"])
    if result.verdict.unsaved is not None:
        raise result.verdict.unsaved
    return result.exit_code


def _resumed(options: Mapping[str, Any]) -> list[Path]:
    """The file of a checkpoint from which the search goes on, which no answer may replace."""
    if not options["resume"]:
        return []
    compiler.must_be_installed("--resume")
    from groupcheck.model.engine.fast.segments import FILE

    return [Path(options["resume"], FILE)]


def _explored(about: Subject, limits: Limits, options: Mapping[str, Any]) -> CheckResult:
    from groupcheck.oracles.show.meter import meter

    spread = Spreading(options["spark"], options["store"], options["shards"], options["hand_over"])
    with meter(limits) as progress:
        return run(
            about,
            limits,
            progress,
            engine=options["engine"] or "fast",
            workers=options["workers"],
            checkpoint=options["checkpoint"],
            resume=options["resume"],
            spread=spread,
            conformed=options["conformed"],
            symmetry=options["symmetry"],
            walks=walks_of(
                options["walks"],
                options["random_walks"],
                options["walk_length"],
                options["seed"],
                options["workers"],
            ),
        )


def _save(result: CheckResult, name: str, path: Path | None) -> None:
    """Writes the file of one option, if it is wanted and there is something to write."""
    if path is None:
        return
    if name == "html" or result.verdict.violations:
        text = result.pytest(path) if name == "pytest" else getattr(result, name)()
        written(path, as_text(text) if name == "itf" else text)
    else:
        say(f"there is no counterexample, so {path} is not written")


def explain(*, key: str, as_json: bool, html: Path | None, **options: Any) -> int:
    """`groupcheck explain`: follow a key and explain each step."""
    from groupcheck.oracles.show.html import page
    from groupcheck.oracles.show.text import report_view

    followed = walk(_subject(options), key)
    answer(followed.document, lambda: report_view(followed.report()), as_json)
    if html:
        written(html, page(followed.report()))
    return 0


def explore(
    variant: str | None, source: str | None, is_asked: bool, given: dict[str, Any], **options: Any
) -> int:
    """`groupcheck explore`: see `groupcheck.oracles.explore.command`."""
    from groupcheck.oracles.explore.command import run

    asked = {**given, "variant": variant, "progress": False}
    return run(variant, source, lambda: _subject(asked), is_asked, **options)


def replay(files: Sequence[Path], html: Path | None, markdown: Path | None, **options: Any) -> int:
    """`groupcheck replay`: see `groupcheck.oracles.replay.report`. Raises `UserError` if an option
    of --what-if is given without it.
    """
    from groupcheck.oracles.replay.report import run

    of_follow = {name: options.pop(name) for name in OF_FOLLOW}
    if options.pop("follow"):
        return _follow(files, of_follow, {"html": html, "markdown": markdown, **options})
    _only_for("--follow", of_follow, "add --follow")
    change = options.pop("what_if")
    only = {name: options.pop(name) for name in OF_WHAT_IF}
    if change:
        return _what_if(files, change, html, markdown, {**options, **only})
    _only_for("--what-if", only, "add --what-if static")
    wanted = options.pop("pytest", None)
    if wanted is not None:
        from groupcheck.oracles.replay.schedule import export

        format, group = options.pop("format"), options.pop("group")
        _without({"html": html, "markdown": markdown, **options}, "--pytest")
        return export(files, wanted, format, group)
    return run(files, html=html, markdown=markdown, **options)


def _only_for(option: str, values: Mapping[str, Any], do: str) -> None:
    """Raises `UserError` if one of these is given, which only go with another option."""
    for name, value in values.items():
        if value not in (None, (), False):
            raise UserError(f"is only for {option}", where=f"--{_shown(name)}", do=do)


def _follow(files: Sequence[Path], own: dict[str, Any], options: dict[str, Any]) -> int:
    """`groupcheck replay --follow`: see `groupcheck.oracles.replay.follow`."""
    from groupcheck.oracles.replay.follow.command import run

    taken = {name: options.pop(name) for name in ("format", "group", "as_json", "knowledge")}
    _without(options, "--follow")
    return run(files, **taken, **{**own, "until": own["until"] or "never"})


def _what_if(
    files: Sequence[Path],
    change: Sequence[str],
    html: Path | None,
    markdown: Path | None,
    options: dict[str, Any],
) -> int:
    """`groupcheck replay --what-if`: see `groupcheck.oracles.replay.what_if`."""
    from groupcheck.oracles.replay.what_if.command import run

    others = {name: options.pop(name) for name in ("pytest", "fail_on", "knowledge", "junit")}
    _without({**others, "markdown": markdown}, "--what-if")
    return run(files, change, html=html, **options)


def _without(others: Mapping[str, Any], option: str) -> None:
    """Raises `UserError` if one of the other options is given beside this one."""
    for name, value in others.items():
        if value not in (None, (), False):
            raise UserError(
                f"cannot be combined with {option}", where=f"--{_shown(name)}", do="leave it out"
            )


def _shown(name: str) -> str:
    """An option as it is given."""
    other = {"settings": "set", "seconds": "for", "as_json": "json"}
    return other.get(name, name.replace("_", "-"))


def replay_archive(
    paths: Sequence[Path], spark: str | None, out: str | None, as_json: bool, **options: Any
) -> int:
    """`groupcheck replay --spark`: see `groupcheck.oracles.archive`. Raises `UserError` without
    `spark`, or for an option that an archive does not take.
    """
    for name, value in options.items():
        if value not in (None, (), False):
            raise UserError(
                "cannot be combined with --spark or --out",
                where=f"--{_shown(name)}",
                do="an archive contains every group of every log; filter its tables instead",
            )
    if spark is None:
        raise UserError("needs --spark", where="--out", do="add --spark 'local[2]'")
    from groupcheck.oracles.archive.command import run

    return run(paths, spark, out, as_json)


def bugs(
    ids: Sequence[str],
    as_json: bool,
    parquet: Path | None,
    html: Path | None,
    scored: bool,
    real: bool,
    workers: int | None,
) -> int:
    """`groupcheck bugs`: find each mutation again, or with `real` show it on real old code."""
    if real:
        return _real_bugs(ids, as_json, parquet, html, scored)
    from rich.console import Group

    from groupcheck.model.engine.resident import cores
    from groupcheck.oracles.check import bugs, score
    from groupcheck.oracles.show.meter import reports

    _can_write_table(parquet)
    with reports(bugs.progress_line) as progress:
        found = bugs.find_all(ids, progress, workers or cores())
    missing = len(bugs.chosen(ids)) - len(found)
    if missing:  # Ctrl-C: a score or a page of some would be taken for that of all
        parquet, html, scored = None, None, False
    told = None
    if scored or html:
        told = score.score([one.mutation for one in found], workers or cores())
    shown = told if scored else None
    answer(
        lambda: bugs.documents(found, shown),
        lambda: Group(bugs.view(found, bool(ids)), *([score.view(shown)] if shown else [])),
        as_json,
    )
    if missing:
        say(f"interrupted: {missing} of {missing + len(found)} bugs were not looked for")
        return EXIT_CODES["unknown"]
    if parquet:
        bugs.write_parquet(found, parquet)
    if html and told:
        from groupcheck.oracles.check.gallery import page

        write(html, page(found, told))
    return 0 if all(one.fell for one in found) else 1


def _real_bugs(
    ids: Sequence[str], as_json: bool, parquet: Path | None, html: Path | None, scored: bool
) -> int:
    """`groupcheck bugs --real`."""
    from groupcheck.oracles.museum.exhibits import exhibits
    from groupcheck.oracles.museum.performing import perform
    from groupcheck.oracles.museum.showing import document, view
    from groupcheck.oracles.show.terminal import say

    if parquet or scored:
        raise UserError(
            "is about bugs in the model, and --real shows bugs in real code",
            where="--parquet" if parquet else "--score",
            do=f"leave out --real or {'--parquet' if parquet else '--score'}",
        )
    every, shown, stopped = list(exhibits(ids)), [], list[str]()
    with until_interrupted(stopped.append):
        for exhibit in every:
            shown.append(perform(exhibit, say))
    answer(lambda: document(shown), lambda: view(shown, bool(ids)), as_json)
    if stopped:
        missing = len(every) - len(shown)
        say(f"interrupted: {missing} of {len(every)} bugs were not shown")
        return EXIT_CODES["unknown"]
    if html:
        from groupcheck.oracles.check import score
        from groupcheck.oracles.check.bugs import find_all
        from groupcheck.oracles.check.gallery import page

        found = find_all([one.exhibit.mutation for one in shown] if ids else ())
        write(html, page(found, score.score([one.mutation for one in found]), shown))
    return 0 if all(one.reproduced for one in shown) else 1


ASSIGNORS = "assignors"  # stands where a variant would
# Whose rows have a comparison of their own.
CONSUMER_GROUPS = ("consumer", "share", "share_partition", "streams", "migration")


def conform(
    live: bool,
    whole: bool,
    schedules: int | None,
    side: str | None,
    kafka: str | None,
    jars: Path | None,
    **options: Any,
) -> int:
    """`groupcheck conform`: see `groupcheck.oracles.conform.command`,
    `groupcheck.oracles.conform.member.command` for `--side member`,
    `groupcheck.oracles.connect.command` for `--side leader`,
    `groupcheck.oracles.consumer.command` for groups of KIP-848, KIP-932 and KIP-1071,
    `groupcheck.oracles.judge.live.command` for `--live`, and
    `groupcheck.oracles.conform.whole.command` for `--whole`. Raises `UserError` if `parquet` or
    `schedules` is given for a comparison that does not take it.
    """
    from groupcheck.oracles.conform.command import run
    from groupcheck.oracles.conform.member.command import run as run_member
    from groupcheck.oracles.judge.live.command import run as run_live
    from groupcheck.oracles.kafka.versions import DEFAULT

    of_connect = side == "leader" or (side is None and options["variant"] == "connect")
    if jars is not None:
        _compares_rows(live=live, whole=whole, diff=options["diff"], connect=of_connect)
        options["diff"] = (kafka, jars)
    options["kafka"] = kafka or DEFAULT
    options["faults"] = dict(options["faults"]) or None
    options["settings"] = dict(options["settings"])
    if options["parquet"] and (live or options["diff"] or options["variant"] == ASSIGNORS):
        raise UserError(
            "only the comparison of a variant with Kafka writes a table",
            where="--parquet",
            do="leave it out",
        )
    _can_write_table(options["parquet"])
    if of_connect:
        from groupcheck.oracles.connect.command import run as run_leader

        return run_leader(live=live, whole=whole, schedules=schedules, **options)
    if options["variant"] in CONSUMER_GROUPS:
        from groupcheck.oracles.consumer.command import run as run_consumer

        return run_consumer(live=live, whole=whole, schedules=schedules, side=side, **options)
    if side == "member":
        return run_member(live=live, whole=whole, schedules=schedules, **options)
    if whole:
        from groupcheck.oracles.conform.whole.command import run as run_whole

        return run_whole(live=live, schedules=schedules, **options)
    if live:
        return run_live(schedules=schedules, **options)
    if schedules is not None:
        raise UserError(
            "is only for --live and --whole", where="--schedules", do="add one of these"
        )
    if options["variant"] == ASSIGNORS:
        from groupcheck.oracles.assignment.conform.command import run as run_assignors

        return run_assignors(**options)
    return run(**options)


def _compares_rows(**others: Any) -> None:
    """Raises `UserError` for what cannot be combined with --jars."""
    for name, given in others.items():
        if given:
            what = "Connect's leader" if name == "connect" else f"--{name}"
            raise UserError(
                f"compares a build with a release, row by row, and not with {what}",
                where="--jars",
                do="leave one of them out",
            )


def assign(
    file: Path | None,
    lines: bool,
    prove: bool,
    against: str | None,
    as_json: bool,
    html: Path | None,
    junit: Path | None,
    **options: Any,
) -> int:
    """`groupcheck assign`: see `groupcheck.oracles.assignment`, `assign_command` for a file,
    `proof_command` and `against_command` for the options. Raises `UserError` for options that
    cannot be combined.
    """
    if (file is not None) + prove + (against is not None) != 1:
        raise UserError("give exactly one of FILE, --prove or --against", where="groupcheck assign")
    if html is not None and file is None:
        raise UserError("needs an assignment to show", where="--html", do="add FILE")
    if lines and (file is None or html is not None or junit is not None):
        raise UserError(
            "judges the lines of a FILE, and prints JSON alone",
            where="--lines",
            do="give FILE, and leave out --html and --junit",
        )
    if against is None:
        for name, value in options.items():
            if value not in (None, (), False):
                shown = {"called": "name", "skipped": "except"}.get(name, name).replace("_", "-")
                raise UserError(
                    "is only for --against", where=f"--{shown}", do="add --against NAME"
                )
    else:
        from groupcheck.oracles.assignment.against.command import run as run_against

        return run_against(against, as_json=as_json, junit=junit, **options)
    if file is None:
        from groupcheck.oracles.assignment.prove.command import run as run_proofs

        return run_proofs(as_json, junit)
    if lines:
        from groupcheck.oracles.assignment.judge.lines import run as run_lines

        return run_lines(file)
    from groupcheck.oracles.assignment.judge.command import run

    return run(file, as_json, html, junit)


def record(**options: Any) -> int:
    """`groupcheck record`: see `groupcheck.oracles.record.command`."""
    from groupcheck.oracles.record.command import run

    topics, settings = dict(options.pop("topics")), dict(options.pop("settings"))
    return run(options.pop("command"), topics=topics, settings=settings, **options)


def sweep(file: Path, out: Path | None, junit: Path | None, **options: Any) -> int:
    """`groupcheck sweep`: see `groupcheck.oracles.sweep.command`."""
    from groupcheck.oracles.sweep.command import run
    from groupcheck.oracles.sweep.folder import PAGE, TABLE

    for name in (TABLE, PAGE):
        not_read({"--out": out and out / name, "--junit": junit}, [file])
    return run(file, out=out, junit=junit, **options)


def generate(out: Path, dialects: Sequence[str], as_json: bool, **options: Any) -> int:
    """`groupcheck generate`: see `groupcheck.oracles.generate.files`."""
    from groupcheck.oracles.generate.files import run

    return run(out, as_json, dialects=tuple(dialects) or ("java-4",), **options)


def list_(kind: str, variant: str | None, as_json: bool) -> int:
    """`groupcheck list`: everything of a kind."""
    from groupcheck.oracles.command_line.listing import listing, view

    rows = listing(kind, variant)
    answer(lambda: rows, lambda: view(rows), as_json)
    return 0


def _subject(options: Mapping[str, Any]) -> Subject:
    return subject(
        options["variant"],
        mutation=options["mutation"],
        invariants=options.get("invariants", ()),
        goals=options.get("goals", ()),
        constraints=options.get("constraints", ()),
        deadlock=not options["no_deadlock"],
        progress=options["progress"],
        faults=dict(options["faults"]) or None,
        settings=dict(options["settings"]),
        **{name: options[name] for name in SCOPE},
    )


def _can_write_table(path: Path | None) -> None:
    if path:
        from groupcheck.oracles.show.parquet import needed

        needed("--parquet")
