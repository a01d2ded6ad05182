"""The folder that code is executed from belongs to one user alone, wherever it lies."""

import os
import stat
from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.model.engine.fast.cache import cache_directory, refuse_exposed
from groupcheck.model.engine.fast.kernels import compiled
from groupcheck.oracles.kafka import install

STRANGER = 40_000


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that others may be let into, inside one of the user's."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(folder))
    assert cache_directory() == folder
    return folder


def refused(why: str) -> None:
    """Neither kernels nor jars are taken from the cache; the message for jars says why and what to
    do.
    """
    assert compiled._file(compiled.PACKING) is None
    with pytest.raises(UserError, match=rf"{why}.*set GROUPCHECK_CACHE_DIR to a folder of yours"):
        install.folder("4.3.0")


def test_one_variable_moves_kernels_and_jars(cache: Path):
    kernel = compiled._file(compiled.PACKING)
    assert kernel is not None
    assert {kernel.parent, install.folder("4.3.0").parent.parent} == {cache}


def test_every_folder_that_is_made_is_the_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "new" / "below"))
    before = os.umask(0)
    try:
        cache_directory()
    finally:
        os.umask(before)
    for folder in (tmp_path / "new", tmp_path / "new" / "below"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_cache_that_others_can_write_to_is_refused_even_if_it_is_sticky(cache: Path, mode: int):
    cache.chmod(mode)
    refused(f"other users can write to {cache}")


def test_a_cache_below_a_folder_that_others_can_write_to_is_refused(cache: Path):
    cache.parent.chmod(0o777)
    refused(f"other users can write to {cache.parent}")


def test_a_cache_of_the_users_in_a_sticky_folder_is_taken(cache: Path):
    cache.parent.chmod(0o1777)
    assert cache_directory() == cache


def test_a_cache_of_another_user_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch):
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: STRANGER)
    refused(rf"belongs to another user \(id {owner}\)")


def test_a_symlink_is_judged_by_where_it_leads(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "link").symlink_to(cache)
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "link"))
    assert cache_directory() == cache
    cache.chmod(0o777)
    refused(f"other users can write to {cache}")


def test_a_symlink_in_a_folder_that_others_can_write_to_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "link").symlink_to(cache)
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(shared / "link"))
    refused(f"other users can write to {shared}")


def test_a_symlink_of_another_user_is_refused_wherever_it_leads(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    link = tmp_path / "link"
    link.symlink_to(cache)
    lstat = Path.lstat

    def of_a_stranger(path: Path) -> os.stat_result:
        found = lstat(path)
        return os.stat_result((*found[:4], STRANGER, *found[5:])) if path == link else found

    monkeypatch.setattr(Path, "lstat", of_a_stranger)
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(link))
    refused(rf"{link} belongs to another user \(id {STRANGER}\)")


def test_a_file_that_others_can_write_to_is_refused_in_a_good_folder(cache: Path):
    file = cache / "search1.o"
    compiled._write(file, [("search", b"code")])
    assert compiled._read(file) == [("search", b"code")]
    file.chmod(0o602)
    assert compiled._read(file) is None
    with pytest.raises(UserError, match="other users can write to"):
        refuse_exposed(file)


@pytest.mark.parametrize("below", ["file/below", "loop"])
def test_a_cache_that_cannot_be_made_says_where(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / below))
    refused(f"cannot write to {tmp_path / below}")
