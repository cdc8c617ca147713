"""The doctor tells a healthy host from a sick one, and changes neither."""

import glob
import os
from pathlib import Path

import pytest

from seatrial.environment import doctor
from seatrial.environment.confine.host import Host
from tests.environment.lab import Lab


def left_groups() -> set[str]:
    """Control groups of doctors that have ended; other tests may be at work on this host."""
    root = "/sys/fs/cgroup"
    places = [*glob.glob(f"{root}/seatrial-doctor-*"), *glob.glob(f"{root}/*/seatrial-doctor-*")]
    return {place for place in places if not os.path.exists(f"/proc/{place.rpartition('-')[2]}")}


def test_this_host(lab: Lab, tmp_path: Path):
    before = os.readlink("/proc/self/ns/mnt"), set(os.listdir(tmp_path)), left_groups()
    checks = {check.name: check for check in doctor.examine(tmp_path)}
    after = os.readlink("/proc/self/ns/mnt"), set(os.listdir(tmp_path)), left_groups()
    assert after == before
    for name in ("python", "bubblewrap", "setpriv", "user namespaces", "overlay", "sandbox"):
        assert checks[name].ok, checks[name]
        assert not checks[name].remedy
    if os.getuid():
        assert "unknown, never as clean" in checks["observation"].detail
    for check in checks.values():
        assert check.ok or check.remedy, check


def test_missing_program(lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    checks = {check.name: check for check in doctor.examine(tmp_path)}
    assert not checks["bubblewrap"].ok
    assert "apt-get install bubblewrap" in checks["bubblewrap"].remedy
    assert not checks["sandbox"].ok
    assert "bwrap is not installed" in checks["sandbox"].detail


def test_apparmor_remedy_names_commands(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "_read", lambda path: "1" if "apparmor" in path else "")
    remedy = doctor._namespace_remedy()
    assert "apparmor_parser -r" in remedy
    assert "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" in remedy


def test_check_that_crashes_or_hangs_is_not_ok(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "_PATIENCE_SECONDS", 1)
    crashed = doctor._in_child("x", lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert (crashed.ok, "ZeroDivisionError" in crashed.detail) == (False, True)
    hung = doctor._in_child("x", lambda: os.system("exec sleep 60"))  # type: ignore[arg-type, return-value]
    assert not hung.ok


def test_examining_leaves_a_process_that_has_its_own_namespaces_as_it_was(host: Host):
    before = Path("/proc/self/mountinfo").read_text()
    assert all(check.ok for check in doctor.examine() if check.needed)
    assert Path("/proc/self/mountinfo").read_text() == before
