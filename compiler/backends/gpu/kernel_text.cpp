#include "compiler/backends/gpu/kernel_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/analysis/shared_memory.h"
#include "compiler/backends/gpu/bulk_text.h"
#include "compiler/backends/gpu/copy_pieces.h"
#include "compiler/backends/gpu/expr_text.h"
#include "compiler/backends/gpu/wide_loads.h"
#include "compiler/tensor/text.h"

namespace tf::backends {
namespace {

using ir::ForKind;
using ir::Stmt;

bool is_launch(ForKind kind) {
  return kind >= ForKind::kGridX;
}
bool is_thread(ForKind kind) {
  return kind >= ForKind::kThreadX;
}

// Buffers that something is stored to.
class Stored final : public ir::Visitor {
 public:
  std::set<const ir::BufferNode*> buffers;

 protected:
  bool enter(const Stmt& stmt) override {
    if (const auto* store = ir::as<ir::Store>(stmt)) buffers.insert(store->buffer.get());
    return true;
  }
};

class KernelEmitter {
 public:
  KernelEmitter(Unit& unit, const std::string& name)
      : unit_(unit),
        dialect_(unit.dialect),
        name_(name),
        ranges_(analysis::ranges_of(unit.function.dims)),
        context_{.dialect = unit.dialect,
                 .helpers = unit.helpers,
                 .names = names_,
                 .data = data_,
                 .ranges = ranges_,
                 .narrow_indices = unit.narrow_indices,
                 .loaded = {},
                 .status = {}} {}

  absl::StatusOr<KernelText> run(const KernelPart& part) {
    const std::string parameters = parameter_list();
    margin_ = 1;
    begin_dims();
    for (const ir::Let* let : part.lets) {
      begin_let(*let);
      lets_[let->var.get()] = tensor::substitute(let->value, lets_);
    }
    factors_ = factor_buffers(part.body);
    shared_ = analysis::plan_shared_memory(part.body);
    bulk_ = BulkText(part.body, shared_.bytes);
    shared_.bytes += bulk_.shared_bytes();
    stmt(part.body);
    for (size_t i = 0; i < part.lets.size(); ++i) end();
    TF_RETURN_IF_ERROR(context_.status);
    Launch launch{.entry = name_};
    std::array<int64_t, 3> block = {1, 1, 1};
    TF_RETURN_IF_ERROR(set_launch(launch, block));
    launch.tensor_maps = bulk_.tensor_maps();
    std::string text =
        absl::StrCat(dialect_.kernel_head(block), name_, "(", parameters, bulk_.parameters(), ") {\n");
    if (shared_.bytes > 0)
      absl::StrAppend(&text, "  ", dialect_.shared_array(shared_.bytes, shared_.alignment), "\n");
    absl::StrAppend(&text, bulk_.beginning(), body_, "}\n");
    return KernelText{std::move(text), std::move(launch)};
  }

 private:
  // Made first, so that parameters get the plainest names.
  std::string parameter_list() {
    const ir::Function& function = unit_.function;
    Stored stored;
    stored(function.body);
    std::string list;
    const auto add = [&](const std::string& parameter) {
      absl::StrAppend(&list, list.empty() ? "" : ", ", parameter);
    };
    for (size_t i = 0; i < function.params.size(); ++i) {
      const ir::Buffer& param = function.params[i];
      const bool overlaps =
          !function.in_place.empty() &&
          (i + 1 == function.params.size() || std::ranges::count(function.in_place, static_cast<int>(i)) > 0);
      add(absl::StrCat(
          dialect_.global, stored.buffers.contains(param.get()) ? "" : "const ", in_memory(*param),
          overlaps ? "* " : absl::StrCat(std::string(dialect_.restrict_pointer), " "), name_of(*param)));
    }
    if (unit_.parts.workspace_bytes > 0) add(absl::StrCat(dialect_.global, "unsigned char* workspace"));
    for (const tensor::Dimension& dim : function.dims)
      add(absl::StrCat(dialect_.long_type, " ", "dim_", names_.of(dim.var.get(), dim.var->name)));
    return list;
  }

