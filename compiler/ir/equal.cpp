#include "compiler/ir/equal.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tf::ir {
namespace {

class Comparison {
 public:
  bool buffers(const Buffer& a, const Buffer& b) {
    return a->element == b->element && a->scope == b->scope && a->layout == b->layout &&
           all(a->extents, b->extents);
  }

  // From here on a stands for b.
  void bind(const void* a, const void* b) {
    forward_[a] = b;
    backward_[b] = a;
  }

  bool same_node(const void* a, const void* b) const {
    auto f = forward_.find(a);
    auto g = backward_.find(b);
    if (f == forward_.end() && g == backward_.end()) return a == b;
    return f != forward_.end() && g != backward_.end() && f->second == b && g->second == a;
  }

  bool all(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!exprs(a[i], b[i])) return false;
    return true;
  }

  bool exprs(const Expr& a, const Expr& b) {
    if (!a || !b) return !a && !b;
    if (a->kind() != b->kind() || a->type() != b->type()) return false;
    if (a->kind() == ExprKind::kVarNode) return same_node(a.get(), b.get());
    if (known_.contains({a.get(), b.get()})) return true;
    if (!heads(a, b) || !all(tensor::operands(a), tensor::operands(b))) return false;
    known_.insert({a.get(), b.get()});
    return true;
  }

  bool stmts(const Stmt& a, const Stmt& b) {
    const std::vector<Stmt> x = flat(a), y = flat(b);
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!one(x[i], y[i])) return false;
    return true;
  }

 private:
  static std::vector<Stmt> flat(const Stmt& stmt) {
    std::vector<Stmt> out;
    collect(stmt, &out);
    return out;
  }

  static void collect(const Stmt& stmt, std::vector<Stmt>* out) {
    if (!stmt) return;
    if (const auto* sequence = as<Seq>(stmt)) {
      for (const Stmt& child : sequence->stmts) collect(child, out);
    } else {
      out->push_back(stmt);
    }
  }

  // What of an expression is not in its operands. A node with the operands of `a` is compared by the tensor
  // module.
  bool heads(const Expr& a, const Expr& b) {
    if (const auto* x = as<Load>(a)) {
      const auto* y = as<Load>(b);
      return same_node(x->buffer.get(), y->buffer.get()) && x->indices.size() == y->indices.size() &&
             !x->predicate == !y->predicate;
    }
    if (const auto* x = as<Unary>(a)) return x->op == as<Unary>(b)->op;
    if (const auto* x = as<Binary>(a)) return x->op == as<Binary>(b)->op;
    if (const auto* x = as<Call>(a)) return x->function == as<Call>(b)->function;
    if (as<IntImm>(a) || as<FloatImm>(a)) return tensor::structurally_equal(a, b);
    return true;
  }

  bool one(const Stmt& a, const Stmt& b) {
    if (a->kind() != b->kind()) return false;
    return visit(a, [&](const auto& node) {
      return compare(node, static_cast<const std::decay_t<decltype(node)>&>(*b));
    });
  }

  bool compare(const For& a, const For& b) {
    if (a.for_kind != b.for_kind || a.var->type() != b.var->type()) return false;
    if (!exprs(a.min, b.min) || !exprs(a.extent, b.extent)) return false;
    bind(a.var.get(), b.var.get());
    return stmts(a.body, b.body);
  }
  bool compare(const Seq&, const Seq&) { return true; }  // flattened before
  bool compare(const Store& a, const Store& b) {
    return same_node(a.buffer.get(), b.buffer.get()) && all(a.indices, b.indices) &&
           exprs(a.value, b.value) && exprs(a.predicate, b.predicate);
  }
  bool compare(const If& a, const If& b) {
    return exprs(a.condition, b.condition) && stmts(a.then_body, b.then_body) &&
           stmts(a.else_body, b.else_body);
  }
  bool compare(const Let& a, const Let& b) {
    if (a.var->type() != b.var->type() || !exprs(a.value, b.value)) return false;
    bind(a.var.get(), b.var.get());
    return stmts(a.body, b.body);
  }
  bool compare(const Allocate& a, const Allocate& b) {
    if (!buffers(a.buffer, b.buffer)) return false;
    bind(a.buffer.get(), b.buffer.get());
    return stmts(a.body, b.body);
  }
  bool compare(const Barrier&, const Barrier&) { return true; }
  bool compare(const AsyncCopy& a, const AsyncCopy& b) {
    return a.elements == b.elements && a.box == b.box && same_node(a.target.get(), b.target.get()) &&
           same_node(a.source.get(), b.source.get()) && all(a.target_indices, b.target_indices) &&
           all(a.source_indices, b.source_indices) && exprs(a.predicate, b.predicate);
  }
  bool compare(const AsyncWait& a, const AsyncWait& b) { return a.groups_in_flight == b.groups_in_flight; }
  bool compare(const MatrixOp& a, const MatrixOp& b) {
    return a.unit == b.unit && a.action == b.action && a.groups_in_flight == b.groups_in_flight &&
           std::ranges::equal(a.tiles, b.tiles, [this](const MatrixTile& x, const MatrixTile& y) {
             return same_node(x.buffer.get(), y.buffer.get()) && all(x.indices, y.indices) &&
                    x.row_steps == y.row_steps && x.column_steps == y.column_steps &&
                    x.block_columns == y.block_columns && x.next_block == y.next_block;
           });
  }
  bool compare(const LaneFold& a, const LaneFold& b) {
    return a.combiner == b.combiner && a.lanes == b.lanes && same_node(a.buffer.get(), b.buffer.get()) &&
           all(a.indices, b.indices);
  }

  std::map<const void*, const void*> forward_, backward_;
  std::set<std::pair<const void*, const void*>> known_;  // pairs that were equal: shared subtrees cost once
};

}  // namespace

bool equal(const Stmt& a, const Stmt& b) {
  return Comparison().stmts(a, b);
}

bool equal(const Function& a, const Function& b) {
  if (a.name != b.name || a.dims.size() != b.dims.size() || a.params.size() != b.params.size() ||
      a.in_place != b.in_place)
    return false;
  Comparison comparison;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i].low != b.dims[i].low || a.dims[i].high != b.dims[i].high) return false;
    comparison.bind(a.dims[i].var.get(), b.dims[i].var.get());
  }
  for (size_t i = 0; i < a.params.size(); ++i) {
    if (!comparison.buffers(a.params[i], b.params[i])) return false;
    comparison.bind(a.params[i].get(), b.params[i].get());
  }
  return comparison.stmts(a.body, b.body);
}

}  // namespace tf::ir
