# SPDX-License-Identifier: MIT
# Sanitizers for what runs as an ordinary program: the command, and the units of the layers below
# src/api.  The library itself is malloc, which the sanitizers replace: it is left out.
set(MALLOW_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (empty: none)")
if(MALLOW_SANITIZE)
    add_compile_options(-fsanitize=${MALLOW_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer -g)
    add_link_options(-fsanitize=${MALLOW_SANITIZE})
endif()
