#include "compiler/ir/stmt.h"

#include <algorithm>

#include "base/check.h"

namespace tf::ir {
namespace {

bool same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return x.same_as(y); });
}

// Rebuilds a statement from what `self` makes of its parts; returns the statement itself if none changed.
struct Rebuild {
  Rewriter& self;
  const Stmt& stmt;

  std::vector<Expr> all(const std::vector<Expr>& exprs) const {
    std::vector<Expr> out;
    out.reserve(exprs.size());
    for (const Expr& expr : exprs) out.push_back(self(expr));
    return out;
  }

  Stmt operator()(const For& s) const {
    Expr low = self(s.min), extent = self(s.extent);
    Stmt body = self(s.body);
    if (low.same_as(s.min) && extent.same_as(s.extent) && body.same_as(s.body)) return stmt;
    return make_stmt<For>(s.var, low, extent, s.for_kind, body);
  }

  Stmt operator()(const Seq& s) const {
    std::vector<Stmt> out;
    out.reserve(s.stmts.size());
    bool changed = false;
    for (const Stmt& child : s.stmts) {
      out.push_back(self(child));
      changed = changed || !out.back().same_as(child);
    }
    return changed ? seq(std::move(out)) : stmt;
  }

  Stmt operator()(const Store& s) const {
    std::vector<Expr> indices = all(s.indices);
    Expr value = self(s.value), predicate = self(s.predicate);
    if (same(indices, s.indices) && value.same_as(s.value) && predicate.same_as(s.predicate)) return stmt;
    return make_stmt<Store>(s.buffer, std::move(indices), value, predicate);
  }

  Stmt operator()(const If& s) const {
    Expr condition = self(s.condition);
    Stmt then_body = self(s.then_body), else_body = self(s.else_body);
    if (condition.same_as(s.condition) && then_body.same_as(s.then_body) && else_body.same_as(s.else_body))
      return stmt;
    return make_stmt<If>(condition, then_body, else_body);
  }

  Stmt operator()(const Let& s) const {
    Expr value = self(s.value);
    Stmt body = self(s.body);
    if (value.same_as(s.value) && body.same_as(s.body)) return stmt;
    return make_stmt<Let>(s.var, value, body);
  }

  Stmt operator()(const Allocate& s) const {
    Stmt body = self(s.body);
    return body.same_as(s.body) ? stmt : make_stmt<Allocate>(s.buffer, body);
  }

  Stmt operator()(const Barrier&) const { return stmt; }

  Stmt operator()(const AsyncCopy& s) const {
    std::vector<Expr> target = all(s.target_indices), source = all(s.source_indices);
    Expr predicate = self(s.predicate);
    if (same(target, s.target_indices) && same(source, s.source_indices) && predicate.same_as(s.predicate))
      return stmt;
    return make_stmt<AsyncCopy>(s.target, std::move(target), s.source, std::move(source), s.elements,
                                predicate, s.box);
  }

  Stmt operator()(const AsyncWait&) const { return stmt; }

  Stmt operator()(const MatrixOp& s) const {
    std::vector<MatrixTile> tiles = s.tiles;
    bool changed = false;
    for (MatrixTile& tile : tiles) {
      std::vector<Expr> indices = all(tile.indices);
      changed = changed || !same(indices, tile.indices);
      tile.indices = std::move(indices);
    }
    return changed ? make_stmt<MatrixOp>(s.unit, s.action, std::move(tiles), s.groups_in_flight) : stmt;
  }

  Stmt operator()(const LaneFold& s) const {
    std::vector<Expr> indices = all(s.indices);
    return same(indices, s.indices) ? stmt
                                    : make_stmt<LaneFold>(s.buffer, std::move(indices), s.combiner, s.lanes);
  }
};

// Shows a visitor the parts of a statement, expressions first.
struct Descend {
  Visitor& self;

  void exprs(const std::vector<Expr>& all) const {
    for (const Expr& expr : all) self(expr);
  }
  void operator()(const For& s) const {
    self(s.min);
    self(s.extent);
    self(s.body);
  }
  void operator()(const Seq& s) const {
    for (const Stmt& child : s.stmts) self(child);
  }
  void operator()(const Store& s) const {
    exprs(s.indices);
    self(s.value);
    self(s.predicate);
  }
  void operator()(const If& s) const {
    self(s.condition);
    self(s.then_body);
    self(s.else_body);
  }
  void operator()(const Let& s) const {
    self(s.value);
    self(s.body);
  }
  void operator()(const Allocate& s) const { self(s.body); }
  void operator()(const Barrier&) const {}
  void operator()(const AsyncCopy& s) const {
    exprs(s.target_indices);
    exprs(s.source_indices);
    self(s.predicate);
  }
  void operator()(const AsyncWait&) const {}
  void operator()(const MatrixOp& s) const {
    for (const MatrixTile& tile : s.tiles) exprs(tile.indices);
  }
  void operator()(const LaneFold& s) const { exprs(s.indices); }
};