  void begin_dims() {
    for (const tensor::Dimension& dim : unit_.function.dims) {
      const std::string name = names_.of(dim.var.get(), dim.var->name);
      line(absl::StrCat("const ", index_type(context_), " ", name, " = (", index_type(context_), ")dim_",
                        name, ";"));
    }
    for (const auto& [buffer, offset] : unit_.parts.scratch_offsets) {
      const std::string pointer = absl::StrCat(dialect_.global, in_memory(*buffer), "*");
      line(absl::StrCat(pointer, " const ", name_of(*buffer), " = (", pointer, ")(workspace + ", offset,
                        ");"));
    }
  }

  void stmt(const Stmt& s) {
    if (!context_.status.ok()) return;
    ir::visit(s, [&](const auto& node) { emit(node); });
  }

  void emit(const ir::For& s) {
    if (is_launch(s.for_kind)) return launch_loop(s);
    if (s.for_kind == ForKind::kParallel)
      return fail("a parallel loop is for CPUs: bind it to a grid or to threads");
    const std::string var = names_.of(s.var.get(), s.var->name);
    const std::string first = expr(s.min), end = expr(s.min + s.extent);
    enter(s);
    const char* type = data_.contains(s.var.get()) ? dialect_.long_type : index_type(context_);
    line(absl::StrCat("for (", type, " ", var, " = ", first, "; ", var, " < ", end, "; ++", var, ") {"));
    ++serial_;
    block(s.body);
    --serial_;
  }

  void enter(const ir::For& s) {
    ranges_[s.var.get()] = analysis::iterations(s, ranges_, data_);
    data_.enter(s);
  }

  // The loop's variable is the block's or the thread's own.
  void launch_loop(const ir::For& s) {
    if (extents_.contains(s.for_kind))
      return fail(
          "a kernel can have only one nest of grid or thread loops: place the other stages inside it");
    const bool thread = is_thread(s.for_kind);
    if (!thread && serial_ > 0)
      return fail("a loop is around a grid loop: blocks have no order that it could keep");
    extents_[s.for_kind] = s.extent;
    const auto axis =
        static_cast<size_t>(s.for_kind) - static_cast<size_t>(thread ? ForKind::kThreadX : ForKind::kGridX);
    entered_.insert(s.for_kind);
    line(absl::StrCat("{ const ", index_type(context_), " ", names_.of(s.var.get(), s.var->name), " = ",
                      expr(s.min), " + (", index_type(context_), ")",
                      thread ? dialect_.thread_index[axis] : dialect_.block_index[axis], ";"));
    enter(s);
    block(s.body);
    entered_.erase(s.for_kind);
  }

  void emit(const ir::Seq& s) {
    for (size_t i = 0; i < s.stmts.size() && context_.status.ok(); ++i) {
      const auto* op = ir::as<ir::MatrixOp>(s.stmts[i]);
      const Stmt next = i + 1 < s.stmts.size() ? s.stmts[i + 1] : nullptr;
      if (op == nullptr)
        stmt(s.stmts[i]);
      else if (matrix(*op, ir::as<ir::MatrixOp>(next)))
        ++i;
    }
  }

  void emit(const ir::Store& s) {
    if (s.buffer->scope != ir::Scope::kRegister) shared_stores_.push_back(entered_);
    const int lanes = std::max(s.value->type().lanes, s.indices[0]->type().lanes);
    if (lanes == 1) return line(guarded(s, 0, assignment(s, 0, value(s, 0))));
    store_lanes(s, lanes);
  }

