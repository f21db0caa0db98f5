#pragma once
// Owns: the text form of expressions and the token stream that the workload's and the loop IR's parsers
// share.
//
// Grammar, C-like, lowest to highest precedence: `select(c, t, f)`, `||`, `&&`, `== != < <=`, `+ -`, `* / //
// %`
// (// and % are floor division and modulus of integers, / is for floats), unary `- !`, calls `min(a, b)
// max(a, b) abs(a) exp(a) … cast<f32>(a) ramp(base, stride, lanes) broadcast(v, lanes)`, loads `buf[i, j]`
// and `buf[i, j] if p` inside parentheses, literals `3` (index), `3i32`, `true`, `0.5f32`, `-inf f32` and
// `nan f32` (floats print so that they read back bit for bit), names.

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/tensor/expr.h"

namespace tf::tensor {

// Gives each variable and buffer of one text a unique name: its own, with a suffix where names collide.
class Names {
 public:
  std::string name(const VarNode* var);
  std::string name(const BufferNode* buffer);
  void set(const VarNode* var, std::string name);
  void set(const BufferNode* buffer, std::string name);

 private:
  std::string fresh(const std::string& base);
  std::map<const void*, std::string> names_;
  std::map<std::string, int> used_;
};

std::string print(const Expr& expr, Names& names);
std::string to_string(const Expr& expr);

enum class TokenKind { kEnd, kName, kInt, kFloat, kString, kSymbol };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int line = 1;
  int column = 1;
};

// What names mean while parsing; later entries of one name replace earlier ones.
struct Scoped {
  std::map<std::string, Expr> vars;
  std::map<std::string, Buffer> buffers;
};

// A recursive-descent reader over a text. Errors are INVALID_ARGUMENT with line and column. Depth is limited,
// so that hostile text cannot exhaust the stack.
class Reader {
 public:
  explicit Reader(std::string_view text);
  const Token& peek() const { return token_; }
  Token next();
  bool accept(std::string_view symbol_or_name);
  absl::Status expect(std::string_view symbol_or_name);
  absl::StatusOr<std::string> expect_name();
  absl::StatusOr<int64_t> expect_int();
  absl::StatusOr<Expr> expr(const Scoped& scope);
  absl::Status error(std::string_view message) const;

 private:
  std::string_view text_;
  size_t position_ = 0;
  int line_ = 1;
  int column_ = 1;
  int depth_ = 0;
  Token token_;
};

}  // namespace tf::tensor
