#pragma once
// Owns: a static archive of one relocatable object. Does not know: linking, what is in the object.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "compiler/backends/backend.h"

namespace tf::backends {

// A function of the object and the name that the archive gives it.
using Exported = std::pair<std::string, std::string>;

// The archive around the weights (weights_segment.h) of `object`, an ELF object that defines all of
// `exported`. These are its only global symbols, under their new names, so that one program may be linked
// with several archives.
absl::StatusOr<LinkedModel> static_archive(std::string_view object, std::span<const Exported> exported,
                                           uint64_t weights_bytes);

}  // namespace tf::backends
