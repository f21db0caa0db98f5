# Debian packages: `cpack --config build/release/CPackConfig.cmake` writes them to the working folder.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tunefarm)
set(CPACK_PACKAGE_VENDOR "The Tunefarm authors")
set(CPACK_PACKAGE_CONTACT "The Tunefarm authors <maintainers@tunefarm.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Auto-tuning of tensor programs on a farm of devices")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL agent everything)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)

set(CPACK_DEBIAN_AGENT_PACKAGE_NAME tunefarm-agent)
set(CPACK_DEBIAN_EVERYTHING_PACKAGE_NAME tunefarm)
set(CPACK_COMPONENT_AGENT_DESCRIPTION "Device agent of Tunefarm\n Offers this machine to a tracker and measures candidate kernels on it.")
set(CPACK_COMPONENT_EVERYTHING_DESCRIPTION
  "Auto-tuning of tensor programs on a farm of devices\n Compiler, tuner and tracker, with manual pages and completions.")
# passwd: for useradd in postinst.
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS passwd)
set(CPACK_DEBIAN_EVERYTHING_PACKAGE_DEPENDS "tunefarm-agent (= ${PROJECT_VERSION}), passwd")
set(CPACK_DEBIAN_EVERYTHING_PACKAGE_RECOMMENDS "python3, python3-numpy")  # for the Python module
set(CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA
  ${package}/agent/postinst ${package}/agent/prerm)
set(CPACK_DEBIAN_EVERYTHING_PACKAGE_CONTROL_EXTRA
  ${package}/everything/postinst ${package}/everything/prerm)
install(FILES ${package}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tunefarm-agent COMPONENT agent)
install(FILES ${package}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tunefarm COMPONENT everything)
include(CPack)
