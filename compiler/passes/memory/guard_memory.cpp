#include <cmath>
#include <set>
#include <utility>

#include "compiler/analysis/access.h"
#include "compiler/analysis/simplifier.h"
#include "compiler/ir/physical.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using analysis::Interval;
using ir::as;
using ir::Expr;
using ir::Stmt;

// Extents that the storage covers, an entry a logical axis: rounded up to whole blocks.
std::vector<Expr> covered_extents(const ir::Buffer& buffer) {
  std::vector<Expr> covered(buffer->extents.size());
  for (const ir::PhysicalAxis& axis : ir::physical_axes(*buffer)) {
    if (axis.modulus != 0) continue;
    const auto d = static_cast<size_t>(axis.axis);
    covered[d] = axis.divisor == 1
                     ? buffer->extents[d]
                     : tensor::ceil_div(buffer->extents[d], tensor::imm(axis.divisor)) * axis.divisor;
  }
  return covered;
}

// Positive zero: what a load whose predicate is false gives.
bool is_zero(const Expr& expr) {
  if (const auto* imm = as<ir::FloatImm>(expr)) return imm->value == 0 && !std::signbit(imm->value);
  return tensor::as_int(expr) == 0;
}

// The statement with the condition as predicate of each store; null if it is more than stores.
Stmt with_mask(const Stmt& stmt, const Expr& condition) {
  if (const auto* store = as<ir::Store>(stmt))
    return ir::store(store->buffer, store->indices, store->value, tensor::both(store->predicate, condition));
  if (const auto* branch = as<ir::If>(stmt); branch && !branch->else_body)
    return with_mask(branch->then_body, tensor::both(condition, branch->condition));
  const auto* sequence = as<ir::Seq>(stmt);
  if (!sequence) return nullptr;
  std::vector<Stmt> out;
  for (const Stmt& child : sequence->stmts) {
    out.push_back(with_mask(child, condition));
    if (!out.back()) return nullptr;
  }
  return ir::seq(std::move(out));
}

class MemoryGuard final : public ir::Rewriter {
 public:
  MemoryGuard(const ir::Function& function, bool branches_stay)
      : branches_stay_(branches_stay), ranges_(analysis::ranges_of(function.dims)), simplifier_(ranges_) {}

 protected:
  Stmt rewrite(const Stmt& stmt) override {
    if (const auto* branch = as<ir::If>(stmt); branch && in_vector_ && !branch->else_body)
      if (Stmt masked = with_mask(branch->then_body, branch->condition)) return rewrite(masked);
    if (const auto* branch = as<ir::If>(stmt); branch && branches_stay_ && !in_vector_)
      return under_branch(*branch);
    if (const auto* loop = as<ir::For>(stmt)) {
      simplifier_.enter(*loop);
      const bool outer = std::exchange(
          in_vector_, loop->for_kind == ir::ForKind::kVectorized || loop->for_kind == ir::ForKind::kFolded);
      Stmt out = recurse(stmt);
      in_vector_ = outer;
      return out;
    }
    if (const auto* allocate = as<ir::Allocate>(stmt)) temporaries_.insert(allocate->buffer.get());
    if (const auto* copy = as<ir::AsyncCopy>(stmt)) return copy->box.empty() ? guarded(*copy) : stmt;
    return recurse(stmt);
  }

  Expr rewrite(const Expr& expr) override {
    if (const auto* node = as<ir::Select>(expr)) return select(*node);
    Expr out = recurse(expr);
    if (const auto* load = as<ir::Load>(out)) return guarded(*load, out);
    return out;
  }

 private:
  Stmt under_branch(const ir::If& branch) {
    const Expr condition = rewrite(branch.condition);
    const auto under = [&](bool holds, const Stmt& body) {
      const auto mark = simplifier_.push_facts(condition, holds);
      Stmt out = body ? rewrite(body) : nullptr;
      simplifier_.pop_facts(mark);
      return out;
    };
    const Stmt then_body = under(true, branch.then_body);
    return ir::make_stmt<ir::If>(condition, then_body, under(false, branch.else_body));
  }

