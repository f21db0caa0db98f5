#pragma once
// Owns: the interface of a back end: what it accepts, which passes it wants, what it makes of a lowered kernel.
// Does not know: any back end, schedules, devices.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/stmt.h"
#include "compiler/passes/pipeline.h"
#include "compiler/target/target.h"

namespace tunefarm::kernel::v1 {
enum BlobKind : int;
}

namespace tf::backends {

// Who takes a kernel's code: a device, which loads it by itself, or the linker of a model.
enum class Use : uint8_t { kDevice, kModel };

struct Phase {
  std::string name;  // "emit", "optimize", "machine", "link"
  int64_t duration_ns = 0;
};

// What a kernel takes of a GPU's multiprocessor, as its assembler reports it. All 0: not known.
struct Resources {
  uint32_t registers_per_thread = 0;
  uint32_t stack_bytes = 0;   // of a thread, in memory: arrays that are indexed by values, and spills
  uint32_t spill_bytes = 0;   // of a thread: registers that did not fit, stored and loaded
  uint32_t shared_bytes = 0;  // of a block, beside what a launch asks for
  // So much that the kernel should be refused while there is another.
  bool spills() const { return spill_bytes > 64; }
  bool operator==(const Resources&) const = default;
};

// A row-major tensor in one of the kernel's buffers and the part of it that a GPU's copy engine copies at once, into lines of 128
// bytes with their swizzle: what CUDA calls a tensor map, which the one who starts the kernel makes. Axes from the outside in.
struct TensorMap {
  uint32_t buffer = 0;  // among the entry's pointers
  uint32_t element_bytes = 0;
  std::vector<int64_t> extents, box;
  bool operator==(const TensorMap&) const = default;
};

// One start of an entry of the blob. The sizes are integer expressions over the workload's dimensions, in the text form of
// compiler/tensor: x, y, z. All are empty for a plain call.
struct Launch {
  std::string entry;
  std::vector<std::string> grid, block;
  std::string shared_bytes;
  Resources resources = {};
  std::vector<TensorMap> tensor_maps = {};  // the entry's last parameters
};

struct CodeBlob {
  tunefarm::kernel::v1::BlobKind kind = {};
  std::string content;
};

// One blob and how it is started.
struct Code {
  tunefarm::kernel::v1::BlobKind kind = {};
  std::string content;
  std::vector<CodeBlob> others;  // the same program in other forms, for devices that do not load the first
  std::vector<Launch> launches;  // one after another
  uint64_t workspace_bytes = 0;  // of tf_call.workspace, shared by all threads
  uint64_t workspace_per_thread_bytes = 0;  // and then this for each thread
  std::string digest;                       // SHA-256, hexadecimal: equal digests are equal programs
  std::vector<Phase> phases;
};

enum class LibraryForm : uint8_t { kShared, kArchive };

// The parts of a model library. The weights have a place in it and stay with the caller.
struct ModelLink {
  std::vector<std::string> objects;  // of the kernels, as compile() makes them for a model
  std::vector<std::string>
      kernels;         // symbols of tf_model_kernels, in order; after those of the objects, the runtime's
  std::string prefix;  // of the exported functions: a C identifier
  std::string blob;    // bytes of tf_model_blob
  uint64_t weights_bytes = 0;   // of tf_model_weights
  std::string runtime_archive;  // bytes of libtf_runtime_model.a, built for the target
  LibraryForm form = LibraryForm::kShared;
};

// The library is `before`, then the weights, then `after`.
struct LinkedModel {
  std::string before, after;
};

// A row of the table. Back ends keep process-wide state and may crash or hang on odd input: call them in a build
// worker, from one thread.
struct Backend {
  const char* name;
  bool (*accepts)(const target::Target& target);
  passes::Pipeline (*pipeline)();
  // UNIMPLEMENTED or FAILED_PRECONDITION for what it does not translate; INVALID_ARGUMENT for a use that the target
  // does not have; INTERNAL if its own compiler rejects what it emitted.
  absl::StatusOr<Code> (*compile)(const ir::Function& function, const target::Target& target, Use use);
  // The code as text for people.
  absl::StatusOr<std::string> (*show)(const ir::Function& function, const target::Target& target);
  // Null: its kernels cannot be linked into a model library.
  absl::StatusOr<LinkedModel> (*link)(const ModelLink& link, const target::Target& target);
};

}  // namespace tf::backends
