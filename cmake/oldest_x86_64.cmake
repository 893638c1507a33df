# SPDX-License-Identifier: MIT
# Toolchain: this machine's compiler, and the packages of Debian 11 that scripts/tarball.sh
# unpacked.
set(MALLOW_OLDEST_PROCESSOR x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/oldest.cmake)
# gcc looks beside itself first, where this machine's own libraries are.
set(libraries ${CMAKE_SYSROOT}/usr/lib/x86_64-linux-gnu)
foreach(kind EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT
        "-B${libraries} -L${libraries} -L${CMAKE_SYSROOT}/lib/x86_64-linux-gnu")
endforeach()
# What was built runs here, too.
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/bin/env)
