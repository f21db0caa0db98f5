#include "compiler/backends/opencl/opencl_dialect.h"

#include "absl/strings/str_cat.h"

namespace tf::backends {
namespace {

// In memory only, which every device has: arithmetic in f16 is an extension.
constexpr char kHalfFunctions[] =
    R"(static float tf_load_f16(unsigned short x) { return vload_half(0, (const half*)&x); }
static unsigned short tf_store_f16(float x) {
  unsigned short y;
  vstore_half_rte(x, 0, (half*)&y);
  return y;
}
)";

std::string kernel_head(const std::array<int64_t, 3>& block) {
  return absl::StrCat("__kernel __attribute__((reqd_work_group_size(", block[0], ", ", block[1], ", ",
                      block[2], "))) void ");
}

std::string shared_array(int64_t bytes, int64_t alignment) {
  return absl::StrCat("__local unsigned char shared_memory[", bytes, "] __attribute__((aligned(", alignment,
                      ")));");
}

std::string aligned(int64_t bytes) {
  return absl::StrCat("__attribute__((aligned(", bytes, ")))");
}

}  // namespace

const GpuDialect& opencl_dialect() {
  static constexpr GpuDialect kDialect = {
      .name = "OpenCL C",
      .function = "static",
      .global = "__global ",
      .shared = "__local ",
      .restrict_pointer = "* restrict",
      .barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
      .block_index = {"get_group_id(0)", "get_group_id(1)", "get_group_id(2)"},
      .thread_index = {"get_local_id(0)", "get_local_id(1)", "get_local_id(2)"},
      .long_type = "long",
      .unsigned_long_type = "unsigned long",
      .long_suffix = "l",
      .float_of_bits = "as_float",
      .bits_of_float = "as_uint",
      .avoids_branches = true,
      .functions_are_overloaded = true,
      .prelude = "",
      .half_functions = kHalfFunctions,
      .doubles = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
      .kernel_head = kernel_head,
      .shared_array = shared_array,
      .aligned = aligned,
  };
  return kDialect;
}

}  // namespace tf::backends
