# SPDX-License-Identifier: MIT
"""peers.py -- the allocators that are compared: which library each preloads, with what
environment; the options that choose them."""
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field

# Debian's packages libjemalloc2, libtcmalloc-minimal4 and libmimalloc2.0.
SYSTEM_PEERS = [
    ("jemalloc", "libjemalloc.so.2"),
    ("tcmalloc", "libtcmalloc_minimal.so.4"),
    ("mimalloc", "libmimalloc.so.2"),
]


ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def add_arguments(parser):
    """Which allocators are measured, and where mallow's library is."""
    parser.add_argument("--allocators", metavar="NAMES", help="only these, comma separated")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PATH",
                        help="one more allocator (also from the environment: PEER)")
    parser.add_argument("--library", metavar="PATH", help="the libmallow.so to measure")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), metavar="FOLDER")


@dataclass
class Peer:
    name: str
    preload: str
    environment: dict = field(default_factory=dict)
    is_mallow: bool = False


def library_paths():
    """Where the dynamic linker finds each library: name to path."""
    for command in ("ldconfig", "/sbin/ldconfig"):
        try:
            text = subprocess.run([command, "-p"], capture_output=True, text=True,
                                  check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        paths = {}
        for name, path in re.findall(r"^\t(\S+) \(.*x86-64.*\) => (\S+)$", text, re.M):
            paths.setdefault(name, path)
        return paths
    return {}


def given_peers(values):
    """From PEER=name=path.so, several separated by commas or spaces."""
    result = []
    for value in values:
        for word in re.split(r"[,\s]+", value.strip()):
            if not word:
                continue
            name, _, path = word.partition("=")
            if not path or not os.path.isfile(path):
                sys.exit(f"mallow: PEER={word}: no such library; use PEER=name=path.so")
            result.append(Peer(name, os.path.abspath(path)))
    return result


def find_peers(mallow_library, extra, only):
    """glibc first, then the peers present, mallow, and mallow with sampling off."""
    # glibc too is preloaded: some programs of Debian (redis) are linked with jemalloc, and what is
    # preloaded comes before it.
    paths = library_paths()
    peers = [Peer("glibc", "libc.so.6")]
    for name, library in SYSTEM_PEERS:
        if library in paths:
            peers.append(Peer(name, paths[library]))
        else:
            print(f"== {name}: {library} is not installed; left out")
    peers += given_peers(extra)
    mallow = os.path.abspath(mallow_library)
    if not os.path.isfile(mallow):
        sys.exit(f"mallow: {mallow}: no such library; run make first")
    peers.append(Peer("mallow", mallow, is_mallow=True))
    peers.append(Peer("mallow-off", mallow, {"MALLOW_CONF": "prof:false"}, is_mallow=True))
    return [p for p in peers if not only or p.name in only or p.name == "glibc"]
