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

// Sums and products that wrap keep what divides them: it is a power of two.
static bool is_multiple(const ir::Expr& index, int64_t of, const analysis::RangeMap& ranges) {
  if (const auto* node = ir::as<ir::Binary>(index)) {
    if (node->op == ir::BinaryOp::kAdd || node->op == ir::BinaryOp::kSub)
      if (is_multiple(node->a, of, ranges) && is_multiple(node->b, of, ranges)) return true;
    if (node->op == ir::BinaryOp::kMul)
      if (is_multiple(node->a, of, ranges) || is_multiple(node->b, of, ranges)) return true;
  }
  return tensor::as_int(analysis::simplify(tensor::floor_mod(index, of), ranges)) == 0;
}

ir::Expr wide_access(const ir::BufferNode& buffer, const ir::Expr& index, int lanes,
                     const analysis::RangeMap& ranges) {
  constexpr int kMostBytes = 64;
  const auto* ramp = ir::as<ir::Ramp>(index);
  const int bytes = lanes * tensor::element_bytes(buffer.element);
  if (!ramp || tensor::as_int(ramp->stride) != 1 || !std::has_single_bit(static_cast<unsigned>(lanes)) ||
      bytes > kMostBytes || buffer.scope == ir::Scope::kRegister)
    return nullptr;
  // What a swizzle keeps together.
  if (const tensor::Swizzle& swizzle = buffer.layout.swizzle)
    if (bytes > 16 || lanes > swizzle.run()) return nullptr;
  const int64_t aligned = std::min(16, bytes) / tensor::element_bytes(buffer.element);
  return is_multiple(ramp->base, aligned, ranges) ? ramp->base : nullptr;
}

}  // namespace tf::backends
