#include "compiler/driver/library/cmake_package.h"

#include "absl/strings/str_replace.h"

namespace tf::driver {

std::string cmake_package(const std::string& name) {
  return absl::StrReplaceAll(R"(# The model NAME: find_package(NAME PATHS FOLDER) with this folder gives
#   NAME::NAME    the shared library
#   NAME::static  the archive, if the model was built with --static
# Link with one of them and include "model.h".
if(NOT TARGET NAME::NAME)
  add_library(NAME::NAME SHARED IMPORTED)
  set_target_properties(NAME::NAME PROPERTIES
    IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/libNAME.so"
    IMPORTED_SONAME libNAME.so
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}")
endif()
if(NOT TARGET NAME::static AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/libNAME.a")
  include(CMakeFindDependencyMacro)
  find_dependency(Threads)
  add_library(NAME::static STATIC IMPORTED)
  set_target_properties(NAME::static PROPERTIES
    IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/libNAME.a"
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
)",
                             {{"NAME", name}});
}

}  // namespace tf::driver
