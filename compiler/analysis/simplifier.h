#pragma once
// Owns: the engine behind simplify.h, for analyses that want linear forms themselves. Does not know:
// statements.

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/analysis/linear.h"

namespace tf::analysis {

// Of the type that linear forms are made of. Not all are exact: sums of data may wrap (is_exact).
inline bool is_index(const Expr& expr) {
  return expr->type().element == ir::Element::kInt64;
}

// Simplifies many expressions under ranges, values and facts that come and go with scopes. Not thread-safe;
// the range map must outlive it.
class Simplifier {
 public:
  explicit Simplifier(const RangeMap& ranges) : ranges_(ranges) {}

  // Simplified; of the same type as `expr`; `expr` itself where nothing changed.
  Expr simplify(const Expr& expr);
  // Simplified; scalar where all lanes of `expr` are the same.
  Expr narrow(const Expr& expr);
  // The canonical form of an i64 expression.
  Linear linear(const Expr& expr);
  // The values of an i64 expression.
  Interval values(const Expr& expr) { return values_of(linear(expr)); }
  // a - b as a whole number; nothing where a sum of data may wrap, so that forms do not tell which is less.
  std::optional<Linear> whole_difference(const Expr& a, const Expr& b);

  // What is known of a variable from here on.
  void set_range(const VarNode* var, const Interval& range);
  // The values of a loop's variable; nothing where they have no known end, or the loop never runs.
  std::optional<Interval> iterations(const ir::For& loop);
  // What is known inside of the loop.
  void enter(const ir::For& loop);
  // The loop's variable lies in [low, low + extent): a fact where an end is no number.
  void bound(const tensor::Var& var, const Linear& low, const Linear& extent);
  // Which variables are data: enter tells of a loop's, its owner of others before it sets what is known of
  // them.
  ir::Data& data() { return data_; }
  void set_value(const VarNode* var, const Expr& value);
  // The condition holds (or, with `holds` false, does not) until pop_facts(mark); returns the mark.
  struct Mark {
    size_t facts = 0;
    std::vector<std::pair<const VarNode*, Interval>> ranges;
  };
  Mark push_facts(const Expr& condition, bool holds);
  void pop_facts(const Mark& mark);

  // The quotient and the remainder of what the form stands for, by a positive number.
  Linear divide(const Linear& form, int64_t divisor);
  Linear modulo(const Linear& form, int64_t divisor);

 private:
  Linear linear_uncached(const Expr& expr);
  Linear linear_binary(const ir::Binary& node, const Expr& expr);
  Linear linear_ramp(const ir::Ramp& node);
  Linear zero_as_one(const Linear& divisor);
  Linear product(const Linear& a, const Linear& b);
  Linear divide_opaque(ir::BinaryOp op, const Linear& a, const Linear& b);
  Linear minmax(ir::BinaryOp op, const Linear& a, const Linear& b);
  Linear leaf(const Expr& atom);
  // A new atom, remembered as its own form; and a form's expression, remembered as the form. Without this,
  // taking a result apart again would start from nothing, over and over.
  Linear atom(const Expr& atom, const Interval& range, bool is_data);
  Expr expr_of(const Linear& form);
  void remember(const Expr& expr, const Linear& form);
  Linear recombine(Linear form);
  bool recombine_once(Linear* form);
  bool join_modulo(Linear* form, size_t term);
  bool join_quotient(Linear* form, size_t term);

  void forget();
  Expr narrow_uncached(const Expr& expr);
  Expr narrow_call(const ir::Call& node, const Expr& expr);
  Expr narrow_unary(const ir::Unary& node);
  Expr narrow_binary(const ir::Binary& node);
  Expr narrow_load(const ir::Load& node, const Expr& expr);
  Expr narrow_select(const ir::Select& node);
  bool divides_data(const ir::Binary& node) const;  // where a divisor of zero counts as one
  Expr compare(const ir::Binary& node);
  Expr less_than_zero(const Linear& form);  // null as to_less_than_zero
  std::optional<Linear> without_quotient(const Linear& form);
  Expr equal_zero(const Linear& form, ir::BinaryOp op);
  Expr both(const ir::Binary& node);
  // The form with the ranges that facts on single atoms (x // 13 < 31) leave.
  Linear tightened(const Linear& form) const;
  // form < 0 by intervals and facts, of whole numbers: 1 yes, 0 no, -1 unknown.
  int decide_negative(const Linear& form) const;
  // Whether all values of the form lie in one block of `divisor`; the block's number.
  bool in_one_block(const Linear& form, int64_t divisor, int64_t* block) const;
  void add_fact(Linear form, Mark* mark);
  Interval range_of(const VarNode* var) const;

  const RangeMap& ranges_;
  absl::flat_hash_map<const VarNode*, Interval> local_ranges_;
  absl::flat_hash_map<const VarNode*, Expr> values_;
  ir::Data data_;
  std::vector<Linear> facts_;  // whole numbers, each < 0
  // Results so far, valid for the present ranges, values and facts; shared subtrees cost once.
  absl::flat_hash_map<const tensor::ExprNode*, Linear> linear_memo_;
  absl::flat_hash_map<const tensor::ExprNode*, Expr> narrow_memo_;
  std::vector<Expr> keep_;  // holds what the memos point to
};

}  // namespace tf::analysis
