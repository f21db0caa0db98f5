#include "compiler/backends/cuda/cuda_expr.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
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

constexpr std::string_view kPrelude =
    R"(template <typename T> __device__ T tf_min(T a, T b) { return a < b || a != a ? a : b; }
template <typename T> __device__ T tf_max(T a, T b) { return a > b || a != a ? a : b; }
template <typename T> __device__ T tf_floor_div(T a, T b) {
  if (T(-1) < T(0) && b == T(-1)) return T(0ull - (unsigned long long)a);
  const T d = b == T(0) ? T(1) : b;
  return a / d - (a % d != 0 && (a < 0) != (d < 0));
}
template <typename T> __device__ T tf_floor_mod(T a, T b) {
  const T d = b == T(0) || (T(-1) < T(0) && b == T(-1)) ? T(1) : b;
  const T r = a % d;
  return r != 0 && (r < 0) != (d < 0) ? r + d : r;
}
template <typename T, typename F> __device__ T tf_saturate(F x, T low, T high) {
  return x != x ? T(0) : x <= F(low) ? low : x >= F(high) ? high : T(x);
}
__device__ inline long long tf_whole_power(long long x, long long y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
  unsigned long long base = x, result = 1;
  for (; y > 0; y /= 2, base *= base)
    if (y % 2 != 0) result *= base;
  return (long long)result;
}
__device__ inline float tf_sigmoid(float x) {
  const float t = expf(-fabsf(x));
  return (x < 0.0f ? t : 1.0f) / (1.0f + t);
}
__device__ inline double tf_sigmoid(double x) {
  const double t = exp(-fabs(x));
  return (x < 0.0 ? t : 1.0) / (1.0 + t);
}
)";

// Lowest and highest value of an integer type, as arguments.
std::string range_of(Element element) {
  switch (element) {
    case Element::kInt8:
      return "-128, 127";
    case Element::kUInt8:
      return "0, 255";
    case Element::kInt16:
      return "-32768, 32767";
    case Element::kUInt16:
      return "0, 65535";
    case Element::kInt32:
      return "-2147483647 - 1, 2147483647";
    case Element::kUInt32:
      return "0, 4294967295u";
    case Element::kUInt64:
      return "0, 18446744073709551615ull";
    default:
      return "-9223372036854775807ll - 1, 9223372036854775807ll";
  }
}

// Of the device library, for double; with an f behind for float. Empty for what it does not have: parts of expanded
// functions, and what is of vectors.
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

class Printer {
 public:
  Printer(const ir::Data& data, CudaNames& names, absl::Status& status)
      : data_(data), names_(names), status_(status) {}

  std::string print(const Expr& expr) {
    if (expr->type().is_vector()) return refuse("vectors");
    return tensor::visit(expr, [&](const auto& node) { return text(node); });
  }

 private:
  std::string text(const tensor::IntImm& e) {
    if (e.type().element == Element::kBool) return e.value != 0 ? "true" : "false";
    if (e.type().element == Element::kUInt64) return absl::StrCat(static_cast<uint64_t>(e.value), "ull");
    if (e.value == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807ll - 1)";
    if (e.type().element == Element::kInt64)
      return absl::StrCat(e.value < 0 ? "(" : "", e.value, e.value < 0 ? "ll)" : "ll");
    return absl::StrCat("(", type(e.type().element), ")", e.value);
  }

  std::string text(const tensor::FloatImm& e) {
    const bool is_double = e.type().element == Element::kFloat64;
    std::string value = absl::StrFormat("%a", e.value);
    if (std::isnan(e.value)) value = "NAN";
    if (std::isinf(e.value)) value = e.value > 0 ? "INFINITY" : "(-INFINITY)";
    if (!std::isfinite(e.value)) return absl::StrCat("(", type(e.type().element), ")", value);
    return absl::StrCat(e.value < 0 ? "(" : "", value, is_double ? "" : "f", e.value < 0 ? ")" : "");
  }

  std::string text(const tensor::VarNode& e) { return names_.of(&e, e.name); }

  std::string text(const tensor::Unary& e) {
    const std::string a = print(e.a);
    switch (e.op) {
      case tensor::UnaryOp::kNeg:
        return negative(e, a);
      case tensor::UnaryOp::kNot:
        return absl::StrCat("(!", a, ")");
      case tensor::UnaryOp::kAbs:
        if (tensor::is_float(e.type().element))
          return absl::StrCat(e.type().element == Element::kFloat32 ? "fabsf(" : "fabs(", a, ")");
        if (tensor::is_unsigned(e.type().element)) return a;
        return wrapped(e.type().element, absl::StrCat(a, " < 0 ? ", negative(e, a), " : ", a));
    }
    __builtin_unreachable();
  }

  std::string text(const tensor::Binary& e) {
    const Element element = e.a->type().element;
    const std::string a = print(e.a), b = print(e.b);
    const auto arithmetic = [&](const char* op) {
      return wraps(element, {e.a, e.b}) ? modular(element, a, op, b)
                                        : wrapped(element, absl::StrCat(a, " ", op, " ", b));
    };
    switch (e.op) {
      case BinaryOp::kAdd:
        return arithmetic("+");
      case BinaryOp::kSub:
        return arithmetic("-");
      case BinaryOp::kMul:
        return arithmetic("*");
      case BinaryOp::kFloorDiv:
        return call(element, "tf_floor_div", a, b);
      case BinaryOp::kFloorMod:
        return call(element, "tf_floor_mod", a, b);
      case BinaryOp::kMin:
        return call(element, "tf_min", a, b);
      case BinaryOp::kMax:
        return call(element, "tf_max", a, b);
      default:  // as in the text of expressions
        return absl::StrCat("(", a, " ", std::string(tensor::operator_of(e.op).symbol), " ", b, ")");
    }
  }

