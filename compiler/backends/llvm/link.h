#pragma once
// Owns: linking with lld: one object into a loadable shared object, and a model's objects, tables and runtime
// into a library. Does not know: what is in the objects. lld keeps process-wide state: one thread at a time,
// in a build worker.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/backends/backend.h"
#include "compiler/target/target.h"

namespace tf::backends {

// A shared object, from an object that does not name _GLOBAL_OFFSET_TABLE_ (link.cpp says why), that exports
// the object's global symbols and needs no library but libc. INVALID_ARGUMENT if the target has no ELF shared
// objects, INTERNAL with lld's words if it refuses.
absl::StatusOr<std::string> link_shared(std::string_view object, const target::Target& target);

// A shared library with the SONAME libPREFIX.so, or a static archive. It exports the functions of
// compiler/runtime/model.h as PREFIX_open and so on, a shared one tf_model_prefix, too; every other symbol is
// local, so that several models in one program do not mix. INTERNAL gives lld's words; INVALID_ARGUMENT for
// more weights than the target or an archive takes.
absl::StatusOr<LinkedModel> link_model(const ModelLink& link, const target::Target& target);

}  // namespace tf::backends
