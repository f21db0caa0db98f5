#include "tuner/model/nests/operations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/analysis/access.h"
#include "compiler/analysis/simplify.h"

namespace tf::model {
namespace {

using schedule::Annotation;
using schedule::StageState;
using tensor::Expr;

bool is_arithmetic(const Expr& e) {
  return tensor::is_float(e->type().element) &&
         (e->kind() == tensor::ExprKind::kBinary || e->kind() == tensor::ExprKind::kCall ||
          e->kind() == tensor::ExprKind::kUnary);
}

bool reads_the_same(const tensor::Load& a, const tensor::Load& b) {
  return a.buffer.get() == b.buffer.get() && std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(),
                                                        b.indices.end(), tensor::structurally_equal);
}

// One stage's body, walked once for each value of the unrolled loop that its selects look at.
class Walk {
 public:
  Walk(const schedule::StateData& data, const StageState& stage, const tensor::Substitution& axes)
      : stage_(stage), axes_(axes), ranges_(data.open_ranges()) {
    for (size_t i = 0; i < stage.loops.size(); ++i)
      ranges_[stage.loop_vars[i].get()] = {0,
                                           std::max<int64_t>(data.iterations(stage.loops[i].extent).max, 0)};
    tensor::for_each(stage.stage.body, [&](const Expr& e) {
      if (const auto* select = tensor::as<tensor::Select>(e)) find_chooser(select->condition);
      return true;
    });
  }

  Operations run() {
    for (value_ = 0; value_ < points_; ++value_) {
      visit(stage_.stage.body);
      here_.clear();
    }
    operations_.arithmetic = (static_cast<double>(once_.size()) + counted_) / static_cast<double>(points_);
    return std::move(operations_);
  }

 private:
  static const tensor::Binary* as_choice(const Expr& condition) {
    const auto* equal = tensor::as<tensor::Binary>(condition);
    return equal != nullptr && equal->op == tensor::BinaryOp::kEq && tensor::as_int(equal->b) ? equal
                                                                                              : nullptr;
  }

  // The index of the choices, if it is the variable of an unrolled loop, becomes the one that is looked at.
  void find_chooser(const Expr& condition) {
    const tensor::Binary* choice = as_choice(condition);
    if (choice == nullptr || chooser_ || !seen_.insert(choice->a.get()).second) return;
    const Expr index = analysis::simplify(tensor::substitute(choice->a, axes_), ranges_);
    for (size_t i = 0; i < stage_.loops.size(); ++i) {
      if (stage_.loops[i].annotation != Annotation::kUnroll || stage_.loops[i].extent.is_open() ||
          index.get() != stage_.loop_vars[i].get())
        continue;
      chooser_ = choice->a;
      points_ = stage_.loops[i].extent;
      for (const auto& [axis, value] : axes_)
        if (analysis::uses(value, stage_.loop_vars[i].get())) moving_.push_back(axis);
    }
  }

  std::optional<bool> decide(const Expr& condition) const {
    const tensor::Binary* choice = as_choice(condition);
    if (choice == nullptr || !chooser_ || !tensor::structurally_equal(choice->a, chooser_)) return {};
    return tensor::as_int(choice->b) == value_;
  }

  bool moves(const Expr& e) const {
    return std::ranges::any_of(moving_, [&](const tensor::VarNode* axis) { return analysis::uses(e, axis); });
  }

  void visit(const Expr& e) {
    if (const auto* load = tensor::as<tensor::Load>(e)) {
      auto same = [&](const tensor::Load* known) { return reads_the_same(*known, *load); };
      if (!std::ranges::any_of(operations_.loads, same)) operations_.loads.push_back(load);
      return;
    }
    if (!here_.insert(e.get()).second) return;  // a shared part
    if (const auto* select = tensor::as<tensor::Select>(e)) {
      if (const std::optional<bool> taken = decide(select->condition))
        return visit(*taken ? select->if_true : select->if_false);
    }
    if (is_arithmetic(e)) {
      if (points_ > 1 && !moves(e))
        once_.insert(e.get());
      else
        ++counted_;
    }
    for (const Expr& operand : tensor::operands(e)) visit(operand);
  }

  const StageState& stage_;
  const tensor::Substitution& axes_;
  analysis::RangeMap ranges_;
  Expr chooser_;
  std::vector<const tensor::VarNode*> moving_;  // axes that move with the chooser
  std::set<const tensor::ExprNode*> seen_, here_, once_;
  int64_t points_ = 1, value_ = 0;
  double counted_ = 0;
  Operations operations_;
};

}  // namespace

Operations operations_of(const schedule::StateData& data, const StageState& stage,
                         const tensor::Substitution& axes) {
  return Walk(data, stage, axes).run();
}

}  // namespace tf::model
