#include "compiler/tensor/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/tensor/operators.h"

namespace tf::tensor {
namespace {

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool is_name_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Words that mean something in an expression or a statement, so that no variable or buffer is called so.
constexpr std::array kReserved = std::to_array<std::string_view>(
    {"select",  "true",       "false",      "inf",    "nan",      "if",       "else",   "for",      "in",
     "let",     "min",        "max",        "cast",   "store",    "alloc",    "return", "allocate", "where",
     "barrier", "async_copy", "async_wait", "shared", "register", "fragment", "layout"});

std::string sanitized(const std::string& wish) {
  std::string name;
  for (size_t i = 0; i < wish.size(); ++i) {
    const bool inner_dot = wish[i] == '.' && i > 0 && i + 1 < wish.size() && is_name_part(wish[i + 1]);
    name += is_name_part(wish[i]) || inner_dot ? wish[i] : '_';
  }
  if (name.empty() || !is_name_start(name[0])) name.insert(name.begin(), '_');
  if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) name += '_';
  return name;
}

// The shortest digits that read back as the same value.
std::string float_digits(Element element, double value) {
  char buffer[64];
  const auto end = element == Element::kFloat64
                       ? std::to_chars(buffer, buffer + sizeof buffer, value)
                       : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
  return std::string(buffer, end.ptr);
}

class Printer {
 public:
  explicit Printer(Names& names) : names_(names) {}

  void print(const Expr& expr, int level) {
    visit(expr, [&](const auto& node) { print_node(node, level); });
  }
  std::string take() { return std::move(out_); }

 private:
  void list(const std::vector<Expr>& exprs) {
    for (size_t i = 0; i < exprs.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(exprs[i], kOrLevel);
    }
  }
  void function(std::string_view name, const std::vector<Expr>& args) {
    out_.append(name).append("(");
    list(args);
    out_ += ")";
  }

  void print_node(const IntImm& node, int) {
    if (node.type().element == Element::kBool) {
      out_ += node.value != 0 ? "true" : "false";
      return;
    }
    if (node.type().element == Element::kUInt64)
      absl::StrAppend(&out_, static_cast<uint64_t>(node.value));
    else
      absl::StrAppend(&out_, node.value);
    if (node.type().element != Element::kInt64) out_ += element_name(node.type().element);
  }
  void print_node(const FloatImm& node, int) {
    if (std::isnan(node.value)) {
      out_ += "nan ";
    } else if (std::isinf(node.value)) {
      out_ += node.value < 0 ? "-inf " : "inf ";
    } else {
      out_ += float_digits(node.type().element, node.value);
    }
    out_ += element_name(node.type().element);
  }
  void print_node(const VarNode& node, int) { out_ += names_.name(&node); }
  void print_node(const Unary& node, int level) {
    if (node.op == UnaryOp::kAbs) return function("abs", {node.a});
    const bool parens = level > kUnaryLevel;
    if (parens) out_ += "(";
    out_ += node.op == UnaryOp::kNeg ? "-" : "!";
    // A minus right before digits is part of the literal, so a negated literal needs parentheses.
    const bool literal = as<IntImm>(node.a) || as<FloatImm>(node.a);
    if (literal) out_ += "(";
    print(node.a, kUnaryLevel);
    if (literal) out_ += ")";
    if (parens) out_ += ")";
  }
  void print_node(const Binary& node, int level) {
    const InfixOperator& op = operator_of(node.op);
    if (op.symbol.empty()) return function(node.op == BinaryOp::kMin ? "min" : "max", {node.a, node.b});
    const bool parens = level > op.level;
    if (parens) out_ += "(";
    // Comparisons do not chain; all else associates to the left.
    print(node.a, op.level == kCompareLevel ? kAddLevel : op.level);
    absl::StrAppend(&out_, " ", std::string(op.symbol), " ");
    print(node.b, op.level + 1);
    if (parens) out_ += ")";
  }
  void print_node(const Select& node, int) {
    function("select", {node.condition, node.if_true, node.if_false});
  }
  void print_node(const Cast& node, int) {
    out_.append("cast<").append(element_name(node.type().element)).append(">(");
    print(node.a, kOrLevel);
    out_ += ")";
  }
  void print_node(const Call& node, int) { function(intrinsic_name(node.function), node.args); }
  void print_node(const Load& node, int) {
    if (node.predicate) out_ += "(";
    out_.append(names_.name(node.buffer.get())).append("[");
    list(node.indices);
    out_ += "]";
    if (node.predicate) {
      out_ += " if ";
      print(node.predicate, kOrLevel);
      out_ += ")";
    }
  }
  void print_node(const Ramp& node, int) {
    out_ += "ramp(";
    list({node.base, node.stride});
    absl::StrAppend(&out_, ", ", node.type().lanes, ")");
  }
  void print_node(const Broadcast& node, int) {
    out_ += "broadcast(";
    print(node.value, kOrLevel);
    absl::StrAppend(&out_, ", ", node.type().lanes, ")");
  }

