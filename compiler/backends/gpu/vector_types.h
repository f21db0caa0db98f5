#pragma once
// Owns: the types by which several neighbouring elements are loaded and stored at once. Does not know: statements.

#include <set>
#include <string>
#include <utility>

#include "compiler/analysis/bounds.h"
#include "compiler/backends/gpu/dialect.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {

class VectorTypes {
 public:
  // A struct with an array `lanes` of the element's type in memory, aligned to its size or 16 bytes.
  std::string name(tensor::Element element, int lanes);
  std::string text(const GpuDialect& dialect) const;

 private:
  std::set<std::pair<tensor::Element, int>> used_;
};

// The index of the first of `lanes` neighbours that such a struct may hold, if the access is one; else null.
ir::Expr wide_access(const ir::BufferNode& buffer, const ir::Expr& index, int lanes,
                     const analysis::RangeMap& ranges);

}  // namespace tf::backends
