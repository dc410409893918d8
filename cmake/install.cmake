# `cmake --install`: the library with headers, pkg-config file and CMake package. Tools and data are installed where they are
# built. Everything is found from where it lies, so that --prefix and a moved tree work.
include(CMakePackageConfigHelpers)

if(NOT PCT_SANITIZE)
  target_link_options(pct PRIVATE LINKER:-z,defs) # a symbol nobody defines fails here, not at the first user
endif()
target_include_directories(pct INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS pct EXPORT pctTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/pct DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(pct_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pct)
install(EXPORT pctTargets NAMESPACE pct:: DESTINATION ${pct_package_dir})
configure_package_config_file(cmake/pctConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/pctConfig.cmake
                              INSTALL_DESTINATION ${pct_package_dir})
# Below 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/pctConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/pctConfig.cmake ${PROJECT_BINARY_DIR}/generated/pctConfigVersion.cmake
        DESTINATION ${pct_package_dir})

file(RELATIVE_PATH PCT_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/pct.pc.in ${PROJECT_BINARY_DIR}/generated/pct.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/pct.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
