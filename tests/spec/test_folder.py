import os
import stat

import pytest

from seatrial.errors import SpecError
from seatrial.journal.digest import digest_bytes
from seatrial.spec.folder import LINK_MODE, content, scan_folder
from seatrial.spec.loading import load_task
from tests.spec.folders import assert_error, write_task


def test_files_links_and_modes(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "run").write_bytes(b"\x00\xff")
    (tmp_path / "a" / "b" / "run").chmod(0o710)
    (tmp_path / "plain ü").write_text("x")
    (tmp_path / "plain ü").chmod(0o666)
    os.symlink("b/run", tmp_path / "a" / "link")
    os.symlink("missing", tmp_path / "dangling")
    os.symlink("a", tmp_path / "folder-link")
    files = scan_folder(tmp_path)
    assert files == {
        "a/b/run": (digest_bytes(b"\x00\xff"), 0o755),
        "a/link": (digest_bytes(b"b/run"), LINK_MODE),
        "dangling": (digest_bytes(b"missing"), LINK_MODE),
        "folder-link": (digest_bytes(b"a"), LINK_MODE),
        "plain ü": (digest_bytes(b"x"), 0o644),
    }
    assert list(files) == sorted(files) and stat.S_ISLNK(LINK_MODE)
    assert content(tmp_path, "a/link") == b"b/run"


def test_what_is_left_out_is_kept_in_the_agents_world(tmp_path):
    for part in ("verifiers/__pycache__", ".git", "environment/.git", "environment/x/__pycache__"):
        (tmp_path / part).mkdir(parents=True)
        (tmp_path / part / "f").write_text("x")
    assert list(scan_folder(tmp_path, keep="environment")) == [
        "environment/.git/f",
        "environment/x/__pycache__/f",
    ]


@pytest.mark.parametrize("target", ["../outside", "/etc/hostname", "sub/../../outside"])
def test_a_link_out_of_the_folder(tmp_path, target):
    folder = tmp_path / "task"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "outside").write_text("secret")
    os.symlink(target, folder / "link")
    with pytest.raises(SpecError) as raised:
        scan_folder(folder)
    assert_error(raised, folder / "link", "", target, "leads out")


def test_a_link_out_by_way_of_another(tmp_path):
    folder = tmp_path / "task"
    folder.mkdir()
    os.symlink("..", folder / "up")
    with pytest.raises(SpecError) as raised:
        scan_folder(folder)
    assert_error(raised, folder / "up", "", '".."')


def test_a_link_in_the_world_stays_in_the_world(tmp_path):
    folder = write_task(tmp_path)
    os.symlink("../verifiers/first.sh", folder / "environment" / "peek")
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", "environment.files", '"peek" leads out')


def test_a_fifo_and_a_name_that_is_not_text(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SpecError) as raised:
        scan_folder(tmp_path)
    assert_error(raised, tmp_path / "pipe", "", "neither a file")
    (tmp_path / "pipe").unlink()
    with open(os.fsencode(tmp_path) + b"/caf\xe9", "w"):
        pass
    with pytest.raises(SpecError) as raised:
        scan_folder(tmp_path)
    assert_error(raised, tmp_path, "", "\\xe9", "Rename")


def test_a_task_reached_by_a_link_is_fine(tmp_path):
    write_task(tmp_path / "real")
    os.symlink("real", tmp_path / "link")
    assert load_task(tmp_path / "link").files == load_task(tmp_path / "real").files
