"""What may be secret in a store's URI appears in no output, error, document, manifest
or progress.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import InProcess
from small_group import small_group

from groupcheck.model.engine import Limits, UserError
from groupcheck.model.engine.fast.shards import store
from groupcheck.model.engine.fast.shards.addresses import shown, without_secrets
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.fast.shards.filesystem import filesystem_of, plainly
from groupcheck.model.engine.fast.shards.store import Store
from groupcheck.oracles.command_line import cli

SPEC = small_group(2, 2, 2, 1, 1)
URI = "s3://AKIAKEY:sEcr3t%2Fx@bucket/runs/one?endpoint_override=host:9000&token=t0kenvalue"
SECRETS = ("AKIAKEY", "sEcr3t", "t0kenvalue")


def is_clean(text: str) -> bool:
    return not [secret for secret in SECRETS if secret in text]


def written(path: Path) -> bytes:
    """What was written to a file. A shard's log is a file of 1 GB with a hole behind its states."""
    most = 1 << 24
    assert path.stat().st_blocks * 512 <= most
    with path.open("rb") as opened:
        return opened.read(most)


def said(error: BaseException) -> str:
    """The text of an error and of all that it was raised from or in the middle of."""
    chain: list[BaseException | None] = [error]
    for one in chain:
        if one is not None:
            chain += [one.__cause__, one.__context__]
    return "\n".join(f"{one!r} {one}" for one in chain if one is not None)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        (URI, "s3://***@bucket/runs/one?***"),
        ("s3://AKIAKEY@bucket/x", "s3://***@bucket/x"),
        ("s3://bucket/x#t0kenvalue", "s3://bucket/x#***"),
        ("s3://AKIAKEY:sEcr3t/half@bucket/x", "s3://***@bucket/x"),
        ("s3://AKIAKEY:a@sEcr3t@bucket/x", "s3://***@bucket/x"),
        ("s3://AKIAKEY:what?sEcr3t@bucket/x", "s3://***"),
        ("s3://bucket/x?token=a@t0kenvalue", "s3://***"),
        ("hdfs://host:8020/x", "hdfs://host:8020/x"),
        ("file:///runs/x", "file:///runs/x"),
        ("runs/of@me/what?", "runs/of@me/what?"),
    ],
)
def test_a_uri_is_shown_without_what_may_be_secret(uri, expected):
    assert shown(uri) == expected


def test_what_a_library_says_is_shown_without_it_also_where_it_is_decoded():
    text = without_secrets(
        f"cannot parse '{URI}': key AKIAKEY, pass sEcr3t/x, t0kenvalue is stale", URI
    )
    assert text == "cannot parse 's3://***@bucket/runs/one?***': key ***, pass ***, *** is stale"


@pytest.mark.parametrize(
    "uri",
    [
        URI,
        " " + URI,
        URI.replace("%2F", "/"),
        URI.replace("s3:", "nope:"),
        URI.replace("s3:", "file:"),
        URI.replace("s3:", "gs:"),
        "s3://AKIAKEY:sEcr3t@/x?token=t0kenvalue",
    ],
)
def test_an_address_that_pyarrow_refuses_is_an_error_without_its_secrets(uri):
    for opened in (Store, filesystem_of):
        with pytest.raises((UserError, OSError)) as refused:
            opened(uri)
        assert is_clean(said(refused.value))
        assert "store" in said(refused.value) or "URI" in said(refused.value)


@pytest.fixture
def bucket(monkeypatch, tmp_path):
    """A folder that answers to `URI`, and says it in every error as a library might."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    folder = tmp_path / "bucket"
    asked = []

    def opened(uri):
        asked.append(uri)
        return filesystem_of(str(folder))

    monkeypatch.setattr(store, "filesystem_of", opened)
    yield folder
    assert set(asked) == {URI}  # executors are told the whole address


def test_runs_that_succeed_stop_and_go_on_tell_no_secret(bucket, tmp_path):
    heard = []
    stopped = distribute(
        SPEC, InProcess(2), URI, Limits(states=300), heard.append, widest=20, lasting=True
    )
    found = distribute(SPEC, InProcess(2), URI, progress=heard.append, widest=20, resume=True)
    assert (stopped.verdict, found.verdict) == ("unknown", "holds")
    assert "--resume with the whole URI of s3://***@bucket/runs/one?***" in stopped.reason
    assert found.distribution["store"] == shown(URI)
    assert heard and is_clean(f"{heard} {stopped} {found}")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and all(is_clean(f"{path} {written(path)!r}") for path in files)


def test_runs_that_fail_tell_no_secret(bucket):
    distribute(SPEC, InProcess(2), URI, Limits(states=300), widest=20)
    attempts = {
        "holds a search": {},
        "shards": {"resume": True, "shards": 3},
        "missing": {"resume": True},
    }
    for expected, options in attempts.items():
        if expected == "missing":
            for block in Path(bucket).rglob("states-*"):
                block.unlink()
        with pytest.raises(UserError, match=expected) as refused:
            distribute(SPEC, InProcess(2), URI, widest=20, **options)
        assert is_clean(said(refused.value))
        assert "s3://***@bucket/runs/one?***" in str(refused.value)


def test_an_error_of_the_file_system_is_told_without_the_secrets():
    error = OSError(f"Detail: when reading {URI}: AKIAKEY is not allowed, session t0kenvalue")
    assert (
        plainly(error, URI)
        == "when reading s3://***@bucket/runs/one?*** *** is not allowed, session ***"
    )


@pytest.mark.parametrize(
    "options",
    [
        ["--spark", "local[1]", "--store", URI.replace("s3:", "nope:")],
        ["--spark", "local[1]", "--resume", URI.replace("s3:", "nope:"), "--json"],
        ["--spark", "local[1]", "--store", URI, "--resume", "elsewhere"],
        ["--resume", URI],
        ["--checkpoint", URI],
        ["--store", URI],
    ],
)
def test_the_command_line_refuses_an_address_without_its_secrets(options, capsys, monkeypatch):
    monkeypatch.setenv("GROUPCHECK_DEBUG", "1")
    assert cli.run(["check", "classic", "--members", "1", *options]) == 2
    out, err = capsys.readouterr()
    assert "error" in err
    assert is_clean(out + err)
    assert not Path(URI.partition("@")[0]).exists()
