# SPDX-License-Identifier: MIT
# Copies the library's objects and moves their code and data to sections of its own, so that a small
# process touches few pages of the file (doc/adr/0014-startup-layout.md):
#   mallow_text    code that every process runs: RESIDENT objects, functions marked MW_RESIDENT
#   mallow_cold    all other code
#   mallow_waits   functions marked MW_WAITS, named so in the source; behind mallow_cold
#   mallow_tables  constants, and strings of RESIDENT and SAMPLED objects
#   mallow_texts   other strings, and MW_COLD_TABLE; before the unwind tables
#   mallow_sparse  arrays marked MW_SPARSE; behind the variables
#   mallow_later   variables of files that are neither RESIDENT nor STARTED; behind the others
#   mallow_tail    arrays marked MW_TAIL; between these two
# The names are C identifiers, so the linker defines __start_mallow_text and so on around them, in
# libmallow.so and in programs linked with libmallow.a: the unwinder knows the library's own frames
# by them.
# Run by src/CMakeLists.txt:
#   cmake -DOBJCOPY=... -DOBJECTS=<file, one object a line> -DFOLDER=<out>
#       -DRESIDENT=<layer_stem,...> -DSAMPLED=<layer_stem,...> -DSTARTED=<layer_stem,...>
#       [-DLINK=<command>] -P own_text.cmake
# LINK makes one object of all, when the code is generated at link time only: then all of it is
# resident.
cmake_policy(VERSION 3.25)
file(STRINGS ${OBJECTS} objects)
string(REPLACE "," ";" resident "${RESIDENT}")
string(REPLACE "," ";" sampled "${SAMPLED}")
string(REPLACE "," ";" started "${STARTED}")

# Where compilers put functions: plain, often called, constructors; destructors; never called.
# clang ends such names with a dot.
set(plain .text)
set(often .text.hot .text.hot. .text.startup .text.startup.)
set(exit .text.exit .text.exit.)
set(seldom .text.unlikely .text.unlikely.)
set(constants .rodata .rodata.cst2 .rodata.cst4 .rodata.cst8 .rodata.cst16 .rodata.cst32)
set(strings .rodata.str1.1 .rodata.str1.8 .rodata.str1.16)

# rename(RESULT TARGET SECTION...): the options of objcopy that do it
function(rename result target)
    set(options)
    foreach(section ${ARGN})
        list(APPEND options --rename-section ${section}=${target})
    endforeach()
    set(${result} ${options} PARENT_SCOPE)
endfunction()
rename(text_of_all mallow_text ${plain} ${often} ${exit} ${seldom})
rename(text_of_resident mallow_text ${plain} ${often} ${exit})
rename(text_of_rest mallow_text ${often} ${exit})
rename(cold_of_resident mallow_cold ${seldom})
rename(cold_of_rest mallow_cold ${plain} ${seldom})
rename(constants mallow_tables ${constants})
rename(texts_of_all mallow_texts .rodata.cold)
rename(texts_of_rest mallow_texts ${strings})
rename(strings mallow_tables ${strings})
rename(sparse mallow_sparse .bss.sparse)
rename(tail mallow_tail .bss.tail)
list(APPEND sparse ${tail})
rename(later mallow_later .bss)

if(LINK)
    separate_arguments(link UNIX_COMMAND "${LINK}")
    execute_process(COMMAND ${link} -o ${FOLDER}/all.o ${objects} COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${OBJCOPY} ${text_of_all} ${sparse} ${FOLDER}/all.o ${FOLDER}/linked.o
                    COMMAND_ERROR_IS_FATAL ANY)
    return()
endif()
foreach(object ${objects})
    # .../mallow_objects.dir/heap/remote/word.c.o becomes heap_remote_word.o; __ is for ..
    string(REGEX REPLACE "^.*\\.dir/(\\./)?(__/)?(.*)\\.c\\.o$" "\\3" name ${object})
    string(REPLACE "/" "_" name ${name})
    set(options ${constants} ${texts_of_all} ${sparse})
    if(name IN_LIST resident)
        list(APPEND options ${text_of_resident} ${cold_of_resident} ${strings})
    elseif(name IN_LIST sampled)
        list(APPEND options ${text_of_rest} ${cold_of_rest} ${strings})
    else()
        list(APPEND options ${text_of_rest} ${cold_of_rest} ${texts_of_rest})
    endif()
    if(NOT name IN_LIST resident AND NOT name IN_LIST started)
        list(APPEND options ${later})
    endif()
    execute_process(COMMAND ${OBJCOPY} ${options} ${object} ${FOLDER}/${name}.o
                    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
