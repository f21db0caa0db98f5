#include "compiler/ir/print.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tf::ir {
namespace {

absl::string_view view(std::string_view text) {
  return {text.data(), text.size()};
}

class Printer {
 public:
  Printer(tensor::Names& names, int indent) : names_(names), indent_(indent) {}

  std::string take() { return std::move(out_); }

  void block(const Stmt& body) {
    absl::StrAppend(&out_, " {\n");
    ++indent_;
    stmt(body, true);
    --indent_;
    absl::StrAppend(&out_, margin(), "}");
  }

  // `last`: nothing follows in the block, so that a let or an allocation may run to its end.
  void stmt(const Stmt& stmt, bool last) {
    const bool braces = !last && (as<Let>(stmt) != nullptr || as<Allocate>(stmt) != nullptr);
    if (braces) {
      absl::StrAppend(&out_, margin(), "{\n");
      ++indent_;
    }
    last_ = last || braces;
    visit(stmt, *this);
    if (braces) {
      --indent_;
      absl::StrAppend(&out_, margin(), "}\n");
    }
  }

  void operator()(const For& s) {
    absl::StrAppend(&out_, margin(), "for ", names_.name(s.var.get()), " = ", text(s.min), " extent ",
                    text(s.extent));
    if (s.for_kind != ForKind::kSerial) absl::StrAppend(&out_, " ", view(kind_name(s.for_kind)));
    block(s.body);
    absl::StrAppend(&out_, "\n");
  }

  void operator()(const Seq& s) {
    const bool last = last_;
    for (size_t i = 0; i < s.stmts.size(); ++i) stmt(s.stmts[i], last && i + 1 == s.stmts.size());
  }

  void operator()(const Store& s) {
    absl::StrAppend(&out_, margin(), access(s.buffer, s.indices), " = ", text(s.value));
    if (s.predicate) absl::StrAppend(&out_, " where ", text(s.predicate));
    absl::StrAppend(&out_, "\n");
  }

  void operator()(const If& s) {
    absl::StrAppend(&out_, margin(), "if ", text(s.condition));
    block(s.then_body);
    if (s.else_body) {
      absl::StrAppend(&out_, " else");
      block(s.else_body);
    }
    absl::StrAppend(&out_, "\n");
  }

  void operator()(const Let& s) {
    // The value comes first: it does not see the name.
    const std::string value = text(s.value);
    absl::StrAppend(&out_, margin(), "let ", names_.name(s.var.get()), " = ", value, "\n");
    stmt(s.body, true);
  }

  void operator()(const Allocate& s) {
    absl::StrAppend(&out_, margin(), "allocate ", declaration(s.buffer), "\n");
    stmt(s.body, true);
  }

  void operator()(const Barrier&) { absl::StrAppend(&out_, margin(), "barrier\n"); }

  void operator()(const AsyncCopy& s) {
    absl::StrAppend(&out_, margin(), "async_copy ", access(s.target, s.target_indices), " from ",
                    access(s.source, s.source_indices), " elements ", s.elements);
    for (const BoxAxis& axis : s.box) absl::StrAppend(&out_, " box ", axis.box, " of ", axis.extent);
    if (s.predicate) absl::StrAppend(&out_, " where ", text(s.predicate));
    absl::StrAppend(&out_, "\n");
  }

  void operator()(const AsyncWait& s) {
    absl::StrAppend(&out_, margin(), "async_wait ", s.groups_in_flight, "\n");
  }

  void operator()(const MatrixOp& s) {
    absl::StrAppend(&out_, margin(), "matrix ", view(action_name(s.action)), " ", view(s.unit->name));
    if (s.action == MatrixAction::kWait) absl::StrAppend(&out_, " ", s.groups_in_flight);
    for (const MatrixTile& tile : s.tiles) {
      absl::StrAppend(&out_, " ", access(tile.buffer, tile.indices), " rows ",
                      absl::StrJoin(tile.row_steps, ", "), " columns ",
                      absl::StrJoin(tile.column_steps, ", "));
      if (tile.block_columns > 0)
        absl::StrAppend(&out_, " blocks ", tile.block_columns, ", ", tile.next_block);
    }
    absl::StrAppend(&out_, "\n");
  }

  void operator()(const LaneFold& s) {
    absl::StrAppend(&out_, margin(), "fold ", view(fold_name(s.combiner)), " ", access(s.buffer, s.indices),
                    " lanes ", s.lanes, "\n");
  }

