"""Random things an agent may do to its files, as commands, from a seed and from what is there."""

import random
import shlex
from collections.abc import Callable

from tests.environment.walk import Facts

NAMES = [
    "a", "b", "c", "f", "d e", "x%41y", "new\nline", "\udcff\udcfe", "é", "n" * 255, "-dash",
    "q'\"uote", ".hidden", "back\\012slash", "sub", "other", "a.txt",
]  # fmt: skip
PLACES = {
    "workspace": "/workspace", "home": "/home/agent", "tmp": "/tmp", "var-tmp": "/var/tmp", "shm": "/dev/shm",
}  # fmt: skip
DATABASE = "workspace/db.sqlite"

MAPPER = r"""
import ctypes, os, signal, sys
from ctypes import c_int, c_long, c_size_t, c_void_p
libc = ctypes.CDLL(None, use_errno=True); libc.mmap.restype = c_void_p
libc.mmap.argtypes = [c_void_p, c_size_t, c_int, c_int, c_int, c_long]
path = os.fsencode(sys.argv[1]); fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
if os.fstat(fd).st_size < 64: os.ftruncate(fd, 64)
at = libc.mmap(None, 64, 3, 1, fd, 0); os.close(fd)
if sys.argv[2] == "unlink": os.unlink(path)
view = (ctypes.c_ubyte * 64).from_address(at)
def kick(*_): view[0] = (view[0] + 1) % 256
def last(*_): kick(); os._exit(0)
signal.signal(signal.SIGUSR1, kick); signal.signal(signal.SIGUSR2, last); kick()
open("/tmp/pids", "a").write(f"{os.getpid()}\n")
if sys.argv[2] == "once": os._exit(0)
os.close(1); os.close(2); signal.alarm(20)
while True: signal.pause()
"""
EXCHANGE = """import ctypes,os,sys
one, other = map(os.fsencode, sys.argv[1:]); ctypes.CDLL(None).renameat2(-100,one,-100,other,2)"""
TMPFILE = """import os,sys
d,n=os.path.split(sys.argv[1]); fd=os.open(d,os.O_TMPFILE|os.O_RDWR,0o600); os.write(fd,b"tmp")
os.link(f"/proc/self/fd/{fd}",sys.argv[1],follow_symlinks=True); os.write(fd,b"more")"""
SOCKET = "import socket,sys,os;os.chdir(os.path.dirname(sys.argv[1]));socket.socket(socket.AF_UNIX).bind('s')"
XATTR = """import os,sys
n=os.fsencode(sys.argv[2]); p=os.fsencode(sys.argv[1])
os.removexattr(p,n) if n in map(os.fsencode,os.listxattr(p)) else os.setxattr(p,n,os.urandom(3))"""
SQL = """import sqlite3,sys,random
c=sqlite3.connect('/workspace/db.sqlite',timeout=1); r=random.Random(int(sys.argv[1]))
c.execute('PRAGMA journal_mode='+r.choice(['WAL','DELETE','WAL']))
c.execute('CREATE TABLE IF NOT EXISTS t(x, y BLOB)')
for _ in range(r.randint(1,3)):
    if r.random()<.6: c.execute('INSERT INTO t VALUES(?,?)',(r.randint(0,3),b'y'*r.randint(0,2)))
    else: c.execute('DELETE FROM t WHERE rowid=(SELECT max(rowid) FROM t)')
c.commit()
if r.random()<.3: c.execute('VACUUM')
if r.random()<.5: import os; os._exit(0)
"""


