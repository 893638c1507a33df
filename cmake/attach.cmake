# SPDX-License-Identifier: MIT
# build/lib/mallow/attach.bin, the code that `mallow attach` puts into a process
# (src/attach/blob.h): a shared object without libc, made of the layers up to prof and src/attach.
# check/attach-blob compares it with what state/attach.h promises.  Target mallow_attach.  Included
# by src/CMakeLists.txt.
#
# The entry code is written for x86-64.  A sanitizer's functions are not there.  Built with glibc's
# headers, whose structures src/attach/libc_calls.c fills in; the processes may have any libc.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 OR MALLOW_SANITIZE OR NOT MALLOW_LIBC_IS_GLIBC)
    return()
endif()
file(GLOB_RECURSE attach_sources CONFIGURE_DEPENDS base/*.c os/*.c prof/*.c attach/*.c)
# What src/attach has in the place of, and what stops or copies the process.
list(FILTER attach_sources EXCLUDE REGEX
    "/(base/check|os/platform/libc_(archive|shared)|os/process/.*)\\.c$")
list(FILTER attach_sources EXCLUDE REGEX
    "/(prof/(tool_entry|mapping_hooks)|os/lock/stdio_lock)\\.c$")
add_library(mallow_attach_objects OBJECT ${attach_sources})
target_compile_definitions(mallow_attach_objects PRIVATE MW_ATTACH=1)
# -fno-builtin: memcpy() and others are defined in src/attach.  Not optimised at link time: the
# linker would not see their calls.
target_compile_options(mallow_attach_objects PRIVATE -O2 -fvisibility=hidden -fno-builtin -fno-lto
    -U_FORTIFY_SOURCE)
target_link_libraries(mallow_attach_objects PRIVATE mallow_flags)
set_target_properties(mallow_attach_objects PROPERTIES POSITION_INDEPENDENT_CODE ON
    INTERPROCEDURAL_OPTIMIZATION OFF)

# As for the library: the unwinder knows the blob's own frames by their section.
set(attach_folder ${CMAKE_CURRENT_BINARY_DIR}/own_text_attach)
set(attach_objects)
foreach(source ${attach_sources})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE name)
    string(REGEX REPLACE "\\.c$" "" name ${name})
    string(REPLACE "/" "_" name ${name})
    list(APPEND attach_objects ${attach_folder}/${name}.o)
endforeach()
file(MAKE_DIRECTORY ${attach_folder})
file(GENERATE OUTPUT ${attach_folder}/objects.txt
    CONTENT "$<JOIN:$<TARGET_OBJECTS:mallow_attach_objects>,\n>\n")
add_custom_command(OUTPUT ${attach_objects}
    COMMAND ${CMAKE_COMMAND} -DOBJCOPY=${CMAKE_OBJCOPY} -DOBJECTS=${attach_folder}/objects.txt
        -DFOLDER=${attach_folder} -P ${PROJECT_SOURCE_DIR}/cmake/own_text.cmake
    DEPENDS $<TARGET_OBJECTS:mallow_attach_objects> ${PROJECT_SOURCE_DIR}/cmake/own_text.cmake
    COMMENT "Moving the code of attach.bin to its own sections"
    VERBATIM)
set_source_files_properties(${attach_objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)

add_library(mallow_attach SHARED ${attach_objects})
set_target_properties(mallow_attach PROPERTIES LINKER_LANGUAGE C PREFIX "" OUTPUT_NAME attach
    SUFFIX .bin LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/mallow)
# Two segments: one to read and execute, one to read and write.  A set of relocations that the
# command can apply: no RELRO, no lazy binding, no symbols.
target_link_options(mallow_attach PRIVATE -nostdlib -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,now
    -Wl,-z,text -Wl,-Bsymbolic -Wl,--no-undefined -Wl,--build-id=sha1 -Wl,-e,mw_attach_entry)
target_link_libraries(mallow_attach PRIVATE gcc)
