// From IR to the interpreter's program: every expression becomes instructions over slots, once a function.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/data.h"
#include "compiler/ir/machine.h"

namespace tf::ir::machine {
namespace {

// Which lanes are wanted where an expression is evaluated; no slot: all.
struct Mask {
  int32_t slot = -1;
  int32_t lanes = 1;
};

class Compiler {
 public:
  explicit Compiler(bool watched) : watched_(watched) {}

  absl::StatusOr<Program> run(const Function& function) {
    collect_constants(function);
    collect_fragments(function);
    for (const tensor::Dimension& dim : function.dims) {
      program_.dim_slots.push_back(reserve(dim.var->type()));
      vars_[dim.var.get()] = program_.dim_slots.back();
    }
    const int32_t begin = here();
    for (const Buffer& param : function.params) {
      program_.params.push_back(param.get());
      program_.param_extents.emplace_back();
      for (const Expr& extent : param->extents) program_.param_extents.back().push_back(expr(extent, {}));
      declare(param.get());
    }
    program_.param_code = {begin, here()};
    top_ = std::max(top_, high_);
    program_.body = stmt(function.body);
    mark_launches(program_.body);
    if (!status_.ok()) return status_;
    program_.frame.resize(static_cast<size_t>(high_));
    return std::move(program_);
  }

 private:
  using MemoKey = std::pair<const tensor::ExprNode*, int32_t>;

  void fail(std::string message) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat("cannot interpret: ", message));
  }

  int32_t here() const { return static_cast<int32_t>(program_.code.size()); }

  int32_t reserve(const Type& type) {
    const int32_t slot = top_;
    values_[slot] = {slot, type.lanes, slot_bytes(type.element)};
    top_ += (slot_bytes(type.element) * type.lanes + 7) / 8 * 8;
    high_ = std::max(high_, top_);
    return slot;
  }

  // Constants have their own slots, filled once.
  void collect_constants(const Function& function) {
    class Collect : public Visitor {
     public:
      explicit Collect(Compiler& self) : self_(self) {}
      using Visitor::operator();

     protected:
      bool enter(const Expr& expr) override {
        if (!seen_.insert(expr.get()).second) return false;
        const auto* wide = as<Broadcast>(expr);
        const Expr& value = wide ? wide->value : expr;
        if (!as<IntImm>(value) && !as<FloatImm>(value)) return true;
        const int32_t slot = self_.reserve(expr->type());
        self_.program_.frame.resize(static_cast<size_t>(self_.top_));
        write_constant(value, expr->type().lanes, self_.program_.frame.data() + slot);
        self_.constants_[expr.get()] = slot;
        return false;
      }
      bool enter(const Stmt& stmt) override {
        if (const auto* allocate = as<Allocate>(stmt))
          for (const Expr& extent : allocate->buffer->extents) (*this)(extent);
        return true;
      }

     private:
      Compiler& self_;
      std::set<const tensor::ExprNode*> seen_;
    };
    Collect collect(*this);
    for (const Buffer& param : function.params)
      for (const Expr& extent : param->extents) collect(extent);
    collect(function.body);
  }

  // Which lanes hold the elements of each fragment.
  void collect_fragments(const Function& function) {
    struct Collect final : Visitor {
      bool enter(const Stmt& stmt) override {
        const auto* op = as<MatrixOp>(stmt);
        for (size_t i = 0; op != nullptr && i < op->tiles.size(); ++i)
          if (op->tiles[i].buffer->scope == Scope::kFragment && lane_map(*op, i) != nullptr)
            found.insert_or_assign(op->tiles[i].buffer.get(),
                                   Held{lane_map(*op, i), op->tiles[i].row_steps, op->tiles[i].column_steps});
        return true;
      }
      bool enter(const Expr&) override { return false; }
      std::map<const BufferNode*, Held> found;
    } collect;
    collect(function.body);
    fragments_ = std::move(collect.found);
  }

  void declare(const BufferNode* buffer) {
    buffers_[buffer] = program_.buffer_count++;
    if (buffer->extents.size() > kMaxRank)
      fail(absl::StrCat("buffer ", buffer->name, " has ", buffer->extents.size(), " dimensions; at most ",
                        kMaxRank, " are possible"));
    for (const tensor::LayoutAxis& axis : buffer->layout.axes)
      if (axis.axis < 0 || axis.axis >= buffer->rank() || axis.block < 0)
        fail(absl::StrCat("buffer ", buffer->name, " of rank ", buffer->rank(), " has the layout ",
                          buffer->layout.text()));
  }