  Names& names_;
  std::string out_;
};

}  // namespace

std::string_view intrinsic_name(Intrinsic function) {
  static constexpr std::array<std::string_view, 29> kNames = {
      "exp",     "expm1",      "log",        "log1p",      "sqrt",  "rsqrt",       "tanh",    "erf",
      "sigmoid", "pow",        "floor",      "ceil",       "round", "sin",         "cos",     "atan",
      "fmod",    "fma",        "copysign",   "ldexp",      "logb",  "significand", "bit_and", "bit_or",
      "bit_xor", "reduce_add", "reduce_max", "reduce_min", "dot"};
  static_assert(kNames.size() == static_cast<size_t>(Intrinsic::kDot) + 1);
  return kNames[static_cast<size_t>(function)];
}

std::string Names::name(const VarNode* var) {
  return lookup(var, var->name);
}
std::string Names::name(const BufferNode* buffer) {
  return lookup(buffer, buffer->name);
}
void Names::set(const VarNode* var, std::string name) {
  assign(var, std::move(name));
}
void Names::set(const BufferNode* buffer, std::string name) {
  assign(buffer, std::move(name));
}

std::string Names::lookup(const void* node, const std::string& wish) {
  auto [entry, inserted] = names_.try_emplace(node);
  if (inserted) entry->second = fresh(sanitized(wish));
  return entry->second;
}

void Names::assign(const void* node, std::string name) {
  used_.try_emplace(name, 1);
  names_[node] = std::move(name);
}

std::string Names::fresh(const std::string& wish) {
  auto [entry, inserted] = used_.try_emplace(wish, 1);
  if (inserted) return wish;
  for (;;) {
    std::string candidate = absl::StrCat(wish, "_", entry->second++);
    if (used_.try_emplace(candidate, 1).second) return candidate;
  }
}

std::string print(const Expr& expr, Names& names) {
  Printer printer(names);
  printer.print(expr, kOrLevel);
  return printer.take();
}

std::string to_string(const Expr& expr) {
  Names names;
  return print(expr, names);
}

Reader::Reader(std::string_view text) : text_(text) {
  next();
}

