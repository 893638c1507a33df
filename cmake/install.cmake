# SPDX-License-Identifier: MIT
# What `make install` puts where, below PREFIX (and DESTDIR).
set(lib ${CMAKE_INSTALL_LIBDIR})
set(compat ${lib}/mallow/compat)

# The package file finds its prefix from its own place: PREFIX may be chosen when installing.
configure_file(cmake/mallow.pc.in ${CMAKE_BINARY_DIR}/mallow.pc @ONLY)

foreach(suffix "" _secure _debug)
    install(TARGETS mallow${suffix} LIBRARY DESTINATION ${lib})
    install(TARGETS mallow_static${suffix} ARCHIVE DESTINATION ${lib})
endforeach()
# jemalloc's names for it all, in a folder of their own: another jemalloc's files stay what they
# are.
configure_file(compat/jemalloc/install/jemalloc.pc.in ${CMAKE_BINARY_DIR}/jemalloc.pc @ONLY)
configure_file(compat/jemalloc/install/jemalloc-config.in ${CMAKE_BINARY_DIR}/jemalloc-config @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/jemalloc.pc DESTINATION ${compat}/pkgconfig)
install(PROGRAMS ${CMAKE_BINARY_DIR}/jemalloc-config DESTINATION ${compat}/bin)
# Names of other allocators' libraries: cmake/compat.cmake.
get_property(compat_targets GLOBAL PROPERTY MALLOW_COMPAT_TARGETS)
get_property(compat_links GLOBAL PROPERTY MALLOW_COMPAT_LINKS)
install(TARGETS ${compat_targets} LIBRARY DESTINATION ${compat} ARCHIVE DESTINATION ${compat})
install(FILES ${compat_links} DESTINATION ${compat})
file(GLOB compat_templates CONFIGURE_DEPENDS compat/gperftools/install/*.in
    compat/mimalloc/install/*.in)
foreach(template ${compat_templates})
    get_filename_component(name ${template} NAME_WLE)
    configure_file(${template} ${CMAKE_BINARY_DIR}/compat/${name} @ONLY)
    if(name MATCHES "\\.pc$")
        install(FILES ${CMAKE_BINARY_DIR}/compat/${name} DESTINATION ${compat}/pkgconfig)
    elseif(name MATCHES "^(.*)-config(-version)?\\.cmake$")
        install(FILES ${CMAKE_BINARY_DIR}/compat/${name}
            DESTINATION ${compat}/share/cmake/${CMAKE_MATCH_1})
    endif()
endforeach()
foreach(prefix ${MALLOW_JEMALLOC_PREFIXES})
    set(folder ${lib}/mallow/prefixed/${prefix})
    install(TARGETS mallow_prefixed_${prefix} mallow_prefixed_static_${prefix}
        LIBRARY DESTINATION ${folder} ARCHIVE DESTINATION ${folder})
    install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/mallow/prefixed/${prefix}/include
        DESTINATION ${folder})
endforeach()
install(TARGETS mallow_command RUNTIME DESTINATION bin)
install(DIRECTORY include/ DESTINATION include FILES_MATCHING PATTERN "*.h")
install(DIRECTORY compat/jemalloc/include/ compat/mimalloc/include/ compat/gperftools/include/
    DESTINATION ${MALLOW_COMPAT_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/mallow.pc DESTINATION ${lib}/pkgconfig)
install(FILES LICENSE README.md README.zh-CN.md CHANGELOG.md DESTINATION share/doc/mallow)
# The agent is a service that an administrator enables.  The prefix is that of the installation.
install(CODE "set(MALLOW_BINDIR \"\${CMAKE_INSTALL_PREFIX}/bin\")
    configure_file(\"${PROJECT_SOURCE_DIR}/contrib/agent/mallow-agent.service.in\"
        \"${CMAKE_BINARY_DIR}/mallow-agent.service\" @ONLY)")
install(FILES ${CMAKE_BINARY_DIR}/mallow-agent.service DESTINATION lib/systemd/system)
install(FILES contrib/agent/agent.conf contrib/agent/kubernetes.yaml contrib/agent/compose.yaml
    contrib/fleet/grafana.json
    DESTINATION share/doc/mallow/examples)
file(GLOB man_pages CONFIGURE_DEPENDS doc/man/*.[1-8])
foreach(page ${man_pages})
    string(REGEX MATCH "[1-8]$" section ${page})
    install(FILES ${page} DESTINATION share/man/man${section})
endforeach()