  int32_t emit(Kernel kernel, const Type& type, Instruction i, const char* what) {
    if (!kernel) fail(absl::StrCat(what, " of ", std::string(tensor::element_name(type.element))));
    i.run = kernel;
    if (i.target < 0) i.target = reserve(type);
    if (watched_) program_.flows.push_back(flow(i, type));
    for (int32_t* operand : {&i.a, &i.b, &i.c}) *operand = std::max(*operand, 0);
    program_.code.push_back(i);
    return i.target;
  }

  Flow flow(const Instruction& i, const Type& type) const {
    if (i.site >= 0 || i.run == async_copy_kernel()) return {};  // these see to it themselves
    const int32_t slots[] = {i.a, i.b, i.c};
    Flow out{.target = {i.target, type.lanes, slot_bytes(type.element)}, .operands = {}};
    for (size_t o = 0; o < 3; ++o)
      if (slots[o] >= 0) out.operands[o] = values_.at(slots[o]);
    out.is_select = i.run == select_kernel(type.element);
    return out;
  }

  // --- Masks.
  Mask adapt(const Mask& mask, int32_t lanes) {
    if (mask.slot < 0 || mask.lanes == lanes) return mask;
    const Type type{Element::kBool, lanes};
    if (mask.lanes == 1)
      return {emit(broadcast_kernel(Element::kBool), type, {.target = -1, .a = mask.slot, .lanes = lanes},
                   "mask"),
              lanes};
    const Type scalar{Element::kBool, 1};
    const int32_t any =
        emit(any_kernel(), scalar, {.target = -1, .a = mask.slot, .lanes = mask.lanes}, "mask");
    return adapt({any, 1}, lanes);
  }

  Mask narrow_to(const Mask& mask, int32_t condition, int32_t lanes) {
    if (mask.slot < 0) return {condition, lanes};
    const Mask outer = adapt(mask, lanes);
    const Type type{Element::kBool, lanes};
    return {emit(binary_kernel(BinaryOp::kAnd, Element::kBool), type,
                 {.target = -1, .a = outer.slot, .b = condition, .lanes = lanes}, "mask"),
            lanes};
  }

  // --- Expressions. The result has expr's lanes; loads are performed in the mask's lanes only.
  int32_t expr(const Expr& e, const Mask& mask) {
    if (auto found = constants_.find(e.get()); found != constants_.end()) return found->second;
    if (const auto* var = as<VarNode>(e)) {
      auto found = vars_.find(var);
      if (found == vars_.end()) fail(absl::StrCat("variable ", var->name, " is not defined"));
      return found == vars_.end() ? 0 : found->second;
    }
    const MemoKey key{e.get(), mask.slot};
    if (auto found = memo_.find(key); found != memo_.end()) return found->second;
    const int32_t slot = tensor::visit(e, [&](const auto& node) { return compute(node, mask); });
    memo_[key] = slot;
    return slot;
  }

  int32_t expr_wide(const Expr& e, const Mask& mask, int32_t lanes) {
    const int32_t own = e->type().lanes;
    const int32_t slot = expr(e, adapt(mask, own));
    if (own == lanes) return slot;
    if (own != 1) fail(absl::StrCat(own, " lanes used as ", lanes));
    const Type type{e->type().element, lanes};
    return emit(broadcast_kernel(type.element), type, {.target = -1, .a = slot, .lanes = lanes}, "broadcast");
  }

  int32_t compute(const IntImm&, const Mask&) { return 0; }    // a constant
  int32_t compute(const FloatImm&, const Mask&) { return 0; }  // a constant
  int32_t compute(const VarNode&, const Mask&) { return 0; }   // has its slot

  int32_t compute(const Unary& node, const Mask& mask) {
    const int32_t a = expr(node.a, mask);
    return emit(unary_kernel(node.op, node.type().element), node.type(),
                {.target = -1, .a = a, .lanes = node.type().lanes}, "unary operation");
  }

