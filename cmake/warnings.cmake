# SPDX-License-Identifier: MIT
# The warnings of the house style; every target of ours asks for them.
add_library(mallow_warnings INTERFACE)
target_compile_options(mallow_warnings INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wundef
    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes -Wstrict-prototypes>)
if(MALLOW_WERROR)
    target_compile_options(mallow_warnings INTERFACE -Werror)
endif()
