#!/bin/bash
# SPDX-License-Identifier: MIT
# with_python.sh SCRIPT ARGUMENT... -- the script, which python3 runs; exit status 77 (skipped) on a
# machine without it.
command -v python3 >/dev/null || {
    echo "skipped: python3 is not installed"
    exit 77
}
exec "$@"
