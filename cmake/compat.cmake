# SPDX-License-Identifier: MIT
# Libraries of lib/mallow/compat/: small shared objects that carry the names of other allocators'
# libraries.  Such an object is an ELF filter (DT_FILTER) of libmallow.so: the loader puts
# libmallow.so directly in front of the filter in the order in which symbols are looked up (and a
# second filtee, where a filter has one, between both).  So malloc is mallow's whether a program is
# linked with the filter or preloads it, no call takes a jump more, and any mixture of filters in a
# process has one libmallow.so.  The filter's own definitions are there for the linker; no program
# calls them.
#
# Names are listed in compat/<interface>/exports.txt where libmallow.so exports them, else in a file
# of another name, one a line; # begins a comment:
#   NAME            a function that a filtee exports
#   NAME BYTES      a variable of so many bytes that a filtee exports
#   NAME = TARGET   a function of the filter alone: a jump to TARGET

# Functions of libc that libmallow.so calls on, because it has to know of the calls. They are no
# allocator's: neither filters nor archives have them.
set(mallow_passed_on dlopen prctl _exit _Exit fork daemon forkpty __register_atfork
    pthread_atfork mmap mmap64 munmap mremap sbrk shmat shmdt sigwait sigwaitinfo sigtimedwait
    signalfd)

# The lines of an exports.txt without comments.
function(mallow_read_exports result file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^[A-Za-z_]")
    list(TRANSFORM lines REPLACE " *#.*$" "")
    list(TRANSFORM lines STRIP)
    set(${result} ${lines} PARENT_SCOPE)
endfunction()

# The version script of libmallow.so: src/api/exports.map with the names of each exports.txt.
#   mallow_export_map(MAP FILE...): writes MAP
function(mallow_export_map map)
    set(base ${PROJECT_SOURCE_DIR}/src/api/exports.map)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${base})
    set(names "")
    foreach(file ${ARGN})
        mallow_read_exports(lines ${file})
        list(FILTER lines EXCLUDE REGEX "=")
        foreach(line ${lines})
            string(REGEX MATCH "^[A-Za-z_0-9]+" name "${line}")
            string(APPEND names "\t${name};\n")
        endforeach()
    endforeach()
    file(READ ${base} text)
    string(REPLACE "local:" "${names}local:" text "${text}")
    file(CONFIGURE OUTPUT ${map} CONTENT "${text}" @ONLY)
endfunction()