  // All lanes are computed before any is stored.
  void store_lanes(const ir::Store& s, int lanes) {
    line("{");
    ++margin_;
    load_neighbours(s.value);
    const ir::Expr first = s.predicate ? nullptr : wide(*s.buffer, s.indices[0], lanes);
    if (first) {
      const std::string type = unit_.vectors.name(s.buffer->element, lanes);
      line(absl::StrCat(type, " lanes;"));
      for (int lane = 0; lane < lanes; ++lane)
        line(absl::StrCat("lanes.lanes[", lane, "] = ", value(s, lane), ";"));
      line(absl::StrCat("*(", space(*s.buffer), type, "*)(", name_of(*s.buffer), " + ",
                        place(*s.buffer, first), ") = lanes;"));
    } else {
      for (int lane = 0; lane < lanes; ++lane)
        line(absl::StrCat(
            "const ",
            s.buffer->scope == ir::Scope::kRegister ? in_registers(*s.buffer) : in_memory(*s.buffer),
            " lane_", lane, " = ", value(s, lane), ";"));
      for (int lane = 0; lane < lanes; ++lane)
        line(guarded(s, lane, assignment(s, lane, absl::StrCat("lane_", lane))));
    }
    context_.loaded.clear();
    --margin_;
    line("}");
  }

  // Neighbouring elements that the expression loads, at once.
  void load_neighbours(const ir::Expr& value) {
    for (const auto& [expr_of_load, condition] : wide_loads(value)) {
      const auto& load = *ir::as<ir::Load>(expr_of_load);
      const int lanes = load.type().lanes;
      if (condition && load.buffer->scope == ir::Scope::kShared && dialect_.avoids_branches) continue;
      const ir::Expr first = wide(*load.buffer, load.indices[0], lanes);
      if (!first) continue;
      const std::string type = unit_.vectors.name(load.buffer->element, lanes);
      const std::string name = absl::StrCat("loaded_", context_.loaded.size());
      const std::string memory = absl::StrCat("*(", space(*load.buffer), "const ", type, "*)(",
                                              name_of(*load.buffer), " + ", place(*load.buffer, first), ")");
      line(condition ? absl::StrCat(type, " ", name, " = {{0}}; if (", expr(condition), ") ", name, " = ",
                                    memory, ";")
                     : absl::StrCat("const ", type, " ", name, " = ", memory, ";"));
      context_.loaded[&load] = name;
    }
  }

  ir::Expr wide(const ir::BufferNode& buffer, const ir::Expr& index, int lanes) const {
    return private_.contains(&buffer) ? nullptr : wide_access(buffer, index, lanes, ranges_);
  }

  std::string value(const ir::Store& s, int lane) {
    const std::string text = expr_text(s.value, lane, context_);
    return s.buffer->scope == ir::Scope::kRegister ? text : stored_text(s.buffer->element, text, context_);
  }
  std::string assignment(const ir::Store& s, int lane, const std::string& value) {
    return absl::StrCat(name_of(*s.buffer), "[",
                        place_text(*s.buffer, expr_text(s.indices[0], lane, context_), context_),
                        "] = ", value, ";");
  }
  std::string guarded(const ir::Store& s, int lane, const std::string& text) {
    return s.predicate ? absl::StrCat("if (", expr_text(s.predicate, lane, context_), ") ", text) : text;
  }

  void emit(const ir::If& s) {
    line(absl::StrCat("if (", expr(s.condition), ") {"));
    block(s.then_body);
    if (!s.else_body) return;
    line("else {");
    block(s.else_body);
  }

  void emit(const ir::Let& s) {
    begin_let(s);
    stmt(s.body);
    end();
  }

  void begin_let(const ir::Let& s) {
    const tensor::Type type = s.value->type();
    const bool is_index = type.element == tensor::Element::kInt64 && !data_.contains(s.value);
    const std::string c_type(is_index ? index_type(context_) : value_type(dialect_, type.element));
    line("{");
    ++margin_;
    load_neighbours(s.value);
    for (int lane = 0; lane < type.lanes; ++lane)
      line(absl::StrCat("const ", c_type, " ", names_.of(s.var.get(), s.var->name),
                        type.lanes > 1 ? absl::StrCat(lane) : "", " = ", expr_text(s.value, lane, context_),
                        ";"));
    context_.loaded.clear();
    if (is_index) ranges_[s.var.get()] = analysis::interval_of(s.value, ranges_, data_);
    data_.enter(s);
  }

