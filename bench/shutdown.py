# SPDX-License-Identifier: MIT
"""shutdown.py -- how a server that was measured ends."""
import subprocess


def end_server(process, log):
    """Asks the process to end, makes it after 20 s, and closes its log."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    log.close()
