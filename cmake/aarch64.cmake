# SPDX-License-Identifier: MIT
# Toolchain: Debian's cross compiler for aarch64; its programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
# The largest processor qemu has: with pointer authentication, so that return addresses are
# signed; by qemu's own function, as the architected one takes most of the time.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-cpu;max,pauth-impdef=on;-L;/usr/aarch64-linux-gnu)
set(CMAKE_C_FLAGS_INIT -mbranch-protection=standard)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