  std::string declaration(const Buffer& buffer) {
    std::string out =
        absl::StrCat(names_.name(buffer.get()), ": ", view(tensor::element_name(buffer->element)), "[",
                     list(buffer->extents), "]");
    if (buffer->scope != Scope::kGlobal) absl::StrAppend(&out, " ", view(scope_name(buffer->scope)));
    if (const std::string layout = buffer->layout.text(); !layout.empty())
      absl::StrAppend(&out, " layout \"", layout, "\"");
    return out;
  }

 private:
  std::string margin() const { return std::string(2 * static_cast<size_t>(indent_), ' '); }
  std::string text(const Expr& expr) { return tensor::print(expr, names_); }

  std::string list(const std::vector<Expr>& exprs) {
    std::string out;
    for (const Expr& expr : exprs) absl::StrAppend(&out, out.empty() ? "" : ", ", text(expr));
    return out;
  }

  std::string access(const Buffer& buffer, const std::vector<Expr>& indices) {
    return absl::StrCat(names_.name(buffer.get()), "[", list(indices), "]");
  }

  tensor::Names& names_;
  int indent_;
  bool last_ = true;
  std::string out_;
};

}  // namespace

std::string_view kind_name(ForKind kind) {
  static constexpr std::array<std::string_view, 11> kNames = {"serial",   "parallel", "vectorized", "folded",
                                                              "unrolled", "grid_x",   "grid_y",     "grid_z",
                                                              "thread_x", "thread_y", "thread_z"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view scope_name(Scope scope) {
  static constexpr std::array<std::string_view, 4> kNames = {"global", "shared", "register", "fragment"};
  return kNames[static_cast<size_t>(scope)];
}

std::string_view action_name(MatrixAction action) {
  static constexpr std::array<std::string_view, 7> kNames = {"zero",    "load_a", "load_b", "multiply",
                                                             "publish", "fence",  "wait"};
  return kNames[static_cast<size_t>(action)];
}

std::string print(const Stmt& stmt, tensor::Names& names, int indent) {
  Printer printer(names, indent);
  printer.stmt(stmt, true);
  return printer.take();
}

std::string to_string(const Stmt& stmt) {
  tensor::Names names;
  return stmt ? print(stmt, names) : "";
}

std::string to_string(const Function& function) {
  tensor::Names names;
  std::string out = absl::StrCat("function ", function.name);
  if (!function.dims.empty()) {
    absl::StrAppend(&out, "[");
    for (size_t i = 0; i < function.dims.size(); ++i) {
      const tensor::Dimension& dim = function.dims[i];
      absl::StrAppend(&out, i == 0 ? "" : ", ", names.name(dim.var.get()));
      if (dim.low != 0 || dim.high != std::numeric_limits<int64_t>::max())
        absl::StrAppend(&out, " in ", dim.low, "..", dim.high);
    }
    absl::StrAppend(&out, "]");
  }
  Printer printer(names, 0);
  absl::StrAppend(&out, "(");
  for (size_t i = 0; i < function.params.size(); ++i) {
    const bool in_place = std::ranges::count(function.in_place, static_cast<int>(i)) > 0;
    absl::StrAppend(&out, i == 0 ? "" : ", ", printer.declaration(function.params[i]),
                    in_place ? " in_place" : "");
  }
  absl::StrAppend(&out, ")");
  printer.block(function.body);
  return absl::StrCat(out, printer.take(), "\n");
}

namespace {

// Debuggers show the text until they ask for the next one.
const char* keep(std::string text) {
  static thread_local std::string kept;
  kept = std::move(text);
  return kept.c_str();
}

}  // namespace
}  // namespace tf::ir

// What deploy/gdb/tunefarm.py calls in the stopped program, with a node's address.
extern "C" {
[[gnu::used]] const char* tf_debug_expr(const tf::tensor::ExprNode* node) {
  return tf::ir::keep(tf::tensor::to_string(tf::tensor::Expr(node)));
}
[[gnu::used]] const char* tf_debug_stmt(const tf::ir::StmtNode* node) {
  return tf::ir::keep(tf::ir::to_string(tf::ir::Stmt(node)));
}
[[gnu::used]] const char* tf_debug_buffer(const tf::tensor::BufferNode* node) {
  tf::tensor::Names names;
  return tf::ir::keep(tf::ir::Printer(names, 0).declaration(tf::tensor::Buffer(node)));
}
[[gnu::used]] const char* tf_debug_function(const tf::ir::Function* function) {
  return tf::ir::keep(tf::ir::to_string(*function));
}
}
