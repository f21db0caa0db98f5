#pragma once
// Owns: a profile as a drawing: kernels by time, and a roofline. Does not know: how it was measured, files.

#include <string>

#include "compiler/cli/profile.h"

namespace tf::compiler_cli {

// An SVG document that refers to nothing outside itself and follows the viewer's light or dark scheme. `title` names the model.
// The roofline (Williams et al., 2009) shows GFLOP/s against FLOP/byte of operands; kernels without either are listed only.
std::string profile_svg(const Profile& profile, const std::string& title, int threads);

}  // namespace tf::compiler_cli
