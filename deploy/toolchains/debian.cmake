# Debian's cross compiler for TF_TRIPLE, with the board's libraries from build/sysroot/ARCH (deploy/boards/sysroot.sh).
# Programs that the build runs, protoc among them, are this machine's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${TF_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${TF_TRIPLE}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${TF_TRIPLE})

get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../../build/sysroot/${CMAKE_SYSTEM_PROCESSOR} ABSOLUTE)
if(NOT EXISTS ${CMAKE_SYSROOT}/packages)
  message(FATAL_ERROR "there are no libraries for ${CMAKE_SYSTEM_PROCESSOR} in ${CMAKE_SYSROOT}: "
                      "run deploy/install_packages.sh --boards")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${TF_TRIPLE}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
