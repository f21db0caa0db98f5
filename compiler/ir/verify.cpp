#include "compiler/ir/verify.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/ir/print.h"
#include "compiler/tensor/text.h"

namespace tf::ir {
namespace {

constexpr Type kScalarBool{Element::kBool, 1};

constexpr size_t kMostBoxAxes = 5;
constexpr int64_t kMostExtent = int64_t{1} << 40;

std::string type_text(const Type& type) {
  const std::string name(tensor::element_name(type.element));
  return type.is_vector() ? absl::StrCat(name, "x", type.lanes) : name;
}

// One line of the statement that is at fault.
std::string first_line(const Stmt& stmt) {
  std::string text = to_string(stmt);
  if (const size_t end = text.find('\n'); end != std::string::npos) text.resize(end);
  if (text.size() > 200) text = text.substr(0, 200) + " …";
  return text;
}

bool is_constant(const Expr& index) {
  if (as_int(index)) return true;
  const auto* ramp = as<Ramp>(index);
  return ramp && as_int(ramp->base) && as_int(ramp->stride);
}

class Verifier {
 public:
  explicit Verifier(const Promises& promises) : promises_(promises) {}

  absl::Status function(const Function& f) {
    bool identifier = !f.name.empty() && !std::isdigit(static_cast<unsigned char>(f.name[0]));
    for (char c : f.name)
      identifier = identifier && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
    if (!identifier) return error(absl::StrCat("'", f.name, "' is not an identifier"));
    if (!f.body) return error("the function has no body");
    for (const tensor::Dimension& dim : f.dims) TF_RETURN_IF_ERROR(define(dim.var));
    for (const Buffer& param : f.params) {
      if (param->scope != Scope::kGlobal)
        return error(absl::StrCat("parameter ", param->name, " is not global"));
      TF_RETURN_IF_ERROR(define(param));
    }
    for (int i : f.in_place)
      if (i < 0 || i + 1 >= static_cast<int>(f.params.size()))
        return error(absl::StrCat("parameter ", i, " cannot lie in the output's place"));
    return stmt(f.body);
  }

 private:
  absl::Status error(const std::string& message) const {
    return absl::InvalidArgumentError(where_.empty()
                                          ? absl::StrCat("illegal loop IR: ", message)
                                          : absl::StrCat("illegal loop IR: ", message, ", in: ", where_));
  }

  absl::Status define(const Var& var) {
    if (!var) return error("a variable is missing");
    if (!vars_.insert(var.get()).second)
      return error(absl::StrCat("variable ", var->name, " is defined again"));
    return absl::OkStatus();
  }

  absl::Status define(const Buffer& buffer) {
    if (!buffer) return error("a buffer is missing");
    for (const Expr& extent : buffer->extents)
      TF_RETURN_IF_ERROR(scalar_index(extent, "extent of " + buffer->name));
    if (!Layout::parse(buffer->layout.text(), buffer->rank()).ok())
      return error(absl::StrCat("buffer ", buffer->name, " of rank ", buffer->rank(), " has the layout ",
                                buffer->layout.text()));
    if (buffer->layout.swizzle && buffer->scope != Scope::kShared)
      return error(absl::StrCat("buffer ", buffer->name, " is swizzled; only shared memory is"));
    if (promises_.flat && (buffer->rank() != 1 || !buffer->layout.is_row_major()))
      return error(absl::StrCat("buffer ", buffer->name, " is not flat"));
    if (promises_.constant_registers && buffer->scope == Scope::kRegister)
      for (const Expr& extent : buffer->extents)
        if (!as_int(extent))
          return error(absl::StrCat("register buffer ", buffer->name, " has no constant extent"));
    if (promises_.for_cpu && (buffer->scope == Scope::kShared || buffer->scope == Scope::kFragment))
      return error(absl::StrCat("buffer ", buffer->name, " is in a GPU's memory"));
    if (!buffers_.insert(buffer.get()).second)
      return error(absl::StrCat("buffer ", buffer->name, " is defined again"));
    return absl::OkStatus();
  }

