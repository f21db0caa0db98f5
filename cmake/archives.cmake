# What runs on a board carries its libraries inside: it needs libc alone there, and of each library only what is used is
# in the program. Debian's CMake packages name shared libraries; beside each lies its archive.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)

find_library(TF_RE2 re2 REQUIRED)
add_library(re2::re2 UNKNOWN IMPORTED)  # before gRPC looks for it with pkg-config, which knows names and no files
set_target_properties(re2::re2 PROPERTIES IMPORTED_LOCATION ${TF_RE2})

# These two come without an archive; their headers have everything.
add_library(spdlog::spdlog INTERFACE IMPORTED)
set_target_properties(spdlog::spdlog PROPERTIES INTERFACE_COMPILE_DEFINITIONS "SPDLOG_FMT_EXTERNAL;FMT_HEADER_ONLY")

# Every shared library that was found so far becomes its archive.
function(tf_link_archives)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(library ${target} IMPORTED_LOCATION_NONE)
    if(type STREQUAL SHARED_LIBRARY AND library)
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive ${library})
      if(NOT EXISTS ${archive})
        message(FATAL_ERROR "${target} has no archive beside ${library}")
      endif()
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE ${archive} IMPORTED_SONAME_NONE "")
    endif()
  endforeach()
endfunction()
