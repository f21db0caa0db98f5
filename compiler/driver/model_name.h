#pragma once
// Owns: the name of a built model: the prefix of its C functions, and of its library's SONAME, libNAME.so.
// Does not know: linking.

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tf::driver {

// INVALID_ARGUMENT if `name` is not a C identifier of at most 100 characters, begins with tf_, would give a
// function the name of one in the C library, as "sem" would give sem_open, or would give the library the name
// of one of the C library or the compiler, as "m" would give libm.so: programs are linked with -lm.
absl::Status check_model_name(std::string_view name);

// A valid name after the network's file: "zoo/resnet-50.onnx" gives resnet_50, "3d.onnx" gives model_3d,
// "m.onnx" gives model_m. A file called model.onnx gives the name of its folder.
std::string model_name_of(const std::string& path);

}  // namespace tf::driver
