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

// What stands around an expression in its kernel; the first failure is kept in `status`, and texts are of no use after it.
struct ExprContext {
  const GpuDialect& dialect;
  Helpers& helpers;
  CNames& names;
  const ir::Data& data;              // which variables are data
  const analysis::RangeMap& ranges;  // of index variables
  bool narrow_indices = false;       // indices have 32 bits (index_width.h)
  // Vector loads that a statement has before it, by their nodes: the names of arrays of their lanes.
  std::map<const tensor::ExprNode*, std::string> loaded;
  absl::Status status;

  void fail(const absl::Status& why) {
    if (status.ok()) status = why;
  }
};

// "int" or the type of 64 bits.
const char* index_type(const ExprContext& context);

// The text of that lane of the expression (0: of a scalar), in parentheses where it needs them. f16 and bf16 are floats.
std::string expr_text(const ir::Expr& expr, int lane, ExprContext& context);

// The index of an element in the buffer's array.
std::string place_text(const ir::BufferNode& buffer, const std::string& index, ExprContext& context);

// The value as it is stored into a buffer of that element.
std::string stored_text(tensor::Element element, const std::string& value, ExprContext& context);
// The value of an element in memory.
std::string loaded_text(tensor::Element element, const std::string& memory, ExprContext& context);

}  // namespace tf::backends
