"""What each command does: run, print, write files, and return the exit code. Imported only when a
command runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine import Limits, UserError
from groupcheck.oracles.check.run import (
    CheckResult,
    Followed,
    Spreading,
    run,
    walk,
)
from groupcheck.oracles.explain.subject import Subject, subject
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.document import as_text
from groupcheck.oracles.show.files import not_read, writable, written

# What asks for the fast engine: it alone keeps a search, or shares it.
KEPT = ("checkpoint", "resume", "spark")
ENGINE = "fast"  # of what gives no choice
SCOPE = ("members", "partitions", "generations", "any_faults", "assignor")


def check(**options: Any) -> int:
    """`groupcheck check`: explore, then show the verdict and write what was asked for."""
    wanted = {name: options[name] for name in ("html", "svg", "pytest", "itf") if options[name]}
    junit = {"junit": options["junit"]} if options["junit"] else {}
    _may_write(wanted | junit, **_checkpoints(options))
    about = _subject(options)
    from groupcheck.oracles.check.free_memory import bounded

    limits = Limits(options["max_states"], options["max_seconds"], options["max_memory"])
    if options["engine"] != "reference":
        limits = bounded(limits)

    from groupcheck.oracles.check.first_run import announce_compiling, first_answer

    engine = options["engine"] or "fast"
    result = None
    if options["engine"] is None and not any(options[name] for name in KEPT):
        result = first_answer(about, limits)
    if result is None:
        announce_compiling()
        result = _explored(about, limits, engine, options)
    _show(result, options["as_json"])
    _save(result, wanted)
    from groupcheck.oracles.show.suite import tell
    from groupcheck.oracles.show.verdict_cases import verdict_suite

    tell(lambda: verdict_suite(result), options["junit"])
    return result.exit_code


def _explored(
    about: Subject, limits: Limits, engine: str, options: Mapping[str, Any]
) -> CheckResult:
    from groupcheck.oracles.show.meter import meter

    with meter(limits) as progress:
        return run(
            about, limits, progress,
            engine=engine, workers=options["workers"], checkpoint=options["checkpoint"], resume=options["resume"],
            spread=Spreading(options["spark"], options["store"], options["shards"], options["hand_over"]),
        )  # fmt: skip


def explain(**options: Any) -> int:
    """`groupcheck explain`: follow a key and explain each step."""
    from groupcheck.oracles.show.html import page

    wanted = {"html": options["html"]} if options["html"] else {}
    _may_write(wanted)
    followed = walk(_subject(options), options["key"])
    _show(followed, options["as_json"])
    for path in wanted.values():
        written(path, page(followed.report()))
    return 0


def replay(
    files: Sequence[Path],
    format: str | None,
    group: str | None,
    as_json: bool,
    html: Path | None,
) -> int:
    """`groupcheck replay`: see `groupcheck.oracles.replay.report`."""
    _may_write({"html": html} if html else {}, files)
    from groupcheck.oracles.replay.report import run

    return run(files, format, group, as_json, html)


def replay_archive(
    paths: Sequence[Path], spark: str | None, out: str | None, as_json: bool, **options: Any
) -> int:
    """`groupcheck replay --spark`: see `groupcheck.oracles.archive`."""
    for name, value in options.items():
        if value is not None:
            raise UserError(
                "cannot be combined with --spark or --out",
                where=f"--{name}",
                do="an archive contains every group of every log; filter its tables instead",
            )
    if spark is None:
        raise UserError("needs --spark", where="--out", do="add --spark 'local[2]'")
    from groupcheck.oracles.archive.command import run

    return run(paths, spark, out, as_json)


def bugs(ids: Sequence[str], as_json: bool, parquet: Path | None) -> int:
    """`groupcheck bugs`: find each mutation again."""
    from groupcheck.oracles.check.bugs import find_all, view, write_parquet

    _may_write_table(parquet)
    found = find_all(ids, ENGINE)
    if parquet:
        write_parquet(found, parquet)
    if as_json:
        sys.stdout.write(as_text([one.document() for one in found]))
    else:
        _print(view(found, told_whole=bool(ids)))
    return 0 if all(one.fell for one in found) else 1


def conform(**options: Any) -> int:
    """`groupcheck conform`: see `groupcheck.oracles.conform.command`, and
    `groupcheck.oracles.wire.command` for `--live`.
    """
    faults, settings = (
        _once(options.pop("faults"), "--fault") or None,
        _once(options.pop("settings"), "--set"),
    )
    live, schedules = options.pop("live"), options.pop("schedules")
    table, junit = options["parquet"], options["junit"]
    _may_write({"junit": junit} if junit else {}, kept=[table] if table else [])
    if table and (live or options["diff"] or options["variant"] == "assignors"):
        raise UserError(
            "only the comparison with a variant's coordinator writes a table",
            where="--parquet",
            do="leave it out",
        )
    _may_write_table(table)
    if live:
        del options["parquet"]
        from groupcheck.oracles.wire.command import run as run_live

        return run_live(faults=faults, settings=settings, schedules=schedules, **options)
    if schedules is not None:
        raise UserError("is only for --live", where="--schedules", do="add --live")
    from groupcheck.oracles.conform.command import run

    return run(faults=faults, settings=settings, **options)


def assign(
    file: Path | None,
    prove: bool,
    against: str | None,
    as_json: bool,
    html: Path | None,
    junit: Path | None,
    **options: Any,
) -> int:
    """`groupcheck assign`: see `groupcheck.oracles.assignment`, `assign_command` for a file,
    `proof_command` and `against_command` for the options.
    """
    if (file is not None) + prove + (against is not None) != 1:
        raise UserError("give exactly one of FILE, --prove or --against", where="groupcheck assign")
    if html is not None and file is None:
        raise UserError("needs an assignment to show", where="--html", do="add FILE")
    wanted = {"html": html} if html else {}
    wanted |= {"junit": junit} if junit else {}
    _may_write(wanted, [file] if file else [])
    if against is None:
        for name, value in options.items():
            if value is not None:
                raise UserError("is only for --against", where=f"--{name}", do="add --against NAME")
    else:
        from groupcheck.oracles.assignment.against_command import run as run_against

        return run_against(against, as_json=as_json, junit=junit, **options)
    if file is None:
        from groupcheck.oracles.assignment.proof_command import run as run_proofs

        return run_proofs(as_json, junit)
    from groupcheck.oracles.assignment.assign_command import run

    return run(file, as_json, html, junit)


def record(**options: Any) -> int:
    """`groupcheck record`: see `groupcheck.oracles.record.command`."""
    from groupcheck.oracles.record.command import run

    topics, settings = (
        _once(options.pop("topics"), "--topic"),
        _once(options.pop("settings"), "--set"),
    )
    return run(options.pop("command"), topics=topics, settings=settings, **options)


def sweep(file: Path, out: Path | None, junit: Path | None, **options: Any) -> int:
    """`groupcheck sweep`: see `groupcheck.oracles.sweep.command`."""
    from groupcheck.oracles.sweep.command import run
    from groupcheck.oracles.sweep.folder import PAGE, TABLE

    _may_write({"junit": junit} if junit else {}, [file])
    for name in (TABLE, PAGE):
        if out is not None:
            not_read(out / name, "--out", [file])
    return run(file, out=out, junit=junit, **options)


def generate(out: Path, dialects: Sequence[str], as_json: bool, **options: Any) -> int:
    """`groupcheck generate`: see `groupcheck.oracles.generate.files`."""
    from groupcheck.oracles.generate.files import run

    return run(out, as_json, dialects=tuple(dialects) or ("java-4",), **options)


def list_(kind: str, variant: str | None, as_json: bool) -> int:
    """`groupcheck list`: everything of a kind."""
    from groupcheck.oracles.listing import listing, view

    rows = listing(kind, variant)
    if as_json:
        sys.stdout.write(as_text(rows))
    else:
        _print(view(rows))
    return 0


def _subject(options: dict[str, Any]) -> Subject:
    scope = {name: options[name] for name in SCOPE}
    faults = _once(options["faults"], "--fault") if options["faults"] else None
    settings = _once(options["settings"], "--set")
    invariants = options.get("invariants", ())
    return subject(
        options["variant"],
        mutation=options["mutation"],
        invariants=invariants,
        goals=options.get("goals", ()),
        faults=faults,
        settings=settings,
        **scope,
    )


def _once(pairs: Iterable[tuple[str, Any]], option: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, value in pairs:
        if name in given:
            raise UserError(f"{name} is given twice", where=option)
        given[name] = value
    return given


def _may_write_table(path: Path | None) -> None:
    if path:
        from groupcheck.oracles.show.parquet import needed

        needed("--parquet")
        writable(path, "--parquet", table=True)


def _may_write(
    wanted: dict[str, Path], read: Sequence[Path] = (), kept: Sequence[Path] = ()
) -> None:
    """Raises `UserError` if an option's file cannot be written, is one of the inputs (`read`), or is
    also the file of another option or of the checkpoint (`kept`).
    """
    for name, path in wanted.items():
        writable(path, f"--{name}", read=read)
    if len({path.resolve() for path in (*wanted.values(), *kept)}) < len(wanted) + len(kept):
        raise UserError(
            "two outputs would go to the same file", where=", ".join(f"--{name}" for name in wanted)
        )


def _checkpoints(options: dict[str, Any]) -> dict[str, list[Path]]:
    """The checkpoint files that the search reads and writes."""
    if not (options["checkpoint"] or options["resume"]):
        return {}
    from groupcheck.model.engine.fast.segments import FILE

    return {
        use: [Path(options[name]) / FILE]
        for use, name in (("read", "resume"), ("kept", "checkpoint"))
        if options[name]
    }


def _save(result: CheckResult, wanted: dict[str, Path]) -> None:
    for name, path in wanted.items():
        if name != "html" and not result.verdict.violations:
            print(
                f"groupcheck: there is no counterexample, so {printable(str(path))} is not written",
                file=sys.stderr,
            )
            continue
        written(path, _output(result, name))


def _output(result: CheckResult, name: str) -> str:
    """What goes into the file of an option."""
    if name == "itf":
        return as_text(result.itf())
    return {"html": result.html, "svg": result.svg, "pytest": result.pytest}[name]()


def _show(result: CheckResult | Followed, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(as_text(result.document()))
        return
    from groupcheck.oracles.show.text import report_view

    _print(report_view(result.report()))


def _print(view: Any) -> None:
    from groupcheck.oracles.show.text import show

    show(view)
