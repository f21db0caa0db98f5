#include "compiler/ops/builder.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/tensor/text.h"

namespace tf::ops {
namespace {

std::vector<tensor::Axis> make_axes(const std::vector<Expr>& extents, const char* prefix) {
  std::vector<tensor::Axis> axes;
  for (const Expr& extent : extents) axes.push_back({tensor::var(absl::StrCat(prefix, axes.size())), extent});
  return axes;
}

std::vector<Expr> variables(const std::vector<tensor::Axis>& axes) {
  std::vector<Expr> vars;
  for (const tensor::Axis& axis : axes) vars.push_back(axis.var);
  return vars;
}

void collect_variables(const Expr& expr, std::set<const tensor::VarNode*>& used) {
  tensor::for_each(expr, [&](const Expr& e) {
    if (const auto* variable = tensor::as<tensor::VarNode>(e)) used.insert(variable);
    return true;
  });
}

std::set<const tensor::VarNode*> used_variables(const Workload& workload) {
  std::set<const tensor::VarNode*> used;
  for (const tensor::Input& input : workload.inputs)
    for (const Expr& extent : input.buffer->extents) collect_variables(extent, used);
  for (const tensor::Stage& stage : workload.stages) {
    for (const tensor::Axis& axis : stage.axes) collect_variables(axis.extent, used);
    for (const tensor::Axis& axis : stage.reduce_axes) collect_variables(axis.extent, used);
    collect_variables(stage.body, used);
  }
  return used;
}

}  // namespace

void Builder::dimension(const tensor::Dimension& dimension) {
  workload_.dims.push_back(dimension);
}

Buffer Builder::placeholder_input(std::string name, Element element, std::vector<Expr> extents, bool constant,
                                  Domain domain) {
  Buffer x = tensor::buffer(std::move(name), element, std::move(extents));
  workload_.inputs.push_back({x, constant, domain.low, domain.high});
  return x;
}

Buffer Builder::input(std::string name, Element element, std::vector<Expr> extents, Domain domain) {
  return placeholder_input(std::move(name), element, std::move(extents), false, domain);
}

Buffer Builder::constant(std::string name, Element element, std::vector<Expr> extents, Domain domain) {
  return placeholder_input(std::move(name), element, std::move(extents), true, domain);
}

Buffer Builder::compute(std::string name, Element element, std::vector<Expr> extents,
                        const std::function<Expr(Indices)>& body) {
  tensor::Stage stage;
  stage.axes = make_axes(extents, "i");
  stage.output = tensor::buffer(std::move(name), element, std::move(extents));
  stage.body = body(variables(stage.axes));
  workload_.stages.push_back(std::move(stage));
  return workload_.stages.back().output;
}

Buffer Builder::reduce(std::string name, Element element, std::vector<Expr> extents,
                       std::vector<Expr> reduce_extents, Combiner combiner,
                       const std::function<Expr(Indices, Indices)>& body) {
  if (reduce_extents.empty())
    return compute(std::move(name), element, std::move(extents), [&](Indices i) { return body(i, {}); });
  tensor::Stage stage;
  stage.axes = make_axes(extents, "i");
  stage.reduce_axes = make_axes(reduce_extents, "r");
  stage.combiner = combiner;
  stage.output = tensor::buffer(std::move(name), element, std::move(extents));
  stage.body = body(variables(stage.axes), variables(stage.reduce_axes));
  workload_.stages.push_back(std::move(stage));
  return workload_.stages.back().output;
}

void Builder::label(std::string_view part) {
  if (!workload_.label.empty()) workload_.label += "+";
  workload_.label += part;
}

Buffer Builder::fail(std::string_view op, std::string_view message) {
  status_.Update(absl::InvalidArgumentError(absl::StrCat(std::string(op), ": ", std::string(message))));
  return tensor::buffer("failed", Element::kFloat32, {});
}

absl::StatusOr<Workload> Builder::finish(std::vector<Buffer> outputs) {
  const absl::Status status = std::exchange(status_, absl::OkStatus());
  Workload workload = std::exchange(workload_, Workload());
  if (!status.ok()) return status;
  workload.outputs = std::move(outputs);
  const std::set<const tensor::VarNode*> used = used_variables(workload);
  std::erase_if(workload.dims, [&](const tensor::Dimension& dim) { return !used.contains(dim.var.get()); });
  const absl::Status verified = tensor::verify(workload);
  if (!verified.ok()) return verified;
  return workload;
}

Expr at(const Buffer& x, std::vector<Expr> indices) {
  return tensor::load(x, std::move(indices));
}
Expr at(const Buffer& x, Indices indices) {
  return at(x, std::vector<Expr>(indices.begin(), indices.end()));
}

Expr constant_like(const Buffer& x, double value) {
  return tensor::imm(Type{x->element, 1}, value);
}

bool same_extent(const Expr& a, const Expr& b) {
  return tensor::structurally_equal(a, b);
}

std::string describe(const Buffer& x) {
  std::string text(tensor::element_name(x->element));
  text += "[";
  for (int d = 0; d < x->rank(); ++d)
    absl::StrAppend(&text, d == 0 ? "" : ", ", tensor::to_string(x->extents[static_cast<size_t>(d)]));
  return text + "]";
}

Element accumulator(Element element) {
  switch (element) {
    case Element::kFloat16:
    case Element::kBFloat16:
      return Element::kFloat32;
    case Element::kInt8:
    case Element::kUInt8:
      return Element::kInt32;
    default:
      return element;
  }
}

Buffer round_to(Builder& b, const Buffer& x, Element element) {
  if (x->element == element) return x;
  return b.compute("rounded", element, x->extents, [&](Indices i) {
    return tensor::cast(Type{element, 1}, at(x, i));
  });
}

}  // namespace tf::ops
