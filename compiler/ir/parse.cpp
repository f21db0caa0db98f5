#include "compiler/ir/parse.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/ir/print.h"
#include "compiler/tensor/text.h"

namespace tf::ir {
namespace {

using tensor::TokenKind;

constexpr int kMaxNesting = 128;      // of braces
constexpr int kMaxOpenScopes = 4000;  // lets and allocations that hold at once

class Parser {
 public:
  explicit Parser(std::string_view text) : reader_(text) {}

  absl::StatusOr<Function> function() {
    Function out;
    TF_RETURN_IF_ERROR(reader_.expect("function"));
    TF_ASSIGN_OR_RETURN(out.name, reader_.expect_name());
    if (reader_.accept("[")) {
      do {
        TF_ASSIGN_OR_RETURN(tensor::Dimension dim, dimension());
        out.dims.push_back(std::move(dim));
      } while (reader_.accept(","));
      TF_RETURN_IF_ERROR(reader_.expect("]"));
    }
    TF_RETURN_IF_ERROR(reader_.expect("("));
    while (!reader_.accept(")")) {
      if (!out.params.empty()) TF_RETURN_IF_ERROR(reader_.expect(","));
      TF_ASSIGN_OR_RETURN(Buffer buffer, declaration());
      scope_.buffers[buffer->name] = buffer;
      if (reader_.accept("in_place")) out.in_place.push_back(static_cast<int>(out.params.size()));
      out.params.push_back(std::move(buffer));
    }
    TF_ASSIGN_OR_RETURN(out.body, block());
    if (reader_.peek().kind != TokenKind::kEnd) return reader_.error("expected the end of the text");
    return out;
  }

 private:
  // A let or an allocation whose body is the rest of its block.
  struct Opener {
    size_t position;  // statements of the block before it
    Var var;          // null: an allocation
    Expr value;
    Buffer buffer;
  };

  // Names defined in a block are forgotten at its end; what they hid comes back.
  struct Undo {
    bool is_buffer;
    std::string name;
    Expr var;
    Buffer buffer;
  };

  void define(const std::string& name, const Expr& var) {
    undo_.push_back({false, name, scope_.vars.contains(name) ? scope_.vars[name] : nullptr, nullptr});
    scope_.vars[name] = var;
  }

  void define(const Buffer& buffer) {
    const std::string& name = buffer->name;
    undo_.push_back({true, name, nullptr, scope_.buffers.contains(name) ? scope_.buffers[name] : nullptr});
    scope_.buffers[name] = buffer;
  }

  void restore(size_t mark) {
    for (; undo_.size() > mark; undo_.pop_back()) {
      const Undo& undo = undo_.back();
      if (undo.is_buffer && undo.buffer)
        scope_.buffers[undo.name] = undo.buffer;
      else if (undo.is_buffer)
        scope_.buffers.erase(undo.name);
      else if (undo.var)
        scope_.vars[undo.name] = undo.var;
      else
        scope_.vars.erase(undo.name);
    }
  }

  // "n in 1..64"; without a range, any that is not negative.
  absl::StatusOr<tensor::Dimension> dimension() {
    TF_ASSIGN_OR_RETURN(const std::string name, reader_.expect_name());
    tensor::Dimension dim{tensor::var(name), 0, std::numeric_limits<int64_t>::max()};
    if (reader_.accept("in")) {
      TF_ASSIGN_OR_RETURN(dim.low, reader_.expect_int());
      TF_RETURN_IF_ERROR(reader_.expect(".."));
      TF_ASSIGN_OR_RETURN(dim.high, reader_.expect_int());
    }
    scope_.vars[name] = dim.var;
    return dim;
  }

  absl::StatusOr<Buffer> declaration() {
    TF_ASSIGN_OR_RETURN(const std::string name, reader_.expect_name());
    TF_RETURN_IF_ERROR(reader_.expect(":"));
    TF_ASSIGN_OR_RETURN(const std::string type, reader_.expect_name());
    absl::StatusOr<Element> element = tensor::element_from_name(type);
    if (!element.ok()) return reader_.error(std::string(element.status().message()));
    TF_ASSIGN_OR_RETURN(std::vector<Expr> extents, indices());
    Scope scope = Scope::kGlobal;
    for (Scope candidate : {Scope::kShared, Scope::kRegister, Scope::kFragment})
      if (reader_.accept(scope_name(candidate))) scope = candidate;
    Layout layout;
    if (reader_.accept("layout")) {
      if (reader_.peek().kind != TokenKind::kString) return reader_.error("expected a layout in quotes");
      absl::StatusOr<Layout> parsed = Layout::parse(reader_.peek().text, static_cast<int>(extents.size()));
      if (!parsed.ok()) return reader_.error(std::string(parsed.status().message()));
      layout = *std::move(parsed);
      reader_.next();
    }
    return tensor::buffer(name, *element, std::move(extents), scope, std::move(layout));
  }