  // --- Expressions.
  absl::Status scalar_index(const Expr& e, const std::string& what) {
    if (!e) return error(absl::StrCat("the ", what, " is missing"));
    TF_RETURN_IF_ERROR(expr(e));
    if (e->type() != tensor::kIndex)
      return error(absl::StrCat("the ", what, " is ", type_text(e->type()), ", not i64"));
    return absl::OkStatus();
  }

  // Subtrees that were checked in the present scope are not checked again.
  absl::Status expr(const Expr& e) {
    if (!e) return error("an operand is missing");
    if (checked_.contains(e.get())) return absl::OkStatus();
    for (const Expr& operand : tensor::operands(e)) TF_RETURN_IF_ERROR(expr(operand));
    TF_RETURN_IF_ERROR(tensor::visit(e, [&](const auto& node) { return check(node); }));
    checked_.insert(e.get());
    return absl::OkStatus();
  }

  absl::Status check(const IntImm& e) {
    if (tensor::is_float(e.type().element) || e.type().is_vector())
      return error("an integer constant has another type");
    if (tensor::wrap_to_element(e.type().element, e.value) != e.value)
      return error(absl::StrCat(e.value, " does not fit into ", type_text(e.type())));
    return absl::OkStatus();
  }
  absl::Status check(const FloatImm& e) {
    if (!tensor::is_float(e.type().element) || e.type().is_vector())
      return error("a float constant has another type");
    return absl::OkStatus();
  }
  absl::Status check(const VarNode& e) {
    if (!vars_.contains(&e)) return error(absl::StrCat("variable ", e.name, " is used outside its scope"));
    return absl::OkStatus();
  }
  absl::Status check(const Unary& e) {
    if ((e.op == UnaryOp::kNot) != (e.type().element == Element::kBool))
      return error("! is for bools, - and abs are for numbers");
    return absl::OkStatus();
  }
  absl::Status check(const Binary& e) {
    const Element element = e.a->type().element;
    if (e.a->type() != e.b->type())
      return error(absl::StrCat("operands are ", type_text(e.a->type()), " and ", type_text(e.b->type())));
    const bool real = tensor::is_float(element);
    if (e.op == BinaryOp::kDiv && !real) return error("/ is for floats; integers use // and %");
    if ((e.op == BinaryOp::kFloorDiv || e.op == BinaryOp::kFloorMod) && (real || element == Element::kBool))
      return error("// and % are for integers");
    if ((e.op == BinaryOp::kAnd || e.op == BinaryOp::kOr) && element != Element::kBool)
      return error("&& and || are for bools");
    if ((e.op == BinaryOp::kAdd || e.op == BinaryOp::kSub || e.op == BinaryOp::kMul) &&
        element == Element::kBool)
      return error("bools have no arithmetic");
    if ((e.op == BinaryOp::kFloorDiv || e.op == BinaryOp::kFloorMod) && as_int(e.b) == 0)
      return error("division by the constant 0");
    return absl::OkStatus();
  }
  absl::Status check(const Select& e) {
    if (e.condition->type() != Type{Element::kBool, e.type().lanes} ||
        e.if_true->type() != e.if_false->type())
      return error("select takes a bool and two values of one type, all of one lane count");
    return absl::OkStatus();
  }
  absl::Status check(const Cast& e) {
    if (e.a->type().lanes != e.type().lanes) return error("a cast changes the number of lanes");
    return absl::OkStatus();
  }
  absl::Status check(const Call& e) {
    if (e.function == Intrinsic::kDot)
      return tensor::are_dot_operands(e.args)
                 ? absl::OkStatus()
                 : error("dot takes a wide vector and groups of 2 or 4 narrow elements");
    const auto arity = static_cast<size_t>(tensor::arity(e.function));
    if (e.args.size() != arity)
      return error(absl::StrCat(std::string(tensor::intrinsic_name(e.function)), " takes ", arity,
                                " arguments, not ", e.args.size()));
    for (const Expr& arg : e.args)
      if (arg->type() != e.args[0]->type()) return error("a call's arguments have different types");
    if (!tensor::takes_element(e.function, e.type().element))
      return error(absl::StrCat(std::string(tensor::intrinsic_name(e.function)), " does not take ",
                                std::string(tensor::element_name(e.type().element))));
    return absl::OkStatus();
  }
  absl::Status check(const Load& e) {
    TF_RETURN_IF_ERROR(access(e.buffer, e.indices, e.type().lanes));
    return predicate(e.predicate, e.type().lanes);
  }
  absl::Status check(const Ramp& e) {
    if (e.base->type().is_vector() || e.base->type() != e.stride->type() || e.type().lanes < 2 ||
        tensor::is_float(e.type().element))
      return error("a ramp has a scalar integer base and stride and at least 2 lanes");
    return absl::OkStatus();
  }
  absl::Status check(const Broadcast& e) {
    if (e.value->type().is_vector() || e.type().lanes < 2)
      return error("a broadcast has a scalar value and at least 2 lanes");
    return absl::OkStatus();
  }

