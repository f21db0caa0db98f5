#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/tensor/text.h"
#include "compiler/tensor/workload.h"

namespace tf::tensor {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 48;

class Verifier {
 public:
  absl::Status run(const Workload& workload) {
    for (const Dimension& dim : workload.dims) TF_RETURN_IF_ERROR(dimension(dim));
    for (const Input& input : workload.inputs) TF_RETURN_IF_ERROR(this->input(input));
    for (const Stage& stage : workload.stages) TF_RETURN_IF_ERROR(this->stage(stage));
    where_ = "the outputs";
    if (workload.outputs.empty()) return error("there is none; a workload has at least one");
    std::set<const BufferNode*> seen;
    for (const Buffer& output : workload.outputs) {
      if (!output || !computed_.contains(output.get())) return error("one is not computed by a stage");
      if (!seen.insert(output.get()).second)
        return error(absl::StrCat("'", output->name, "' is listed twice"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("malformed workload: ", where_, ": ", what));
  }

  absl::Status dimension(const Dimension& dim) {
    where_ = "a dimension";
    if (!dim.var || dim.var->type() != kIndex) return error("it is not an index variable");
    where_ = absl::StrCat("dimension '", dim.var->name, "'");
    if (dim.low < 0 || dim.low > dim.high)
      return error(absl::StrCat("its range is ", dim.low, "..", dim.high));
    if (!names_.insert(dim.var->name).second || !dims_.insert(dim.var.get()).second)
      return error("it is defined twice");
    return absl::OkStatus();
  }

  absl::Status storage(const Buffer& buffer) {
    if (!buffer) return error("it has no buffer");
    if (buffer->scope != Scope::kGlobal || buffer->layout != Layout())
      return error("its buffer is not global and row-major");
    if (!buffers_.insert(buffer.get()).second) return error("its buffer is defined twice");
    double elements = 1;
    for (const Expr& extent : buffer->extents) {
      TF_RETURN_IF_ERROR(this->extent(extent));
      if (auto value = as_int(extent)) elements *= static_cast<double>(*value);
    }
    if (elements > static_cast<double>(kMaxElements)) return error("its buffer has more than 2^48 elements");
    return absl::OkStatus();
  }

  absl::Status extent(const Expr& extent) {
    if (!extent || extent->type() != kIndex) return error("an extent is not an index");
    if (auto value = as_int(extent); value && (*value < 0 || *value > kMaxElements))
      return error(absl::StrCat("an extent is ", *value));
    bool has_variable = false;
    for_each(extent, [&](const Expr& e) {
      has_variable = has_variable || e->kind() == ExprKind::kVarNode;
      return true;
    });
    if (!has_variable && !as<IntImm>(extent))
      return error(absl::StrCat("the extent ", to_string(extent), " has no value"));
    return walk(extent, /*may_load=*/false);
  }

  absl::Status input(const Input& input) {
    where_ = input.buffer ? absl::StrCat("input '", input.buffer->name, "'") : "an input";
    if (!std::isfinite(input.low) || !std::isfinite(input.high) || input.low > input.high)
      return error(absl::StrCat("its domain is ", input.low, "..", input.high));
    TF_RETURN_IF_ERROR(storage(input.buffer));
    readable_.insert(input.buffer.get());
    return absl::OkStatus();
  }

  absl::Status stage(const Stage& stage) {
    where_ = stage.output ? absl::StrCat("stage '", stage.output->name, "'") : "a stage";
    vars_ = dims_;
    TF_RETURN_IF_ERROR(storage(stage.output));
    if (static_cast<int>(stage.axes.size()) != stage.output->rank())
      return error(
          absl::StrCat("it has ", stage.axes.size(), " axes, its buffer has rank ", stage.output->rank()));
    for (size_t i = 0; i < stage.axes.size(); ++i)
      if (!stage.axes[i].extent || !structurally_equal(stage.axes[i].extent, stage.output->extents[i]))
        return error(absl::StrCat("the extent of axis ", i, " is not its buffer's"));
    if (stage.combiner.has_value() == stage.reduce_axes.empty())
      return error("a combiner and reduce axes go together");
    for (const Axis& axis : stage.reduce_axes) TF_RETURN_IF_ERROR(extent(axis.extent));
    for (const std::vector<Axis>* axes : {&stage.axes, &stage.reduce_axes})
      for (const Axis& axis : *axes) {
        if (!axis.var || axis.var->type() != kIndex) return error("an axis is not an index variable");
        if (!axes_.insert(axis.var.get()).second || dims_.contains(axis.var.get()))
          return error(absl::StrCat("axis '", axis.var->name, "' is already in use"));
        vars_.insert(axis.var.get());
      }
    if (!stage.body || stage.body->type() != Type{stage.output->element, 1})
      return error("the body's type is not the buffer's");
    TF_RETURN_IF_ERROR(walk(stage.body, /*may_load=*/true));
    readable_.insert(stage.output.get());
    computed_.insert(stage.output.get());
    return absl::OkStatus();
  }

  absl::Status walk(const Expr& expr, bool may_load) {
    if (expr->type().is_vector() || expr->kind() == ExprKind::kRamp || expr->kind() == ExprKind::kBroadcast)
      return error("vectors belong to loop IR");
    if (const auto* variable = as<VarNode>(expr)) {
      if (!(may_load ? vars_ : dims_).contains(variable))
        return error(absl::StrCat("variable '", variable->name, "' is not bound"));
    } else if (const auto* call = as<Call>(expr)) {
      if (call->function >= Intrinsic::kReduceAdd) return error("folding lanes belongs to loop IR");
    } else if (const auto* binary = as<Binary>(expr)) {
      const bool divides = binary->op == BinaryOp::kFloorDiv || binary->op == BinaryOp::kFloorMod;
      if (divides && as_int(binary->b) == 0)
        return error(absl::StrCat("division by zero: ", to_string(expr)));
    } else if (const auto* read = as<Load>(expr)) {
      TF_RETURN_IF_ERROR(load(*read, may_load));
    }
    for (const Expr& operand : operands(expr)) TF_RETURN_IF_ERROR(walk(operand, may_load));
    return absl::OkStatus();
  }

  absl::Status load(const Load& read, bool may_load) {
    const std::string& name = read.buffer->name;
    if (!may_load) return error("an extent cannot depend on data");
    if (read.predicate) return error("loads are guarded by select, not by a predicate");
    if (!readable_.contains(read.buffer.get()))
      return error(absl::StrCat("it reads '", name, "', which is neither an input nor an earlier stage"));
    if (static_cast<int>(read.indices.size()) != read.buffer->rank())
      return error(absl::StrCat("it reads '", name, "' of rank ", read.buffer->rank(), " with ",
                                read.indices.size(), " indices"));
    for (const Expr& index : read.indices)
      if (index->type() != kIndex) return error(absl::StrCat("an index of '", name, "' is not an i64"));
    return absl::OkStatus();
  }

  std::string where_;
  std::set<std::string> names_;
  std::set<const VarNode*> dims_, axes_, vars_;
  std::set<const BufferNode*> buffers_, readable_, computed_;
};

}  // namespace

absl::Status verify(const Workload& workload) {
  return Verifier().run(workload);
}

}  // namespace tf::tensor
