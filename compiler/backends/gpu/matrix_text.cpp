#include "compiler/backends/gpu/matrix_text.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "compiler/analysis/simplify.h"

namespace tf::backends {
namespace {

using ir::MatrixAction;
using tensor::Element;
using tensor_units::Digit;
using tensor_units::LaneMap;
using tensor_units::TensorUnit;

constexpr int64_t kLineBytes = 16;

// "%0, %1, %2", `count` of them from `first` on.
std::string operands(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) absl::StrAppend(&text, i == 0 ? "" : ", ", "%", first + i);
  return text;
}

// "r"(a[0]), "r"(a[1])
std::string bindings(const char* constraint, const char* array, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", "\"", constraint, "\"(", array, "[", i, "])");
  return text;
}

const char* sum_constraint(Element element) {
  return element == Element::kFloat64 ? "+d" : element == Element::kFloat32 ? "+f" : "+r";
}
const char* factor_constraint(Element element) {
  return element == Element::kFloat64 ? "d" : "r";
}

int registers_of(const LaneMap& map, Element element) {
  return map.elements() / tensor_units::elements_in_register(element);
}

std::string multiply_name(const TensorUnit& unit) {
  return absl::StrCat("tf_", std::string(unit.name));
}
std::string load_name(int registers, bool transposed) {
  return absl::StrCat("tf_ldmatrix_x", registers, transposed ? "_trans" : "");
}

std::string multiply_function(const TensorUnit& unit, const GpuDialect& dialect) {
  const int a = registers_of(unit.a, unit.a_element), b = registers_of(unit.b, unit.b_element),
            c = unit.c.elements();
  const std::string sums = operands(0, c);
  return absl::StrCat(dialect.function, " void ", multiply_name(unit), "(",
                      value_type(dialect, unit.c_element), "* c, const ", register_type(unit.a_element),
                      "* a, const ", register_type(unit.b_element), "* b) {\n  asm volatile(\"",
                      std::string(unit.ptx), " {", sums, "}, {", operands(c, a), "}, {", operands(c + a, b),
                      "}, {", sums, "};\" : ", bindings(sum_constraint(unit.c_element), "c", c), " : ",
                      bindings(factor_constraint(unit.a_element), "a", a), ", ",
                      bindings(factor_constraint(unit.b_element), "b", b), ");\n}\n");
}

std::string load_function(int registers, bool transposed, const GpuDialect& dialect) {
  return absl::StrCat(dialect.function, " void ", load_name(registers, transposed),
                      "(unsigned* r, const void* line) {\n  asm volatile(\"ldmatrix.sync.aligned.m8n8.x",
                      registers, transposed ? ".trans" : "", ".shared.b16 {", operands(0, registers), "}, [%",
                      registers, "];\" : ", bindings("=r", "r", registers),
                      " : \"r\"((unsigned)__cvta_generic_to_shared(line)) : \"memory\");\n}\n");
}

// By how much a tile's element (row, column) lies behind its first.
struct Steps {
  int64_t row, column;
  int64_t at(int r, int c) const { return r * row + c * column; }
};

// How `ldmatrix` reads the tile, if it can.
struct Lines {
  bool transposed = false;
  int64_t next_line = 0;        // elements from one line of a piece to the next
  std::vector<int64_t> pieces;  // where the first line of each register's piece is
};

std::optional<Lines> lines_of(const ir::MatrixTile& memory, const LaneMap& map, const Steps& steps,
                              const analysis::RangeMap& ranges) {
  const Element element = memory.buffer->element;
  const int bytes = tensor::element_bytes(element);
  if (memory.buffer->scope != ir::Scope::kShared || bytes > 4) return std::nullopt;
  const bool columns = tensor_units::lines_are_columns(map);
  const int64_t along = columns ? steps.row : steps.column, across = columns ? steps.column : steps.row;
  const int64_t whole = kLineBytes / bytes;
  Lines lines;
  if (along == 1 && across % whole == 0)
    lines.next_line = across;
  else if (across == 1 && along % whole == 0 && bytes == 2)
    lines = {.transposed = true, .next_line = along};
  else
    return std::nullopt;
  if (tensor::as_int(analysis::simplify(tensor::floor_mod(memory.indices[0], whole), ranges)) != 0)
    return std::nullopt;
  for (int r = 0; r < registers_of(map, element); ++r) {
    const tensor_units::Piece piece = tensor_units::piece_of(map, element, r);
    lines.pieces.push_back(steps.at(piece.row, piece.column));
    if (lines.pieces.back() % whole != 0) return std::nullopt;
  }
  const size_t count = lines.pieces.size();
  if (count != 1 && count != 2 && count != 4) return std::nullopt;
  if (count == 4 && lines.pieces[3] != lines.pieces[1] + lines.pieces[2]) return std::nullopt;
  return lines;
}

