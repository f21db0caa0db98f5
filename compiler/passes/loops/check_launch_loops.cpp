#include "compiler/passes/loops/check_launch_loops.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"

namespace tf::passes {
namespace {

using ir::ForKind;

class LaunchLoops final : public ir::Visitor {
 public:
  absl::Status status;

  // What is done one after the other is a launch each.
  void check(const ir::Stmt& body) {
    if (const auto* allocate = ir::as<ir::Allocate>(body)) return check(allocate->body);
    if (const auto* seq = ir::as<ir::Seq>(body)) {
      for (const ir::Stmt& part : seq->stmts) check(part);
      return;
    }
    kinds_.clear();
    stores_.clear();
    arrays_.clear();
    (*this)(body);
    for (const auto& [array, entered] : arrays_)
      if (entered.size() < kinds_.size() && status.ok())
        status = absl::FailedPreconditionError(absl::StrCat(
            "buffer ", array->name,
            ", of scope global, is made inside a launch, where each thread has its own, but grid or thread "
            "loops are inside of it; what a block shares is of scope shared"));
    for (const std::set<ForKind>& entered : stores_)
      if (entered.size() < kinds_.size() && status.ok())
        status = absl::FailedPreconditionError(
            "a store is outside the grid and thread loops, where every block and thread would repeat it");
  }

 protected:
  bool enter(const ir::Expr&) override { return false; }
  bool enter(const ir::Stmt& stmt) override {
    if (const auto* store = ir::as<ir::Store>(stmt)) add(*store->buffer);
    if (const auto* copy = ir::as<ir::AsyncCopy>(stmt)) add(*copy->target);
    if (const auto* array = ir::as<ir::Allocate>(stmt);
        array && array->buffer->scope == ir::Scope::kGlobal && std::ranges::any_of(around_, is_of_launch))
      arrays_.emplace_back(array->buffer.get(), entered());
    const auto* loop = ir::as<ir::For>(stmt);
    if (!loop || !status.ok()) return status.ok();
    if (loop->for_kind >= ForKind::kGridX) check_place(*loop);
    if (loop->for_kind >= ForKind::kGridX) kinds_.insert(loop->for_kind);
    around_.push_back(loop);
    if (status.ok()) (*this)(loop->body);
    around_.pop_back();
    return false;
  }

 private:
  // Blocks stand outside of everything, and each axis has one loop.
  void check_place(const ir::For& loop) {
    const bool of_blocks = loop.for_kind < ForKind::kThreadX;
    for (const ir::For* outer : around_) {
      if (outer->for_kind != loop.for_kind && !(of_blocks && repeats_launches(*outer))) continue;
      status = absl::FailedPreconditionError(absl::StrCat(
          "loop ", loop.var->name, ", ", std::string(ir::kind_name(loop.for_kind)), ", is inside loop ",
          outer->var->name, ", ", std::string(ir::kind_name(outer->for_kind)),
          ": blocks have no order, so that no other loop is around them, and each axis has one loop"));
    }
  }
  // Not if it is of one iteration, or unrolled: its iterations are then launches, one after the other.
  static bool repeats_launches(const ir::For& loop) {
    if (loop.for_kind >= ForKind::kGridX) return loop.for_kind >= ForKind::kThreadX;
    return loop.for_kind != ForKind::kUnrolled && tensor::as_int(loop.extent) != 1;
  }

  // Likewise.
  static bool is_of_launch(const ir::For* loop) {
    return loop->for_kind != ForKind::kUnrolled &&
           (loop->for_kind >= ForKind::kGridX || tensor::as_int(loop->extent) != 1);
  }

  void add(const ir::BufferNode& buffer) {
    if (buffer.scope == ir::Scope::kGlobal || buffer.scope == ir::Scope::kShared)
      stores_.push_back(entered());
  }
  std::set<ForKind> entered() const {
    std::set<ForKind> kinds;
    for (const ir::For* loop : around_)
      if (loop->for_kind >= ForKind::kGridX) kinds.insert(loop->for_kind);
    return kinds;
  }

  std::vector<const ir::For*> around_;
  std::set<ForKind> kinds_;
  std::vector<std::set<ForKind>> stores_;  // the loops around each
  std::vector<std::pair<const ir::BufferNode*, std::set<ForKind>>> arrays_;
};

}  // namespace

absl::Status check_launch_loops(const ir::Function& function) {
  LaunchLoops loops;
  loops.check(function.body);
  return loops.status;
}

}  // namespace tf::passes
