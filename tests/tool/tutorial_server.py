# SPDX-License-Identifier: MIT
"""tutorial_server.py PAGE [--record] -- replays doc/user/tutorial-server.md (transcripts.py)."""
import os
import re
import subprocess
import time

from transcripts import TABLE, Transcripts, await_true, deviation_bytes, has_ended

# What redis takes for the value of a visitor, and for a key.
VALUE_BYTES, KEY_BYTES = 1024, 16
NOTE_BYTES = 2048
# Of `mallow cpu --for 3s`.
SAMPLED_S = 3


def cli(*words):
    done = subprocess.run(["redis-cli", "-s", "r.sock", *words], capture_output=True, text=True,
                          timeout=60)
    return done.stdout.strip()


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Night(Transcripts):
    folder = "/srv/night"
    truth = [
        ("mallow report --top 5 4711", TABLE + r"%  _sdsnewlen$",
         [(100000, VALUE_BYTES), (100000, KEY_BYTES)], 0),
        ("mallow diff --since midnight", TABLE + r" MiB  _sdsnewlen$",
         [(50000, VALUE_BYTES), (50000, KEY_BYTES)], 0),
    ]
    exact = [
        # All but some hundredths of the time is in the command.
        ("mallow cpu --for 3s", r"(?m) (9\d\.\d+|100)%  keysCommand$"),
        ("mallow cpu --memory-cost", r"(?m)  write_note$"),
        ("mallow leaks --growth", r"held by the variable server in redis-server"),
        ("mallow advise", r"fragmentation: \d+ % of resident memory\n   _sdsnewlen keeps"),
        ("mallow diff --top 1 night", r"(?m) 3/3 .* write_note$"),
    ]
    busy_s = began_s = notes = 0

    def before(self, command):
        if command.startswith("mallow cpu --for"):
            self.busy_s, self.began_s = cpu_seconds(self.pid), time.monotonic()
        elif command == "kill -9 4711":
            self.notes = int(cli("visit"))

    def after(self, command, output):
        if command.endswith("--save ''"):
            await_true(command, lambda: cli("ping") == "PONG")
            self.pid = re.search(r"process_id:(\d+)", cli("info", "server"))[1]
        elif command.endswith(" visit"):
            self.notes = int(output[0].split()[-1])
        elif command.startswith("mallow cpu --for"):
            self.check_cpu_time(output)
        elif command == "mallow leaks 4711":
            # Old pointers in registers, stacks and free memory may keep one in a thousand.
            got = self.figure(command, output, r": (\d+) blocks leaked")
            self.compare(command, int(got[1]), self.notes - 1, 8 + self.notes / 1000)
        elif command == "kill -9 4711":
            await_true(command, lambda: has_ended(self.pid))
        elif command.startswith("mallow report --top 3 4711"):
            self.check_notes(command, output)

    def check_cpu_time(self, output):
        """All that the server did was sampled, but for the time in which the command starts and
        ends."""
        got = self.figure("cpu", output, r"of (\d[\d.]*) (m?s) total")
        got_s = float(got[1]) / (1000 if got[2] == "ms" else 1)
        busy_s = cpu_seconds(self.pid) - self.busy_s
        unsampled_s = time.monotonic() - self.began_s - SAMPLED_S
        self.compare("seconds of CPU time", got_s, busy_s, 0.05 * busy_s + 0.05 + unsampled_s)

    def check_notes(self, command, output):
        """The server was killed with a note of each visit."""
        found = self.figure(command, output, TABLE + r"  write_note  visits.c:\d+$")
        got = float(found[1]) * 2 ** {"MiB": 20, "GiB": 30}[found[2]]
        truth = self.notes * NOTE_BYTES
        self.compare(f"{command}: {found[0]}", got, truth,
                     5 * deviation_bytes(self.notes, NOTE_BYTES) + 0.01 * truth)


if __name__ == "__main__":
    Night().main(further_figures=3)
