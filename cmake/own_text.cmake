# SPDX-License-Identifier: MIT
# Copies the library's objects with all code moved to one section, mallow_text.  Its name being a C
# identifier, the linker defines __start_mallow_text and __stop_mallow_text around it in whatever
# the objects end up in, libmallow.so or a program linked with libmallow.a: that is how the unwinder
# knows the library's own frames.  Run by src/CMakeLists.txt:
#   cmake -DOBJCOPY=... -DOBJECTS=<file, one object a line> -DFOLDER=<out> [-DLINK=<command>]
#       -P own_text.cmake
# LINK makes one object of all, when the code is generated at link time only.
file(STRINGS ${OBJECTS} objects)
# Where compilers put functions: plain, never called, often called, constructors, destructors; clang
# ends such names with a dot.
set(rename --rename-section .text=mallow_text)
foreach(section unlikely hot startup exit)
    list(APPEND rename --rename-section .text.${section}=mallow_text
        --rename-section .text.${section}.=mallow_text)
endforeach()
if(LINK)
    separate_arguments(link UNIX_COMMAND "${LINK}")
    execute_process(COMMAND ${link} -o ${FOLDER}/all.o ${objects} COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${OBJCOPY} ${rename} ${FOLDER}/all.o ${FOLDER}/linked.o
                    COMMAND_ERROR_IS_FATAL ANY)
    return()
endif()
foreach(object ${objects})
    # .../mallow_objects.dir/heap/page.c.o becomes heap_page.o
    get_filename_component(stem ${object} NAME_WE)
    get_filename_component(layer ${object} DIRECTORY)
    get_filename_component(layer ${layer} NAME)
    execute_process(COMMAND ${OBJCOPY} ${rename} ${object} ${FOLDER}/${layer}_${stem}.o
                    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
