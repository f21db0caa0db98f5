#pragma once
// Owns: where the weights of a linked model stand in its file: at the end, in a segment of their own. Does
// not know: linking, the weights themselves.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tf::backends {

// How the name of tf_model_weights' section ends. As it is linked, it takes no room in the file.
inline constexpr char kWeightsSection[] = ".tf_model_weights";

// What stands before the weights in the file of `library`, an ELF shared library or relocatable object of any
// supported target whose section *kWeightsSection has `weights_bytes` (not 0) and no bytes in the file:
//   before: …, PT_LOAD(vaddr V, filesz 0, memsz N), section (NOBITS)
//   after:  …, PT_LOAD(vaddr V, offset E, filesz N, memsz N), section (PROGBITS, offset E)
// The result ends at E, where the N bytes follow. INTERNAL if the file is not of this form.
absl::StatusOr<std::string> before_weights(std::string library, uint64_t weights_bytes);

}  // namespace tf::backends