  int32_t compute(const Binary& node, const Mask& mask) {
    const int32_t lanes = node.type().lanes;
    const int32_t a = expr_wide(node.a, mask, lanes), b = expr_wide(node.b, mask, lanes);
    const bool divides = node.op == BinaryOp::kFloorDiv || node.op == BinaryOp::kFloorMod;
    return emit(binary_kernel(node.op, node.a->type().element), node.type(),
                {.target = -1,
                 .a = a,
                 .b = b,
                 .mask = adapt(mask, lanes).slot,
                 .lanes = lanes,
                 .total = divides && (data_.contains(node.a) || data_.contains(node.b))},
                "binary operation");
  }

  int32_t compute(const Select& node, const Mask& mask) {
    const int32_t lanes = node.type().lanes;
    const int32_t condition = expr_wide(node.condition, mask, lanes);
    const Type boolean{Element::kBool, lanes};
    const int32_t opposite = emit(unary_kernel(UnaryOp::kNot, Element::kBool), boolean,
                                  {.target = -1, .a = condition, .lanes = lanes}, "select");
    const int32_t b = expr_wide(node.if_true, narrow_to(mask, condition, lanes), lanes);
    const int32_t c = expr_wide(node.if_false, narrow_to(mask, opposite, lanes), lanes);
    return emit(select_kernel(node.type().element), node.type(),
                {.target = -1, .a = condition, .b = b, .c = c, .lanes = lanes}, "select");
  }

  int32_t compute(const Cast& node, const Mask& mask) {
    const int32_t a = expr_wide(node.a, mask, node.type().lanes);
    return emit(cast_kernel(node.type().element, node.a->type().element), node.type(),
                {.target = -1, .a = a, .lanes = node.type().lanes}, "cast");
  }

  int32_t compute(const Call& node, const Mask& mask) {
    if (node.args.empty() || node.args.size() > 3) {
      fail("a call takes one to three arguments");
      return 0;
    }
    if (node.function == Intrinsic::kDot) return compute_dot(node, mask);
    const int32_t lanes = node.args[0]->type().lanes;  // of a reduction: the lanes that it folds
    int32_t args[3] = {-1, -1, -1};
    for (size_t i = 0; i < node.args.size(); ++i)
      args[i] = expr_wide(node.args[i], adapt(mask, lanes), lanes);
    return emit(call_kernel(node.function, node.type().element), node.type(),
                {.target = -1, .a = args[0], .b = args[1], .c = args[2], .lanes = lanes}, "call");
  }

  int32_t compute_dot(const Call& node, const Mask& mask) {
    if (!tensor::are_dot_operands(node.args)) {
      fail("the operands of a dot do not match");
      return 0;
    }
    const Type &c = node.args[0]->type(), &a = node.args[1]->type(), &b = node.args[2]->type();
    int32_t slots[3] = {};
    for (size_t i = 0; i < 3; ++i) {
      const int32_t lanes = node.args[i]->type().lanes;
      slots[i] = expr_wide(node.args[i], adapt(mask, lanes), lanes);
    }
    return emit(dot_kernel(c.element, a.element, b.element), node.type(),
                {.target = -1,
                 .a = slots[1],
                 .b = slots[2],
                 .c = slots[0],
                 .lanes = c.lanes,
                 .group = b.lanes / c.lanes,
                 .shared = a.lanes != b.lanes},
                "dot");
  }

  int32_t compute(const Ramp& node, const Mask& mask) {
    const int32_t a = expr_wide(node.base, adapt(mask, 1), 1), b = expr_wide(node.stride, adapt(mask, 1), 1);
    return emit(ramp_kernel(node.type().element), node.type(),
                {.target = -1, .a = a, .b = b, .lanes = node.type().lanes}, "ramp");
  }

  int32_t compute(const Broadcast& node, const Mask& mask) {
    const int32_t a = expr_wide(node.value, adapt(mask, 1), 1);
    return emit(broadcast_kernel(node.type().element), node.type(),
                {.target = -1, .a = a, .lanes = node.type().lanes}, "broadcast");
  }

  int32_t compute(const Load& node, const Mask& mask) {
    const int32_t lanes = node.type().lanes;
    const int32_t site = access(node.buffer, node.indices, mask, lanes, false);
    Mask wanted = adapt(mask, lanes);
    if (node.predicate) wanted = narrow_to(wanted, expr_wide(node.predicate, mask, lanes), lanes);
    return emit(load_kernel(node.type().element, watched_), node.type(),
                {.target = -1, .mask = wanted.slot, .lanes = lanes, .site = site}, "load");
  }

