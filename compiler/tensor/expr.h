#pragma once
// Owns: expressions, the one language of values that tensor computations and loop IR share. Nodes are
// immutable and shared by reference; a variable or buffer is identified by its node, never by its name. Does
// not know: loops, schedules, targets.
//
// Semantics, the same in the interpreter and in every back end:
//  * floor_div and floor_mod round towards minus infinity (floor_mod(-1, 4) = 3).
//  * i64 arithmetic on indices, that is on what is made of loop variables, dimensions and constants alone,
//    must not overflow, and a zero divisor in an index is our bug.
//  * Data is what is loaded and what is made of that. Its i64 arithmetic wraps, and it can be divided by
//    anything: zero counts as one, and the lowest number by -1 wraps to itself and leaves 0.
//  * Narrower integers wrap. Float arithmetic is IEEE 754 in the type's precision, rounded to nearest, with
//    one liberty: a*b+c may be contracted to one fused multiply-add. Denormals may be flushed to zero.
//  * min and max give NaN if an operand is NaN. Comparisons with NaN are false, except !=.
//  * select evaluates only the chosen side as far as loads are concerned: a load in the other side is not
//    performed.
//  * A load whose predicate is false is not performed and gives 0.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ref.h"
#include "compiler/tensor/swizzle.h"
#include "compiler/tensor/type.h"

namespace tf::tensor {

// The closed set of expression kinds: X(class name). Drives the kind tag, visit and rewrite.
#define TF_EXPR_KINDS(X) \
  X(IntImm) X(FloatImm) X(VarNode) X(Unary) X(Binary) X(Select) X(Cast) X(Call) X(Load) X(Ramp) X(Broadcast)

enum class ExprKind : uint8_t {
#define TF_KIND(name) k##name,
  TF_EXPR_KINDS(TF_KIND)
#undef TF_KIND
};

class ExprNode : public RefCounted {
 public:
  ExprKind kind() const { return kind_; }
  const Type& type() const { return type_; }

 protected:
  ExprNode(ExprKind kind, Type type) : kind_(kind), type_(type) {}

 private:
  ExprKind kind_;
  Type type_;
};

using Expr = Ref<ExprNode>;

// Null unless expr is of that class: `if (auto* imm = as<IntImm>(e))`.
template <typename T>
const T* as(const Expr& expr) {
  return expr && expr->kind() == T::kKind ? static_cast<const T*>(expr.get()) : nullptr;
}

struct IntImm final : ExprNode {  // integers and bool
  static constexpr ExprKind kKind = ExprKind::kIntImm;
  IntImm(Type type, int64_t v) : ExprNode(kKind, type), value(v) {}
  const int64_t value;
};

struct FloatImm final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kFloatImm;
  FloatImm(Type type, double v) : ExprNode(kKind, type), value(v) {}
  const double value;
};

// A loop variable, axis or named dimension. The name is for people only.
struct VarNode final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kVarNode;
  VarNode(std::string n, Type type) : ExprNode(kKind, type), name(std::move(n)) {}
  const std::string name;
};

enum class UnaryOp : uint8_t { kNeg, kNot, kAbs };

struct Unary final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kUnary;
  Unary(UnaryOp o, Expr x) : ExprNode(kKind, x->type()), op(o), a(std::move(x)) {}
  const UnaryOp op;
  const Expr a;
};

// kDiv is for floats only; integers use kFloorDiv and kFloorMod. Comparisons, kAnd and kOr give bool.
enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kFloorMod,
  kMin,
  kMax,
  kEq,
  kNe,
  kLt,
  kLe,
  kAnd,
  kOr
};

struct Binary final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kBinary;
  Binary(BinaryOp op, Expr a, Expr b);  // a and b have one type
  const BinaryOp op;
  const Expr a, b;
};

struct Select final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kSelect;
  Select(Expr c, Expr t, Expr f)
      : ExprNode(kKind, t->type()), condition(std::move(c)), if_true(std::move(t)), if_false(std::move(f)) {}
  const Expr condition, if_true, if_false;
};

// Value conversion: float to integer truncates, integer to bool is != 0. The lanes are the operand's.
struct Cast final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kCast;
  Cast(Type type, Expr x) : ExprNode(kKind, {type.element, x->type().lanes}), a(std::move(x)) {}
  const Expr a;
};

