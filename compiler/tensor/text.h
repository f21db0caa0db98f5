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

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/tensor/expr.h"

namespace tf::tensor {

// Gives each variable and buffer of one text a unique name: its own, with a suffix where names collide, and
// with
// '_' for characters that a name of the grammar cannot have.
class Names {
 public:
  std::string name(const VarNode* var);
  std::string name(const BufferNode* buffer);
  void set(const VarNode* var, std::string name);
  void set(const BufferNode* buffer, std::string name);

 private:
  std::string lookup(const void* node, const std::string& wish);
  void assign(const void* node, std::string name);
  std::string fresh(const std::string& wish);
  std::map<const void*, std::string> names_;
  std::map<std::string, int> used_;
};

std::string print(const Expr& expr, Names& names);
std::string to_string(const Expr& expr);

// The function's name in the grammar.
std::string_view intrinsic_name(Intrinsic function);

// A name is a letter or '_', then letters, digits, '_' and inner '.'; kInt and kFloat keep their type's
// suffix
// ("3i32"); kString is the text between the quotes with escapes resolved; symbols are as long as possible,
// out of
// || && == != <= >= -> // += .. and single characters. '#' starts a comment up to the end of the line.
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

// A recursive-descent reader over a text, which must outlive it. Errors are INVALID_ARGUMENT with line and
// column. Depth is limited, so that hostile text cannot exhaust the stack. Types are checked: what parses is
// well-formed. A load has as many indices as its buffer's rank, or one: the physical offset that flattened
// loop IR uses.
class Reader {
 public:
  explicit Reader(std::string_view text);
  const Token& peek() const { return token_; }
  Token next();
  bool accept(std::string_view symbol_or_name);
  absl::Status expect(std::string_view symbol_or_name);
  absl::StatusOr<std::string> expect_name();
  absl::StatusOr<int64_t> expect_int();  // optional '-', no suffix
  absl::StatusOr<Expr> expr(const Scoped& scope);
  // The status that says what is wrong at the next token.
  absl::Status error(std::string_view message) const;

 private:
  void skip_blanks();
  void advance(size_t count);
  void lex_number();
  void lex_string();
  char at(size_t offset) const {
    return position_ + offset < text_.size() ? text_[position_ + offset] : '\0';
  }

  std::string_view text_;
  size_t position_ = 0;
  int line_ = 1;
  int column_ = 1;
  Token token_;
};

}  // namespace tf::tensor
