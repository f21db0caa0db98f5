#include "compiler/backends/gpu/expr_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "compiler/tensor/operators.h"
#include "compiler/tensor/text.h"

namespace tf::backends {
namespace {

using tensor::BinaryOp;
using tensor::Element;
using tensor::Expr;
using tensor::Intrinsic;

bool is_half(Element element) {
  return element == Element::kFloat16 || element == Element::kBFloat16;
}

// Of the C library, for double. Empty for what it does not have: parts of expanded functions, and what is of vectors.
std::string_view function_name(Intrinsic function) {
  if (function > Intrinsic::kCopysign) return "";
  return function == Intrinsic::kRound ? "rint" : tensor::intrinsic_name(function);
}

const char* bit_operator(Intrinsic function) {
  return function == Intrinsic::kBitAnd   ? " & "
         : function == Intrinsic::kBitOr  ? " | "
         : function == Intrinsic::kBitXor ? " ^ "
                                          : "";
}

BinaryOp fold_of(Intrinsic function) {
  return function == Intrinsic::kReduceAdd   ? BinaryOp::kAdd
         : function == Intrinsic::kReduceMax ? BinaryOp::kMax
                                             : BinaryOp::kMin;
}

bool is_fold(Intrinsic function) {
  return function == Intrinsic::kReduceAdd || function == Intrinsic::kReduceMax ||
         function == Intrinsic::kReduceMin;
}

class Lane {
 public:
  Lane(int lane, ExprContext& context) : lane_(lane), context_(context) {}

  std::string print(const Expr& expr) {
    return tensor::visit(expr, [&](const auto& node) { return text(node); });
  }

 private:
  std::string text(const tensor::IntImm& e) {
    const Element element = e.type().element;
    const std::string suffix(context_.dialect.long_suffix);
    if (element == Element::kBool) return e.value != 0 ? "true" : "false";
    if (element == Element::kUInt64) return absl::StrCat(static_cast<uint64_t>(e.value), "u", suffix);
    if (element == Element::kUInt32) return absl::StrCat(e.value, "u");
    if (element != Element::kInt64) return absl::StrCat("(", type(element), ")", e.value);
    if (e.value == std::numeric_limits<int64_t>::min())
      return absl::StrCat("(-9223372036854775807", suffix, " - 1)");
    // Wide where it must be: the operands of data make the rest wide.
    const bool fits = std::abs(e.value) <= std::numeric_limits<int32_t>::max();
    return absl::StrCat(e.value < 0 ? "(" : "", e.value, context_.narrow_indices && fits ? "" : suffix,
                        e.value < 0 ? ")" : "");
  }

  std::string text(const tensor::FloatImm& e) {
    const bool is_double = e.type().element == Element::kFloat64;
    std::string value = absl::StrFormat("%a", e.value);
    if (std::isnan(e.value)) value = "NAN";
    if (std::isinf(e.value)) value = e.value > 0 ? "INFINITY" : "(-INFINITY)";
    if (!std::isfinite(e.value)) return absl::StrCat("((", type(e.type().element), ")", value, ")");
    return absl::StrCat(e.value < 0 ? "(" : "", value, is_double ? "" : "f", e.value < 0 ? ")" : "");
  }

  std::string text(const tensor::VarNode& e) {
    const std::string name = context_.names.of(&e, e.name);
    return e.type().is_vector() ? absl::StrCat(name, lane_) : name;
  }

  std::string text(const tensor::Unary& e) {
    const Element element = e.type().element;
    const std::string a = print(e.a);
    switch (e.op) {
      case tensor::UnaryOp::kNeg:
        return negative(e, a);
      case tensor::UnaryOp::kNot:
        return absl::StrCat("(!", a, ")");
      case tensor::UnaryOp::kAbs:
        if (tensor::is_float(element)) return absl::StrCat(library("fabs", element), "(", a, ")");
        if (tensor::is_unsigned(element)) return a;
        return wrapped(element, absl::StrCat(a, " < 0 ? ", negative(e, a), " : ", a));
    }
    __builtin_unreachable();
  }

  std::string text(const tensor::Binary& e) {
    if (const std::string plain = plain_division(e); !plain.empty()) return plain;
    return combine(e.op, e.a->type().element, print(e.a), print(e.b), wraps(e.a->type().element, {e.a, e.b}));
  }