  absl::Status access(const Buffer& buffer, const std::vector<Expr>& indices, int lanes) {
    if (!buffer || !buffers_.contains(buffer.get()))
      return error(
          absl::StrCat("buffer ", buffer ? buffer->name : "(missing)", " is used outside its scope"));
    if (indices.size() != static_cast<size_t>(buffer->rank()) && indices.size() != 1)
      return error(
          absl::StrCat(buffer->name, " of rank ", buffer->rank(), " has ", indices.size(), " indices"));
    for (const Expr& index : indices) {
      if (index->type().element != Element::kInt64 ||
          (index->type().is_vector() && index->type().lanes != lanes))
        return error(absl::StrCat("an index of ", buffer->name, " is ", type_text(index->type()),
                                  "; an access of ", lanes, " lanes takes i64 or i64x", lanes));
      if (promises_.constant_registers && buffer->scope == Scope::kRegister && !is_constant(index))
        return error(absl::StrCat("register buffer ", buffer->name, " is accessed at ",
                                  tensor::to_string(index), ", which is not constant"));
    }
    return absl::OkStatus();
  }

  absl::Status predicate(const Expr& p, int lanes) {
    if (!p || p->type() == kScalarBool || p->type() == Type{Element::kBool, lanes}) return absl::OkStatus();
    return error(absl::StrCat("a predicate is ", type_text(p->type()), "; ", lanes,
                              " lanes take as many bools or one"));
  }

  // --- Statements.
  absl::Status stmt(const Stmt& s) {
    if (!s) return error("a statement is missing");
    // Only innermost statements name the place: printing whole loops for every check would be slow.
    return visit(s, [&](const auto& node) {
      absl::Status status = check(node);
      if (status.ok() || !where_.empty()) return status;
      where_ = first_line(s);
      return absl::Status(status.code(), absl::StrCat(std::string(status.message()), ", in: ", where_));
    });
  }

  absl::Status check(const For& s) {
    TF_RETURN_IF_ERROR(scalar_index(s.min, "minimum of loop " + s.var->name));
    TF_RETURN_IF_ERROR(scalar_index(s.extent, "extent of loop " + s.var->name));
    if (s.var->type() != tensor::kIndex)
      return error(absl::StrCat("loop variable ", s.var->name, " is not i64"));
    const bool grid = s.for_kind >= ForKind::kGridX && s.for_kind <= ForKind::kGridZ;
    const bool thread = s.for_kind >= ForKind::kThreadX;
    if ((grid || thread) && promises_.for_cpu) return error("grid and thread loops are for GPUs");
    const bool vectors = s.for_kind == ForKind::kVectorized || s.for_kind == ForKind::kFolded;
    if ((vectors || s.for_kind == ForKind::kUnrolled) && promises_.explicit_vectors)
      return error(absl::StrCat("a loop is still ", std::string(kind_name(s.for_kind))));
    if ((grid || thread) && launch_.contains(s.for_kind))
      return error(absl::StrCat("loop ", std::string(kind_name(s.for_kind)), " is inside another one"));
    if (grid && !launch_.empty() && *launch_.rbegin() >= ForKind::kThreadX)
      return error("a grid loop is inside a thread loop");
    if (grid || thread) launch_.insert(s.for_kind);
    TF_RETURN_IF_ERROR(define(s.var));
    TF_RETURN_IF_ERROR(stmt(s.body));
    forget(s.var);
    if (grid || thread) launch_.erase(s.for_kind);
    return absl::OkStatus();
  }

