#include "compiler/backends/llvm/workspace.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/ir/physical.h"
#include "compiler/runtime/kernel_abi.h"

namespace tf::backends {
namespace {

// Larger ones would overflow the small stacks of pool threads.
constexpr uint64_t kMaxStackBytes = 64 << 10;

constexpr uint64_t kMaxBytes = uint64_t{1} << 40;

uint64_t align_up(uint64_t bytes) {
  return (bytes + TF_ALIGNMENT - 1) / TF_ALIGNMENT * TF_ALIGNMENT;
}

absl::StatusOr<uint64_t> size_bytes(const ir::BufferNode& buffer) {
  std::optional<int64_t> elements = ir::as_int(ir::physical_elements(buffer));
  if (!elements || *elements < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("allocation '", buffer.name,
                     "' has an extent that is not constant; bind all dimensions "
                     "before compiling"));
  }
  uint64_t bytes = static_cast<uint64_t>(*elements);
  if (__builtin_mul_overflow(bytes, tensor::element_bytes(buffer.element), &bytes) || bytes > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat("allocation '", buffer.name, "' is larger than 1 TiB"));
  }
  return bytes;
}

class Planner {
 public:
  absl::Status visit(const ir::Stmt& stmt, bool parallel) {
    if (!stmt) return absl::OkStatus();
    if (auto* loop = ir::as<ir::For>(stmt)) {
      return visit(loop->body, parallel || loop->for_kind == ir::ForKind::kParallel);
    }
    if (auto* seq = ir::as<ir::Seq>(stmt)) {
      for (const ir::Stmt& s : seq->stmts) TF_RETURN_IF_ERROR(visit(s, parallel));
      return absl::OkStatus();
    }
    if (auto* branch = ir::as<ir::If>(stmt)) {
      TF_RETURN_IF_ERROR(visit(branch->then_body, parallel));
      return visit(branch->else_body, parallel);
    }
    if (auto* let = ir::as<ir::Let>(stmt)) return visit(let->body, parallel);
    if (auto* allocate = ir::as<ir::Allocate>(stmt)) {
      TF_RETURN_IF_ERROR(place(*allocate->buffer, parallel));
      return visit(allocate->body, parallel);
    }
    return absl::OkStatus();
  }

  WorkspacePlan take() { return std::move(plan_); }

 private:
  absl::Status place(const ir::BufferNode& buffer, bool parallel) {
    if (plan_.slots.contains(&buffer)) return absl::OkStatus();
    if (buffer.scope == ir::Scope::kShared || buffer.scope == ir::Scope::kFragment) {
      return absl::InvalidArgumentError(absl::StrCat(
          "allocation '", buffer.name, "' is in GPU memory; CPU targets have global and register"));
    }
    Slot slot;
    TF_ASSIGN_OR_RETURN(slot.size_bytes, size_bytes(buffer));
    if (buffer.scope != ir::Scope::kRegister || slot.size_bytes > kMaxStackBytes) {
      slot.place = parallel ? Place::kPerThread : Place::kShared;
      uint64_t& end = parallel ? plan_.per_thread_bytes : plan_.shared_bytes;
      slot.offset_bytes = end;
      end += align_up(slot.size_bytes);
    }
    plan_.slots.emplace(&buffer, slot);
    return absl::OkStatus();
  }

  WorkspacePlan plan_;
};

}  // namespace

absl::StatusOr<WorkspacePlan> plan_workspace(const ir::Function& function) {
  Planner planner;
  TF_RETURN_IF_ERROR(planner.visit(function.body, false));
  return planner.take();
}

}  // namespace tf::backends