  absl::StatusOr<std::vector<Expr>> indices() {
    TF_RETURN_IF_ERROR(reader_.expect("["));
    std::vector<Expr> out;
    while (!reader_.accept("]")) {
      if (!out.empty()) TF_RETURN_IF_ERROR(reader_.expect(","));
      TF_ASSIGN_OR_RETURN(Expr index, reader_.expr(scope_));
      if (index->type().element != Element::kInt64) return reader_.error("an index or extent is an i64");
      out.push_back(std::move(index));
    }
    return out;
  }

  absl::StatusOr<Stmt> block() {
    if (++nesting_ > kMaxNesting) return reader_.error("the statements nest too deeply");
    TF_RETURN_IF_ERROR(reader_.expect("{"));
    const size_t mark = undo_.size();
    std::vector<Stmt> stmts;
    std::vector<Opener> openers;
    while (!reader_.accept("}")) {
      if (reader_.accept("let")) {
        TF_RETURN_IF_ERROR(let(stmts.size(), &openers));
      } else if (reader_.accept("allocate")) {
        TF_ASSIGN_OR_RETURN(Buffer buffer, declaration());
        define(buffer);
        openers.push_back({stmts.size(), nullptr, nullptr, buffer});
      } else {
        TF_ASSIGN_OR_RETURN(Stmt stmt, statement());
        stmts.push_back(std::move(stmt));
      }
      if (undo_.size() > kMaxOpenScopes) return reader_.error("too many names are defined at once");
    }
    restore(mark);
    --nesting_;
    for (; !openers.empty(); openers.pop_back()) {
      const Opener& opener = openers.back();
      const auto first = stmts.begin() + static_cast<std::ptrdiff_t>(opener.position);
      Stmt body = seq(std::vector<Stmt>(first, stmts.end()));
      stmts.erase(first, stmts.end());
      stmts.push_back(opener.var ? make_stmt<Let>(opener.var, opener.value, body)
                                 : make_stmt<Allocate>(opener.buffer, body));
    }
    return seq(std::move(stmts));
  }

  absl::Status let(size_t position, std::vector<Opener>* openers) {
    TF_ASSIGN_OR_RETURN(const std::string name, reader_.expect_name());
    TF_RETURN_IF_ERROR(reader_.expect("="));
    TF_ASSIGN_OR_RETURN(Expr value, reader_.expr(scope_));
    const Var var = tensor::var(name, value->type());
    define(name, var);
    openers->push_back({position, var, value, nullptr});
    return absl::OkStatus();
  }

  absl::StatusOr<Stmt> statement() {
    if (reader_.peek().kind == TokenKind::kSymbol && reader_.peek().text == "{") return block();
    if (reader_.accept("for")) return loop();
    if (reader_.accept("if")) return branch();
    if (reader_.accept("barrier")) return make_stmt<Barrier>();
    if (reader_.accept("async_copy")) return async_copy();
    if (reader_.accept("async_wait")) {
      TF_ASSIGN_OR_RETURN(const int64_t groups, reader_.expect_int());
      if (groups < 0 || groups > 64) return reader_.error("async_wait takes a number of groups from 0 to 64");
      return make_stmt<AsyncWait>(static_cast<int>(groups));
    }
    if (reader_.accept("matrix")) return matrix_op();
    if (reader_.accept("fold")) return lane_fold();
    return store_statement();
  }

