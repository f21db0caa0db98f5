#pragma once
// Owns: the built-in functions that kernels of ours call, as declarations for PoCL, which otherwise reads a header of 18,000 lines
// for each program, twice: four fifths of what a program costs before its first launch. Does not know: kernels, drivers.

namespace tf::gpu {

// Has PoCL leave its header out: by that header's own guard. The other name is for kernels that want to know.
inline constexpr char kWithoutPoclHeader[] = " -D_OPENCL_H_ -DTF_OWN_BUILTINS";

// Goes before the source. Types, constants and as_…() come from another header.
extern const char kBuiltinDeclarations[];

}  // namespace tf::gpu
