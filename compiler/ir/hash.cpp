#include "compiler/ir/hash.h"

#include <bit>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "base/mix.h"

namespace tf::ir {
namespace {

uint64_t text_hash(std::string_view text) {
  uint64_t hash = text.size();
  for (const char c : text) hash = mix(hash + kMixStep + static_cast<uint8_t>(c));
  return hash;
}

// Of a sequence, in its order.
class Sequence {
 public:
  template <typename T>
  Sequence& add(T value) {
    value_ = mix(value_ * kMixStep + static_cast<uint64_t>(value) + 1);
    return *this;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

class Hasher {
 public:
  // Variables and buffers count by when they are bound; one of two loops is another in each.
  void bind(const void* node) {
    const auto [found, is_new] = bound_.try_emplace(node);
    if (!is_new) exprs_.clear();
    found->second = mix(++bindings_);
  }

  uint64_t buffer(const Buffer& buffer) {
    Sequence all;
    all.add(buffer->element).add(buffer->scope).add(text_hash(buffer->layout.text()));
    add(buffer->extents, all);
    return all.value();
  }

  void add(const Stmt& stmt, Sequence& all) {
    if (!stmt) return;
    if (const auto* sequence = as<Seq>(stmt)) {
      for (const Stmt& child : sequence->stmts) add(child, all);
    } else {
      visit(stmt, [&](const auto& node) { all.add(node.kind()).add(one(node)); });
    }
  }

 private:
  uint64_t block(const Stmt& stmt) {
    Sequence all;
    add(stmt, all);
    return all.value();
  }

  void add(const std::vector<Expr>& exprs, Sequence& all) {
    all.add(exprs.size());
    for (const Expr& each : exprs) all.add(expr(each));
  }

  // One that is bound nowhere is known by its name.
  template <typename Node>
  uint64_t reference(const Node& node) {
    const auto found = bound_.find(&node);
    return found != bound_.end() ? found->second : text_hash(node.name);
  }

  uint64_t expr(const Expr& expr) {
    if (!expr) return 0;
    const auto [known, is_new] = exprs_.try_emplace(expr.get(), 0);
    if (!is_new) return known->second;
    Sequence all;
    all.add(expr->kind()).add(expr->type().element).add(expr->type().lanes).add(head(expr));
    add(tensor::operands(expr), all);
    return exprs_[expr.get()] = all.value();
  }

  // What of an expression is not in its operands.
  uint64_t head(const Expr& expr) {
    if (const auto* x = as<VarNode>(expr)) return reference(*x);
    if (const auto* x = as<Load>(expr)) return reference(*x->buffer) + (x->predicate ? 1 : 0);
    if (const auto* x = as<Unary>(expr)) return static_cast<uint64_t>(x->op);
    if (const auto* x = as<Binary>(expr)) return static_cast<uint64_t>(x->op);
    if (const auto* x = as<Call>(expr)) return static_cast<uint64_t>(x->function);
    if (const auto* x = as<IntImm>(expr)) return static_cast<uint64_t>(x->value);
    if (const auto* x = as<FloatImm>(expr))  // all NaNs are one
      return std::isnan(x->value) ? ~uint64_t{0} : std::bit_cast<uint64_t>(x->value);
    return 0;
  }

  uint64_t one(const For& s) {
    Sequence all;
    all.add(s.for_kind).add(expr(s.min)).add(expr(s.extent));
    bind(s.var.get());
    return all.add(block(s.body)).value();
  }
  uint64_t one(const Seq&) { return 0; }  // flattened before
  uint64_t one(const Store& s) {
    Sequence all;
    all.add(reference(*s.buffer)).add(expr(s.value)).add(expr(s.predicate));
    add(s.indices, all);
    return all.value();
  }
  uint64_t one(const If& s) {
    return Sequence().add(expr(s.condition)).add(block(s.then_body)).add(block(s.else_body)).value();
  }
  uint64_t one(const Let& s) {
    Sequence all;
    all.add(s.var->type().element).add(s.var->type().lanes).add(expr(s.value));
    bind(s.var.get());
    return all.add(block(s.body)).value();
  }
  uint64_t one(const Allocate& s) {
    Sequence all;
    all.add(buffer(s.buffer));
    bind(s.buffer.get());
    return all.add(block(s.body)).value();
  }
  uint64_t one(const Barrier&) { return 0; }
  uint64_t one(const AsyncCopy& s) {
    Sequence all;
    all.add(s.elements).add(reference(*s.target)).add(reference(*s.source)).add(expr(s.predicate));
    add(s.target_indices, all);
    add(s.source_indices, all);
    for (const BoxAxis& axis : s.box) all.add(axis.extent).add(axis.box);
    return all.value();
  }
  uint64_t one(const AsyncWait& s) { return static_cast<uint64_t>(s.groups_in_flight); }
  uint64_t one(const MatrixOp& s) {
    Sequence all;
    all.add(text_hash(s.unit->name)).add(s.action).add(s.groups_in_flight);
    for (const MatrixTile& tile : s.tiles) {
      all.add(reference(*tile.buffer));
      add(tile.indices, all);
      for (const auto* steps : {&tile.row_steps, &tile.column_steps})
        for (const int64_t step : *steps) all.add(step);
      all.add(tile.block_columns).add(tile.next_block);
    }
    return all.value();
  }
  uint64_t one(const LaneFold& s) {
    Sequence all;
    all.add(s.combiner).add(s.lanes).add(reference(*s.buffer));
    add(s.indices, all);
    return all.value();
  }

  uint64_t bindings_ = 0;
  std::unordered_map<const void*, uint64_t> bound_;
  std::unordered_map<const void*, uint64_t> exprs_;
};

}  // namespace

uint64_t hash(const Function& function) {
  Hasher hasher;
  Sequence all;
  all.add(text_hash(function.name)).add(function.dims.size()).add(function.params.size());
  for (const tensor::Dimension& dim : function.dims) {
    all.add(dim.low).add(dim.high);
    hasher.bind(dim.var.get());
  }
  for (const Buffer& param : function.params) {
    all.add(hasher.buffer(param));
    hasher.bind(param.get());
  }
  all.add(function.in_place.size());
  for (const int position : function.in_place) all.add(position);
  hasher.add(function.body, all);
  return all.value();
}

}  // namespace tf::ir