class Deeds:
    """Draws commands.

    Args:
        seed: the same seed and the same states give the same commands.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.facts: dict[str, Facts] = {}
        self._deeds: list[tuple[int, Callable[[], str]]] = [
            (8, self.write), (4, self.append), (3, self.truncate), (4, self.overwrite), (4, self.chmod),
            (4, self.symlink), (6, self.hardlink), (5, self.alias_write), (3, self.alias_held),
            (9, self.move), (5, self.remove), (5, self.remake), (4, self.swap_kind), (4, self.mkdir),
            (3, self.copy), (3, self.edit_in_place), (2, self.fifo), (2, self.touch), (4, self.undone),
            (3, self.xattr), (2, self.exchange), (2, self.tmpfile), (1, self.socket), (4, self.sql),
            (3, self.append_behind), (4, self.map_file), (6, self.kick), (3, self.temporary),
            (2, self.hidden_alias), (1, self.many),
        ]  # fmt: skip

    def draw(self, facts: dict[str, Facts]) -> tuple[str, str]:
        """A name and a command for a world with these files."""
        self.facts = facts
        locked = [PLACES[root] for root in PLACES if int(str(facts[root][1])) & 0o700 != 0o700]
        if locked and self.random.random() < 0.3:
            return "unlock", f"chmod 755 {' '.join(locked)}"
        deed = self.random.choices([d for _, d in self._deeds], [w for w, _ in self._deeds])[0]
        return deed.__name__, deed()

    # -- picking --------------------------------------------------------------------------------------
    def _inside(self, path: str) -> str:
        raw = bytearray()
        parts = path.split("%")
        raw += parts[0].encode()
        for part in parts[1:]:
            raw += bytes([int(part[:2], 16)]) + part[2:].encode()
        root, _, rest = bytes(raw).partition(b"/")
        text = PLACES[root.decode()].encode() + (b"/" + rest if rest else b"")
        return text.decode("utf-8", "surrogateescape")

    def _existing(self, *kinds: str) -> str:
        wanted = [p for p, f in self.facts.items() if f[0] in kinds and ("/" in p or kinds == ("dir",))]
        wanted = [p for p in wanted if len(p) < 1500]
        if not wanted:
            return self._new()
        return self._inside(self.random.choice(sorted(wanted)))

    def _any(self) -> str:
        return self._existing("file", "dir", "link", "fifo", "socket")

    def _file(self) -> str:
        return self._existing("file")

    def _new(self) -> str:
        folders = sorted(p for p, f in self.facts.items() if f[0] in ("dir",) and len(p) < 1000)
        links = sorted(p for p, f in self.facts.items() if f[0] == "link" and self.random.random() < 0.1)
        folder = self.random.choice(links or folders)
        return f"{self._inside(folder)}/{self.random.choice(NAMES)}"

    def _path(self) -> str:
        return self._file() if self.random.random() < 0.6 else self._new()

    def _text(self) -> str:
        return self.random.choice(["1", "2", "3", "one two", "x" * 5000, ""])

    @staticmethod
    def _python(program: str, *arguments: str) -> str:
        return " ".join(["python3", "-ISBc", *map(shlex.quote, [program, *arguments])])

    # -- deeds ----------------------------------------------------------------------------------------
    def write(self) -> str:
        return f"printf %s {shlex.quote(self._text())} > {shlex.quote(self._path())}"

    def append(self) -> str:
        return f"echo {self.random.randint(0, 3)} >> {shlex.quote(self._path())}"

    def truncate(self) -> str:
        return f"truncate -s {self.random.choice([0, 1, 70, 9000])} -- {shlex.quote(self._path())}"

    def overwrite(self) -> str:
        return f"printf zz | dd of={shlex.quote(self._file())} conv=notrunc bs=1 seek=1 status=none"

    def chmod(self) -> str:
        mode = self.random.choice(["644", "755", "600", "000", "4755", "1777", "555", "700"])
        target = self._any()
        return f"chmod {mode} -- {shlex.quote(target)}" + ("; sleep 0" if mode == "000" else "")

    def symlink(self) -> str:
        there = [self._any(), self._existing("dir")]
        target = self.random.choice([*there, "..", "/etc/passwd", "nowhere", "/", "../sub"])
        return f"ln -sT -- {shlex.quote(target)} {shlex.quote(self._new())}"

    def hardlink(self) -> str:
        force = self.random.choice(["", "f"])
        return f"ln -PT{force} -- {shlex.quote(self._any())} {shlex.quote(self._new())}"

    def alias_write(self) -> str:
        old, new = shlex.quote(self._file()), shlex.quote(self._new())
        return f"ln -PT -- {old} {new} && echo evil >> {new}; rm -f -- {new}"

    def alias_held(self) -> str:
        old, new = shlex.quote(self._file()), shlex.quote(self._new())
        end = self.random.choice(["", "(sleep 0.05; echo later >&3) & ", f"mv -fT -- {old} {new}x; "])
        return f"ln -PT -- {old} {new} && exec 3>>{new} && rm -f -- {new}; {end}echo evil >&3"

    def hidden_alias(self) -> str:
        old = shlex.quote(self._file())
        return f"mkdir /tmp/h && ln -PT -- {old} /tmp/h/l && echo evil >> /tmp/h/l; rm -rf /tmp/h"

    def move(self) -> str:
        kind = self.random.choice(["-fT", "-f", "-nT"])
        goal = self._new() if self.random.random() < 0.7 else self._any()
        return f"mv {kind} -- {shlex.quote(self._any())} {shlex.quote(goal)}"

    def remove(self) -> str:
        return f"rm -rf -- {shlex.quote(self._any())}"

    def remake(self) -> str:
        path = shlex.quote(self._any())
        ways = [f"echo again > {path}", f"mkdir {path}; echo in > {path}/a", f"mkdir {path}"]
        again = self.random.choice(ways)
        return f"rm -rf -- {path}; {again}"

    def swap_kind(self) -> str:
        path = shlex.quote(self._any())
        return f"mv -T -- {path} /tmp/aside && mkdir {path} && mv -T /tmp/aside {path}/a; rm -rf /tmp/aside"

    def mkdir(self) -> str:
        names = self.random.choices(NAMES, k=2)
        path = shlex.quote(self._new() + "/" + "/".join(names))
        return f"mkdir -p -- {path} && echo deep > {path}/f"

    def copy(self) -> str:
        return f"cp -aT -- {shlex.quote(self._any())} {shlex.quote(self._new())} 2>/dev/null"

    def edit_in_place(self) -> str:
        return f"sed -i s/1/2/ -- {shlex.quote(self._file())}"

    def fifo(self) -> str:
        return f"mkfifo -- {shlex.quote(self._new())}"

    def touch(self) -> str:
        return f"touch -h -- {shlex.quote(self._path())}"

    def undone(self) -> str:
        path = shlex.quote(self._file())
        return f"cp -a -- {path} /tmp/keep; echo evil >> {path}; cat /tmp/keep > {path}; rm -f /tmp/keep"

    def temporary(self) -> str:
        path = shlex.quote(self._new())
        return f"echo temp > {path}; cat {path}; rm -f -- {path}"

    def xattr(self) -> str:
        name = self.random.choice(["user.one", "user.two", "user.\udcfe%"])
        return self._python(XATTR, self._path(), name)

    def exchange(self) -> str:
        return self._python(EXCHANGE, self._any(), self._any())

    def tmpfile(self) -> str:
        return self._python(TMPFILE, self._new())

    def socket(self) -> str:
        return self._python(SOCKET, self._new())

    def sql(self) -> str:
        if self.random.random() < 0.1:
            return self.random.choice(
                [
                    "rm -f /workspace/db.sqlite*",
                    "ln -f /workspace/db.sqlite /tmp/a",
                    "mv /workspace/db.sqlite /tmp/b",
                    "cp /workspace/db.sqlite /tmp/c; cp /tmp/c /workspace/db.sqlite",
                    "ln -f /tmp/b /workspace/db.sqlite",
                ]
            )
        return self._python(SQL, str(self.random.randint(0, 10**6)))

    def append_behind(self) -> str:
        path = shlex.quote(self._path())
        loop = f"for i in 1 2 3 4 5 6; do echo $i >> {path}; sleep 0.0$((RANDOM % 5)); done"
        return f"({loop}) >/dev/null 2>&1 &"

    def map_file(self) -> str:
        path = self._path()
        how = self.random.choice(["keep", "keep", "once", "unlink"])
        before = ""
        if how == "unlink":
            before = f"ln -PT -- {shlex.quote(path)} {shlex.quote(path + '.m')}; "
            path += ".m"
        run = self._python(MAPPER, path, how)
        if how == "once":
            return before + run
        wait = "for i in $(seq 50); do sleep 0.005; [ -s /tmp/pids ] && break; done"
        return f"{before}{run} >/dev/null 2>&1 & {wait}"

    def kick(self) -> str:
        number = self.random.choice(["USR1", "USR1", "USR2", "KILL"])
        forget = f"[ {number} = USR1 ] || rm -f /tmp/pids"
        return f"kill -{number} $(cat /tmp/pids) 2>/dev/null; sleep 0.01; {forget}"

    def many(self) -> str:
        folder = shlex.quote(self._existing("dir"))
        return f"cd {folder} && for i in $(seq 40); do echo $i > m$i; done; rm -f m1*"
