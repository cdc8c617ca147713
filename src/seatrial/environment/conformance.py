"""What every ``Sandbox`` and every ``StateProvider`` must hold to, as checks for anyone's implementation.

Each check is a plain function that raises ``AssertionError``; ``SANDBOX_CHECKS`` and ``PROVIDER_CHECKS`` list
them, for a parametrised test or a loop::

    @pytest.mark.parametrize("check", SANDBOX_CHECKS)
    def test_conforms(check):
        check(make_my_sandbox)
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from seatrial.environment.delta import Delta, Result
from seatrial.environment.sandbox import Sandbox
from seatrial.environment.state.providers import StateProvider
from seatrial.journal.digest import digest_bytes
from seatrial.journal.entries import State

MakeSandbox = Callable[[], Sandbox]
"""Makes a fresh world with an empty /workspace and a time limit of at most 5 seconds for one action."""

SHOWN_AT_MOST = 1 << 20


@contextmanager
def _world(make: MakeSandbox) -> Iterator[Sandbox]:
    world = make()
    try:
        world.settle()
        yield world
    finally:
        world.close()


def _bash(world: Sandbox, command: str, cwd: str = "/workspace") -> Result:
    return world.run(["/bin/bash", "-c", command], cwd)


def _change(world: Sandbox, command: str) -> tuple[Delta, State]:
    result = _bash(world, command)
    assert result.exit_code == 0, f"{command!r} ended with {result.exit_code}: {result.output!r}"
    delta = world.settle()
    return delta, {entry.path: entry for entry in delta.changes}


# -- acting -------------------------------------------------------------------------------------------
def check_fresh_world_is_settled(make: MakeSandbox) -> None:
    """A world nobody has acted in has no changes, and two fresh worlds have one fingerprint."""
    with _world(make) as one, _world(make) as other:
        first = one.settle()
        assert first.changes == []
        assert first.fingerprint == other.settle().fingerprint


def check_output_and_exit_code(make: MakeSandbox) -> None:
    """Both streams arrive in order, with the command's own exit code; stdin is empty."""
    with _world(make) as world:
        result = _bash(world, "echo one; echo two >&2; cat; echo three; exit 7")
        assert (result.output, result.exit_code) == (b"one\ntwo\nthree\n", 7)


def check_any_bytes_come_out(make: MakeSandbox) -> None:
    """Output is bytes, whatever they are."""
    with _world(make) as world:
        assert _bash(world, r"printf '\377\000\376'").output == b"\xff\x00\xfe"


def check_killed_command(make: MakeSandbox) -> None:
    """A command that ends by signal n ends with 128 + n."""
    with _world(make) as world:
        assert _bash(world, "kill -9 $$").exit_code == 137


def check_missing_program_and_folder(make: MakeSandbox) -> None:
    """What cannot be started ends with 126 or 127 and a message; the world lives on."""
    with _world(make) as world:
        assert _bash(world, "true", "/no/such/folder").exit_code in (126, 127)
        missing = world.run(["/no/such/program"], "/workspace")
        assert missing.exit_code in (126, 127)
        assert missing.output
        assert _bash(world, "echo alive").output == b"alive\n"


def check_no_shell_state_is_kept(make: MakeSandbox) -> None:
    """Each action is a process of its own."""
    with _world(make) as world:
        _bash(world, "cd /tmp; export LEFT=1; f() { :; }")
        assert _bash(world, "echo $PWD${LEFT-}; type f 2>&1 | wc -l").output.startswith(b"/workspace\n")


def check_time_limit(make: MakeSandbox) -> None:
    """An action that does not end is ended, with all that it started; the world lives on."""
    with _world(make) as world:
        result = _bash(world, "trap '' TERM; setsid sleep 1000 & sleep 1000")
        assert result.timed_out
        assert result.alive == 0, f"{result.alive} processes outlive a stopped action"
        assert _bash(world, "echo alive").output == b"alive\n"


def check_output_is_bounded(make: MakeSandbox) -> None:
    """Endless output neither stops the world nor fills memory."""
    with _world(make) as world:
        result = _bash(world, "yes")
        assert result.timed_out
        assert len(result.output) < SHOWN_AT_MOST


def check_background_process_is_counted(make: MakeSandbox) -> None:
    """An action ends with its own process; what it left runs on and is counted."""
    with _world(make) as world:
        result = _bash(world, "sleep 1000 & echo started")
        assert (result.output, result.alive) == (b"started\n", 1)
        assert _bash(world, "kill %1 2>/dev/null; pkill sleep || kill -9 -1").alive in (0, 1)