  // Of indices that are never negative, by a number: as C has it.
  std::string plain_division(const tensor::Binary& e) {
    if (e.op != BinaryOp::kFloorDiv && e.op != BinaryOp::kFloorMod) return "";
    const std::optional<int64_t> by = tensor::as_int(e.b);
    if (!by || *by <= 0 || e.a->type().element != Element::kInt64 || context_.data.contains(e.a)) return "";
    if (analysis::interval_of(e.a, context_.ranges, context_.data).min < 0) return "";
    return absl::StrCat("(", print(e.a), e.op == BinaryOp::kFloorDiv ? " / " : " % ", print(e.b), ")");
  }

  std::string combine(BinaryOp op, Element element, const std::string& a, const std::string& b, bool wraps) {
    const auto arithmetic = [&](const char* symbol) {
      return wraps ? modular(element, a, symbol, b) : wrapped(element, absl::StrCat(a, " ", symbol, " ", b));
    };
    switch (op) {
      case BinaryOp::kAdd:
        return arithmetic("+");
      case BinaryOp::kSub:
        return arithmetic("-");
      case BinaryOp::kMul:
        return arithmetic("*");
      case BinaryOp::kDiv:
        return wrapped(element, absl::StrCat(a, " / ", b));
      case BinaryOp::kFloorDiv:
        return call(Helper::kFloorDiv, element, a, b);
      case BinaryOp::kFloorMod:
        return call(Helper::kFloorMod, element, a, b);
      case BinaryOp::kMin:
        return call(Helper::kMin, element, a, b);
      case BinaryOp::kMax:
        return call(Helper::kMax, element, a, b);
      default:  // as in the text of expressions
        return absl::StrCat("(", a, " ", std::string(tensor::operator_of(op).symbol), " ", b, ")");
    }
  }

  std::string text(const tensor::Select& e) {
    return absl::StrCat("(", print(e.condition), " ? ", print(e.if_true), " : ", print(e.if_false), ")");
  }

  std::string text(const tensor::Cast& e) {
    const Element from = e.a->type().element, to = e.type().element;
    std::string a = print(e.a);
    if (to == Element::kBool) return absl::StrCat("(", a, " != 0)");
    if (is_half(to)) {
      if (from == to) return a;
      // A float would be rounded twice.
      if (from == Element::kFloat64 || tensor::element_bytes(from) >= 4)
        if (!tensor::is_float(from) || from == Element::kFloat64)
          a = absl::StrCat(context_.helpers.name(Helper::kOddFloat, Element::kFloat64), "((double)", a, ")");
      return absl::StrCat(context_.helpers.name(Helper::kRound, to), "((float)", a, ")");
    }
    if (!tensor::is_float(from) || tensor::is_float(to)) return absl::StrCat("((", type(to), ")", a, ")");
    // What is out of range is undefined in C.
    const Helper helper = from == Element::kFloat64 ? Helper::kFromDouble : Helper::kFromFloat;
    return absl::StrCat(context_.helpers.name(helper, to), "(", a, ")");
  }

  std::string text(const tensor::Call& e) {
    const Element element = e.type().element;
    if (is_fold(e.function)) return folded(e);
    std::vector<std::string> args;
    for (const Expr& arg : e.args) args.push_back(print(arg));
    const std::string list = absl::StrCat("(", absl::StrJoin(args, ", "), ")");
    if (e.function == Intrinsic::kSigmoid)
      return rounded(element, context_.helpers.name(Helper::kSigmoid, in_registers(element)) + list);
    if (const char* symbol = bit_operator(e.function); *symbol != 0)
      return absl::StrCat("((", type(element), ")(", args[0], symbol, args[1], "))");
    if (!tensor::is_float(element) && e.function == Intrinsic::kPow)
      return absl::StrCat("((", type(element), ")", context_.helpers.name(Helper::kPower, Element::kInt64),
                          list, ")");
    const std::string_view name = function_name(e.function);
    if (name.empty())
      return refuse(absl::StrCat("the function ", std::string(tensor::intrinsic_name(e.function))));
    return rounded(element, library(std::string(name), element) + list);
  }

  // All lanes of the operand, in their order.
  std::string folded(const tensor::Call& e) {
    const Expr& vector = e.args[0];
    const Element element = vector->type().element;
    std::string sum;
    for (int lane = 0; lane < vector->type().lanes; ++lane) {
      const std::string value = Lane(lane, context_).print(vector);
      sum = lane == 0 ? value : combine(fold_of(e.function), element, sum, value, wraps(element, {vector}));
    }
    return sum;
  }

