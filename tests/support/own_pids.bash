# SPDX-License-Identifier: MIT
# own_pids.bash -- `source` it with the script's arguments: the script begins again in a PID
# namespace and with a /dev/shm of its own, where the kernel permits (root, mostly).  `mallow ls`
# then sees the script's processes only, scripts run side by side, and every process ends with its
# script.  Process 1 of the namespace is a shell that only waits: it reaps processes whose parent
# has ended, and the script keeps the default actions of signals, which process 1 does not have.
# PIDs begin at 5000: pprof takes a thread's number below 100 for a size in filters such as
# -tagignore=16b:100b.
if [ -z "${MALLOW_TEST_OWN_PIDS:-}" ] &&
    unshare --mount --pid --fork --mount-proc mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
    export MALLOW_TEST_OWN_PIDS=1
    # shellcheck disable=SC2016 # expanded by the shell within
    exec unshare --mount --pid --fork --kill-child --mount-proc bash -c \
        'mount -t tmpfs tmpfs /dev/shm || exit
        echo 5000 2>/dev/null >/proc/sys/kernel/ns_last_pid
        bash "$@"
        exit $?' bash "$0" "$@"
fi
