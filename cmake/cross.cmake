# Code for other processors than this build's, made by Debian's cross compilers (g++-aarch64-linux-gnu). TF_CROSS_ARCHS lists the
# architectures that have one. Models for these processors need it, and so do the tests that run under an emulator; nothing
# else depends on it.
#
# A compiler that is installed or removed later is noticed by the next build: the globs below are checked each time, and
# CMake runs again when their result changed. TF_NO_CROSS_COMPILERS=1 in the environment configures as if there were none;
# it is not kept, so the next run of CMake looks again.
set(TF_TRIPLE_aarch64 aarch64-linux-gnu)
set(TF_TRIPLE_armv7 arm-linux-gnueabihf)
set(TF_TRIPLE_riscv64 riscv64-linux-gnu)
set(TF_CROSS_ARCHS)
foreach(arch aarch64 armv7 riscv64)
  if(arch STREQUAL CMAKE_SYSTEM_PROCESSOR OR TF_AGENT_ONLY)
    continue()
  endif()
  if("$ENV{TF_NO_CROSS_COMPILERS}" OR (TF_CXX_${arch} AND NOT EXISTS "${TF_CXX_${arch}}"))
    unset(TF_CXX_${arch} CACHE)
  endif()
  if("$ENV{TF_NO_CROSS_COMPILERS}")
    continue()
  endif()
  file(GLOB ignored CONFIGURE_DEPENDS /usr/bin/${TF_TRIPLE_${arch}}-g++*)
  find_program(TF_CXX_${arch} ${TF_TRIPLE_${arch}}-g++)
  if(TF_CXX_${arch})
    list(APPEND TF_CROSS_ARCHS ${arch})
  endif()
endforeach()
message(STATUS "Cross compilers: ${TF_CROSS_ARCHS}")

# Objects of C++ sources, appended to the variable `result`.
function(tf_cross_objects result arch folder)
  cmake_parse_arguments(arg "" "" "SOURCES;FLAGS" ${ARGN})
  set(objects)
  foreach(source ${arg_SOURCES})
    get_filename_component(stem ${source} NAME)
    set(object ${folder}/${stem}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${TF_CXX_${arch}} -std=c++20 -O2 -fPIC -I${CMAKE_SOURCE_DIR} ${arg_FLAGS} -MD -MF ${object}.d -c ${source}
              -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d VERBATIM COMMENT "Compiling ${stem} for ${arch}")
    list(APPEND objects ${object})
  endforeach()
  set(${result} ${objects} PARENT_SCOPE)
endfunction()

# ${CMAKE_BINARY_DIR}/lib/ARCH/libNAME.a, by the target NAME_ARCH.
function(tf_cross_archive name arch)
  tf_cross_objects(objects ${arch} ${CMAKE_CURRENT_BINARY_DIR}/${name}.${arch} ${ARGN})
  set(archive ${CMAKE_BINARY_DIR}/lib/${arch}/lib${name}.a)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib/${arch}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${TF_TRIPLE_${arch}}-ar rcs ${archive} ${objects}
    DEPENDS ${objects} VERBATIM)
  add_custom_target(${name}_${arch} ALL DEPENDS ${archive})
endfunction()

# ${CMAKE_BINARY_DIR}/bin/ARCH/NAME from C++ sources, by the target NAME_ARCH.
function(tf_cross_program name arch)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  tf_cross_objects(objects ${arch} ${CMAKE_CURRENT_BINARY_DIR}/${name}.${arch} SOURCES ${arg_SOURCES})
  set(program ${CMAKE_BINARY_DIR}/bin/${arch}/${name})
  add_custom_command(OUTPUT ${program}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bin/${arch}
    COMMAND ${TF_CXX_${arch}} -pthread ${objects} -ldl -o ${program}
    DEPENDS ${objects} VERBATIM)
  add_custom_target(${name}_${arch} DEPENDS ${program})
endfunction()