# A filter of a library of mallow.
#   mallow_compat_library(FILE FILTEE EXPORTS...): target mallow_compat_FILE
#     FILE     name of the file and SONAME, as libmimalloc.so.2
#     FILTEE   target that it stands for: mallow, mallow_secure or mallow_debug
#     EXPORTS  files of the form of exports.txt
#     FILTEES  behind this word: more libraries, targets too, that the filter stands for
function(mallow_compat_library file filtee)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" FILTEES)
    # libc's names and the C++ operators too: a program that needs a strong reference finds them.
    file(STRINGS ${PROJECT_SOURCE_DIR}/src/api/exports.map lines REGEX "^\t[A-Za-z_0-9]+;")
    list(TRANSFORM lines REPLACE "[\t;]" "")
    list(REMOVE_ITEM lines ${mallow_passed_on})
    foreach(exports ${arg_UNPARSED_ARGUMENTS})
        mallow_read_exports(more ${exports})
        list(APPEND lines ${more})
    endforeach()
    list(REMOVE_DUPLICATES lines)
    set(text "/* Written by cmake/compat.cmake: the names of ${file}. */\n")
    string(APPEND text "#if defined(__x86_64__)\n#define JUMP \"jmp *\"\n"
        "#define OF \"@GOTPCREL(%rip)\"\n")
    string(APPEND text "#else\n#define JUMP \"b \"\n#define OF \"\"\n#endif\n")
    foreach(line ${lines})
        if(line MATCHES "^([A-Za-z_0-9]+) *= *([A-Za-z_0-9]+)$")
            string(APPEND text "__asm__(\".text\\n.globl ${CMAKE_MATCH_1}\\n"
                ".type ${CMAKE_MATCH_1},%function\\n${CMAKE_MATCH_1}:\\n\\t\" "
                "JUMP \"${CMAKE_MATCH_2}\" OF \"\\n\");\n")
        elseif(line MATCHES "^([A-Za-z_0-9]+) +([0-9]+)$")
            string(APPEND text "char ${CMAKE_MATCH_1}[${CMAKE_MATCH_2}];\n")
        else()
            string(APPEND text
                "__asm__(\".text\\n.globl ${line}\\n.type ${line},%function\\n${line}:\\n\");\n")
        endif()
    endforeach()
    string(APPEND text "__asm__(\".text\\n\\t.byte 0\\n\");\n")
    string(MAKE_C_IDENTIFIER ${file} identifier)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${identifier}.c)
    file(CONFIGURE OUTPUT ${source} CONTENT "${text}" @ONLY)
    set(target mallow_compat_${file})
    add_library(${target} SHARED ${source})
    # The linker writes one DT_FILTER; the loader takes DT_AUXILIARY for the same, behind it.
    add_dependencies(${target} ${filtee} ${arg_FILTEES})
    set(filters -Wl,--filter,$<TARGET_FILE_NAME:${filtee}>)
    foreach(library ${arg_FILTEES})
        list(APPEND filters -Wl,--auxiliary,$<TARGET_FILE_NAME:${library}>)
    endforeach()
    # The options of hosted builds (link-time optimisation, sanitizers) have nothing to work on.
    target_compile_options(${target} PRIVATE -w -fno-lto -fPIC -fno-asynchronous-unwind-tables
        -fno-sanitize=all)
    target_link_options(${target} PRIVATE -nostdlib -fno-lto -fno-sanitize=all
        -Wl,-soname,${file} ${filters}
        -Wl,--enable-new-dtags -Wl,-z,noseparate-code -Wl,-z,now
        -Wl,--hash-style=gnu -Wl,--build-id=none)
    string(REGEX REPLACE "^lib([^.]*)(\\.so.*)$" "\\1;\\2" parts ${file})
    list(GET parts 0 output)
    list(GET parts 1 suffix)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} SUFFIX ${suffix} NO_SONAME ON
        BUILD_WITH_INSTALL_RPATH ON
        INSTALL_RPATH "$ORIGIN/../..:$ORIGIN" INTERPROCEDURAL_OPTIMIZATION OFF
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/mallow/compat)
    set_property(GLOBAL APPEND PROPERTY MALLOW_COMPAT_TARGETS ${target})
endfunction()

# A second name of a library of lib/mallow/compat/, for the linker or for older programs.
#   mallow_compat_link(NAME FILE)
function(mallow_compat_link name file)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib/mallow/compat)
    file(CREATE_LINK ${file} ${CMAKE_BINARY_DIR}/lib/mallow/compat/${name} SYMBOLIC)
    set_property(GLOBAL APPEND PROPERTY MALLOW_COMPAT_LINKS
        ${CMAKE_BINARY_DIR}/lib/mallow/compat/${name})
endfunction()

# The version script of a library that has the code of an interface.
#   mallow_names_map(MAP FILE...): writes MAP, with all names of the files that are not jumps
function(mallow_names_map map)
    set(text "{\nglobal:\n")
    foreach(file ${ARGN})
        mallow_read_exports(lines ${file})
        list(FILTER lines EXCLUDE REGEX "=")
        foreach(line ${lines})
            string(REGEX MATCH "^[A-Za-z_0-9]+" name "${line}")
            string(APPEND text "\t${name};\n")
        endforeach()
    endforeach()
    file(CONFIGURE OUTPUT ${map} CONTENT "${text}local:\n\t*;\n};\n" @ONLY)
endfunction()
