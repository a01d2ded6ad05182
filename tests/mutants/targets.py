"""What is mutated, and who judges: pytest's arguments, quick and strong tests first."""

from __future__ import annotations

import tomllib
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parent.parent.parent
ENGINE = "tests/model/engine"
AGREE = "test_engines_agree_with_a_judge_that_was_written_from_the_documentation"
JUDGED = [f"{ENGINE}/test_judged_specs.py::{AGREE}[{n}]" for n in range(0, 10_000, 1_000)]


@frozen
class Target:
    """Files to mutate, and the tests that must kill each mutant: first `quick` ones, then `more`.
    `equivalents` is a file beside this one: the mutants that behave like the original, each with
    the reason.
    """

    files: tuple[str, ...]
    quick: tuple[str, ...]
    more: tuple[str, ...]
    equivalents: str


TARGETS = {
    "engine": Target(
        (
            *(f"model/engine/{n}.py" for n in ("step", "fitting")),
            *(f"model/engine/tabled/{n}.py" for n in ("predicates", "rows")),
            *(f"model/engine/plain/{n}.py" for n in ("plain_search", "lookups")),
            "model/engine/fast/log.py",
            *(
                f"model/engine/fast/kernels/{n}.py"
                for n in ("index", "packing", "lookup", "firing", "search")
            ),
        ),
        (
            "--hypothesis-profile=mutants",
            f"{ENGINE}/test_several_views.py",
            *JUDGED[:2],
            f"{ENGINE}/test_answers.py",
            f"{ENGINE}/test_spec_fits.py",
            f"{ENGINE}/test_progress.py",
            f"{ENGINE}/test_progress_fast.py",
            f"{ENGINE}/test_progress_on_orbits.py",
            f"{ENGINE}/test_faulty_rules.py",
            f"{ENGINE}/test_pinned_counts.py",
            f"{ENGINE}/test_step_memo.py",
            f"{ENGINE}/test_late_faults.py",
            f"{ENGINE}/test_sameness.py",
            f"{ENGINE}/test_views_of_views.py",
            f"{ENGINE}/test_rule_calls.py",
            f"{ENGINE}/test_step_invariants.py",
            f"{ENGINE}/test_keys.py",
            f"{ENGINE}/test_dumped_rows.py",
            f"{ENGINE}/test_log_sizes.py",
            f"{ENGINE}/test_many_views.py",
            f"{ENGINE}/test_wide_views.py",
            f"{ENGINE}/test_index.py",
        ),
        (
            "--night",
            *JUDGED[2:],
            f"{ENGINE}/test_wide_and_large.py",
            f"{ENGINE}/test_bounds.py",
            f"{ENGINE}/test_stopping.py",
            f"{ENGINE}/test_stopped_findings.py",
            f"{ENGINE}/test_memory_limit.py",
            f"{ENGINE}/test_threads.py",
            f"{ENGINE}/test_checkpoints.py",
            f"{ENGINE}/test_store.py",
            f"{ENGINE}/test_shards_awkward.py",
            f"{ENGINE}/test_shards.py",
        ),
        "equivalent_in_engine.toml",
    ),
}


def equivalents(file: Path) -> dict[tuple[str, str, str, str, int], str]:
    """Key of a mutant (see `Mutant.key`) -> why no test can tell it from the original."""
    entries = tomllib.loads(file.read_text()).get("mutant", [])
    return {
        (e["file"], e["function"], e["before"], e["after"], e.get("nth", 1)): e["reason"]
        for e in entries
    }
