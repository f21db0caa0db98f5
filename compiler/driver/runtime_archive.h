#pragma once
// Owns: where the runtime that goes into a model lies, by the processor that it is for, and what to do where
// there is none. Does not know: how it is made (compiler/runtime), or linked.

#include <string>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"

namespace tf::driver {

// `own` is that of this build's processor, `built_on`; those for others stand beside it in a folder of their
// name. FAILED_PRECONDITION if it is not there, with what makes it.
absl::StatusOr<std::string> runtime_archive_of(const target::Target& target, target::Arch built_on,
                                               const std::string& own);

}  // namespace tf::driver
