#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
# init.sh -- process 1 of the machine that tests/checks/aarch64_system.sh boots: the usual file
# systems, the tests, the end.  The kernel's own messages are errors only.
export PATH=/opt/bin:/opt/tests:/usr/bin:/bin HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm
ln -s /proc/self/fd /dev/fd
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
chmod 1777 /dev/shm /tmp
ip link set lo up
bash /opt/guest.sh
poweroff -f