  void emit(const ir::Allocate& s) {
    const ir::BufferNode& buffer = *s.buffer;
    const std::optional<int64_t> count = tensor::as_int(buffer.extents[0]);
    if (!count) return fail(absl::StrCat("buffer ", buffer.name, " has no constant size"));
    if (buffer.scope == ir::Scope::kShared) {
      const std::string pointer = absl::StrCat(dialect_.shared, in_memory(buffer), "*");
      line(absl::StrCat("{ ", pointer, " const ", name_of(buffer), " = (", pointer, ")(shared_memory + ",
                        shared_.offsets.at(&buffer), ");"));
    } else if (factors_.contains(&buffer)) {
      line(absl::StrCat("{ ", register_type(buffer.element), " ", name_of(buffer), "[",
                        *count / tensor_units::elements_in_register(buffer.element), "];"));
    } else if (buffer.scope == ir::Scope::kRegister) {
      line(absl::StrCat("{ ", in_registers(buffer), " ", name_of(buffer), "[", *count, "];"));
    } else if (buffer.scope == ir::Scope::kGlobal) {
      inside_threads_.push_back(
          entered_);  // thread loops further inside would share it: set_launch refuses that
      line(absl::StrCat("{ ", in_memory(buffer), " ", name_of(buffer), "[", *count, "];"));
      private_.insert(&buffer);
    } else {
      return fail(absl::StrCat(
          "buffer ", buffer.name,
          " is scratch memory of scope fragment; a kernel's is register or shared, by compute_at"));
    }
    block(s.body);
  }

  void emit(const ir::Barrier&) { line(std::string(dialect_.barrier)); }
  void emit(const ir::MatrixOp& s) { matrix(s, nullptr); }

  // Whether the next statement was printed, too.
  bool matrix(const ir::MatrixOp& s, const ir::MatrixOp* next) {
    const std::string name(s.unit->name), feature(s.unit->feature);
    if (!dialect_.has_matrix_instructions)
      fail(absl::StrCat(dialect_.name, " has no matrix instructions, but a `tensorize` step asks for ", name,
                        "; leave it out"));
    else if (!unit_.target.has(feature))
      fail(absl::StrCat(name, " needs ", feature, ", which ", unit_.target.cpu, " does not have"));
    std::vector<std::string> names, indices;
    for (const ir::MatrixTile& tile : s.tiles) {
      names.push_back(name_of(*tile.buffer));
      indices.push_back(expr(tile.indices[0]));
    }
    lanes_ = std::max(lanes_, s.unit->c.lanes);
    const MatrixText text = matrix_text(s, next, names, indices, ranges_, dialect_, unit_.matrices);
    if (text.lines.empty()) fail(absl::StrCat(name, " cannot read its factors as they lie in shared memory"));
    for (const std::string& each : text.lines) line(each);
    return text.takes_next;
  }

  // Each lane takes what the one half a group away has, then a quarter away, and so on.
  void emit(const ir::LaneFold& s) {
    if (!dialect_.has_shuffles)
      return fail(
          absl::StrCat(dialect_.name,
                       " has no shuffles, but a reduction runs over lanes of thread_x; add it up in shared "
                       "memory, by rfactor"));
    has_folds_ = true;
    const std::string own = absl::StrCat(name_of(*s.buffer), "[", expr(s.indices[0]), "]");
    const std::string type = in_registers(*s.buffer);
    const tensor::Var other = tensor::var("other", {s.buffer->element, 1});
    const ir::Expr both = tensor::combine(s.combiner, tensor::load(s.buffer, s.indices), other);
    for (int step = s.lanes / 2; step > 0; step /= 2) {
      line(absl::StrCat("{ const ", type, " ", names_.of(other.get(), other->name), " = (", type,
                        ")__shfl_xor_sync(0xffffffffu, ", own, ", ", step, ");"));
      line(absl::StrCat("  ", own, " = ", expr(both), "; }"));
    }
  }