  absl::StatusOr<Stmt> loop() {
    TF_ASSIGN_OR_RETURN(const std::string name, reader_.expect_name());
    TF_RETURN_IF_ERROR(reader_.expect("="));
    TF_ASSIGN_OR_RETURN(const Expr low, index());
    TF_RETURN_IF_ERROR(reader_.expect("extent"));
    TF_ASSIGN_OR_RETURN(const Expr extent, index());
    ForKind kind = ForKind::kSerial;
    for (int k = 0; k <= static_cast<int>(ForKind::kThreadZ); ++k)
      if (reader_.accept(kind_name(static_cast<ForKind>(k)))) kind = static_cast<ForKind>(k);
    const size_t mark = undo_.size();
    const Var var = tensor::var(name);
    define(name, var);
    TF_ASSIGN_OR_RETURN(const Stmt body, block());
    restore(mark);
    return make_for(var, low, extent, kind, body);
  }

  absl::StatusOr<Expr> index() {
    TF_ASSIGN_OR_RETURN(Expr value, reader_.expr(scope_));
    if (value->type() != tensor::kIndex) return reader_.error("a loop's bounds are scalar i64");
    return value;
  }

  absl::StatusOr<Stmt> branch() {
    TF_ASSIGN_OR_RETURN(const Expr condition, reader_.expr(scope_));
    if (condition->type() != Type{Element::kBool, 1}) return reader_.error("a condition is a scalar bool");
    TF_ASSIGN_OR_RETURN(const Stmt then_body, block());
    Stmt else_body;
    if (reader_.accept("else")) {
      TF_ASSIGN_OR_RETURN(else_body, block());
    }
    return make_stmt<If>(condition, then_body, else_body);
  }

  absl::StatusOr<Buffer> known_buffer() {
    absl::Status unknown = reader_.error(absl::StrCat("expected a statement; '", reader_.peek().text,
                                                      "' is neither a keyword nor a buffer in scope"));
    if (reader_.peek().kind != TokenKind::kName) return unknown;
    auto found = scope_.buffers.find(reader_.peek().text);
    if (found == scope_.buffers.end()) return unknown;
    reader_.next();
    return found->second;
  }

  absl::Status check_rank(const Buffer& buffer, const std::vector<Expr>& at) {
    if (at.size() == 1 || at.size() == static_cast<size_t>(buffer->rank())) return absl::OkStatus();
    return reader_.error(absl::StrCat(buffer->name, " has rank ", buffer->rank(), ", not ", at.size()));
  }

  absl::StatusOr<Stmt> store_statement() {
    TF_ASSIGN_OR_RETURN(const Buffer buffer, known_buffer());
    TF_ASSIGN_OR_RETURN(std::vector<Expr> at, indices());
    TF_RETURN_IF_ERROR(check_rank(buffer, at));
    TF_RETURN_IF_ERROR(reader_.expect("="));
    TF_ASSIGN_OR_RETURN(Expr value, reader_.expr(scope_));
    if (value->type().element != buffer->element)
      return reader_.error(absl::StrCat("a value of another type is stored to ", buffer->name));
    TF_ASSIGN_OR_RETURN(Expr predicate, where());
    return make_stmt<Store>(buffer, std::move(at), value, predicate);
  }

  absl::StatusOr<Expr> where() {
    if (!reader_.accept("where")) return Expr();
    TF_ASSIGN_OR_RETURN(Expr predicate, reader_.expr(scope_));
    if (predicate->type().element != Element::kBool) return reader_.error("a predicate is a bool");
    return predicate;
  }

  absl::StatusOr<Stmt> async_copy() {
    TF_ASSIGN_OR_RETURN(const Buffer target, known_buffer());
    TF_ASSIGN_OR_RETURN(std::vector<Expr> target_at, indices());
    TF_RETURN_IF_ERROR(check_rank(target, target_at));
    TF_RETURN_IF_ERROR(reader_.expect("from"));
    TF_ASSIGN_OR_RETURN(const Buffer source, known_buffer());
    TF_ASSIGN_OR_RETURN(std::vector<Expr> source_at, indices());
    TF_RETURN_IF_ERROR(reader_.expect("elements"));
    TF_ASSIGN_OR_RETURN(const int64_t elements, reader_.expect_int());
    std::vector<BoxAxis> box;
    while (reader_.accept("box")) {
      BoxAxis& axis = box.emplace_back();
      TF_ASSIGN_OR_RETURN(axis.box, reader_.expect_int());
      TF_RETURN_IF_ERROR(reader_.expect("of"));
      TF_ASSIGN_OR_RETURN(axis.extent, reader_.expect_int());
      if (axis.box < 1 || axis.extent < 1) return reader_.error("a box and its tensor have elements");
    }
    if (box.empty()) TF_RETURN_IF_ERROR(check_rank(source, source_at));
    TF_ASSIGN_OR_RETURN(Expr predicate, where());
    return make_stmt<AsyncCopy>(target, std::move(target_at), source, std::move(source_at), elements,
                                predicate, std::move(box));
  }

