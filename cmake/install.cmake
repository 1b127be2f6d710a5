# Installed files: library, header, command, pkg-config file, CMake package.
install(TARGETS antler_shared antler_static antler_cli EXPORT antlerTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/antler/antler.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/antler)