void Reader::advance(size_t count) {
  for (; count > 0 && position_ < text_.size(); --count, ++position_) {
    if (text_[position_] == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
  }
}

void Reader::skip_blanks() {
  for (;;) {
    if (at(0) == '#') {
      while (position_ < text_.size() && at(0) != '\n') advance(1);
    } else if (position_ < text_.size() && std::isspace(static_cast<unsigned char>(at(0)))) {
      advance(1);
    } else {
      return;
    }
  }
}

void Reader::lex_number() {
  auto digit = [&](size_t offset) { return std::isdigit(static_cast<unsigned char>(at(offset))) != 0; };
  size_t length = 0;
  bool real = false;
  while (digit(length)) ++length;
  if (at(length) == '.' && digit(length + 1)) {
    real = true;
    ++length;
    while (digit(length)) ++length;
  }
  if (at(length) == 'e') {
    const size_t sign = at(length + 1) == '-' || at(length + 1) == '+' ? 1 : 0;
    if (digit(length + 1 + sign)) {
      real = true;
      length += 1 + sign;
      while (digit(length)) ++length;
    }
  }
  real = real || at(length) == 'f' || at(length) == 'b';
  while (is_name_part(at(length))) ++length;
  token_.kind = real ? TokenKind::kFloat : TokenKind::kInt;
  token_.text = std::string(text_.substr(position_, length));
  advance(length);
}

// An unterminated string is a symbol '"', which nothing accepts.
void Reader::lex_string() {
  std::string value;
  size_t length = 1;
  for (; position_ + length < text_.size() && at(length) != '"'; ++length) {
    if (at(length) != '\\') {
      value += at(length);
      continue;
    }
    ++length;
    value += at(length) == 'n' ? '\n' : at(length);
  }
  const bool closed = at(length) == '"';
  token_.kind = closed ? TokenKind::kString : TokenKind::kSymbol;
  token_.text = closed ? std::move(value) : "\"";
  advance(closed ? length + 1 : 1);
}

Token Reader::next() {
  Token previous = std::move(token_);
  skip_blanks();
  token_ = Token{TokenKind::kEnd, "", line_, column_};
  if (position_ >= text_.size()) return previous;
  if (is_name_start(at(0))) {
    size_t length = 1;
    while (is_name_part(at(length)) || (at(length) == '.' && is_name_part(at(length + 1)))) ++length;
    token_.kind = TokenKind::kName;
    token_.text = std::string(text_.substr(position_, length));
    advance(length);
  } else if (std::isdigit(static_cast<unsigned char>(at(0)))) {
    lex_number();
  } else if (at(0) == '"') {
    lex_string();
  } else {
    static constexpr std::array<std::string_view, 10> kPairs = {
        "||", "&&", "==", "!=", "<=", ">=", "->", "//", "+=", ".."};
    const std::string_view pair = text_.substr(position_, 2);
    const size_t length = std::find(kPairs.begin(), kPairs.end(), pair) != kPairs.end() ? 2 : 1;
    token_.kind = TokenKind::kSymbol;
    token_.text = std::string(text_.substr(position_, length));
    advance(length);
  }
  return previous;
}

bool Reader::accept(std::string_view symbol_or_name) {
  const bool match =
      (token_.kind == TokenKind::kSymbol || token_.kind == TokenKind::kName) && token_.text == symbol_or_name;
  if (match) next();
  return match;
}

absl::Status Reader::expect(std::string_view symbol_or_name) {
  if (accept(symbol_or_name)) return absl::OkStatus();
  return error(absl::StrCat("expected '", std::string(symbol_or_name), "'"));
}

absl::StatusOr<std::string> Reader::expect_name() {
  if (token_.kind != TokenKind::kName) return error("expected a name");
  return next().text;
}

absl::StatusOr<int64_t> Reader::expect_int() {
  std::string digits = accept("-") ? "-" : "";
  digits += token_.text;
  int64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (token_.kind != TokenKind::kInt || parsed.ec != std::errc() ||
      parsed.ptr != digits.data() + digits.size())
    return error("expected an integer of at most 64 bits");
  next();
  return value;
}

absl::Status Reader::error(std::string_view message) const {
  std::string found =
      token_.kind == TokenKind::kEnd ? "the end of the text" : absl::StrCat("'", token_.text, "'");
  return absl::InvalidArgumentError(absl::StrCat("line ", token_.line, ", column ", token_.column, ": ",
                                                 std::string(message), ", found ", found));
}

}  // namespace tf::tensor
