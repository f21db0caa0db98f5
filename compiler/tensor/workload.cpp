#include "compiler/tensor/workload.h"

#include <limits>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/tensor/rebuild.h"

namespace tf::tensor {
namespace {

std::string dimension_names(const Workload& workload) {
  if (workload.dims.empty()) return "the workload has none";
  return absl::StrCat(
      "it has ", absl::StrJoin(workload.dims, ", ",
                               [](std::string* out, const Dimension& dim) { out->append(dim.var->name); }));
}

// The values of all dimensions, or what is wrong with the binding.
absl::StatusOr<Substitution> values_of(const Workload& workload, const Binding& binding) {
  Substitution values;
  std::set<std::string> known;
  for (const Dimension& dim : workload.dims) {
    const std::string& name = dim.var->name;
    known.insert(name);
    auto found = binding.find(name);
    if (found == binding.end())
      return absl::InvalidArgumentError(absl::StrCat("dimension '", name, "' has no value; give one from ",
                                                     dim.low, " to ", dim.high, ", as in ", name, "=",
                                                     dim.low));
    if (found->second < dim.low || found->second > dim.high)
      return absl::InvalidArgumentError(absl::StrCat("dimension '", name, "' is ", found->second,
                                                     "; it must be from ", dim.low, " to ", dim.high));
    values[dim.var.get()] = imm(found->second);
  }
  for (const auto& [name, value] : binding)
    if (!known.contains(name))
      return absl::InvalidArgumentError(absl::StrCat("there is no dimension '", name, "' to set to ", value,
                                                     "; ", dimension_names(workload)));
  return values;
}

// Copies a workload with dimensions replaced; buffers whose extents change are replaced in every load.
class Binder {
 public:
  explicit Binder(const Substitution& values) : values_(values) {}

  Expr expr(const Expr& e) const {
    return rewrite(substitute(e, values_), [&](const Expr& node) {
      const auto* read = as<Load>(node);
      if (!read) return node;
      auto found = buffers_.find(read->buffer.get());
      return found == buffers_.end() ? node : load(found->second, read->indices, read->predicate);
    });
  }
  Buffer define(const Buffer& old) {
    std::vector<Expr> extents;
    bool changed = false;
    for (const Expr& extent : old->extents) {
      extents.push_back(substitute(extent, values_));
      changed = changed || !extents.back().same_as(extent);
    }
    if (!changed) return old;
    return buffers_[old.get()] = buffer(old->name, old->element, std::move(extents), old->scope, old->layout);
  }
  Buffer use(const Buffer& old) const {
    auto found = buffers_.find(old.get());
    return found == buffers_.end() ? old : found->second;
  }

 private:
  const Substitution& values_;
  std::map<const BufferNode*, Buffer> buffers_;
};

}  // namespace

std::string binding_text(const Binding& binding) {
  return absl::StrJoin(binding, ",", absl::PairFormatter("="));
}

absl::StatusOr<Binding> parse_binding(std::string_view given) {
  const absl::string_view text(given.data(), given.size());
  Binding binding;
  if (text.empty()) return binding;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const size_t sign = part.rfind('=');
    int64_t value = 0;
    if (sign == absl::string_view::npos || sign == 0 || !absl::SimpleAtoi(part.substr(sign + 1), &value))
      return absl::InvalidArgumentError(
          absl::StrCat("'", part, "' does not bind a dimension; write NAME=VALUE, as in batch=4"));
    if (!binding.emplace(std::string(part.substr(0, sign)), value).second)
      return absl::InvalidArgumentError(
          absl::StrCat("dimension '", part.substr(0, sign), "' is given twice: give it once"));
  }
  return binding;
}

Expr identity(Combiner combiner, Element element) {
  const Type type{element, 1};
  const double infinity = std::numeric_limits<double>::infinity();
  switch (combiner) {
    case Combiner::kSum:
      return imm(type, 0);
    case Combiner::kProd:
      return imm(type, 1);
    case Combiner::kMax:
      return is_float(element) ? imm(type, -infinity) : make<IntImm>(type, lowest_integer(element));
    case Combiner::kMin:
      return is_float(element) ? imm(type, infinity) : make<IntImm>(type, highest_integer(element));
  }
  __builtin_unreachable();
}

BinaryOp operation_of(Combiner combiner) {
  switch (combiner) {
    case Combiner::kSum:
      return BinaryOp::kAdd;
    case Combiner::kProd:
      return BinaryOp::kMul;
    case Combiner::kMax:
      return BinaryOp::kMax;
    case Combiner::kMin:
      return BinaryOp::kMin;
  }
  __builtin_unreachable();
}

Expr combine(Combiner combiner, const Expr& a, const Expr& b) {
  return binary(operation_of(combiner), a, b);
}

Digest workload_key(const Workload& workload) {
  return sha256(canonical_text(workload));
}

absl::StatusOr<Workload> bind(const Workload& workload, const Binding& binding) {
  TF_ASSIGN_OR_RETURN(const Substitution values, values_of(workload, binding));
  Workload bound = workload;
  bound.dims.clear();
  Binder binder(values);
  for (Input& input : bound.inputs) input.buffer = binder.define(input.buffer);
  for (Stage& stage : bound.stages) {
    stage.output = binder.define(stage.output);
    for (Axis& axis : stage.axes) axis.extent = substitute(axis.extent, values);
    for (Axis& axis : stage.reduce_axes) axis.extent = substitute(axis.extent, values);
    stage.body = binder.expr(stage.body);
  }
  for (Buffer& output : bound.outputs) output = binder.use(output);
  TF_RETURN_IF_ERROR(verify(bound));  // an extent may have become negative or a divisor zero
  return bound;
}

Binding canonical_binding(const Workload& workload, const Binding& binding) {
  Binding canonical;
  for (size_t i = 0; i < workload.dims.size(); ++i) {
    auto found = binding.find(workload.dims[i].var->name);
    if (found != binding.end()) canonical[absl::StrCat("d", i)] = found->second;
  }
  return canonical;
}

}  // namespace tf::tensor
