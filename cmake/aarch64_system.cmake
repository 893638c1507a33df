# SPDX-License-Identifier: MIT
# Toolchain: Debian's cross compiler, and the arm64 packages that scripts/arm64_root.sh unpacked:
# the command, too, is built, for a machine that boots (check/aarch64-system).
include(${CMAKE_CURRENT_LIST_DIR}/aarch64.cmake)
if(NOT MALLOW_ARM64_ROOT)
    set(MALLOW_ARM64_ROOT $ENV{MALLOW_ARM64_ROOT})
endif()
# What the compiler is tested with is a project of its own.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MALLOW_ARM64_ROOT)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CXX_FLAGS_INIT ${CMAKE_C_FLAGS_INIT})
set(CMAKE_SYSROOT ${MALLOW_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH ${MALLOW_ARM64_ROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64;-cpu;max,pauth-impdef=on;-L;${MALLOW_ARM64_ROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${MALLOW_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${MALLOW_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
