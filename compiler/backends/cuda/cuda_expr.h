#pragma once
// Owns: expressions as CUDA C. Does not know: statements, launches.

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "compiler/ir/data.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {

// "float", "long long", …; UNIMPLEMENTED for 16-bit floats.
absl::StatusOr<std::string> cuda_type(tensor::Element element);

// Functions that the text of expressions calls; goes before the kernel.
std::string_view cuda_prelude();

// C names for variables and buffers, each its own.
class CudaNames {
 public:
  std::string of(const void* node, const std::string& wish);

 private:
  std::map<const void*, std::string> names_;
  std::set<std::string> used_;
};

// The text of a scalar expression, in parentheses where it needs them; `data` says which variables are data.
// The first failure is kept in `status`, and the text is then of no use.
std::string cuda_expr(const ir::Expr& expr, const ir::Data& data, CudaNames& names, absl::Status& status);

}  // namespace tf::backends