// Pure scalar functions, of floats unless said otherwise, element-wise on vectors. Special values, signed zeros among them, are those of
// the C library. kPow also takes two i64: exact, modulo 2^64; a negative exponent gives 1 / x^-y rounded toward zero,
// and 0 for a zero base. kReduceAdd, kReduceMax and kReduceMin fold a vector's lanes into a scalar. kExpm1(x) is
// exp(x) - 1 and kLog1p(x) is log(1 + x), both without cancellation. kFma(a, b, c) is the fused form that nothing may
// split; kCopysign(x, y) is |x| with the sign of y; kFmod(x, y) is x - y * trunc(x / y), exact.
//
// kBitAnd, kBitOr and kBitXor take two integers, but not bool.
//
// The math pass makes the others (exp, log, tanh, pow …) of arithmetic and of these three:
//  * kLdexp(x, n) is x * 2^n for a whole n of x's type, |n| <= 250 (f32) or 2000 (f64). A back end multiplies
//    by 2^floor(n/2) and by 2^(n - floor(n/2)), each made by shifting the biased exponent into place; so it
//    overflows to infinity and underflows to zero.
//  * kLogb(x) is x's exponent field without its bias, as a float: floor(log2(|x|)) for normal x, -127 (f64:
//    -1023) for zero and denormals, 128 (1024) for infinities and NaN.
//  * kSignificand(x) is x with the exponent field and the sign of 1: |x| / 2^kLogb(x) for normal x, and some
//    number from 1 to 2 for all others, NaN included.
//
// kDot(c, a, b), in loop IR only, adds products of narrow elements to wide ones, as dot-product instructions
// do: lane l of the result is c[l] + a[l*g]*b[l*g] + … + a[l*g+g-1]*b[l*g+g-1] for a group of g = 2 or 4. b
// has g lanes for each of c's, a has as many or only g, which then count for every l. Elements: c i32, a and
// b each i8 or u8, sums wrap; or c f32, a and b both bf16 or both f16, products exact, sums rounded in any
// order, denormals perhaps flushed.
enum class Intrinsic : uint8_t {
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSqrt,
  kRsqrt,
  kTanh,
  kErf,
  kSigmoid,
  kPow,
  kFloor,
  kCeil,
  kRound,
  kSin,
  kCos,
  kAtan,
  kFmod,
  kFma,
  kCopysign,
  kLdexp,
  kLogb,
  kSignificand,
  kBitAnd,
  kBitOr,
  kBitXor,
  kReduceAdd,
  kReduceMax,
  kReduceMin,
  kDot
};

// The number of arguments.
int arity(Intrinsic function);

// Whether an intrinsic takes that element type.
bool takes_element(Intrinsic function, Element element);

// x^y of whole numbers as kPow defines it.
int64_t whole_power(int64_t x, int64_t y);

// kPow, kBitAnd, kBitOr or kBitXor of whole numbers.
int64_t whole_value(Intrinsic function, int64_t x, int64_t y);

// Elements and lanes of kDot's arguments are as above.
bool are_dot_operands(std::span<const Expr> args);

struct Call final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kCall;
  Call(Intrinsic f, std::vector<Expr> args);
  const Intrinsic function;
  const std::vector<Expr> args;
};

// Where a buffer lives. Scopes below global exist while the loop that allocates them runs.
enum class Scope : uint8_t { kGlobal, kShared, kRegister, kFragment };

// A blocked layout: physical axes, outermost first; the text and the meaning are those of
// compiler/runtime/layout.h. No axes means row-major. What the axes give is the offset that the swizzle is of, "^" and its
// text after the axes. Only shared memory has one, so compiler/runtime does not know it.
struct LayoutAxis {
  int axis = 0;
  int64_t block = 0;  // 0: what is left of the axis
  bool operator==(const LayoutAxis&) const = default;
};

struct Layout {
  std::vector<LayoutAxis> axes;
  Swizzle swizzle = {};
  bool is_row_major() const { return axes.empty(); }
  bool operator==(const Layout&) const = default;
  std::string text() const;
  // INVALID_ARGUMENT if the text is not a layout of a tensor of that rank.
  static absl::StatusOr<Layout> parse(std::string_view text, int rank);
};

// Named storage of a tensor. Extents are integer expressions over named dimensions. Indices of loads and
// stores are logical; lowering turns them into one physical element offset by the layout.
struct BufferNode final : RefCounted {
  BufferNode(std::string n, Element e, std::vector<Expr> x, Scope s = Scope::kGlobal, Layout l = {})
      : name(std::move(n)), element(e), extents(std::move(x)), scope(s), layout(std::move(l)) {}
  const std::string name;
  const Element element;
  const std::vector<Expr> extents;
  const Scope scope;
  const Layout layout;
  int rank() const { return static_cast<int>(extents.size()); }
};

using Buffer = Ref<BufferNode>;

// Reads buffer[indices]. In a tensor computation every index is a scalar; in loop IR the indices may be
// vectors, all of one lane count after broadcasting, and a predicate may guard each lane.
struct Load final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kLoad;
  Load(Buffer buffer, std::vector<Expr> indices, Expr predicate = nullptr);
  const Buffer buffer;
  const std::vector<Expr> indices;
  const Expr predicate;  // null: always
};

