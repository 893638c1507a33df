# SPDX-License-Identifier: MIT
# Toolchain: Debian's musl-gcc. Alpine needs none: its compiler and its libc are these.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_C_COMPILER musl-gcc)
# The kernel's headers, which musl-gcc does not see, and nothing of glibc's.
set(mallow_kernel_headers ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${mallow_kernel_headers})
foreach(folder linux asm-generic)
    file(CREATE_LINK /usr/include/${folder} ${mallow_kernel_headers}/${folder} SYMBOLIC)
endforeach()
file(GLOB mallow_asm /usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/asm /usr/include/asm)
list(GET mallow_asm 0 mallow_asm)
file(CREATE_LINK ${mallow_asm} ${mallow_kernel_headers}/asm SYMBOLIC)
set(CMAKE_C_FLAGS_INIT "-idirafter ${mallow_kernel_headers}")
# musl-gcc leaves it out, and without it no stack is found.
set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,--eh-frame-hdr)
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,--eh-frame-hdr)
