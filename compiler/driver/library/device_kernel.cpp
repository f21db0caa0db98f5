#include "compiler/driver/library/device_kernel.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/analysis/bounds.h"
#include "compiler/driver/size_code.h"
#include "compiler/runtime/executor/formula.h"
#include "compiler/runtime/model_abi.h"
#include "compiler/tensor/text.h"

namespace tf::driver {
namespace {

namespace proto = tunefarm::kernel::v1;

absl::StatusOr<uint32_t> code_kind(proto::BlobKind kind) {
  if (kind == proto::BLOB_KIND_OPENCL_C) return TF_DEVICE_CODE_OPENCL_C;
  if (kind == proto::BLOB_KIND_CUBIN) return TF_DEVICE_CODE_CUBIN;
  if (kind == proto::BLOB_KIND_PTX) return TF_DEVICE_CODE_PTX;
  return absl::FailedPreconditionError(
      absl::StrCat("models carry no code of kind ", static_cast<int>(kind), " for a device"));
}

absl::Status wrong_size(const std::string& text) {
  return absl::FailedPreconditionError(absl::StrCat(
      "its launch has the size ", text, ", which is neither a number below 2^32 nor made of its ",
      "dimensions by sums, products, quotients, least and greatest"));
}

// What does not depend on dimensions.
absl::StatusOr<uint32_t> fixed_size(const std::string& text) {
  uint32_t size = 0;
  if (text.empty() || absl::SimpleAtoi(text, &size)) return size;
  return wrong_size(text);
}

// The texts of a launch over a kernel's dimensions.
class Sizes {
 public:
  explicit Sizes(const std::vector<tensor::Dimension>& dims) : ranges_(analysis::ranges_of(dims)) {
    for (const tensor::Dimension& dim : dims) {
      vars_.push_back(dim.var);
      scope_.vars[dim.var->name] = dim.var;
    }
  }

  // With the greatest that it can be.
  absl::StatusOr<runtime::Sized> read(const std::string& text) const {
    if (vars_.empty() || text.empty()) return fixed_size(text);
    tensor::Reader reader(text);
    const absl::StatusOr<tensor::Expr> number = reader.expr(scope_);
    if (!number.ok() || reader.peek().kind != tensor::TokenKind::kEnd) return wrong_size(text);
    const analysis::Interval values = analysis::interval_of(*number, ranges_);
    if (values.max < 0 || values.max > UINT32_MAX) return wrong_size(text);
    if (values.is_point()) return runtime::Sized(values.max);
    std::optional<std::vector<int64_t>> code = size_code(*number, vars_);
    if (!code || !tf_code_valid(code->data(), code->size(), vars_.size())) return wrong_size(text);
    return runtime::Sized(values.max, *std::move(code));
  }

 private:
  const analysis::RangeMap ranges_;
  std::vector<tensor::Var> vars_;
  tensor::Scoped scope_;
};

absl::Status check(const runtime::ModelLaunch& launch) {
  uint64_t threads = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    threads *= launch.block[axis];
    if (static_cast<uint64_t>(launch.grid[axis].value) * launch.block[axis] > UINT32_MAX)
      return absl::FailedPreconditionError("its launch has 2^32 threads or more along one axis");
  }
  if (threads == 0 || threads > TF_MOST_BLOCK_THREADS || launch.shared_bytes > TF_MOST_SHARED_BYTES)
    return absl::FailedPreconditionError(absl::StrCat("its blocks have ", threads, " threads and ",
                                                      launch.shared_bytes, " bytes of shared memory"));
  return absl::OkStatus();
}

}  // namespace

bool is_for_device(const target::Target& target) {
  return target.arch == target::Arch::kOpenCl || target.arch == target::Arch::kCuda;
}

std::string device_function_of(const target::Target& target) {
  if (target.arch == target::Arch::kOpenCl) return "tf_opencl_device";
  if (target.arch == target::Arch::kCuda) return "tf_cuda_device";
  return "";
}

absl::StatusOr<DeviceKernel> device_kernel(proto::Artifact artifact,
                                           const std::vector<tensor::Dimension>& dims) {
  DeviceKernel kernel;
  const Sizes sizes(dims);
  kernel.code.dim_count = static_cast<uint32_t>(dims.size());
  for (proto::Blob& blob : *artifact.mutable_blobs()) {
    TF_ASSIGN_OR_RETURN(const uint32_t kind, code_kind(blob.kind()));
    kernel.code.codes.push_back({kind, std::move(*blob.mutable_content())});
  }
  for (const proto::Launch& launch : artifact.manifest().launches()) {
    runtime::ModelLaunch& added = kernel.code.launches.emplace_back();
    added.entry = launch.entry();
    for (int axis = 0; axis < 3; ++axis) {
      const auto at = static_cast<size_t>(axis);
      if (axis < launch.grid_size()) {
        TF_ASSIGN_OR_RETURN(added.grid[at], sizes.read(launch.grid(axis)));
      }
      if (axis < launch.block_size()) {
        TF_ASSIGN_OR_RETURN(added.block[at], fixed_size(launch.block(axis)));
      }
    }
    TF_ASSIGN_OR_RETURN(added.shared_bytes, fixed_size(launch.shared_bytes()));
    TF_RETURN_IF_ERROR(check(added));
    for (const proto::TensorMap& map : launch.tensor_maps()) {
      if (map.extents_size() > TF_MOST_TENSOR_AXES || map.box_size() != map.extents_size())
        return absl::FailedPreconditionError(absl::StrCat(
            "its launch has a tensor map of ", map.extents_size(), " axes and a box of ", map.box_size()));
      added.maps.push_back({.buffer = map.buffer(),
                            .element_bytes = map.element_bytes(),
                            .extents = {map.extents().begin(), map.extents().end()},
                            .box = {map.box().begin(), map.box().end()}});
    }
  }
  kernel.code.workspace_bytes = artifact.manifest().workspace_bytes();
  kernel.manifest = std::move(*artifact.mutable_manifest());
  return kernel;
}

}  // namespace tf::driver