  absl::Status check(const Seq& s) {
    for (const Stmt& child : s.stmts) TF_RETURN_IF_ERROR(stmt(child));
    return absl::OkStatus();
  }

  absl::Status check(const Store& s) {
    TF_RETURN_IF_ERROR(expr(s.value));
    int lanes = s.value->type().lanes;
    for (const Expr& index : s.indices) {
      TF_RETURN_IF_ERROR(expr(index));
      lanes = std::max(lanes, index->type().lanes);
    }
    TF_RETURN_IF_ERROR(access(s.buffer, s.indices, lanes));
    if (s.value->type() != Type{s.buffer->element, lanes})
      return error(absl::StrCat("a value of ", type_text(s.value->type()), " is stored to ", s.buffer->name,
                                " of ", type_text({s.buffer->element, lanes})));
    if (s.predicate) TF_RETURN_IF_ERROR(expr(s.predicate));
    return predicate(s.predicate, lanes);
  }

  absl::Status check(const If& s) {
    TF_RETURN_IF_ERROR(expr(s.condition));
    if (s.condition->type() != kScalarBool) return error("a condition is a scalar bool");
    TF_RETURN_IF_ERROR(stmt(s.then_body));
    return s.else_body ? stmt(s.else_body) : absl::OkStatus();
  }

  absl::Status check(const Let& s) {
    TF_RETURN_IF_ERROR(expr(s.value));
    if (s.var->type() != s.value->type())
      return error(absl::StrCat("let ", s.var->name, " has a value of another type"));
    TF_RETURN_IF_ERROR(define(s.var));
    TF_RETURN_IF_ERROR(stmt(s.body));
    forget(s.var);
    return absl::OkStatus();
  }

  absl::Status check(const Allocate& s) {
    TF_RETURN_IF_ERROR(define(s.buffer));
    TF_RETURN_IF_ERROR(stmt(s.body));
    buffers_.erase(s.buffer.get());
    checked_.clear();
    return absl::OkStatus();
  }

  absl::Status check(const Barrier&) {
    return promises_.for_cpu ? error("a barrier is for GPUs") : absl::OkStatus();
  }

  absl::Status check(const AsyncCopy& s) {
    if (promises_.for_cpu) return error("an async copy is for GPUs");
    for (const auto* indices : {&s.target_indices, &s.source_indices})
      for (const Expr& index : *indices) TF_RETURN_IF_ERROR(scalar_index(index, "index of an async copy"));
    TF_RETURN_IF_ERROR(access(s.target, s.target_indices, 1));
    if (s.box.empty())
      TF_RETURN_IF_ERROR(access(s.source, s.source_indices, 1));
    else
      TF_RETURN_IF_ERROR(check_box(s));
    if (s.source->scope != Scope::kGlobal || s.target->scope != Scope::kShared)
      return error("an async copy goes from global to shared memory");
    if (s.source->element != s.target->element || s.elements < 1)
      return error("an async copy moves at least one element between buffers of one type");
    if (s.predicate) TF_RETURN_IF_ERROR(expr(s.predicate));
    return predicate(s.predicate, 1);
  }

  absl::Status check_box(const AsyncCopy& s) {
    int64_t tensor = 1, elements = 1;
    for (const BoxAxis& axis : s.box) {
      if (axis.extent < 1 || axis.extent > kMostExtent / tensor || axis.box < 1 ||
          axis.box > kMostExtent / elements)
        return error("the tensor and the box of an async copy have 1 to 2^40 elements");
      tensor *= axis.extent;
      elements *= axis.box;
    }
    TF_RETURN_IF_ERROR(access(s.source, {tensor::imm(0)}, 1));
    if (s.predicate || s.elements != elements || s.source_indices.size() != s.box.size() ||
        s.box.size() > kMostBoxAxes)
      return error(absl::StrCat(
          "an async copy of a box has an index for each of its axes, of which there are at most ",
          kMostBoxAxes, ", all its elements, and no predicate"));
    for (const Expr& index : s.source_indices)
      if (index->type() != Type{Element::kInt64, 1}) return error("an index of a box is not an i64");
    return absl::OkStatus();
  }