  absl::StatusOr<Stmt> matrix_op() {
    TF_ASSIGN_OR_RETURN(const std::string action, reader_.expect_name());
    for (int a = 0; a <= static_cast<int>(MatrixAction::kWait); ++a) {
      const auto known = static_cast<MatrixAction>(a);
      if (action != action_name(known)) continue;
      TF_ASSIGN_OR_RETURN(const std::string name, reader_.expect_name());
      const tensor_units::TensorUnit* unit = tensor_units::find_tensor_unit(name);
      if (unit == nullptr) return reader_.error(absl::StrCat("'", name, "' is not a matrix instruction"));
      int64_t groups = 0;
      if (known == MatrixAction::kWait) {
        TF_ASSIGN_OR_RETURN(groups, reader_.expect_int());
        if (groups < 0 || groups > 7) return reader_.error("a wait is for a number of groups from 0 to 7");
      }
      std::vector<MatrixTile> tiles(tile_count(known));
      for (MatrixTile& tile : tiles) {
        TF_ASSIGN_OR_RETURN(tile.buffer, known_buffer());
        TF_ASSIGN_OR_RETURN(tile.indices, indices());
        TF_RETURN_IF_ERROR(check_rank(tile.buffer, tile.indices));
        TF_RETURN_IF_ERROR(steps("rows", tile.indices.size(), &tile.row_steps));
        TF_RETURN_IF_ERROR(steps("columns", tile.indices.size(), &tile.column_steps));
        if (!reader_.accept("blocks")) continue;
        TF_ASSIGN_OR_RETURN(tile.block_columns, reader_.expect_int());
        TF_RETURN_IF_ERROR(reader_.expect(","));
        TF_ASSIGN_OR_RETURN(tile.next_block, reader_.expect_int());
        if (tile.block_columns < 1) return reader_.error("a block has one column at least");
      }
      return make_stmt<MatrixOp>(unit, known, std::move(tiles), static_cast<int>(groups));
    }
    return reader_.error(
        absl::StrCat("'", action, "' is not zero, load_a, load_b, multiply, publish, fence or wait"));
  }

  absl::StatusOr<Stmt> lane_fold() {
    TF_ASSIGN_OR_RETURN(const std::string name, reader_.expect_name());
    for (const auto combiner : {tensor::Combiner::kSum, tensor::Combiner::kMax, tensor::Combiner::kMin}) {
      if (name != fold_name(combiner)) continue;
      TF_ASSIGN_OR_RETURN(const Buffer buffer, known_buffer());
      TF_ASSIGN_OR_RETURN(std::vector<Expr> at, indices());
      TF_RETURN_IF_ERROR(check_rank(buffer, at));
      TF_RETURN_IF_ERROR(reader_.expect("lanes"));
      TF_ASSIGN_OR_RETURN(const int64_t lanes, reader_.expect_int());
      if (lanes < 1 || lanes > kWarpLanes)
        return reader_.error(absl::StrCat("a warp has ", kWarpLanes, " lanes, not ", lanes));
      return make_stmt<LaneFold>(buffer, std::move(at), combiner, static_cast<int>(lanes));
    }
    return reader_.error(absl::StrCat("'", name, "' is not sum, max or min"));
  }

  absl::Status steps(const char* what, size_t count, std::vector<int64_t>* out) {
    TF_RETURN_IF_ERROR(reader_.expect(what));
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) TF_RETURN_IF_ERROR(reader_.expect(","));
      TF_ASSIGN_OR_RETURN(out->emplace_back(), reader_.expect_int());
    }
    return absl::OkStatus();
  }

  tensor::Reader reader_;
  tensor::Scoped scope_;
  std::vector<Undo> undo_;
  int nesting_ = 0;
};

}  // namespace

absl::StatusOr<Function> parse_function(std::string_view text) {
  return Parser(text).function();
}

}  // namespace tf::ir
