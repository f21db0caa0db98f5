#pragma once
// Owns: which values are data: what is loaded, and whatever is made of it or bound to it. All others, made of
// loop variables, dimensions and constants, are indices. What that means for their arithmetic is said in
// compiler/tensor/expr.h. Does not know: which values they are.

#include <set>

#include "compiler/ir/stmt.h"

namespace tf::ir {

// Variables that stand for data; loads show without being told of.
class Data {
 public:
  // Shared parts are looked at once.
  bool contains(const Expr& expr) const;
  bool contains(const VarNode* var) const { return vars_.contains(var); }
  void add(const VarNode* var) { vars_.insert(var); }
  // Where the value is data, or a bound of the loop, so is the variable.
  void enter(const Let& let);
  void enter(const For& loop);

 private:
  std::set<const VarNode*> vars_;
};

}  // namespace tf::ir
