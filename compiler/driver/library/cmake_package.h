#pragma once
// Owns: the CMake package in a model's folder. Does not know: the model.

#include <string>

namespace tf::driver {

// Of NAME-config.cmake, by which find_package(NAME PATHS FOLDER) gives the targets NAME::NAME, the shared
// library, and NAME::static where the folder has the archive.
std::string cmake_package(const std::string& name);

}  // namespace tf::driver
