# SPDX-License-Identifier: MIT
"""tutorial_heap.py PAGE [--record] -- replays doc/user/tutorial-heap.md (transcripts.py)."""
import glob
import subprocess

from transcripts import AMOUNT, T_BYTES, TABLE, Transcripts, await_true, has_ended

CATALOG, RECEIPT, ORDER = (8192, 4096), (8000, 8192), (8000, 16384)
# Receipts among the 24 KiB of each order, in 128 MiB; a dump waits for the next sample.
BETWEEN_DUMPS, DUMP_DELAY_BYTES = (5461, 8192), 8 * T_BYTES


class Shop(Transcripts):
    folder = "/srv/shop"
    truth = [
        ("mallow run -o", TABLE + r"  print_receipt", [RECEIPT], 0),
        ("mallow run -o", TABLE + r"  load_catalog", [CATALOG], 0),
        ("mallow run -o", r"allocated: +" + AMOUNT, [CATALOG, RECEIPT, ORDER], 0),
        ("MALLOC_CONF=prof_leak", r"summary: ~([\d.]+) (b)ytes", [CATALOG, RECEIPT], 0),
        ("mallow top shop.pb.gz", TABLE + r"% +print_receipt$", [RECEIPT], 0),
        ("mallow top shop.pb.gz", TABLE + r"% +load_catalog$", [CATALOG], 0),
        ("mallow top --alloc-space", TABLE + r"% +check_order$", [ORDER], 0),
        ("mallow list", r"(?m)^ +" + AMOUNT + r":\treceipt = ", [RECEIPT], 0),
        ("mallow diff dumps/shop.0001", TABLE + r"% +\S+ MiB  print_receipt$", [BETWEEN_DUMPS],
         DUMP_DELAY_BYTES),
        ("mallow diff dumps/*", TABLE + r"% +\S+ MiB  print_receipt$", [BETWEEN_DUMPS],
         DUMP_DELAY_BYTES),
        ("./kept", TABLE + r"% +main$", [(1, 10 << 20)], 0),
        ("mallow top 4711", TABLE + r"% +print_receipt$", [(4000, 8192)], 0),
    ]
    exact = [("mallow run --leaks", r": 7999 blocks leaked, 62\.5 MiB of 94\.5 MiB ")]
    served = 0  # batches

    def is_served(self):
        with open("shop.log") as file:
            return file.read().count("served") == self.served

    def after(self, command, output):
        if command.endswith("&"):
            status = ["mallow", "status", self.pid]
            await_true(command,
                       lambda: subprocess.run(status, capture_output=True).returncode == 0)
        elif command == "echo 0 >orders":
            await_true(command, lambda: has_ended(self.pid))
        elif command.endswith(" >orders"):
            self.served += 1
            await_true(command, self.is_served)
        elif command.startswith("kill "):
            await_true(command, lambda: glob.glob("shop.*.signal.pb"))


if __name__ == "__main__":
    Shop().main()
