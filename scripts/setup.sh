#!/bin/sh
# Finds a Python that can run us and hands over to setup.py. Usage: setup.sh run|test
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P) || exit 2
for python in ${NEOCODE_PYTHON:+"$NEOCODE_PYTHON"} python3 python3.13 python3.12 python3.11 python3.10 python; do
    if "$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        exec "$python" -I "$root/scripts/setup.py" "$1"
    fi
done
echo 'neocode: no Python 3.10 or newer was found; install one (or set NEOCODE_PYTHON to its path) and run this again' >&2
exit 2
