# SPDX-License-Identifier: MIT
# Where `make install` puts files, relative to PREFIX: lib, unless CMAKE_INSTALL_LIBDIR says
# otherwise, as for a distribution that has a folder for each processor.
if(NOT DEFINED CMAKE_INSTALL_LIBDIR)
    set(CMAKE_INSTALL_LIBDIR lib CACHE STRING "Libraries, relative to PREFIX")
endif()
include(GNUInstallDirs)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR must be relative: PREFIX is chosen when installing")
endif()
# Headers of other allocators' names.  A distribution has the allocators' own in include.
set(MALLOW_COMPAT_INCLUDEDIR include CACHE STRING
    "Headers of jemalloc, gperftools and mimalloc, relative to PREFIX")
# From the libraries' folder to PREFIX.
file(RELATIVE_PATH MALLOW_UP /prefix/${CMAKE_INSTALL_LIBDIR} /prefix)
string(REGEX REPLACE "/$" "" MALLOW_UP ${MALLOW_UP})
# The number in the SONAME of libmallow.so and its variations (doc/internals/release.md).
set(MALLOW_SOVERSION 1)
