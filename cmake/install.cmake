# Installed files: library, header, command, pkg-config file, CMake package, man pages, completion.
install(TARGETS antler_shared antler_static EXPORT antlerTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS antler_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES include/antler/antler.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/antler)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_file(cmake/antler.pc.in ${CMAKE_BINARY_DIR}/antler.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/antler.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/antler)
install(EXPORT antlerTargets NAMESPACE antler:: DESTINATION ${package_dir})
configure_package_config_file(cmake/antlerConfig.cmake.in ${CMAKE_BINARY_DIR}/antlerConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/antlerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/antlerConfig.cmake ${CMAKE_BINARY_DIR}/antlerConfigVersion.cmake
  DESTINATION ${package_dir})

# `antler report` and `antler convert` are programs beside the command: one in the build folder, which uses the sources,
# and one to install, which finds everything from where it lies.
set(executable OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
foreach(extension report convert)
  set(extension_packages python3-numpy)
  if(extension STREQUAL report)
    set(extension_packages "python3-numpy python3-plotly")
  endif()
  set(extension_python ${CMAKE_SOURCE_DIR}/python)
  configure_file(cmake/antler-extension.in ${CMAKE_BINARY_DIR}/antler-${extension} @ONLY FILE_PERMISSIONS ${executable})
  set(extension_python "$here/../${CMAKE_INSTALL_DATADIR}/antler/python")
  configure_file(cmake/antler-extension.in ${CMAKE_BINARY_DIR}/generated/antler-${extension} @ONLY)
  if(NOT SKBUILD)
    install(PROGRAMS ${CMAKE_BINARY_DIR}/generated/antler-${extension} DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
if(NOT SKBUILD)
  install(DIRECTORY python/antler DESTINATION ${CMAKE_INSTALL_DATADIR}/antler/python
    PATTERN __pycache__ EXCLUDE PATTERN lib EXCLUDE PATTERN bin EXCLUDE)
endif()

# Man pages and completion come out of the command itself, so they cannot fall behind it.
set(pages_dir ${CMAKE_BINARY_DIR}/pages)
add_custom_command(OUTPUT ${pages_dir}/done
  COMMAND bash ${CMAKE_SOURCE_DIR}/scripts/pages.sh $<TARGET_FILE:antler_cli> ${pages_dir}
  DEPENDS antler_cli ${CMAKE_SOURCE_DIR}/scripts/pages.sh VERBATIM)
add_custom_target(pages ALL DEPENDS ${pages_dir}/done)
install(DIRECTORY ${pages_dir}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${pages_dir}/antler.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME antler)
install(FILES ${pages_dir}/_antler DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${pages_dir}/antler.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Inside a Python package (pip install .): the library and the command, side by side.
if(SKBUILD)
  # A wheel holds no links, so a library of several names would be there as often.
  set_property(TARGET antler_shared PROPERTY VERSION)
  set_property(TARGET antler_shared PROPERTY SOVERSION)
  install(TARGETS antler_shared LIBRARY DESTINATION antler/lib COMPONENT python)
  install(TARGETS antler_cli RUNTIME DESTINATION antler/bin COMPONENT python)
  set_target_properties(antler_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
endif()