// Of `lane`: what its digits add to the place of its elements.
std::string lane_offset(const LaneMap& map, const Steps& steps) {
  std::string text = "0";
  for (const auto& [digits, step] : {std::pair(&map.row, steps.row), std::pair(&map.column, steps.column)})
    for (const Digit& d : *digits)
      if (d.source == Digit::kLane)
        absl::StrAppend(&text, " + lane / ", d.divisor, " % ", d.count, " * ", d.step * step);
  return text;
}

// The elements of one register, side by side.
std::string packed(const std::vector<std::string>& elements, Element element, const GpuDialect& dialect) {
  if (element == Element::kFloat64) return elements[0];
  if (element == Element::kFloat32) return absl::StrCat(dialect.bits_of_float, "(", elements[0], ")");
  const int bits = 8 * tensor::element_bytes(element);
  std::string text;
  for (size_t i = 0; i < elements.size(); ++i)
    absl::StrAppend(&text, i == 0 ? "" : " | ", "(unsigned)(unsigned ", bits == 8 ? "char" : "short", ")",
                    elements[i], i == 0 ? "" : absl::StrCat(" << ", bits * static_cast<int>(i)));
  return text;
}

// By how much the next statement's tile lies behind this one's in memory, if its registers are the next ones.
std::optional<int64_t> distance_to(const ir::MatrixOp& op, const ir::MatrixOp* next,
                                   const analysis::RangeMap& ranges) {
  if (!next || next->action != op.action || next->unit != op.unit) return std::nullopt;
  for (size_t i = 0; i < 2; ++i)
    if (!next->tiles[i].buffer.same_as(op.tiles[i].buffer) ||
        next->tiles[i].row_steps != op.tiles[i].row_steps ||
        next->tiles[i].column_steps != op.tiles[i].column_steps)
      return std::nullopt;
  const auto difference = [&](size_t tile) {
    return tensor::as_int(
        analysis::simplify(next->tiles[tile].indices[0] - op.tiles[tile].indices[0], ranges));
  };
  return difference(0) == ir::lane_map(op, 0)->elements() ? difference(1) : std::nullopt;
}

MatrixText load_text(const ir::MatrixOp& op, const ir::MatrixOp* next, const std::vector<std::string>& names,
                     const std::vector<std::string>& indices, const analysis::RangeMap& ranges,
                     const GpuDialect& dialect, MatrixFunctions& functions) {
  const LaneMap& map = *ir::lane_map(op, 0);
  const ir::MatrixTile& memory = op.tiles[1];
  const Element element = memory.buffer->element;
  const int per_register = tensor_units::elements_in_register(element);
  const Steps steps{memory.row_steps[0], memory.column_steps[0]};
  const std::string first = per_register == 1 ? indices[0] : absl::StrCat(indices[0], " / ", per_register);
  std::vector<std::string> text = {absl::StrCat("{ const int lane = ", dialect.thread_index[0], " & 31;")};
  if (std::optional<Lines> lines = lines_of(memory, map, steps, ranges)) {
    const std::optional<int64_t> distance = distance_to(op, next, ranges);
    const bool takes_next = distance && *distance % (kLineBytes / tensor::element_bytes(element)) == 0 &&
                            lines->pieces.size() < 4;
    for (size_t i = 0, count = lines->pieces.size(); takes_next && i < count; ++i)
      lines->pieces.push_back(lines->pieces[i] + *distance);
    std::string place = absl::StrCat(indices[1], " + (lane & 7) * ", lines->next_line);
    for (size_t i = 1; i < lines->pieces.size(); i *= 2)
      absl::StrAppend(&place, " + (lane >> ", i == 1 ? 3 : 4, " & 1) * ", lines->pieces[i]);
    text.push_back(absl::StrCat("  ",
                                functions.load(static_cast<int>(lines->pieces.size()), lines->transposed),
                                "(", names[0], " + ", first, ", ", names[1], " + ", place, "); }"));
    return {text, takes_next};
  }
  text.push_back(absl::StrCat("  const int at = ", indices[1], " + ", lane_offset(map, steps), ";"));
  for (int r = 0; r < registers_of(map, element); ++r) {
    std::vector<std::string> elements;
    for (int e = r * per_register; e < (r + 1) * per_register; ++e)
      elements.push_back(
          absl::StrCat(names[1], "[at + ", steps.at(map.row_of(0, e), map.column_of(0, e)), "]"));
    text.push_back(
        absl::StrCat("  ", names[0], "[", first, " + ", r, "] = ", packed(elements, element, dialect), ";"));
  }
  text.back() += " }";
  return {text};
}

