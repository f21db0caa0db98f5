#pragma once
// Owns: expressions as C for GPUs, one lane of a vector at a time. Does not know: statements, launches.

#include <map>
#include <string>

#include "absl/status/status.h"
#include "compiler/analysis/bounds.h"
#include "compiler/backends/gpu/c_names.h"
#include "compiler/backends/gpu/helpers.h"
#include "compiler/ir/data.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {

// The context of an expression in its kernel. `status` keeps the first failure; texts are invalid after it.
struct ExprContext {
  const GpuDialect& dialect;
  Helpers& helpers;
  CNames& names;
  const ir::Data& data;              // which variables are data
  const analysis::RangeMap& ranges;  // of index variables
  bool narrow_indices = false;       // indices have 32 bits (index_width.h)
  // The vector loads before the statement, by node: the names of the arrays of their lanes.
  std::map<const tensor::ExprNode*, std::string> loaded;
  absl::Status status;

  void fail(const absl::Status& why) {
    if (status.ok()) status = why;
  }
};

// "int" or the 64-bit type.
const char* index_type(const ExprContext& context);

// The text of one lane of the expression (0 for a scalar), with parentheses if needed. f16 and bf16 are
// floats.
std::string expr_text(const ir::Expr& expr, int lane, ExprContext& context);

// The index of an element in the buffer's array.
std::string place_text(const ir::BufferNode& buffer, const std::string& index, ExprContext& context);

// The value, converted for a store into a buffer of that element type.
std::string stored_text(tensor::Element element, const std::string& value, ExprContext& context);
// The value of an element in memory, converted to the type in registers.
std::string loaded_text(tensor::Element element, const std::string& memory, ExprContext& context);

}  // namespace tf::backends
