#include "compiler/driver/size_code.h"

#include <algorithm>

#include "base/check.h"

namespace tf::driver {
namespace {

using tensor::BinaryOp;

int64_t code_of(BinaryOp op) {
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
      TF_UNREACHABLE() << "the runtime has no code for this operator";
  }
}

void append(const tensor::Expr& number, const std::vector<graph::NamedDimension>& dims,
            std::vector<int64_t>& code) {
  if (const auto value = tensor::as_int(number)) {
    code.insert(code.end(), {TF_CODE_NUMBER, *value});
  } else if (const auto* var = tensor::as<tensor::VarNode>(number)) {
    const auto dim =
        std::ranges::find_if(dims, [&](const graph::NamedDimension& d) { return d.var.get() == var; });
    TF_CHECK(dim != dims.end()) << var->name << " is not a dimension of the model";
    code.insert(code.end(), {TF_CODE_DIM, dim - dims.begin()});
  } else {
    const auto* node = tensor::as<tensor::Binary>(number);
    TF_CHECK(node != nullptr) << "the runtime has no code for this expression";
    append(node->a, dims, code);
    append(node->b, dims, code);
    code.push_back(code_of(node->op));
  }
}

}  // namespace

runtime::Sized sized(const tensor::Expr& number, int64_t greatest,
                     const std::vector<graph::NamedDimension>& dims) {
  if (!number || tensor::as_int(number)) return greatest;
  std::vector<int64_t> code;
  append(number, dims, code);
  return {greatest, std::move(code)};
}

}  // namespace tf::driver