// Of a unit that reads shared memory; nothing if it cannot read its factors.
std::vector<std::string> group_text(const ir::MatrixOp& op, const std::vector<std::string>& names,
                                    const std::vector<std::string>& indices, MatrixFunctions& functions) {
  if (op.action == MatrixAction::kPublish) return {"tf_publish();"};
  if (op.action == MatrixAction::kFence || op.action == MatrixAction::kWait) {
    const ir::BufferNode& sums = *op.tiles[0].buffer;
    const int groups = op.action == MatrixAction::kFence ? -1 : op.groups_in_flight;
    return {absl::StrCat(functions.meet({sums.element, tensor::as_int(sums.extents[0]).value_or(0), groups}),
                         "(", names[0], ");")};
  }
  const auto a = descriptor_of(op, 1), b = descriptor_of(op, 2);
  if (!a || !b) return {};
  return {absl::StrCat(functions.multiply({op.unit, a->has_lines_of_terms, b->has_lines_of_terms}), "(",
                       names[0], " + ", indices[0], ", ", descriptor_text(op, 1, names[1], indices[1]), ", ",
                       descriptor_text(op, 2, names[2], indices[2]), ");")};
}

}  // namespace

std::string MatrixFunctions::multiply(const GroupMultiply& group) {
  groups_.insert(group);
  return group.name();
}

std::string MatrixFunctions::meet(const GroupMeeting& meeting) {
  meetings_.insert(meeting);
  return meeting.name();
}

std::string MatrixFunctions::multiply(const TensorUnit& unit) {
  units_.insert(&unit);
  return multiply_name(unit);
}

std::string MatrixFunctions::load(int registers, bool transposed) {
  loads_.insert({registers, transposed});
  return load_name(registers, transposed);
}

std::string MatrixFunctions::text(const GpuDialect& dialect) const {
  if (units_.empty() && loads_.empty() && groups_.empty() && meetings_.empty()) return "";
  std::string all = "#ifndef TF_HAS_MATRICES\n";
  for (const auto& [registers, transposed] : loads_)
    absl::StrAppend(&all, load_function(registers, transposed, dialect));
  for (const TensorUnit& unit : tensor_units::tensor_units())  // in the table's order
    if (units_.contains(&unit)) absl::StrAppend(&all, multiply_function(unit, dialect));
  if (!groups_.empty()) all += group_functions(dialect);
  for (const GroupMultiply& group : groups_) all += group.function(dialect);
  for (const GroupMeeting& meeting : meetings_) all += meeting.function(dialect);
  return absl::StrCat(all, "#endif\n");
}

std::set<const ir::BufferNode*> factor_buffers(const ir::Stmt& body) {
  struct Finder final : ir::Visitor {
    bool enter(const ir::Expr&) override { return false; }
    bool enter(const ir::Stmt& stmt) override {
      const auto* op = ir::as<ir::MatrixOp>(stmt);
      for (size_t i = 0; op && i < op->tiles.size(); ++i)
        if (const LaneMap* map = ir::lane_map(*op, i); map && map != &op->unit->c)
          found.insert(op->tiles[i].buffer.get());
      return true;
    }
    std::set<const ir::BufferNode*> found;
  } finder;
  finder(body);
  return finder.found;
}

const char* register_type(Element element) {
  return element == Element::kFloat64 ? "double" : "unsigned";
}

MatrixText matrix_text(const ir::MatrixOp& op, const ir::MatrixOp* next,
                       const std::vector<std::string>& names, const std::vector<std::string>& indices,
                       const analysis::RangeMap& ranges, const GpuDialect& dialect,
                       MatrixFunctions& functions) {
  if (op.action == MatrixAction::kLoadA || op.action == MatrixAction::kLoadB)
    return load_text(op, next, names, indices, ranges, dialect, functions);
  if (op.action == MatrixAction::kZero) {
    std::string text;
    for (int e = 0; e < op.unit->c.elements(); ++e)
      absl::StrAppend(&text, e == 0 ? "" : " ", names[0], "[", indices[0], " + ", e, "] = 0;");
    return {{text}};
  }
  if (op.unit->reads_shared) return {group_text(op, names, indices, functions)};
  const auto place = [&](size_t tile, Element element) {
    const int packs = tile == 0 ? 1 : tensor_units::elements_in_register(element);
    return absl::StrCat(names[tile], " + ", indices[tile], packs == 1 ? "" : absl::StrCat(" / ", packs));
  };
  return {{absl::StrCat(functions.multiply(*op.unit), "(", place(0, op.unit->c_element), ", ",
                        place(1, op.unit->a_element), ", ", place(2, op.unit->b_element), ");")}};
}

}  // namespace tf::backends
