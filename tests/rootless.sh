#!/usr/bin/env bash
# Run the tests again as an ordinary user, which takes other paths through the sandbox. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "tests/rootless.sh: run it as root; as a user, plain 'make test' is the same" >&2; exit 2; }

user=seatrial$$
# A system account has no password, no mail and no expiry.
useradd --system --create-home --shell /bin/bash "$user"
trap 'userdel -f -r "$user" >/dev/null 2>&1 || true' EXIT
home=$(getent passwd "$user" | cut -d: -f6)

mkdir "$home/seatrial"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\0' "$file"; fi # not a deleted one
done | tar --null --files-from=- -cf - | tar -xf - -C "$home/seatrial"
chown -R "$user:" "$home"

as_user() {
  (cd "$home/seatrial" && runuser -u "$user" -- \
    env HOME="$home" USER="$user" LOGNAME="$user" PATH=/usr/local/bin:/usr/bin:/bin "$@")
}

# Root's interpreter may lie in root's own home.
python=$("${PYTHON:-python3}" -c 'import os, sys; print(os.path.realpath(sys.executable))')
as_user "$python" -c '' 2>/dev/null || python=/usr/bin/python3
if ! as_user "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y python3-venv >/dev/null
fi
# Only what touches a sandbox takes another path.
rooms="tests/agents tests/environment tests/gateway tests/trial tests/verify tests/schedule tests/calibrate"
as_user make test PYTHON="$python" PYTEST_ARGS="-m 'not root and not slow' $rooms"