  std::string text(const tensor::Load& e) {
    if (const auto found = context_.loaded.find(&e); found != context_.loaded.end())
      return loaded_text(e.buffer->element, absl::StrCat(found->second, ".lanes[", lane_, "]"), context_);
    const bool selects =
        e.predicate && e.buffer->scope == tensor::Scope::kShared && context_.dialect.avoids_branches;
    std::string index = place_text(*e.buffer, print(e.indices[0]), context_);
    if (selects) index = absl::StrCat(print(e.predicate), " ? ", index, " : 0");
    std::string value = absl::StrCat(context_.names.of(e.buffer.get(), e.buffer->name), "[", index, "]");
    if (e.buffer->scope != tensor::Scope::kRegister) value = loaded_text(e.buffer->element, value, context_);
    if (!e.predicate) return value;
    if (selects)
      return absl::StrCat(context_.helpers.name(Helper::kOrZero, e.buffer->element), "(", print(e.predicate),
                          ", ", value, ")");
    return absl::StrCat("(", print(e.predicate), " ? ", value, " : (", type(e.type().element), ")0)");
  }

  std::string text(const tensor::Ramp& e) {
    if (lane_ == 0) return print(e.base);
    return print(e.base + e.stride * lane_);
  }
  std::string text(const tensor::Broadcast& e) { return print(e.value); }

  // Narrow integers and data wrap, which signed arithmetic of C does not promise; bytes do it as ints, and products of
  // 16 bits would be too large for that.
  bool wraps(Element element, const std::vector<Expr>& operands) const {
    if (element == Element::kInt64)
      return std::ranges::any_of(operands, [&](const Expr& e) { return context_.data.contains(e); });
    return element == Element::kInt32 || element == Element::kInt16 || element == Element::kUInt16;
  }
  std::string modular(Element element, const std::string& a, const char* op, const std::string& b) {
    const std::string bits = element == Element::kInt64
                                 ? absl::StrCat("(", std::string(context_.dialect.unsigned_long_type), ")")
                                 : "(unsigned)";
    return absl::StrCat("((", type_of_data(element), ")(", bits, a, " ", op, " ", bits, b, "))");
  }
  std::string negative(const tensor::Unary& e, const std::string& a) {
    const Element element = e.type().element;
    return wraps(element, {e.a}) ? modular(element, "0", "-", a) : wrapped(element, absl::StrCat("-", a));
  }
  // As the type keeps it.
  std::string wrapped(Element element, const std::string& value) {
    if (is_half(element)) return rounded(element, absl::StrCat("(", value, ")"));
    const bool narrow = element == Element::kInt8 || element == Element::kUInt8;
    return narrow ? absl::StrCat("((", type(element), ")(", value, "))") : absl::StrCat("(", value, ")");
  }
  std::string rounded(Element element, std::string value) {
    return is_half(element) ? absl::StrCat(context_.helpers.name(Helper::kRound, element), "(", value, ")")
                            : value;
  }
  static Element in_registers(Element element) { return is_half(element) ? Element::kFloat32 : element; }
  std::string call(Helper helper, Element element, const std::string& a, const std::string& b) {
    return absl::StrCat(context_.helpers.name(helper, in_registers(element)), "(", a, ", ", b, ")");
  }
  std::string library(std::string name, Element element) {
    if (element == Element::kFloat64) context_.helpers.use_doubles();
    return element == Element::kFloat64 || context_.dialect.functions_are_overloaded ? name : name + "f";
  }

  std::string type_of_data(Element element) { return std::string(value_type(context_.dialect, element)); }
  std::string type(Element element) {
    if (element == Element::kFloat64) context_.helpers.use_doubles();
    return type_of_data(element);
  }
  std::string refuse(const std::string& what) {
    context_.fail(absl::UnimplementedError(
        absl::StrCat(std::string(context_.dialect.name), " of ", what, " is not supported yet")));
    return "";
  }

  const int lane_;
  ExprContext& context_;
};

}  // namespace

const char* index_type(const ExprContext& context) {
  return context.narrow_indices ? "int" : context.dialect.long_type;
}

std::string expr_text(const Expr& expr, int lane, ExprContext& context) {
  return Lane(lane, context).print(expr);
}

std::string place_text(const tensor::BufferNode& buffer, const std::string& index, ExprContext& context) {
  const tensor::Swizzle& swizzle = buffer.layout.swizzle;
  return swizzle ? absl::StrCat(context.helpers.swizzle(swizzle), "(", index, ")") : index;
}

std::string stored_text(Element element, const std::string& value, ExprContext& context) {
  return is_half(element) ? absl::StrCat(context.helpers.name(Helper::kStore, element), "(", value, ")")
                          : value;
}

std::string loaded_text(Element element, const std::string& memory, ExprContext& context) {
  if (element == Element::kBool) return absl::StrCat("(", memory, " != 0)");
  return is_half(element) ? absl::StrCat(context.helpers.name(Helper::kLoad, element), "(", memory, ")")
                          : memory;
}

}  // namespace tf::backends
