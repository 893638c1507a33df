# SPDX-License-Identifier: MIT
# Toolchain: Debian's cross compiler for aarch64, and the packages of Debian 11 that
# scripts/tarball.sh unpacked.
set(MALLOW_OLDEST_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/oldest.cmake)
set(CMAKE_C_FLAGS_INIT -mbranch-protection=standard)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${CMAKE_SYSROOT})
# Debian's cross compiler looks for libc below /usr/aarch64-linux-gnu first, with any sysroot.
foreach(kind EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "-B${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu \
-L${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu -L${CMAKE_SYSROOT}/lib/aarch64-linux-gnu")
endforeach()
