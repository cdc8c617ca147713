#!/usr/bin/env bash
# Pin every dependency, with the hashes of all its wheels, from run.in and dev.in.
# The files must install for every supported Python and platform, so the resolution is universal
# and knows one version of each package. No index of the machine it runs on may shape or enter them.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${PYTHON:-python3}" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install -qq "uv==0.13.9"

lock() {
  env -u UV_INDEX -u UV_INDEX_URL -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS \
    "$scratch/venv/bin/uv" pip compile --quiet --no-config --universal --python-version 3.11 \
    --fork-strategy fewest --generate-hashes --no-emit-index-url --no-emit-find-links \
    --custom-compile-command "make lock" "$@"
}
lock requirements/run.in -o requirements/run.txt
# A development machine tests exactly what users run.
lock requirements/dev.in --constraints requirements/run.txt -o requirements/dev.txt