  int32_t access(const Buffer& buffer, const std::vector<Expr>& indices, const Mask& mask, int32_t lanes,
                 bool is_store) {
    Site site;
    site.buffer = buffer.get();
    site.is_store = is_store;
    site.scope = scope_;
    if (auto held = fragments_.find(buffer.get()); held != fragments_.end()) site.held = held->second;
    auto found = buffers_.find(buffer.get());
    if (found == buffers_.end())
      fail(absl::StrCat("buffer ", buffer->name, " is not defined"));
    else
      site.buffer_slot = found->second;
    site.is_flat = indices.size() == 1 && buffer->rank() != 1;
    if (!site.is_flat && indices.size() != static_cast<size_t>(buffer->rank()))
      fail(absl::StrCat("buffer ", buffer->name, " of rank ", buffer->rank(), " has ", indices.size(),
                        " indices"));
    for (const Expr& index : indices) {
      if (index->type().element != Element::kInt64)
        fail(absl::StrCat("an index of ", buffer->name, " is not an i64"));
      if (index->type().is_vector() && index->type().lanes != lanes)
        fail(absl::StrCat("an index of ", buffer->name, " has ", index->type().lanes, " lanes, the access ",
                          lanes));
      site.indices.push_back(expr(index, adapt(mask, index->type().lanes)));
      site.moves.push_back(index->type().is_vector());
    }
    program_.sites.push_back(std::move(site));
    return static_cast<int32_t>(program_.sites.size()) - 1;
  }

  // --- Statements. Temporaries live in slots above those of the variables in scope, until the statement
  // ends.
  Node stmt(const Stmt& s) {
    Node node;
    if (!s) return node;
    node.kind = s->kind();
    const int32_t top = top_;
    memo_.clear();
    visit(s, [&](const auto& concrete) { build(concrete, &node); });
    memo_.clear();
    top_ = top;
    for (const Node& child : node.children) {
      node.meets_block = node.meets_block || child.meets_block;
      node.meets_lanes = std::max(node.meets_lanes, child.meets_lanes);
    }
    return node;
  }

  // As compiler/backends/gpu/kernels.h splits a function.
  static void mark_launches(Node& node) {
    const bool splits = node.kind == StmtKind::kSeq || node.kind == StmtKind::kLet ||
                        (node.kind == StmtKind::kAllocate && node.buffer->scope == Scope::kGlobal);
    if (!splits) node.is_launch = true;
    if (splits)
      for (Node& child : node.children) mark_launches(child);
  }

  void build(const For& s, Node* node) {
    node->for_kind = s.for_kind;
    node->slot = reserve(tensor::kIndex);
    if (s.var->type() != tensor::kIndex) fail(absl::StrCat("loop variable ", s.var->name, " is not an i64"));
    const int32_t begin = here();
    node->a = expr(s.min, {});
    node->b = expr(s.extent, {});
    node->code = {begin, here()};
    vars_[s.var.get()] = node->slot;
    data_.enter(s);
    scope_.push_back({s.var.get(), node->slot});
    top_ = node->slot + 8;
    node->children.push_back(stmt(s.body));
    scope_.pop_back();
    vars_.erase(s.var.get());
  }

  void build(const Seq& s, Node* node) {
    for (const Stmt& child : s.stmts) node->children.push_back(stmt(child));
  }

  void build(const Store& s, Node* node) {
    const int32_t begin = here();
    int32_t lanes = s.value->type().lanes;
    for (const Expr& index : s.indices) lanes = std::max(lanes, index->type().lanes);
    if (s.value->type().element != s.buffer->element)
      fail(absl::StrCat("a value of another type is stored to ", s.buffer->name));
    const int32_t site = access(s.buffer, s.indices, {}, lanes, true);
    const bool vector = s.value->type().is_vector();
    const int32_t a = vector ? expr_wide(s.value, {}, lanes) : expr(s.value, {});
    const int32_t mask = s.predicate ? expr_wide(s.predicate, {}, lanes) : -1;
    emit(store_kernel(s.buffer->element, watched_), {s.buffer->element, lanes},
         {.target = 0, .a = a, .b = vector, .mask = mask, .lanes = lanes, .site = site}, "store");
    node->code = {begin, here()};
  }

  void build(const If& s, Node* node) {
    const int32_t begin = here();
    if (s.condition->type() != Type{Element::kBool, 1}) fail("the condition of an if is not a scalar bool");
    node->a = expr(s.condition, {});
    node->code = {begin, here()};
    node->children.push_back(stmt(s.then_body));
    if (s.else_body) node->children.push_back(stmt(s.else_body));
  }

