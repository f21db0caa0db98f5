#pragma once
// Owns: declarations of the built-in functions that generated kernels call, for PoCL. Without them, PoCL
// reads a header of 18,000 lines twice for each program, which takes four fifths of the time before the first
// launch. Does not know: kernels, drivers.

namespace tf::gpu {

// Makes PoCL skip its header, by defining that header's include guard. Kernels can test for the second name.
inline constexpr char kWithoutPoclHeader[] = " -D_OPENCL_H_ -DTF_OWN_BUILTINS";

// Put this before the source. Types, constants and as_…() come from another header.
extern const char kBuiltinDeclarations[];

}  // namespace tf::gpu
