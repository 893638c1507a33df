#!/bin/bash
# SPDX-License-Identifier: MIT
# aarch64_system.sh SOURCE_DIR BUILD_DIR -- boots Debian's arm64 kernels, with pages of 4 and of 16
# KiB, one after the other in qemu-system-aarch64, with all of mallow for aarch64 as its only file
# system, and runs tests/system/guest.sh there: addresses of 48 bits, the kernel's own signals,
# timers, events, copies of processes, ptrace(2), which qemu-user does not have.  A failure names
# the test.  Exit status 77 (skipped) where the emulator, the compiler or a kernel is not installed
# (scripts/arm64_root.sh).
set -euo pipefail
source=$1
build=$(realpath "$2")
arm64=$build/arm64
cross=$build/preset-aarch64-system
image=$cross/image
log=$cross/guest.log
cd "$source"

for program in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-system-aarch64 cpio; do
    command -v "$program" >/dev/null || {
        echo "skipped: $program is not installed"
        exit 77
    }
done
[ -e "$arm64/packages" ] || {
    echo "skipped: no packages for arm64; scripts/arm64_root.sh $arm64 downloads them"
    exit 77
}
kernel=$(printf '%s\n' "$arm64"/kernel/boot/vmlinuz-* | tail -n 1)

# What runs in the machine.  Units run in qemu-user (check/aarch64-units).
programs=(corner_cases deepbind info nothrow own_api)

export MALLOW_ARM64_ROOT=$arm64/root
{
    cmake --preset aarch64-system -B "$cross" &&
        cmake --build "$cross" --parallel 2 --target mallow mallow_command system_worker \
            guarded_cases "${programs[@]/#/program_}"
} >"$cross.log" 2>&1 || {
    grep -E 'error|warning|FAILED' "$cross.log" | sed -n 1,40p || tail -n 40 "$cross.log"
    echo "the preset aarch64-system does not build"
    exit 1
}

# ---- the file system ----

libraries=usr/lib/aarch64-linux-gnu
# add_libraries FILE: the libraries that it needs, and those that they need.
add_libraries() {
    local name file
    for name in $(readelf -d "$1" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        [ ! -e "$image/$libraries/$name" ] || continue
        for file in "$arm64/root/$libraries/$name" "$arm64/root/lib/aarch64-linux-gnu/$name"; do
            [ -e "$file" ] || continue
            cp -L "$file" "$image/$libraries/$name"
            add_libraries "$file"
            break
        done
    done
}

# add_program FILE TARGET: with its symbols, but without debug information.
add_program() {
    aarch64-linux-gnu-objcopy --strip-debug "$1" "$image/$2"
    add_libraries "$1"
}

make_image() {
    local name file
    rm -rf "$image"
    mkdir -p "$image"/{bin,lib,proc,sys,dev,tmp,root,run,etc,usr/bin,opt/bin,opt/lib,opt/tests} \
        "$image/$libraries" "$image/opt/tests/plugins"
    shopt -s nullglob
    cp "$arm64/root/bin/busybox" "$image/bin/"
    # The applets' names, which the program for this machine does not tell here.
    for name in sh mount mkdir chmod ip poweroff cat sleep grep sed head tail rm ls uname timeout \
        true false sort cut wc tr dmesg id ps env expr test awk diff find mktemp touch nproc; do
        ln -s busybox "$image/bin/$name"
    done
    cp -L "$arm64/root/lib/ld-linux-aarch64.so.1" "$image/lib/"
    for name in bin/bash usr/bin/redis-server usr/bin/redis-benchmark usr/bin/perl; do
        cp -L "$arm64/root/$name" "$image/usr/bin/"
        add_libraries "$arm64/root/$name"
    done
    cp -L "$arm64"/root/usr/bin/python3.? "$arm64"/root/usr/bin/python3.?? "$image/usr/bin/" \
        2>/dev/null || true
    file=$(printf '%s\n' "$image"/usr/bin/python3.* | tail -n 1)
    ln -s "${file##*/}" "$image/usr/bin/python3"
    ln -s ../usr/bin/bash "$image/bin/bash"
    add_libraries "$file"
    cp -r "$arm64/root/usr/lib/${file##*/}" "$image/usr/lib/"
    echo root:x:0:0:root:/root:/bin/sh >"$image/etc/passwd"
    add_program "$cross/bin/mallow" opt/bin/mallow
    add_program "$cross/lib/libmallow.so" opt/lib/libmallow.so.1
    ln -s libmallow.so.1 "$image/opt/lib/libmallow.so"
    add_program "$cross/tests/system_worker" opt/bin/worker
    add_program "$cross/tests/guarded_cases" opt/tests/guarded_cases
    cp tests/guarded/run.sh "$image/opt/tests/"
    # The last case allocates for minutes in the emulator.
    sed '/^== right /,$d' tests/guarded/expected.txt >"$image/opt/tests/expected.txt"
    for name in "${programs[@]}"; do
        add_program "$cross/tests/programs/$name" "opt/tests/$name"
    done
    for file in "$cross"/tests/programs/plugins/*.so; do
        add_program "$file" "opt/tests/plugins/${file##*/}"
    done
    # Their programs look for these where the build has them.
    mkdir -p "$image$cross/lib"
    for file in "$cross"/lib/libprogram_*.so; do
        add_program "$file" "$file"
    done
    cp tests/system/guest.sh "$image/opt/guest.sh"
    cp tests/system/init.sh "$image/init"
    chmod +x "$image/init" "$image/opt/guest.sh"
    (cd "$image" && find . | cpio --quiet -o -H newc --owner 0:0) >"$image.cpio"
    rm -rf "$image"
}
make_image

# ---- the machine ----

# boot KERNEL LOG
boot() {
    local kernel=$1 log=$2 passed
    # Pointer authentication by the emulator's own function: the architected one takes most of the
    # time.
    timeout 900 qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -smp 2 -m 2500 -nic none \
        -kernel "$kernel" -initrd "$image.cpio" -nographic -no-reboot \
        -append "console=ttyAMA0 rdinit=/init panic=-1 quiet" </dev/null >"$log.raw" 2>&1 ||
        true
    tr -d '\r' <"$log.raw" >"$log"
    rm -f "$log.raw"
    passed=$(grep -c '^passed ' "$log" || true)
    if grep -q '^guest done$' "$log" && ! grep -q '^failed ' "$log" && [ "$passed" -gt 0 ]; then
        grep '^guest ' "$log"
        echo "$passed tests passed"
        return
    fi
    awk '/^begin / { text = "" } { text = text $0 "\n" } /^failed / { printf "%s", text }' "$log"
    grep '^failed ' "$log" || true
    if ! grep -q '^guest done$' "$log"; then
        echo "the machine ended in $(sed -n 's/^begin //p' "$log" | tail -n 1):"
        tail -n 20 "$log"
    fi
    return 1
}

status=0
boot "$kernel" "$log" || status=1
larger=$(printf '%s\n' "$arm64"/kernel-16k/boot/vmlinuz-* | tail -n 1)
if [ -e "$larger" ]; then
    boot "$larger" "${log%.log}-16k.log" || status=1
elif [ $status = 0 ]; then
    echo "skipped: no kernel with pages of 16 KiB; scripts/arm64_root.sh $arm64 downloads it"
    status=77
fi
rm -f "$image.cpio"
exit $status