  void build(const Let& s, Node* node) {
    node->slot = reserve(s.var->type());
    const int32_t after = top_;
    if (s.var->type() != s.value->type())
      fail(absl::StrCat("let ", s.var->name, " has a value of another type"));
    const int32_t begin = here();
    const int32_t value = expr(s.value, {});
    emit(copy_kernel(s.var->type().element), s.var->type(),
         {.target = node->slot, .a = value, .lanes = s.var->type().lanes}, "let");
    node->code = {begin, here()};
    top_ = after;
    vars_[s.var.get()] = node->slot;
    data_.enter(s);
    node->children.push_back(stmt(s.body));
    vars_.erase(s.var.get());
  }

  void build(const Allocate& s, Node* node) {
    const int32_t begin = here();
    for (const Expr& extent : s.buffer->extents) node->extents.push_back(expr(extent, {}));
    node->code = {begin, here()};
    declare(s.buffer.get());
    node->buffer = s.buffer.get();
    node->buffer_slot = buffers_[s.buffer.get()];
    node->children.push_back(stmt(s.body));
    buffers_.erase(s.buffer.get());
    node->meets_block = s.buffer->scope == Scope::kShared;
    if (s.buffer->scope == Scope::kFragment) {
      const auto held = fragments_.find(s.buffer.get());
      node->fragment_lanes =
          held == fragments_.end() ? kWarpThreads : static_cast<size_t>(held->second.map->lanes);
      node->meets_lanes = node->fragment_lanes;
    }
  }

  void build(const Barrier&, Node* node) { node->meets_block = true; }

  void build(const AsyncCopy& s, Node* node) {
    const int32_t begin = here();
    if (s.target->element != s.source->element)
      fail(absl::StrCat("async copy into ", s.target->name, " of another type"));
    const int32_t target = access(s.target, s.target_indices, {}, 1, true);
    const int32_t source =
        access(s.source, s.box.empty() ? s.source_indices : std::vector<Expr>{tensor::imm(0)}, {}, 1, false);
    if (!s.box.empty()) {
      std::vector<int32_t> indices;
      for (const Expr& index : s.source_indices) indices.push_back(expr(index, {}));
      program_.sites[static_cast<size_t>(source)].indices = std::move(indices);
      program_.sites[static_cast<size_t>(source)].box = s.box;
    }
    const int32_t mask = s.predicate ? expr(s.predicate, {}) : -1;
    emit(async_copy_kernel(), {s.target->element, 1},
         {.target = 0, .a = target, .b = source, .c = static_cast<int32_t>(s.elements), .mask = mask},
         "async copy");
    node->code = {begin, here()};
  }

  void build(const AsyncWait& s, Node* node) { node->a = s.groups_in_flight; }

  void build(const MatrixOp& s, Node* node) {
    node->matrix = &s;
    if (s.action == MatrixAction::kPublish) return;
    node->meets_lanes = static_cast<size_t>(s.unit->c.lanes);
    node->collective = run_matrix_op;
    const int32_t begin = here();
    for (size_t i = 0; i < s.tiles.size(); ++i)
      node->sites.push_back(access(s.tiles[i].buffer, s.tiles[i].indices, {}, 1, i == 0));
    node->code = {begin, here()};
  }

  void build(const LaneFold& s, Node* node) {
    node->meets_lanes = kWarpThreads;
    node->collective = run_lane_fold;
    node->fold = &s;
    const int32_t begin = here();
    node->sites.push_back(access(s.buffer, s.indices, {}, 1, true));
    node->code = {begin, here()};
  }

  const bool watched_;
  Program program_;
  absl::Status status_;
  int32_t top_ = 0, high_ = 0;
  std::map<const tensor::ExprNode*, int32_t> constants_;
  std::map<int32_t, Flow::Values> values_;  // what a slot has been reserved for
  std::map<const VarNode*, int32_t> vars_;
  std::map<const BufferNode*, int32_t> buffers_;
  std::map<MemoKey, int32_t> memo_;
  std::map<const BufferNode*, Held> fragments_;
  std::vector<std::pair<const VarNode*, int32_t>> scope_;
  Data data_;
};

}  // namespace

absl::StatusOr<Program> compile(const Function& function, bool watched) {
  return Compiler(watched).run(function);
}

}  // namespace tf::ir::machine
