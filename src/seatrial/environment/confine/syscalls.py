"""The few Linux calls the standard library lacks, each raising ``OSError`` on failure."""

import ctypes
import os

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD = -100
AT_HANDLE_FID = 0x200
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
_libc.fanotify_mark.argtypes = [
    ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p,
]  # fmt: skip
_HANDLE_MAX = 128


class _Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * _HANDLE_MAX)]


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Move this process into new namespaces."""
    _checked(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int = 0, options: str | None = None) -> None:
    """mount(2); relative paths stay relative, so ``/proc`` shows no host path."""
    result = _libc.mount(
        source.encode(), os.fsencode(target), kind.encode() if kind else None, flags,
        os.fsencode(options) if options is not None else None,
    )  # fmt: skip
    _checked(result, f"mount {kind or 'bind'} on {target}")


def unmount(target: str) -> None:
    """Detach a mount; processes that still use it keep it until they end."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def die_with_parent(signal: int) -> None:
    """Ask the kernel to send ``signal`` to this process when the thread that started it ends."""
    _checked(_libc.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0), "prctl")


def file_handle(directory: int, path: str) -> bytes:
    """The kernel's handle of a path, with its type in front, as fanotify reports it."""
    handle, mount_id = _Handle(bytes=_HANDLE_MAX), ctypes.c_int()
    result = _libc.name_to_handle_at(
        directory, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount_id), AT_HANDLE_FID
    )
    _checked(result, f"name_to_handle_at {path}")
    kind: int = handle.type
    return kind.to_bytes(4, "little", signed=True) + bytes(handle.data[: handle.bytes])


def open_handle(mount: int, handle: bytes) -> int:
    """Open what a handle names, as an ``O_PATH`` descriptor."""
    raw = _Handle(bytes=len(handle) - 4, type=int.from_bytes(handle[:4], "little", signed=True))
    raw.data[: len(handle) - 4] = list(handle[4:])
    return _checked(
        _libc.open_by_handle_at(mount, ctypes.byref(raw), os.O_PATH | os.O_CLOEXEC), "open_by_handle_at"
    )


def fanotify_init(flags: int) -> int:
    """A new fanotify group's descriptor."""
    return _checked(_libc.fanotify_init(flags, os.O_RDONLY | os.O_CLOEXEC), "fanotify_init")


def fanotify_mark(group: int, flags: int, mask: int, path: str) -> None:
    """Mark an object or its file system."""
    _checked(_libc.fanotify_mark(group, flags, mask, AT_FDCWD, os.fsencode(path)), f"fanotify_mark {path}")


def inotify_init() -> int:
    """A new non-blocking inotify descriptor."""
    return _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify_init1")


def inotify_add_watch(group: int, path: str, mask: int) -> int:
    """Watch a path; returns the watch number."""
    return _checked(
        _libc.inotify_add_watch(group, os.fsencode(path), ctypes.c_uint32(mask)), f"inotify_add_watch {path}"
    )