  absl::Status check(const AsyncWait&) {
    return promises_.for_cpu ? error("an async wait is for GPUs") : absl::OkStatus();
  }

  absl::Status check(const MatrixOp& s) {
    if (promises_.for_cpu) return error("a matrix statement is for GPUs");
    if (s.unit == nullptr) return error("a matrix statement has no unit");
    if (s.tiles.size() != tile_count(s.action))
      return error("a matrix statement has another number of tiles");
    const bool loads = s.action == MatrixAction::kLoadA || s.action == MatrixAction::kLoadB;
    if (s.unit->reads_shared ? loads : s.action > MatrixAction::kMultiply)
      return error(absl::StrCat(std::string(s.unit->name), s.unit->reads_shared ? " reads" : " does not read",
                                " shared memory: it has no ", std::string(action_name(s.action))));
    for (size_t i = 0; i < s.tiles.size(); ++i) {
      const MatrixTile& tile = s.tiles[i];
      for (const Expr& index : tile.indices) TF_RETURN_IF_ERROR(scalar_index(index, "index of a tile"));
      TF_RETURN_IF_ERROR(access(tile.buffer, tile.indices, 1));
      const Scope scope = tile.buffer->scope;
      const bool is_own = scope == Scope::kFragment || scope == Scope::kRegister;
      if (is_own != (lane_map(s, i) != nullptr))
        return error(
            absl::StrCat(tile.buffer->name, " is ", std::string(scope_name(scope)),
                         "; tiles of a, b and c are fragments, those that are loaded lie in memory"));
      if (s.unit->reads_shared && i > 0 && scope != Scope::kShared)
        return error(absl::StrCat(std::string(s.unit->name), " reads shared memory; ", tile.buffer->name,
                                  " is ", std::string(scope_name(scope))));
      if (tile.block_columns > 0 && tile.indices.size() != 1)
        return error(absl::StrCat("a tile of ", tile.buffer->name, " has blocks, but no flat place"));
      if (tile.buffer->element != element_of(s, i))
        return error(absl::StrCat(tile.buffer->name, " has other elements than ", std::string(s.unit->name),
                                  " takes there"));
      if (tile.row_steps.size() != tile.indices.size() || tile.column_steps.size() != tile.indices.size())
        return error(absl::StrCat("a tile of ", tile.buffer->name, " has one step an index"));
    }
    return absl::OkStatus();
  }

  absl::Status check(const LaneFold& s) {
    if (promises_.for_cpu) return error("a fold of lanes is for GPUs");
    for (const Expr& index : s.indices) TF_RETURN_IF_ERROR(scalar_index(index, "index of a fold"));
    TF_RETURN_IF_ERROR(access(s.buffer, s.indices, 1));
    if (s.buffer->scope != Scope::kRegister || s.buffer->element == tensor::Element::kBool)
      return error(
          absl::StrCat(s.buffer->name, " is not a buffer of numbers in registers, which is what lanes fold"));
    if (s.lanes < 2 || s.lanes > kWarpLanes || kWarpLanes % s.lanes != 0)
      return error(absl::StrCat("a fold of ", s.lanes, " lanes; it takes 2, 4, 8, 16 or 32"));
    return s.combiner == tensor::Combiner::kProd ? error("lanes fold sums, maxima and minima")
                                                 : absl::OkStatus();
  }

  void forget(const Var& var) {
    vars_.erase(var.get());
    checked_.clear();
  }

  const Promises promises_;
  std::set<const VarNode*> vars_;
  std::set<const BufferNode*> buffers_;
  std::set<const tensor::ExprNode*> checked_;
  std::set<ForKind> launch_;
  std::string where_;
};

}  // namespace

absl::Status verify(const Function& function, const Promises& promises) {
  return Verifier(promises).function(function);
}

}  // namespace tf::ir