  std::string text(const tensor::Select& e) {
    return absl::StrCat("(", print(e.condition), " ? ", print(e.if_true), " : ", print(e.if_false), ")");
  }

  std::string text(const tensor::Cast& e) {
    const std::string a = print(e.a);
    if (e.type().element == Element::kBool) return absl::StrCat("(", a, " != 0)");
    const std::string to = type(e.type().element);
    if (!tensor::is_float(e.a->type().element) || tensor::is_float(e.type().element))
      return absl::StrCat("((", to, ")", a, ")");
    // What is out of range is undefined in C.
    return absl::StrCat("tf_saturate<", to, ">(", a, ", ", range_of(e.type().element), ")");
  }

  std::string text(const tensor::Call& e) {
    std::vector<std::string> args;
    for (const Expr& arg : e.args) args.push_back(print(arg));
    const std::string list = absl::StrCat("(", absl::StrJoin(args, ", "), ")");
    if (e.function == Intrinsic::kSigmoid) return "tf_sigmoid" + list;
    if (const char* symbol = bit_operator(e.function); *symbol != 0)
      return absl::StrCat("((", type(e.type().element), ")(", args[0], symbol, args[1], "))");
    if (!tensor::is_float(e.type().element) && e.function == Intrinsic::kPow) return "tf_whole_power" + list;
    const std::string_view name = function_name(e.function);
    if (name.empty()) return refuse("this function");
    type(e.type().element);  // refuses what has no function
    return absl::StrCat(std::string(name), e.type().element == Element::kFloat64 ? "" : "f", list);
  }

  std::string text(const tensor::Load& e) {
    const std::string value =
        absl::StrCat(names_.of(e.buffer.get(), e.buffer->name), "[", print(e.indices[0]), "]");
    if (!e.predicate) return value;
    return absl::StrCat("(", print(e.predicate), " ? ", value, " : (", type(e.type().element), ")0)");
  }

  std::string text(const tensor::Ramp&) { return refuse("vectors"); }
  std::string text(const tensor::Broadcast&) { return refuse("vectors"); }

  // Narrow integers and data wrap, which signed arithmetic of C does not promise; bytes do it as ints, and products of
  // 16 bits would be too large for that.
  bool wraps(Element element, const std::vector<Expr>& operands) const {
    if (element == Element::kInt64)
      return std::ranges::any_of(operands, [&](const Expr& e) { return data_.contains(e); });
    return element == Element::kInt32 || element == Element::kInt16 || element == Element::kUInt16;
  }
  std::string modular(Element element, const std::string& a, const char* op, const std::string& b) {
    const char* bits = element == Element::kInt64 ? "(unsigned long long)" : "(unsigned)";
    return absl::StrCat("(", type(element), ")(", bits, a, " ", op, " ", bits, b, ")");
  }
  std::string negative(const tensor::Unary& e, const std::string& a) {
    const Element element = e.type().element;
    return wraps(element, {e.a}) ? modular(element, "0", "-", a) : wrapped(element, absl::StrCat("-", a));
  }
  std::string wrapped(Element element, const std::string& value) {
    const bool narrow = element == Element::kInt8 || element == Element::kUInt8;
    return absl::StrCat(narrow ? absl::StrCat("(", type(element), ")") : "", "(", value, ")");
  }
  // The type is spelled out: narrow operands would be ints.
  std::string call(Element element, const char* name, const std::string& a, const std::string& b) {
    return absl::StrCat(name, "<", type(element), ">(", a, ", ", b, ")");
  }

  std::string type(Element element) {
    absl::StatusOr<std::string> name = cuda_type(element);
    if (!name.ok() && status_.ok()) status_ = name.status();
    return name.value_or("");
  }
  std::string refuse(const char* what) {
    if (status_.ok())
      status_ = absl::UnimplementedError(absl::StrCat("CUDA C of ", what, " is not supported yet"));
    return "";
  }

  const ir::Data& data_;
  CudaNames& names_;
  absl::Status& status_;
};

}  // namespace

absl::StatusOr<std::string> cuda_type(Element element) {
  switch (element) {
    case Element::kBool:
      return "bool";
    case Element::kInt8:
      return "signed char";
    case Element::kUInt8:
      return "unsigned char";
    case Element::kInt16:
      return "short";
    case Element::kUInt16:
      return "unsigned short";
    case Element::kInt32:
      return "int";
    case Element::kUInt32:
      return "unsigned";
    case Element::kInt64:
      return "long long";
    case Element::kUInt64:
      return "unsigned long long";
    case Element::kFloat32:
      return "float";
    case Element::kFloat64:
      return "double";
    case Element::kFloat16:
    case Element::kBFloat16:
      break;
  }
  return absl::UnimplementedError(
      absl::StrCat("CUDA C of ", std::string(tensor::element_name(element)), " is not supported yet"));
}

std::string_view cuda_prelude() {
  return kPrelude;
}

std::string CudaNames::of(const void* node, const std::string& wish) {
  std::string& name = names_[node];
  if (!name.empty()) return name;
  std::string base;
  for (const char c : wish) base += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  // No keyword and no name of CUDA's ends so.
  name = base + "_";
  for (int i = 1; !used_.insert(name).second; ++i) name = absl::StrCat(base, "_", i, "_");
  return name;
}

std::string cuda_expr(const Expr& expr, const ir::Data& data, CudaNames& names, absl::Status& status) {
  return Printer(data, names, status).print(expr);
}

}  // namespace tf::backends
