// Reader::expr: operator-precedence parsing of expressions into nodes exactly as written (nothing is folded,
// so that what is printed reads back as the same tree).
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/tensor/operators.h"
#include "compiler/tensor/text.h"

namespace tf::tensor {
namespace {

constexpr int kMaxNesting = 400;     // of the recursion below
constexpr int kMaxTreeDepth = 2000;  // of the result: a + a + a + … nests without any parenthesis
constexpr int64_t kMaxLanes = 1 << 12;

// A parsed expression with the depth of its tree.
struct Parsed {
  Expr expr;
  int depth = 1;
};

const InfixOperator* infix(const Token& token) {
  if (token.kind != TokenKind::kSymbol) return nullptr;
  const auto* found = std::ranges::find(kInfixOperators, token.text, &InfixOperator::symbol);
  return found == kInfixOperators.end() ? nullptr : found;
}

bool takes(BinaryOp op, Element element) {
  switch (op) {
    case BinaryOp::kDiv:
      return is_float(element);
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
      return !is_float(element) && element != Element::kBool;
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
      return element == Element::kBool;
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
      return element != Element::kBool;
    default:
      return true;
  }
}

class ExprParser {
 public:
  ExprParser(Reader& reader, const Scoped& scope) : reader_(reader), scope_(scope) {}

  absl::StatusOr<Parsed> expr(int level) {
    if (++nesting_ > kMaxNesting) return reader_.error("the expression nests too deeply");
    TF_ASSIGN_OR_RETURN(Parsed left, unary());
    for (const InfixOperator* op = infix(reader_.peek()); op && op->level >= level;
         op = infix(reader_.peek())) {
      const Token symbol = reader_.next();
      TF_ASSIGN_OR_RETURN(const Parsed right, expr(op->level + 1));
      TF_ASSIGN_OR_RETURN(left, apply(*op, left, right, symbol));
    }
    --nesting_;
    return left;
  }

 private:
  static absl::Status error_at(const Token& token, absl::string_view message) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", token.line, ", column ", token.column, ": ", message));
  }
  static std::string type_text(const Type& type) {
    std::string text(element_name(type.element));
    if (type.is_vector()) absl::StrAppend(&text, "x", type.lanes);
    return text;
  }
  absl::StatusOr<Parsed> deeper(Expr expr, int depth) const {
    if (depth + 1 > kMaxTreeDepth) return reader_.error("the expression nests too deeply");
    return Parsed{std::move(expr), depth + 1};
  }

  absl::StatusOr<Parsed> apply(const InfixOperator& op, const Parsed& a, const Parsed& b,
                               const Token& where) {
    if (a.expr->type() != b.expr->type() || !takes(op.op, a.expr->type().element))
      return error_at(where, absl::StrCat("'", where.text, "' cannot take operands of types ",
                                          type_text(a.expr->type()), " and ", type_text(b.expr->type())));
    return deeper(make<Binary>(op.op, a.expr, b.expr), std::max(a.depth, b.depth));
  }

  absl::StatusOr<Parsed> unary() {
    const Token where = reader_.peek();
    if (reader_.accept("-")) {
      const Token& after = reader_.peek();
      if (after.kind == TokenKind::kInt || after.kind == TokenKind::kFloat) return number(true);
      if (after.kind == TokenKind::kName && after.text == "inf") return special(true);
      TF_ASSIGN_OR_RETURN(const Parsed a, nested_unary());
      if (a.expr->type().element == Element::kBool) return error_at(where, "'-' cannot take a bool");
      return deeper(make<Unary>(UnaryOp::kNeg, a.expr), a.depth);
    }
    if (reader_.accept("!")) {
      TF_ASSIGN_OR_RETURN(const Parsed a, nested_unary());
      if (a.expr->type().element != Element::kBool) return error_at(where, "'!' takes a bool");
      return deeper(make<Unary>(UnaryOp::kNot, a.expr), a.depth);
    }
    return primary();
  }

  absl::StatusOr<Parsed> nested_unary() { return expr(kUnaryLevel); }  // takes no infix operator

  absl::StatusOr<Parsed> primary() {
    switch (reader_.peek().kind) {
      case TokenKind::kInt:
      case TokenKind::kFloat:
        return number(false);
      case TokenKind::kName:
        return named();
      case TokenKind::kSymbol:
        if (reader_.peek().text == "(") return parenthesised();
        break;
      default:
        break;
    }
    return reader_.error("expected an expression");
  }

