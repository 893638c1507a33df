# SPDX-License-Identifier: MIT
# Toolchain: Debian's cross compiler for aarch64, and the packages of Debian 11 that
# scripts/tarball.sh unpacked.
set(MALLOW_OLDEST_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/oldest.cmake)
set(CMAKE_C_FLAGS_INIT -mbranch-protection=standard)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${CMAKE_SYSROOT})
