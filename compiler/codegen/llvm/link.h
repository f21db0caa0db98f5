#pragma once
// Owns: linking with lld: one object into a loadable shared object, and a model's objects, weights and
// runtime into a shared library. Does not know: what is in the objects. lld keeps process-wide state: one
// thread at a time, in a build worker.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/target/target.h"

namespace tf::codegen {

// A shared object, from an object that does not name _GLOBAL_OFFSET_TABLE_ (link.cpp says why), that exports
// the object's global symbols and needs no library but libc. INVALID_ARGUMENT if the target has no ELF shared
// objects, INTERNAL with lld's words if it refuses.
absl::StatusOr<std::string> link_shared(std::string_view object, const target::Target& target);

struct ModelLink {
  std::vector<std::string> object_paths;
  std::vector<std::string> kernels;  // symbols of tf_model_kernels, in order
  std::string prefix;                // of the exported functions: a C identifier
  std::string blob_path;             // bytes of tf_model_blob
  std::string weights_path;          // bytes of tf_model_weights; empty: there are none
  std::string runtime_archive_path;  // of tf_runtime_model
  std::string output_path;
};

// Writes a library with the SONAME libPREFIX.so. It exports the functions of compiler/runtime/model.h as
// PREFIX_open and so on, and tf_model_prefix; every other symbol is local, so that several models in one
// program do not mix. The weights go from their file into an aligned read-only section, without passing
// through LLVM's constants. NOT_FOUND names a file that is missing; INTERNAL gives lld's words.
absl::Status link_model(const ModelLink& link, const target::Target& target);

}  // namespace tf::codegen
