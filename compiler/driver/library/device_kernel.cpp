#include "compiler/driver/library/device_kernel.h"

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/runtime/model_abi.h"

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

// Sizes of a kernel whose dimensions are bound are numbers.
absl::StatusOr<uint32_t> fixed_size(const std::string& text) {
  uint32_t size = 0;
  if (text.empty()) return 0;
  if (absl::SimpleAtoi(text, &size)) return size;
  return absl::FailedPreconditionError(
      absl::StrCat("its launch has the size ", text, ", which is not a number below 2^32"));
}

absl::Status read_sizes(const google::protobuf::RepeatedPtrField<std::string>& texts,
                        std::array<uint32_t, 3>& sizes) {
  for (int axis = 0; axis < texts.size() && axis < 3; ++axis) {
    TF_ASSIGN_OR_RETURN(sizes[static_cast<size_t>(axis)], fixed_size(texts[axis]));
  }
  return absl::OkStatus();
}

absl::Status check(const runtime::ModelLaunch& launch) {
  uint64_t threads = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    threads *= launch.block[axis];
    if (uint64_t{launch.grid[axis]} * launch.block[axis] > UINT32_MAX)
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

absl::StatusOr<DeviceKernel> device_kernel(proto::Artifact artifact) {
  DeviceKernel kernel;
  for (proto::Blob& blob : *artifact.mutable_blobs()) {
    TF_ASSIGN_OR_RETURN(const uint32_t kind, code_kind(blob.kind()));
    kernel.code.codes.push_back({kind, std::move(*blob.mutable_content())});
  }
  for (const proto::Launch& launch : artifact.manifest().launches()) {
    runtime::ModelLaunch& added = kernel.code.launches.emplace_back();
    added.entry = launch.entry();
    TF_RETURN_IF_ERROR(read_sizes(launch.grid(), added.grid));
    TF_RETURN_IF_ERROR(read_sizes(launch.block(), added.block));
    TF_ASSIGN_OR_RETURN(added.shared_bytes, fixed_size(launch.shared_bytes()));
    TF_RETURN_IF_ERROR(check(added));
  }
  kernel.code.workspace_bytes = artifact.manifest().workspace_bytes();
  kernel.manifest = std::move(*artifact.mutable_manifest());
  return kernel;
}

}  // namespace tf::driver
