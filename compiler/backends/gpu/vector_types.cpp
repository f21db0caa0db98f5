#include "compiler/backends/gpu/vector_types.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "compiler/analysis/simplify.h"

namespace tf::backends {

std::string VectorTypes::name(tensor::Element element, int lanes) {
  used_.insert({element, lanes});
  return absl::StrCat("tf_", std::string(tensor::element_name(element)), "x", lanes);
}

std::string VectorTypes::text(const GpuDialect& dialect) const {
  std::string all;
  for (const auto& [element, lanes] : used_)
    absl::StrAppend(&all, "typedef struct ",
                    dialect.aligned(std::min(16, lanes * tensor::element_bytes(element))), " { ",
                    std::string(memory_type(dialect, element)), " lanes[", lanes, "]; } tf_",
                    std::string(tensor::element_name(element)), "x", lanes, ";\n");
  return all;
}

ir::Expr wide_access(const ir::BufferNode& buffer, const ir::Expr& index, int lanes,
                     const analysis::RangeMap& ranges, const ir::Data& data) {
  constexpr int kMostBytes = 64;
  const auto* ramp = ir::as<ir::Ramp>(index);
  const int bytes = lanes * tensor::element_bytes(buffer.element);
  if (!ramp || tensor::as_int(ramp->stride) != 1 || !std::has_single_bit(static_cast<unsigned>(lanes)) ||
      bytes > kMostBytes || buffer.scope == ir::Scope::kRegister || data.contains(index))
    return nullptr;
  const int64_t aligned = std::min(16, bytes) / tensor::element_bytes(buffer.element);
  const ir::Expr rest = analysis::simplify(tensor::floor_mod(ramp->base, aligned), ranges);
  return tensor::as_int(rest) == 0 ? ramp->base : nullptr;
}

}  // namespace tf::backends
