#include "compiler/backends/gpu/kernels.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/analysis/bounds.h"

namespace tf::backends {
namespace {

constexpr int64_t kScratchAlignment = 256;
constexpr int64_t kMostElements = int64_t{1} << 37;  // 1 TiB of the widest

class Splitter {
 public:
  explicit Splitter(const ir::Function& function) : ranges_(analysis::ranges_of(function.dims)) {}

  absl::Status split(const ir::Stmt& stmt) {
    if (const auto* all = ir::as<ir::Seq>(stmt)) {
      for (const ir::Stmt& child : all->stmts) TF_RETURN_IF_ERROR(split(child));
      return absl::OkStatus();
    }
    if (const auto* let = ir::as<ir::Let>(stmt)) {
      lets_.push_back(let);
      const absl::Status status = split(let->body);
      lets_.pop_back();
      return status;
    }
    const auto* allocate = ir::as<ir::Allocate>(stmt);
    if (allocate && allocate->buffer->scope == ir::Scope::kGlobal) {
      TF_RETURN_IF_ERROR(place(*allocate->buffer));
      return split(allocate->body);
    }
    parts_.parts.push_back({lets_, stmt});
    return absl::OkStatus();
  }

  KernelParts take() { return std::move(parts_); }

 private:
  absl::Status place(const ir::BufferNode& buffer) {
    // Room for the greatest size.
    const analysis::Interval count = analysis::interval_of(buffer.extents[0], ranges_);
    if (!count.has_max() || count.max > kMostElements)
      return absl::FailedPreconditionError(
          absl::StrCat("buffer ", buffer.name, " has no size that memory is planned for"));
    parts_.scratch_offsets[&buffer] = parts_.workspace_bytes;
    const int64_t bytes = count.max * tensor::element_bytes(buffer.element);
    parts_.workspace_bytes += (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
    return absl::OkStatus();
  }

  const analysis::RangeMap ranges_;
  KernelParts parts_;
  std::vector<const ir::Let*> lets_;
};

}  // namespace

absl::StatusOr<KernelParts> split_into_kernels(const ir::Function& function) {
  Splitter splitter(function);
  TF_RETURN_IF_ERROR(splitter.split(function.body));
  return splitter.take();
}

}  // namespace tf::backends
