# `cmake --install` and Debian packages (`cpack`). Programs go to a private folder, PREFIX/lib/tunefarm/bin, because names
# such as `compiler` do not belong into /usr/bin; PREFIX/bin/tunefarm runs them. The runtime of models is beside them, where
# the compiler looks for it (compiler/driver/build_model.cpp).
#
# Two components: `agent`, what a device needs, and `everything`, the rest. Packages: tunefarm-agent and tunefarm, which depends
# on the former.
include(GNUInstallDirs)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY TRUE)  # installing and packing take what has been built, and build nothing
set(private lib/tunefarm)
set(package ${CMAKE_SOURCE_DIR}/deploy/package)
set(examples ${CMAKE_INSTALL_DATADIR}/doc/tunefarm/examples)

install(PROGRAMS ${package}/tunefarm DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT agent)
install(TARGETS device_agent trial_worker gpu_worker RUNTIME DESTINATION ${private}/bin COMPONENT agent)
install(FILES LICENSE NOTICE CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tunefarm COMPONENT agent)
install(FILES deploy/boards/device_agent.txtpb DESTINATION ${examples} COMPONENT agent)

install(TARGETS compiler tuner tracker build_worker RUNTIME DESTINATION ${private}/bin COMPONENT everything)
install(FILES compiler/runtime/kernel_abi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tunefarm COMPONENT everything)
install(TARGETS tf_runtime_model ARCHIVE DESTINATION ${private}/lib COMPONENT everything)
foreach(arch ${TF_CROSS_ARCHS})
  install(FILES ${CMAKE_BINARY_DIR}/lib/${arch}/libtf_runtime_model.a DESTINATION ${private}/lib/${arch} COMPONENT everything)
endforeach()
install(FILES ${package}/tracker.txtpb ${package}/tuner.txtpb DESTINATION ${examples} COMPONENT everything)

# Units say where the programs are: the folder that is installed to, known only then.
foreach(daemon device_agent:agent tracker:everything tuner:everything)
  string(REPLACE ":" ";" daemon ${daemon})
  list(GET daemon 0 name)
  list(GET daemon 1 component)
  string(REPLACE device_agent agent short ${name})
  install(CODE "
    file(READ ${CMAKE_SOURCE_DIR}/deploy/systemd/${name}.service unit)
    include(${CMAKE_SOURCE_DIR}/cmake/packaging/unit.cmake)
    tf_packaged_unit(unit \"\${CMAKE_INSTALL_PREFIX}\")
    file(WRITE ${CMAKE_BINARY_DIR}/package/tunefarm-${short}.service \"\${unit}\")
    file(INSTALL ${CMAKE_BINARY_DIR}/package/tunefarm-${short}.service DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\")"
    COMPONENT ${component})
endforeach()

# `find_package(tunefarm)`, for this build's folder and for what is installed.
include(CMakePackageConfigHelpers)
set(config ${CMAKE_BINARY_DIR}/lib/cmake/tunefarm)
configure_file(cmake/packaging/tunefarm-config.cmake ${config}/tunefarm-config.cmake COPYONLY)
write_basic_package_version_file(${config}/tunefarm-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${config}/tunefarm-config.cmake ${config}/tunefarm-config-version.cmake
  DESTINATION lib/cmake/tunefarm COMPONENT everything)

# Manual pages and completions, from the programs' --help.
find_package(Python3 COMPONENTS Interpreter)
set(programs compiler tuner tracker device_agent)
set(generated ${CMAKE_BINARY_DIR}/package)
set(manuals ${generated}/man/tunefarm.1)
set(paths)
foreach(program ${programs})
  list(APPEND manuals ${generated}/man/tunefarm-${program}.1)
  list(APPEND paths $<TARGET_FILE:${program}>)
endforeach()
set(completions ${generated}/completions/tunefarm.bash ${generated}/completions/_tunefarm
  ${generated}/completions/tunefarm.fish)
add_custom_command(OUTPUT ${manuals} ${completions}
  COMMAND ${Python3_EXECUTABLE} ${package}/manual_pages.py ${generated}/man ${PROJECT_VERSION} ${paths}
  COMMAND ${Python3_EXECUTABLE} ${package}/completions.py ${generated}/completions ${paths}
  DEPENDS ${programs} ${package}/command_help.py ${package}/manual_pages.py ${package}/completions.py
  VERBATIM COMMENT "Writing manual pages and completions")
add_custom_target(tunefarm_help ALL DEPENDS ${manuals} ${completions})
if(TARGET deploy_test)
  add_dependencies(deploy_test tunefarm_help)
endif()
install(FILES ${manuals} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT everything)
install(FILES ${generated}/completions/tunefarm.bash RENAME tunefarm
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT everything)
install(FILES ${generated}/completions/_tunefarm
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT everything)
install(FILES ${generated}/completions/tunefarm.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT everything)

include(cmake/packaging/debian.cmake)
