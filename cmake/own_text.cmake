# SPDX-License-Identifier: MIT
# Copies the library's objects and gives their code, and their large arrays, sections of their own:
#   mallow_text    code
#   mallow_cold    what the compiler found to be seldom run
#   mallow_waits   functions marked MW_WAITS, named so in the source
#   mallow_sparse  arrays marked MW_SPARSE: behind the variables, which then share few pages
# The names are C identifiers, so the linker defines __start_mallow_text and so on around them, in
# libmallow.so and in programs linked with libmallow.a: the unwinder knows the library's own frames
# by them.
# Run by src/CMakeLists.txt:
#   cmake -DOBJCOPY=... -DOBJECTS=<file, one object a line> -DFOLDER=<out> [-DLINK=<command>]
#       -P own_text.cmake
# LINK makes one object of all, when the code is generated at link time only.
cmake_policy(VERSION 3.25)
file(STRINGS ${OBJECTS} objects)

# Where compilers put functions: plain, often called, constructors, destructors.  clang ends such
# names with a dot.
set(options)
foreach(section .text .text.hot .text.hot. .text.startup .text.startup. .text.exit .text.exit.)
    list(APPEND options --rename-section ${section}=mallow_text)
endforeach()
foreach(section .text.unlikely .text.unlikely.)
    list(APPEND options --rename-section ${section}=mallow_cold)
endforeach()
list(APPEND options --rename-section .bss.sparse=mallow_sparse)

if(LINK)
    separate_arguments(link UNIX_COMMAND "${LINK}")
    execute_process(COMMAND ${link} -o ${FOLDER}/all.o ${objects} COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${OBJCOPY} ${options} ${FOLDER}/all.o ${FOLDER}/linked.o
                    COMMAND_ERROR_IS_FATAL ANY)
    return()
endif()
foreach(object ${objects})
    # .../mallow_objects.dir/heap/remote/word.c.o becomes heap_remote_word.o; __ is for ..
    string(REGEX REPLACE "^.*\\.dir/(\\./)?(__/)?(.*)\\.c\\.o$" "\\3" name ${object})
    string(REPLACE "/" "_" name ${name})
    execute_process(COMMAND ${OBJCOPY} ${options} ${object} ${FOLDER}/${name}.o
                    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
