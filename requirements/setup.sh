#!/usr/bin/env bash
# Make the virtual environment and see that bubblewrap is there. Usage: setup.sh PYTHON VENV
# Cheap when nothing changed: stamps in the environment name the inputs it was made from.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
venv=$2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

die() { printf 'setup: %s\n' "$*" >&2; exit 2; }

# Run a command silently; if it fails, show the end of what it said, without addresses.
quietly() {
  "$@" >"$log" 2>&1 && return
  tail -n 20 "$log" | sed -E 's#[a-z+]+://[^ )>,]*#<address>#g; s#host=[^ ,)]*#host=<address>#g' >&2
  die "failed: $*"
}

as_root_or_tell() { # PACKAGE WHY
  [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null \
    || die "$2 is missing; install it with: sudo apt-get install -y $1 (or your system's equivalent)"
  echo "setup: installing $1"
  quietly apt-get update -q
  quietly env DEBIAN_FRONTEND=noninteractive apt-get install -q -y "$1"
}

check_python() {
  command -v "$python" >/dev/null || die "PYTHON=$python was not found; pass one with PYTHON=..."
  version=$("$python" -c 'import platform; print(platform.python_version())') \
    || die "PYTHON=$python does not run; pass another with PYTHON=..."
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || die "PYTHON=$python is $version; Seatrial needs 3.11 or newer; pass another with PYTHON=..."
  "$python" -c 'import ensurepip, venv' 2>/dev/null || as_root_or_tell python3-venv "Python's venv module"
  "$python" -c 'import ensurepip, venv' 2>/dev/null \
    || die "PYTHON=$python has no venv module even so; pass another with PYTHON=..."
}

install() { quietly "$venv/bin/python" -m pip install --disable-pip-version-check "$@"; }

is_stamped() { [ -x "$venv/bin/python" ] && [ "$(cat "$venv/$1.stamp" 2>/dev/null)" = "$2" ]; }

fill_venv() {
  local pins project
  pins="$(cksum <requirements/dev.txt) $("$python" -c 'import sys; print(sys.base_prefix, sys.version)' | cksum) $PWD"
  project=$(cksum <pyproject.toml)
  if ! is_stamped pins "$pins"; then
    echo "setup: making $venv with Python $version"
    rm -rf "$venv"
    quietly "$python" -m venv "$venv"
    install --require-hashes -r requirements/dev.txt
    echo "$pins" >"$venv/pins.stamp"
  fi
  if ! is_stamped project "$project"; then
    install --no-deps --no-build-isolation -e .
    echo "$project" >"$venv/project.stamp"
  fi
}

check_python
fill_venv
# Elsewhere the container backend is the sandbox.
if [ "$(uname -s)" = Linux ] && ! command -v bwrap >/dev/null; then
  as_root_or_tell bubblewrap "bubblewrap, the sandbox,"
fi