  void emit(const ir::AsyncCopy& s) {
    if (!s.box.empty()) return copy_in_bulk(s);
    shared_stores_.push_back(entered_);
    const CopyPieces pieces = pieces_of(s, unit_.target, ranges_);
    const std::string holds = s.predicate ? expr(s.predicate) : "";
    for (int64_t first = 0; first < s.elements; first += pieces.elements) {
      const std::string to =
          absl::StrCat(name_of(*s.target), " + ", place(*s.target, s.target_indices[0] + first));
      const std::string from = absl::StrCat(name_of(*s.source), " + ", expr(s.source_indices[0] + first));
      if (pieces.asynchronous && dialect_.async_copies != nullptr) {
        unit_.helpers.use_async_copies();
        line(absl::StrCat("tf_copy_async_", pieces.elements * tensor::element_bytes(s.target->element), "(",
                          to, ", ", from, ", ", s.predicate ? holds : "1", ");"));
        continue;
      }
      // At once.
      const bool vector = pieces.elements > 1;
      const std::string type =
          vector ? unit_.vectors.name(s.target->element, pieces.elements) : in_memory(*s.target);
      const std::string source = absl::StrCat("*(", space(*s.source), "const ", type, "*)(", from, ")");
      const std::string target = absl::StrCat("*(", space(*s.target), type, "*)(", to, ") = ");
      if (!s.predicate) {
        line(absl::StrCat(target, source, ";"));
        continue;
      }
      line(absl::StrCat("{ ", type, " copied = ", vector ? "{{0}}" : "0", "; if (", holds,
                        ") copied = ", source, "; ", target, "copied; }"));
    }
  }

  void copy_in_bulk(const ir::AsyncCopy& s) {
    shared_stores_.push_back(entered_);
    if (const std::string why = BulkText::refusal(dialect_, unit_.target); !why.empty()) return fail(why);
    unit_.helpers.use_bulk_copies();
    std::vector<std::string> at;
    for (const ir::Expr& index : s.source_indices) at.push_back(expr(index));
    const std::string to = absl::StrCat(name_of(*s.target), " + ", expr(s.target_indices[0]));
    line(bulk_.copy(s, to, at, unit_.function.params));
  }

  void emit(const ir::AsyncWait& s) {
    if (bulk_.has_boxes()) line(bulk_.wait(s.groups_in_flight));
    if (bulk_.has_boxes() && !bulk_.has_pieces()) return;
    if (!unit_.target.has("cp_async") || dialect_.async_copies == nullptr) return;
    unit_.helpers.use_async_copies();
    line("tf_end_copies();");
    line(absl::StrCat("tf_wait_copies(", s.groups_in_flight, ");"));
  }

