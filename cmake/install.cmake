# SPDX-License-Identifier: MIT
# What `make install` puts where, below PREFIX (and DESTDIR).
include(GNUInstallDirs)

# The package file finds its prefix from its own place: PREFIX may be chosen when installing.
configure_file(cmake/mallow.pc.in ${CMAKE_BINARY_DIR}/mallow.pc @ONLY)

foreach(suffix "" _secure _debug)
    install(TARGETS mallow${suffix} LIBRARY DESTINATION lib)
    install(TARGETS mallow_static${suffix} ARCHIVE DESTINATION lib)
endforeach()
# jemalloc's names for it all, in a folder of their own: another jemalloc's files stay what they
# are.
configure_file(compat/jemalloc/install/jemalloc.pc.in ${CMAKE_BINARY_DIR}/jemalloc.pc @ONLY)
configure_file(compat/jemalloc/install/jemalloc-config.in ${CMAKE_BINARY_DIR}/jemalloc-config @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/jemalloc.pc DESTINATION lib/mallow/compat/pkgconfig)
install(PROGRAMS ${CMAKE_BINARY_DIR}/jemalloc-config DESTINATION lib/mallow/compat/bin)
# Names of other allocators' libraries: cmake/compat.cmake.
get_property(compat_targets GLOBAL PROPERTY MALLOW_COMPAT_TARGETS)
get_property(compat_links GLOBAL PROPERTY MALLOW_COMPAT_LINKS)
install(TARGETS ${compat_targets} LIBRARY DESTINATION lib/mallow/compat
    ARCHIVE DESTINATION lib/mallow/compat)
install(FILES ${compat_links} DESTINATION lib/mallow/compat)
file(GLOB compat_templates CONFIGURE_DEPENDS compat/gperftools/install/*.in
    compat/mimalloc/install/*.in)
foreach(template ${compat_templates})
    get_filename_component(name ${template} NAME_WLE)
    configure_file(${template} ${CMAKE_BINARY_DIR}/compat/${name} @ONLY)
    if(name MATCHES "\\.pc$")
        install(FILES ${CMAKE_BINARY_DIR}/compat/${name} DESTINATION lib/mallow/compat/pkgconfig)
    elseif(name MATCHES "^(.*)-config(-version)?\\.cmake$")
        install(FILES ${CMAKE_BINARY_DIR}/compat/${name}
            DESTINATION lib/mallow/compat/share/cmake/${CMAKE_MATCH_1})
    endif()
endforeach()
foreach(prefix ${MALLOW_JEMALLOC_PREFIXES})
    install(TARGETS mallow_prefixed_${prefix} mallow_prefixed_static_${prefix}
        LIBRARY DESTINATION lib/mallow/prefixed/${prefix} ARCHIVE DESTINATION
        lib/mallow/prefixed/${prefix})
    install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/mallow/prefixed/${prefix}/include
        DESTINATION lib/mallow/prefixed/${prefix})
endforeach()
install(TARGETS mallow_command RUNTIME DESTINATION bin)
install(DIRECTORY include/ compat/jemalloc/include/ compat/mimalloc/include/
    compat/gperftools/include/ DESTINATION include FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/mallow.pc DESTINATION lib/pkgconfig)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION share/doc/mallow)
file(GLOB man_pages CONFIGURE_DEPENDS doc/man/*.[1-8])
foreach(page ${man_pages})
    string(REGEX MATCH "[1-8]$" section ${page})
    install(FILES ${page} DESTINATION share/man/man${section})
endforeach()