  Expr select(const ir::Select& node) {
    Expr condition = rewrite(node.condition);
    path_.push_back(condition);
    Expr if_true = rewrite(node.if_true);
    path_.back() = tensor::logical_not(condition);
    Expr if_false = rewrite(node.if_false);
    path_.pop_back();
    if (const auto* load = as<ir::Load>(if_true); load && load->predicate && is_zero(if_false))
      if (tensor::structurally_equal(load->predicate, condition)) return if_true;
    return tensor::select(condition, if_true, if_false);
  }

  // What must hold for the index to lie in [0, extent), as far as it is not known; null if it is known.
  Expr needed(const Expr& index, const Expr& extent) {
    const Interval range = simplifier_.values(index);
    Expr test;
    if (range.min < 0) test = unless_known(tensor::imm(0) <= index);
    const std::optional<int64_t> number = tensor::as_int(extent);
    if (!number || range.max >= *number) test = tensor::both(test, unless_known(index < extent));
    return test;
  }

  Expr unless_known(const Expr& condition) {
    return tensor::as_int(simplifier_.narrow(condition)) == 1 ? Expr() : condition;
  }

  // Whether the element lies in the storage, be it in another row: what is read outside of the tensor never
  // reaches a result.
  bool inside_storage(const ir::Load& load) {
    const int64_t elements = tensor::as_int(ir::physical_elements(*load.buffer)).value_or(0) +
                             (temporaries_.contains(load.buffer.get()) ? kSlackElements : 0);
    const Interval range = simplifier_.values(ir::physical_offset(*load.buffer, load.indices));
    return range.min >= 0 && range.max < elements;
  }

  Expr needed(const ir::Load& load) {
    if (inside_storage(load)) return nullptr;
    const std::vector<Expr> extents = covered_extents(load.buffer);
    Expr all;
    for (size_t d = 0; d < extents.size(); ++d)
      if (Expr test = needed(load.indices[d], extents[d])) all = tensor::both(all, test);
    return all;
  }

  Expr guarded(const ir::Load& load, const Expr& expr) {
    Expr test = needed(load);
    if (!test) return expr;
    Expr path;
    for (const Expr& condition : path_) path = tensor::both(path, condition);
    if (path && !analysis::contains_load(path)) {
      const auto mark = simplifier_.push_facts(path, true);
      const bool suffices = !needed(load);
      simplifier_.pop_facts(mark);
      if (suffices) test = path;
    }
    return tensor::load(load.buffer, load.indices, tensor::both(load.predicate, test));
  }

  // As of a load of its source.
  Stmt guarded(const ir::AsyncCopy& copy) {
    if (copy.predicate) path_.push_back(copy.predicate);
    const Expr load = tensor::load(copy.source, copy.source_indices);
    const Expr test = as<ir::Load>(guarded(*as<ir::Load>(load), load))->predicate;
    if (copy.predicate) path_.pop_back();
    if (!test) return Stmt(&copy);
    const bool known = copy.predicate && tensor::structurally_equal(test, copy.predicate);
    return ir::make_stmt<ir::AsyncCopy>(copy.target, copy.target_indices, copy.source, copy.source_indices,
                                        copy.elements, known ? test : tensor::both(copy.predicate, test));
  }

  const bool branches_stay_;
  analysis::RangeMap ranges_;
  analysis::Simplifier simplifier_;
  std::vector<Expr> path_;
  bool in_vector_ = false;
  std::set<const ir::BufferNode*> temporaries_;
};

}  // namespace

ir::Function guard_memory(const ir::Function& function) {
  ir::Function out = function;
  out.body = MemoryGuard(function, false)(function.body);
  return out;
}

ir::Function guard_memory_under_branches(const ir::Function& function) {
  ir::Function out = function;
  out.body = MemoryGuard(function, true)(function.body);
  return out;
}

}  // namespace tf::passes