  // `(e)`, or `(buf[i] if p)`.
  absl::StatusOr<Parsed> parenthesised() {
    reader_.next();
    TF_ASSIGN_OR_RETURN(Parsed inner, expr(kOrLevel));
    const Token where = reader_.peek();
    if (reader_.accept("if")) {
      TF_ASSIGN_OR_RETURN(const Parsed predicate, expr(kOrLevel));
      const auto* load = as<Load>(inner.expr);
      const int lanes = predicate.expr->type().lanes;
      if (!load || load->predicate) return error_at(where, "'if' guards a load");
      if (predicate.expr->type().element != Element::kBool ||
          (lanes > 1 && load->type().is_vector() && lanes != load->type().lanes))
        return error_at(where, absl::StrCat("a predicate is a bool with the load's lanes, not ",
                                            type_text(predicate.expr->type())));
      TF_ASSIGN_OR_RETURN(inner, deeper(make<Load>(load->buffer, load->indices, predicate.expr),
                                        std::max(inner.depth, predicate.depth)));
    }
    TF_RETURN_IF_ERROR(reader_.expect(")"));
    return inner;
  }

  // Digits with an optional suffix that names the type; an index without one.
  absl::StatusOr<Parsed> number(bool negative) {
    const Token token = reader_.next();
    const std::string text = (negative ? "-" : "") + token.text;
    const char* end = text.data() + text.size();
    if (token.kind == TokenKind::kInt) {
      int64_t value = 0;
      auto parsed = std::from_chars(text.data(), end, value);
      uint64_t above = 0;  // what only a u64 holds
      if (parsed.ec == std::errc::result_out_of_range) parsed = std::from_chars(text.data(), end, above);
      if (parsed.ec != std::errc()) return error_at(token, absl::StrCat(text, " does not fit 64 bits"));
      if (above != 0) value = static_cast<int64_t>(above);
      Element element = Element::kInt64;
      if (parsed.ptr != end) {
        auto named = element_from_name(std::string_view(parsed.ptr, static_cast<size_t>(end - parsed.ptr)));
        if (!named.ok()) return error_at(token, absl::StrCat(text, ": ", named.status().message()));
        element = *named;
      }
      const bool is_beyond = above != 0 ? element != Element::kUInt64 : value < lowest_integer(element);
      if (is_float(element) || element == Element::kBool || wrap_to_element(element, value) != value ||
          is_beyond)
        return error_at(token, absl::StrCat(text, " is not a value of its type"));
      return Parsed{make<IntImm>(Type{element, 1}, value)};
    }
    double value = 0;
    const auto parsed = std::from_chars(text.data(), end, value);
    auto element = element_from_name(std::string_view(parsed.ptr, static_cast<size_t>(end - parsed.ptr)));
    if (parsed.ec != std::errc() || !element.ok() || !is_float(*element))
      return error_at(token, absl::StrCat("'", text, "' is not a number: write a float as in 0.5f32"));
    return Parsed{make<FloatImm>(Type{*element, 1}, round_to_element(*element, value))};
  }

  // `inf f32`, `nan f32`; the sign has been read.
  absl::StatusOr<Parsed> special(bool negative) {
    const bool nan = reader_.next().text == "nan";
    const Token where = reader_.peek();
    auto element = element_from_name(where.text);
    if (!element.ok() || !is_float(*element)) return reader_.error("expected a float type after inf or nan");
    reader_.next();
    const double value =
        nan ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    return Parsed{make<FloatImm>(Type{*element, 1}, negative ? -value : value)};
  }

  absl::StatusOr<Parsed> named() {
    const std::string& text = reader_.peek().text;
    if (text == "inf" || text == "nan") return special(false);
    const Token name = reader_.next();
    if (name.text == "true" || name.text == "false")
      return Parsed{make<IntImm>(Type{Element::kBool, 1}, int64_t{name.text == "true"})};
    if (reader_.peek().text == "(" && reader_.peek().kind == TokenKind::kSymbol) return function(name);
    if (name.text == "cast") return cast_to(name);
    if (reader_.peek().text == "[" && reader_.peek().kind == TokenKind::kSymbol) return load_of(name);
    auto found = scope_.vars.find(name.text);
    if (found == scope_.vars.end())
      return error_at(name, absl::StrCat("there is no variable '", name.text, "'"));
    return Parsed{found->second};
  }

  absl::StatusOr<std::vector<Parsed>> list(std::string_view close) {
    std::vector<Parsed> items;
    reader_.next();  // the opening bracket
    while (!reader_.accept(close)) {
      if (!items.empty()) TF_RETURN_IF_ERROR(reader_.expect(","));
      TF_ASSIGN_OR_RETURN(Parsed item, expr(kOrLevel));
      items.push_back(std::move(item));
    }
    return items;
  }
  static int depth_of(const std::vector<Parsed>& items) {
    int depth = 0;
    for (const Parsed& item : items) depth = std::max(depth, item.depth);
    return depth;
  }

  absl::StatusOr<Parsed> load_of(const Token& name) {
    auto found = scope_.buffers.find(name.text);
    if (found == scope_.buffers.end())
      return error_at(name, absl::StrCat("there is no buffer '", name.text, "'"));
    TF_ASSIGN_OR_RETURN(const std::vector<Parsed> indices, list("]"));
    const Buffer& buffer = found->second;
    if (indices.size() != 1 && indices.size() != buffer->extents.size())
      return error_at(
          name, absl::StrCat("'", name.text, "' takes ", buffer->rank(), " indices, not ", indices.size()));
    std::vector<Expr> exprs;
    int lanes = 1;
    for (const Parsed& index : indices) {
      const Type& type = index.expr->type();
      if (is_float(type.element) || type.element == Element::kBool ||
          (type.lanes > 1 && lanes > 1 && type.lanes != lanes))
        return error_at(name, absl::StrCat("an index of '", name.text, "' cannot be ", type_text(type)));
      lanes = std::max(lanes, type.lanes);
      exprs.push_back(index.expr);
    }
    return deeper(make<Load>(buffer, std::move(exprs)), depth_of(indices));
  }