// Variables are replaced in expressions only: a bound variable is its own node, so nothing can be captured.
class Substituter final : public Rewriter {
 public:
  explicit Substituter(const tensor::Substitution& values) : values_(values) {}

 protected:
  Expr rewrite(const Expr& expr) override { return tensor::substitute(expr, values_); }

 private:
  const tensor::Substitution& values_;
};

}  // namespace

Stmt Rewriter::recurse(const Stmt& stmt) {
  return visit(stmt, Rebuild{*this, stmt});
}

Expr Rewriter::recurse(const Expr& expr) {
  std::vector<Expr> children = tensor::operands(expr);
  if (children.empty()) return expr;
  for (Expr& child : children) child = rewrite(child);
  return tensor::with_operands(expr, children);
}

void Visitor::operator()(const Stmt& stmt) {
  if (stmt && enter(stmt)) visit(stmt, Descend{*this});
}

void Visitor::operator()(const Expr& expr) {
  if (!expr || !enter(expr)) return;
  for (const Expr& operand : tensor::operands(expr)) (*this)(operand);
}

Stmt make_for(const Var& var, const Expr& min, const Expr& extent, ForKind kind, const Stmt& body) {
  TF_CHECK(var && min && extent && body) << "a loop has a variable, a minimum, an extent and a body";
  return make_stmt<For>(var, min, extent, kind, body);
}

Stmt seq(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  flat.reserve(stmts.size());
  for (Stmt& stmt : stmts) {
    if (!stmt) continue;
    if (const auto* inner = as<Seq>(stmt))
      flat.insert(flat.end(), inner->stmts.begin(), inner->stmts.end());
    else
      flat.push_back(std::move(stmt));
  }
  if (flat.size() == 1) return flat[0];
  return make_stmt<Seq>(std::move(flat));
}

Stmt store(const Buffer& buffer, std::vector<Expr> indices, const Expr& value, const Expr& predicate) {
  TF_CHECK(buffer && value) << "a store has a buffer and a value";
  return make_stmt<Store>(buffer, std::move(indices), value, as_int(predicate) == 1 ? Expr() : predicate);
}

namespace {

// 'a', 'b', 'c', or 'm' for memory.
char role(const MatrixOp& op, size_t tile) {
  if (op.action == MatrixAction::kMultiply) return tile == 0 ? 'c' : tile == 1 ? 'a' : 'b';
  if (op.action == MatrixAction::kLoadA || op.action == MatrixAction::kLoadB)
    return tile == 1 ? 'm' : op.action == MatrixAction::kLoadA ? 'a' : 'b';
  return 'c';
}

}  // namespace

std::string_view fold_name(tensor::Combiner combiner) {
  return combiner == tensor::Combiner::kSum   ? "sum"
         : combiner == tensor::Combiner::kMax ? "max"
         : combiner == tensor::Combiner::kMin ? "min"
                                              : "prod";
}

size_t tile_count(MatrixAction action) {
  switch (action) {
    case MatrixAction::kMultiply:
      return 3;
    case MatrixAction::kLoadA:
    case MatrixAction::kLoadB:
      return 2;
    case MatrixAction::kPublish:
      return 0;
    default:
      return 1;
  }
}

const tensor_units::LaneMap* lane_map(const MatrixOp& op, size_t tile) {
  if (op.unit->reads_shared && tile > 0) return nullptr;
  switch (role(op, tile)) {
    case 'a':
      return &op.unit->a;
    case 'b':
      return &op.unit->b;
    case 'c':
      return &op.unit->c;
    default:
      return nullptr;
  }
}

tensor::Element element_of(const MatrixOp& op, size_t tile) {
  if (op.action == MatrixAction::kMultiply)
    return tile == 0 ? op.unit->c_element : tile == 1 ? op.unit->a_element : op.unit->b_element;
  const tensor_units::LaneMap* map = lane_map(op, tile);
  if (map == nullptr) map = lane_map(op, 0);
  return map == &op.unit->a   ? op.unit->a_element
         : map == &op.unit->b ? op.unit->b_element
                              : op.unit->c_element;
}

Stmt substitute(const Stmt& stmt, const tensor::Substitution& values) {
  if (values.empty()) return stmt;
  return Substituter(values)(stmt);
}

}  // namespace tf::ir