  absl::Status set_launch(Launch& launch, std::array<int64_t, 3>& block) {
    for (const std::set<ForKind>& entered : shared_stores_)
      if (entered.size() < extents_.size())
        return absl::FailedPreconditionError(
            "a store is outside the grid and thread loops, where every block and thread would repeat it");
    for (const std::set<ForKind>& entered : inside_threads_)
      if (entered.size() < extents_.size())
        return absl::FailedPreconditionError(
            "scratch memory of scope global is outside the thread loops; that of a block is shared, by "
            "compute_at");
    launch.grid = {"1", "1", "1"};
    int64_t threads = 1;
    for (const auto& [kind, extent] : extents_) {
      if (!is_thread(kind)) {
        const auto axis = static_cast<size_t>(kind) - static_cast<size_t>(ForKind::kGridX);
        const int most = unit_.target.gpu.grid_yz_blocks;
        // Of the greatest sizes, where it varies.
        if (const int64_t blocks = analysis::interval_of(extent, ranges_).max;
            axis > 0 && most > 0 && blocks > most)
          return absl::FailedPreconditionError(
              absl::StrCat("a grid of ", blocks, " blocks along ", axis == 1 ? "y" : "z", "; ",
                           unit_.target.text(), " has at most ", most, ": bind that loop to grid_x"));
        launch.grid[axis] = tensor::to_string(tensor::substitute(extent, lets_));
        continue;
      }
      const std::optional<int64_t> count = tensor::as_int(extent);
      if (!count) return absl::FailedPreconditionError("a thread loop has no constant extent");
      block[static_cast<size_t>(kind) - static_cast<size_t>(ForKind::kThreadX)] = *count;
      threads *= *count;
    }
    if (block[0] % lanes_ != 0)
      return absl::FailedPreconditionError(
          absl::StrCat("a matrix instruction takes ", lanes_, " lanes of thread_x, which has ", block[0]));
    if (has_folds_ && threads % ir::kWarpLanes != 0)
      return absl::FailedPreconditionError(absl::StrCat("lanes of whole warps fold values; a block has ",
                                                        threads, " threads, which is not a multiple of ",
                                                        ir::kWarpLanes));
    if (threads > unit_.target.gpu.block_threads || shared_.bytes > unit_.target.gpu.shared_bytes)
      return absl::FailedPreconditionError(
          absl::StrCat("a block of ", threads, " threads with ", shared_.bytes, " bytes of shared memory; ",
                       unit_.target.text(), " has ", unit_.target.gpu.block_threads, " and ",
                       unit_.target.gpu.shared_bytes));
    for (const int64_t count : block) launch.block.push_back(absl::StrCat(count));
    launch.shared_bytes = absl::StrCat(shared_.bytes);
    return absl::OkStatus();
  }

  void line(const std::string& text) {
    absl::StrAppend(&body_, std::string(static_cast<size_t>(2 * margin_), ' '), text, "\n");
  }
  void end() {
    --margin_;
    line("}");
  }
  // What the line before opened.
  void block(const Stmt& body) {
    ++margin_;
    stmt(body);
    end();
  }
  std::string expr(const ir::Expr& e) { return expr_text(e, 0, context_); }
  std::string place(const ir::BufferNode& buffer, const ir::Expr& index) {
    return place_text(buffer, expr(index), context_);
  }
  std::string name_of(const ir::BufferNode& buffer) { return names_.of(&buffer, buffer.name); }
  std::string in_memory(const ir::BufferNode& buffer) {
    if (buffer.element == tensor::Element::kFloat64) unit_.helpers.use_doubles();
    return std::string(memory_type(dialect_, buffer.element));
  }
  std::string in_registers(const ir::BufferNode& buffer) {
    if (buffer.element == tensor::Element::kFloat64) unit_.helpers.use_doubles();
    return std::string(value_type(dialect_, buffer.element));
  }
  // The address space of a pointer to it.
  std::string space(const ir::BufferNode& buffer) const {
    if (private_.contains(&buffer)) return "";
    return std::string(buffer.scope == ir::Scope::kShared ? dialect_.shared : dialect_.global);
  }
  void fail(const std::string& why) { context_.fail(absl::FailedPreconditionError(why)); }

  Unit& unit_;
  const GpuDialect& dialect_;
  const std::string name_;
  std::string body_;
  int margin_ = 0, serial_ = 0;
  analysis::SharedMemory shared_;
  ir::Data data_;
  analysis::RangeMap ranges_;
  CNames names_;
  ExprContext context_;
  std::map<ForKind, ir::Expr> extents_;
  tensor::Substitution lets_;  // the values around the launch, of the function's dimensions
  std::set<ForKind> entered_;
  std::vector<std::set<ForKind>> shared_stores_;   // the launch loops around each store that others may see
  std::vector<std::set<ForKind>> inside_threads_;  // and around each array that a thread has for itself
  std::set<const ir::BufferNode*> private_;
  std::set<const ir::BufferNode*> factors_;  // of matrix instructions
  bool has_folds_ = false;                   // of lanes
  int lanes_ = 1;                            // of a matrix instruction
  BulkText bulk_;
};

}  // namespace

absl::StatusOr<KernelText> kernel_text(Unit& unit, const KernelPart& part, const std::string& name) {
  return KernelEmitter(unit, name).run(part);
}

}  // namespace tf::backends