  absl::StatusOr<Parsed> cast_to(const Token& name) {
    TF_RETURN_IF_ERROR(reader_.expect("<"));
    auto element = element_from_name(reader_.peek().text);
    if (!element.ok()) return reader_.error("expected an element type such as f32");
    reader_.next();
    TF_RETURN_IF_ERROR(reader_.expect(">"));
    if (reader_.peek().text != "(") return reader_.error("expected '('");
    TF_ASSIGN_OR_RETURN(const std::vector<Parsed> args, list(")"));
    if (args.size() != 1) return error_at(name, "cast takes one operand");
    return deeper(make<Cast>(Type{*element, 1}, args[0].expr), args[0].depth);
  }

  absl::StatusOr<Parsed> function(const Token& name) {
    TF_ASSIGN_OR_RETURN(const std::vector<Parsed> args, list(")"));
    std::vector<Expr> x;
    for (const Parsed& arg : args) x.push_back(arg.expr);
    const auto wrong = [&] {
      std::vector<std::string> types;
      for (const Expr& arg : x) types.push_back(type_text(arg->type()));
      std::string listed;
      for (const std::string& type : types) absl::StrAppend(&listed, listed.empty() ? "" : ", ", type);
      return error_at(name, absl::StrCat("'", name.text, "' cannot be applied to (", listed, ")"));
    };
    const auto same_types = [&](size_t first) {
      for (size_t i = first + 1; i < x.size(); ++i)
        if (x[i]->type() != x[first]->type()) return false;
      return true;
    };
    const int depth = depth_of(args);
    if (name.text == "select") {
      if (x.size() != 3 || x[0]->type() != Type{Element::kBool, x[1]->type().lanes} || !same_types(1))
        return wrong();
      return deeper(make<Select>(x[0], x[1], x[2]), depth);
    }
    if (name.text == "min" || name.text == "max") {
      if (x.size() != 2 || !same_types(0)) return wrong();
      return deeper(make<Binary>(name.text == "min" ? BinaryOp::kMin : BinaryOp::kMax, x[0], x[1]), depth);
    }
    if (name.text == "abs") {
      if (x.size() != 1 || x[0]->type().element == Element::kBool) return wrong();
      return deeper(make<Unary>(UnaryOp::kAbs, x[0]), depth);
    }
    if (name.text == "ramp" || name.text == "broadcast") return vector_of(name, x, depth);
    if (name.text == "dot") {
      if (!are_dot_operands(x)) return wrong();
      return deeper(make<Call>(Intrinsic::kDot, std::move(x)), depth);
    }
    for (int i = 0; i <= static_cast<int>(Intrinsic::kReduceMin); ++i) {
      const auto candidate = static_cast<Intrinsic>(i);
      if (intrinsic_name(candidate) != name.text) continue;
      if (x.size() != static_cast<size_t>(arity(candidate)) || !same_types(0) ||
          !takes_element(candidate, x[0]->type().element))
        return wrong();
      return deeper(make<Call>(candidate, std::move(x)), depth);
    }
    return error_at(name, absl::StrCat("there is no function '", name.text, "'"));
  }

  absl::StatusOr<Parsed> vector_of(const Token& name, const std::vector<Expr>& x, int depth) {
    const bool is_ramp = name.text == "ramp";
    const auto* lanes = x.empty() ? nullptr : as<IntImm>(x.back());
    if (x.size() != (is_ramp ? 3u : 2u) || !lanes || lanes->value < 2 || lanes->value > kMaxLanes ||
        x[0]->type().is_vector())
      return error_at(
          name, absl::StrCat("'", name.text, "' takes scalars and a number of lanes from 2 to ", kMaxLanes));
    const int count = static_cast<int>(lanes->value);
    if (!is_ramp) return deeper(make<Broadcast>(x[0], count), depth);
    if (x[0]->type() != x[1]->type() || is_float(x[0]->type().element) ||
        x[0]->type().element == Element::kBool)
      return error_at(name, "base and stride of a ramp are integers of one type");
    return deeper(make<Ramp>(x[0], x[1], count), depth);
  }

  Reader& reader_;
  const Scoped& scope_;
  int nesting_ = 0;
};

}  // namespace

absl::StatusOr<Expr> Reader::expr(const Scoped& scope) {
  TF_ASSIGN_OR_RETURN(const Parsed parsed, ExprParser(*this, scope).expr(kOrLevel));
  return parsed.expr;
}

}  // namespace tf::tensor
