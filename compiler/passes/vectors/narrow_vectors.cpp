#include <algorithm>
#include <map>

#include "compiler/analysis/simplify.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/vectors/constant_lanes.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Expr;
using ir::Stmt;

// One lane of a vector each, or one element of a buffer each.
using Flags = std::vector<bool>;

Flags all_of(int lanes) {
  return Flags(static_cast<size_t>(lanes), true);
}

bool is_fold(ir::Intrinsic function) {
  return function == ir::Intrinsic::kReduceAdd || function == ir::Intrinsic::kReduceMax ||
         function == ir::Intrinsic::kReduceMin;
}

// Which elements of the register buffers around a statement something reads; buffers that are not in it are
// read whole.
using Reads = std::map<const ir::BufferNode*, Flags>;

int lanes_of(const ir::Store& store) {
  return std::max(store.indices[0]->type().lanes, store.value->type().lanes);
}

// The lanes of a store that matter.
Flags live_lanes(const ir::Store& store, const Reads& reads) {
  const int lanes = lanes_of(store);
  Flags live = store.predicate ? may_hold(store.predicate, lanes) : all_of(lanes);
  const auto known = reads.find(store.buffer.get());
  if (known == reads.end()) return live;
  const auto elements = constant_lanes(store.indices[0], lanes);
  if (!elements) return live;
  for (size_t lane = 0; lane < live.size(); ++lane)
    live[lane] = live[lane] && known->second[static_cast<size_t>((*elements)[lane])];
  return live;
}

// Finds which elements of one buffer count for what is stored elsewhere: those that are loaded in a lane that
// matters, again and again because the buffer's own elements are made of each other.
class ReadFinder final : public ir::Visitor {
 public:
  ReadFinder(const ir::BufferNode* buffer, int64_t elements) : buffer_(buffer) {
    reads_[buffer] = Flags(static_cast<size_t>(elements), false);
  }

  Flags find(const Stmt& body) {
    do {
      changed_ = false;
      (*this)(body);
    } while (changed_);
    return reads_[buffer_];
  }

 protected:
  bool enter(const Stmt& stmt) override {
    const auto* store = as<ir::Store>(stmt);
    if (!store) return true;
    const Flags live = live_lanes(*store, reads_);
    if (std::ranges::find(live, true) == live.end()) return false;
    mark(store->value, live);
    mark(store->indices[0], all_of(store->indices[0]->type().lanes));
    if (store->predicate) mark(store->predicate, all_of(store->predicate->type().lanes));
    return false;
  }

  bool enter(const Expr& expr) override {  // of another statement
    mark(expr, all_of(expr->type().lanes));
    return false;
  }

 private:
  void mark(const Expr& expr, const Flags& live) {
    if (const auto* load = as<ir::Load>(expr); load && load->buffer.get() == buffer_) mark(*load, live);
    const auto* call = as<ir::Call>(expr);
    const bool own_lanes = call && (is_fold(call->function) || call->function == ir::Intrinsic::kDot);
    for (const Expr& operand : tensor::operands(expr)) {
      const auto lanes = static_cast<size_t>(operand->type().lanes);
      mark(operand, own_lanes || lanes != live.size() ? Flags(lanes, true) : live);
    }
  }

  void mark(const ir::Load& load, const Flags& live) {
    Flags& read = reads_[buffer_];
    const auto elements = constant_lanes(load.indices[0], static_cast<int>(live.size()));
    for (size_t i = 0; i < (elements ? live.size() : read.size()); ++i) {
      const size_t element = elements ? static_cast<size_t>((*elements)[i]) : i;
      if ((elements && !live[i]) || read[element]) continue;
      read[element] = changed_ = true;
    }
  }

  const ir::BufferNode* buffer_;
  Reads reads_;
  bool changed_ = false;
};

// The expression's first lanes; null if it cannot be cut. Scalars stand for every lane.
Expr first_lanes(const Expr& expr, int lanes);

Expr first_lanes_of_dot(const ir::Call& dot, int lanes) {
  const int group = dot.args[2]->type().lanes / dot.args[0]->type().lanes;
  const bool shared = dot.args[1]->type().lanes == group;
  const Expr c = first_lanes(dot.args[0], lanes), b = first_lanes(dot.args[2], lanes * group),
             a = shared ? dot.args[1] : first_lanes(dot.args[1], lanes * group);
  return a && b && c ? tensor::dot(c, a, b) : nullptr;
}

Expr first_lanes(const Expr& expr, int lanes) {
  if (expr->type().lanes <= lanes) return expr;
  if (const auto* ramp = as<ir::Ramp>(expr)) return tensor::ramp(ramp->base, ramp->stride, lanes);
  if (const auto* same = as<ir::Broadcast>(expr)) return tensor::broadcast(same->value, lanes);
  if (as<ir::VarNode>(expr)) return nullptr;
  if (const auto* call = as<ir::Call>(expr); call && call->function == ir::Intrinsic::kDot)
    return first_lanes_of_dot(*call, lanes);
  std::vector<Expr> operands = tensor::operands(expr);
  if (operands.empty()) return nullptr;
  for (Expr& operand : operands) {
    operand = first_lanes(operand, lanes);
    if (!operand) return nullptr;
  }
  return tensor::with_operands(expr, operands);
}

class Narrower final : public ir::Rewriter {
 public:
  bool changed() const { return changed_; }

 protected:
  Expr rewrite(const Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    if (const auto* allocate = as<ir::Allocate>(stmt)) return within(*allocate, stmt);
    const auto* store = as<ir::Store>(stmt);
    if (!store || !store->indices[0]->type().is_vector()) return recurse(stmt);
    const Flags live = live_lanes(*store, reads_);
    const auto last = std::find(live.rbegin(), live.rend(), true);
    if (last == live.rend()) {
      changed_ = true;
      return ir::seq({});
    }
    const auto needed = static_cast<int>(live.rend() - last), lanes = static_cast<int>(live.size());
    int kept = lanes;
    while (kept % 2 == 0 && kept / 2 >= std::max(needed, kLeastLanes)) kept /= 2;
    if (kept == lanes) return stmt;
    const Expr index = first_lanes(store->indices[0], kept), value = first_lanes(store->value, kept),
               predicate = store->predicate ? first_lanes(store->predicate, kept) : nullptr;
    if (!index || !value || (store->predicate && !predicate)) return stmt;
    changed_ = true;
    return ir::store(store->buffer, {index}, value, predicate);
  }

 private:
  Stmt within(const ir::Allocate& allocate, const Stmt& stmt) {
    const auto elements = tensor::as_int(allocate.buffer->extents[0]);
    if (allocate.buffer->scope != ir::Scope::kRegister || !elements) return recurse(stmt);
    reads_[allocate.buffer.get()] = ReadFinder(allocate.buffer.get(), *elements).find(allocate.body);
    Stmt out = recurse(stmt);
    reads_.erase(allocate.buffer.get());
    return out;
  }

  Reads reads_;
  bool changed_ = false;
};

}  // namespace

ir::Function narrow_vectors(const ir::Function& function) {
  Narrower narrower;
  ir::Function out = function;
  out.body = narrower(function.body);
  return narrower.changed() ? analysis::simplify(out) : function;
}

}  // namespace tf::passes