# -- state --------------------------------------------------------------------------------------------
def check_write_is_reported(make: MakeSandbox) -> None:
    """A new file is one change, with content, mode and owner."""
    with _world(make) as world:
        _, changes = _change(world, "umask 022; printf hello > f; chmod 640 f")
        entry = changes.pop("workspace/f")
        assert not changes
        wanted = ("file", 0o640, "agent", digest_bytes(b"hello"), 5)
        assert (entry.kind, entry.mode, entry.owner, entry.digest, entry.size) == wanted


def check_every_kind_is_reported(make: MakeSandbox) -> None:
    """Folders, symlinks, FIFOs and hard links are told apart."""
    with _world(make) as world:
        _, changes = _change(world, "mkdir d; ln -s d s; mkfifo p; echo 1 > b; ln b a")
        kinds = {path.removeprefix("workspace/"): entry.kind for path, entry in changes.items()}
        assert kinds == {"d": "dir", "s": "link", "p": "fifo", "a": "file", "b": "file"}
        assert changes["workspace/s"].target == "d"
        assert {changes[f"workspace/{name}"].links for name in "ab"} == {"workspace/a"}


def check_removal_is_reported(make: MakeSandbox) -> None:
    """What is gone is a change of kind ``absent``, below a removed folder too."""
    with _world(make) as world:
        _change(world, "mkdir d; echo 1 > d/f")
        _, changes = _change(world, "rm -r d")
        assert {path: entry.kind for path, entry in changes.items()} == {
            "workspace/d": "absent",
            "workspace/d/f": "absent",
        }


def check_every_root_is_state(make: MakeSandbox) -> None:
    """Whatever the agent can write is state."""
    with _world(make) as world:
        _, changes = _change(world, "for d in /tmp /var/tmp ~ /workspace; do echo 1 > $d/f; done")
        assert set(changes) == {"tmp/f", "var-tmp/f", "home/f", "workspace/f"}
        assert _bash(world, "echo 1 > /f || echo 1 > /usr/f || echo 1 > /etc/f").exit_code != 0


def check_strange_names(make: MakeSandbox) -> None:
    """Names are bytes; text spells those that are not UTF-8, and the percent sign, as ``%XX``."""
    with _world(make) as world:
        _, changes = _change(world, r"""echo 1 > $'a\nb'; echo 1 > $'\377'; echo 1 > 'x%y'; echo 1 > 'ü v'""")
        assert set(changes) == {f"workspace/{name}" for name in ("a\nb", "%FF", "x%25y", "ü v")}


def check_equal_states_have_one_fingerprint(make: MakeSandbox) -> None:
    """The fingerprint depends on what is there, not on how it came about; every change moves it."""
    with _world(make) as world:
        empty = world.settle().fingerprint
        first, _ = _change(world, "echo 1 > a; echo 2 > b")
        _change(world, "rm a; echo 3 > b")
        again, _ = _change(world, "echo 2 > b; echo 1 > a")
        gone, _ = _change(world, "rm a b")
        assert first.fingerprint == again.fingerprint != empty == gone.fingerprint
        assert _change(world, "mkdir d")[0].fingerprint != empty
        assert _change(world, "chmod 700 d; rmdir d")[0].fingerprint == empty


def check_what_was_undone_is_not_called_clean(make: MakeSandbox) -> None:
    """A write undone within one command is no change, but is seen, or the window is marked."""
    with _world(make) as world:
        _change(world, "echo 1 > f")
        delta, changes = _change(world, "echo 2 > f; echo 1 > f")
        assert not changes
        assert "workspace/f" in delta.touched.paths or delta.touched.overflow


def check_fork(make: MakeSandbox) -> None:
    """A fork begins in the given state, without processes, and goes its own way."""
    with _world(make) as world:
        delta, state = _change(
            world, "mkdir d; echo 1 > d/b; ln d/b d/a; ln -s d s; chmod 751 d; sleep 1000 &"
        )
        forks = [world.fork(state), world.fork(state)]
        try:
            for fork in forks:
                assert fork.settle().fingerprint == delta.fingerprint
            said = _bash(forks[0], "cat s/a; stat -c %a d; echo 2 >> d/a; cat d/b")
            assert said.output.split()[:4] == [b"1", b"751", b"1", b"2"], said.output
            assert said.alive == 0
            assert forks[0].settle().changes
            assert world.settle().fingerprint == forks[1].settle().fingerprint == delta.fingerprint
        finally:
            for fork in forks:
                fork.close()