// base, base + stride, …, base + (lanes - 1) * stride.
struct Ramp final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kRamp;
  Ramp(Expr b, Expr s, int lanes)
      : ExprNode(kKind, {b->type().element, lanes}), base(std::move(b)), stride(std::move(s)) {}
  const Expr base, stride;
};

struct Broadcast final : ExprNode {
  static constexpr ExprKind kKind = ExprKind::kBroadcast;
  Broadcast(Expr v, int lanes) : ExprNode(kKind, {v->type().element, lanes}), value(std::move(v)) {}
  const Expr value;
};

// --- Building. These fold constants and drop neutral elements (x+0, x*1, x*0 of integers, true && b);
// nothing more. Where one operand is a vector, scalar operands are broadcast to its lanes.
using Var = Ref<VarNode>;
inline constexpr Type kIndex{Element::kInt64, 1};

// A node exactly as given: nothing folded, nothing broadcast (parsers need this).
template <typename T, typename... Args>
Expr make(Args&&... args) {
  return Expr(new T(std::forward<Args>(args)...));
}

Expr imm(int64_t value);            // an index
Expr imm(Type type, double value);  // any type, rounded or wrapped to it; vectors are broadcast
Var var(std::string name, Type type = kIndex);
Buffer buffer(std::string name, Element element, std::vector<Expr> extents, Scope scope = Scope::kGlobal,
              Layout layout = {});

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);  // floats
Expr operator-(const Expr& a);
Expr operator+(const Expr& a, int64_t b);
Expr operator-(const Expr& a, int64_t b);
Expr operator*(const Expr& a, int64_t b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
// Named, because with operators `!e` and `a && b`, which ask whether a reference is null, would build nodes.
Expr logical_and(const Expr& a, const Expr& b);
// The conjunction of two conditions of which either may be null: always true.
Expr both(const Expr& a, const Expr& b);
Expr logical_or(const Expr& a, const Expr& b);
Expr logical_not(const Expr& a);
Expr equal(const Expr& a, const Expr& b);
Expr not_equal(const Expr& a, const Expr& b);
Expr floor_div(const Expr& a, const Expr& b);
Expr floor_mod(const Expr& a, const Expr& b);
Expr floor_div(const Expr& a, int64_t b);
Expr floor_mod(const Expr& a, int64_t b);
Expr ceil_div(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr abs(const Expr& a);
Expr select(const Expr& condition, const Expr& if_true, const Expr& if_false);
Expr cast(Type type, const Expr& a);
Expr call(Intrinsic function, std::vector<Expr> args);
Expr dot(const Expr& c, const Expr& a, const Expr& b);  // kDot
Expr load(const Buffer& buffer, std::vector<Expr> indices, const Expr& predicate = nullptr);
Expr ramp(const Expr& base, const Expr& stride, int lanes);
Expr broadcast(const Expr& value, int lanes);  // returns value unchanged when lanes is 1

// The value of an integer constant (a broadcast one too), if it is one.
std::optional<int64_t> as_int(const Expr& expr);

// --- Walking.
// Calls `f(const T&)` for the node's class: f must accept every kind (an overload set, or `auto`).
template <typename F>
decltype(auto) visit(const Expr& expr, F&& f) {
  switch (expr->kind()) {
#define TF_CASE(name)     \
  case ExprKind::k##name: \
    return f(*static_cast<const name*>(expr.get()));
    TF_EXPR_KINDS(TF_CASE)
#undef TF_CASE
  }
  __builtin_unreachable();
}

// The node's direct operands, in a fixed order (Load: indices, then the predicate if any).
std::vector<Expr> operands(const Expr& expr);
// The same node with new operands (the same count and order); returns `expr` itself if none changed. Nothing
// is folded; lanes follow the new operands, scalars among vectors are broadcast.
Expr with_operands(const Expr& expr, std::span<const Expr> operands);
// Pre-order: f(expr) returns false to skip the operands.
template <typename F>
void for_each(const Expr& expr, F&& f) {
  if (!f(expr)) return;
  for (const Expr& operand : operands(expr)) for_each(operand, f);
}
// Bottom-up rewriting: f gets each node with operands already rewritten and returns its replacement (or the
// node). Unchanged nodes are kept, not copied.
template <typename F>
Expr rewrite(const Expr& expr, F&& f) {
  std::vector<Expr> children = operands(expr);
  for (Expr& child : children) child = rewrite(child, f);
  return f(with_operands(expr, children));
}

// Replaces variables; what changes is folded like in building.
using Substitution = std::map<const VarNode*, Expr>;
Expr substitute(const Expr& expr, const Substitution& values);

// The expression with every constant part folded like in building.
Expr fold(const Expr& expr);

// Structural equality; floats by their bits (a NaN equals a NaN), variables and buffers are equal only if
// they are the same node.
bool structurally_equal(const Expr& a, const Expr& b);

}  // namespace tf::tensor
