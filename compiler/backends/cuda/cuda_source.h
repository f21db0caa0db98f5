#pragma once
// Owns: CUDA C of one loop-IR function, and how it is to be launched. Does not know: NVRTC, schedules,
// devices.

#include <array>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"

namespace tf::backends {

struct CudaSource {
  std::string text;  // a translation unit that defines extern "C" __global__ void NAME(params…, dims…)
  // The launch: x, y, z. Grid extents are expressions over function.dims in the text form of compiler/tensor.
  std::array<std::string, 3> grid = {"1", "1", "1"};
  std::array<int64_t, 3> block = {1, 1, 1};
  int64_t shared_bytes = 0;  // dynamic shared memory
};

// Of what gpu_pipeline() yields. Parameters are device pointers in the function's order, const where nothing
// is stored; dims follow as long long. FAILED_PRECONDITION where the function does not fit one launch: no
// grid or thread loop, more than one nest of them, a store outside of them, scratch memory that is neither
// register nor shared, or more threads or shared memory than the target has. UNIMPLEMENTED for vectors,
// asynchronous copies, 16-bit floats.
absl::StatusOr<CudaSource> cuda_source(const ir::Function& function, const target::Target& target);

}  // namespace tf::backends
