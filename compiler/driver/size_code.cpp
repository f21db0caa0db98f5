#include "compiler/driver/size_code.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tf::driver {
namespace {

using tensor::BinaryOp;

std::optional<int64_t> code_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return TF_CODE_ADD;
    case BinaryOp::kSub:
      return TF_CODE_SUB;
    case BinaryOp::kMul:
      return TF_CODE_MUL;
    case BinaryOp::kFloorDiv:
      return TF_CODE_FLOOR_DIV;
    case BinaryOp::kFloorMod:
      return TF_CODE_FLOOR_MOD;
    case BinaryOp::kMin:
      return TF_CODE_MIN;
    case BinaryOp::kMax:
      return TF_CODE_MAX;
    default:
      return std::nullopt;
  }
}

bool append(const tensor::Expr& number, const std::vector<tensor::Var>& dims, std::vector<int64_t>& code) {
  if (const auto value = tensor::as_int(number)) {
    code.insert(code.end(), {TF_CODE_NUMBER, *value});
    return true;
  }
  if (const auto* var = tensor::as<tensor::VarNode>(number)) {
    const auto dim = std::ranges::find_if(dims, [&](const tensor::Var& d) { return d.get() == var; });
    code.insert(code.end(), {TF_CODE_DIM, dim - dims.begin()});
    return dim != dims.end();
  }
  const auto* node = tensor::as<tensor::Binary>(number);
  const std::optional<int64_t> operation = node != nullptr ? code_of(node->op) : std::nullopt;
  if (!operation || !append(node->a, dims, code) || !append(node->b, dims, code)) return false;
  code.push_back(*operation);
  return true;
}

}  // namespace

runtime::Sized sized(const tensor::Expr& number, int64_t greatest,
                     const std::vector<graph::NamedDimension>& dims) {
  if (!number || tensor::as_int(number)) return greatest;
  std::vector<tensor::Var> vars;
  vars.reserve(dims.size());
  for (const graph::NamedDimension& dim : dims) vars.push_back(dim.var);
  std::optional<std::vector<int64_t>> code = size_code(number, vars);
  TF_CHECK(code) << "the runtime has no code for a size";
  return {greatest, *std::move(code)};
}

std::optional<std::vector<int64_t>> size_code(const tensor::Expr& number,
                                              const std::vector<tensor::Var>& dims) {
  std::vector<int64_t> code;
  if (!append(number, dims, code)) return std::nullopt;
  return code;
}

}  // namespace tf::driver
