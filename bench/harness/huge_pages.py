# SPDX-License-Identifier: MIT
"""huge_pages.py -- the system's setting of transparent huge pages, under which times and memory are
measured: what it is, and another one for the length of a run."""
import contextlib
import signal
import sys

PATH = "/sys/kernel/mm/transparent_hugepage/enabled"


def setting():
    """always, madvise or never; 'unknown' where the kernel has none."""
    try:
        with open(PATH, encoding="ascii") as file:
            return file.read().split("[")[1].split("]")[0]
    except (OSError, IndexError):
        return "unknown"


def add_arguments(parser):
    parser.add_argument("--thp", choices=("always", "madvise", "never"),
                        help="run with this setting of transparent huge pages, for all programs of "
                        "the machine (as root); the old one is put back at the end")


def write(value):
    try:
        with open(PATH, "w", encoding="ascii") as file:
            file.write(value)
    except OSError as error:
        sys.exit(f"mallow: --thp {value}: {PATH}: {error.strerror}; run as root on a machine of "
                 "your own")


@contextlib.contextmanager
def using(value):
    """Runs with this setting; None: with the machine's."""
    before = setting()
    if value is None or value == before:
        yield
        return
    # A run that is ended puts the old setting back, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    write(value)
    try:
        yield
    finally:
        write(before)