def check_fork_without_a_file(make: MakeSandbox) -> None:
    """A state may lack what an earlier one had."""
    with _world(make) as world:
        _, first = _change(world, "mkdir d; echo 1 > d/f; echo 2 > e")
        _, second = _change(world, "rm -r d; echo file > d; rm e")
        fork = world.fork({**first, **second})
        try:
            assert fork.settle().fingerprint == world.settle().fingerprint
            assert _bash(fork, "ls; cat d").output == b"d\nfile\n"
        finally:
            fork.close()


def check_close(make: MakeSandbox) -> None:
    """A world with processes can be closed, and closed again."""
    with _world(make) as world:
        _bash(world, "sleep 1000 &")
        world.close()


SANDBOX_CHECKS: tuple[Callable[[MakeSandbox], None], ...] = (
    check_fresh_world_is_settled, check_output_and_exit_code, check_any_bytes_come_out, check_killed_command,
    check_missing_program_and_folder, check_no_shell_state_is_kept, check_time_limit, check_output_is_bounded,
    check_background_process_is_counted, check_write_is_reported, check_every_kind_is_reported,
    check_removal_is_reported, check_every_root_is_state, check_strange_names,
    check_equal_states_have_one_fingerprint, check_what_was_undone_is_not_called_clean, check_fork,
    check_fork_without_a_file, check_close,
)  # fmt: skip


# -- providers ----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ProviderCase:
    """How the checks drive a provider; each callable takes the folder that holds the roots.

    Attributes:
        make: a fresh provider.
        first, second: bring the path into two states that mean different things, whatever it was before.
        disguise: changes bytes and keeps the meaning.
    """

    make: Callable[[], StateProvider]
    first: Callable[[str], None]
    second: Callable[[str], None]
    disguise: Callable[[str], None]


@contextmanager
def _tree(provider: StateProvider) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as tree:
        os.makedirs(os.path.dirname(f"{tree}/{provider.path}"))
        yield tree


def check_digest_follows_meaning(case: ProviderCase) -> None:
    """Equal meanings have equal digests, different ones do not."""
    provider = case.make()
    with _tree(provider) as tree:
        case.first(tree)
        first = provider.digest(tree)
        case.disguise(tree)
        assert provider.digest(tree) == first is not None
        case.second(tree)
        assert provider.digest(tree) not in (first, None)
        case.first(tree)
        assert provider.digest(tree) == first


def check_nothing_and_nonsense_have_no_digest(case: ProviderCase) -> None:
    """What is not of the provider's kind counts by its bytes."""
    provider = case.make()
    with _tree(provider) as tree:
        assert provider.digest(tree) is None
        with open(f"{tree}/{provider.path}", "wb") as file:
            file.write(b"nonsense" * 1000)
        assert provider.digest(tree) is None


def check_digest_changes_nothing(case: ProviderCase) -> None:
    """Looking leaves every byte and no new file."""
    provider = case.make()
    with _tree(provider) as tree:
        case.first(tree)
        before = _bytes_below(tree)
        provider.digest(tree)
        provider.save(tree)
        assert _bytes_below(tree) == before


def check_links_are_not_followed(case: ProviderCase) -> None:
    """A symlink the agent put in place of the file leads nowhere."""
    provider = case.make()
    with _tree(provider) as tree:
        case.first(tree)
        os.rename(f"{tree}/{provider.path}", f"{tree}/elsewhere")
        os.symlink(f"{tree}/elsewhere", f"{tree}/{provider.path}")
        assert provider.digest(tree) is None


def check_save_and_restore(case: ProviderCase) -> None:
    """What was saved comes back, whatever is there by then."""
    provider = case.make()
    with _tree(provider) as tree:
        case.first(tree)
        first, saved = provider.digest(tree), provider.save(tree)
        case.second(tree)
        provider.restore(tree, saved)
        assert provider.digest(tree) == first
    with _tree(provider) as empty:
        provider.restore(empty, saved)
        assert provider.digest(empty) == first


def _bytes_below(tree: str) -> dict[str, bytes]:
    found = {}
    for folder, _, names in os.walk(tree):
        for name in names:
            with open(f"{folder}/{name}", "rb") as file:
                found[f"{folder}/{name}"] = file.read()
    return found


PROVIDER_CHECKS: tuple[Callable[[ProviderCase], None], ...] = (
    check_digest_follows_meaning, check_nothing_and_nonsense_have_no_digest, check_digest_changes_nothing,
    check_links_are_not_followed, check_save_and_restore,
)  # fmt: skip
