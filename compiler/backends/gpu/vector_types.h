#pragma once
// Owns: the types with which several adjacent elements are loaded and stored together. Does not know:
// statements.

#include <set>
#include <string>
#include <utility>

#include "compiler/analysis/bounds.h"
#include "compiler/backends/gpu/dialect.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {

class VectorTypes {
 public:
  // The name of a struct with an array `lanes` of the element's type in memory, aligned to its size or 16
  // bytes.
  std::string name(tensor::Element element, int lanes);
  std::string text(const GpuDialect& dialect) const;

 private:
  std::set<std::pair<tensor::Element, int>> used_;
};

// If the access reads or writes `lanes` adjacent, aligned elements: the index of the first one. Otherwise
// null.
ir::Expr wide_access(const ir::BufferNode& buffer, const ir::Expr& index, int lanes,
                     const analysis::RangeMap& ranges);

}  // namespace tf::backends
