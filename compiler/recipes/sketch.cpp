#include "compiler/recipes/sketch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "compiler/recipes/sizes/parameters.h"

namespace tf::recipes {
namespace {

class Filler {
 public:
  Filler(const Sketch& sketch, const Point& point) : sketch_(sketch), point_(point) {}

  void operator()(schedule::Split& step) const {
    for (schedule::Size& factor : step.factors) fill(factor);
  }
  void operator()(schedule::CacheRead& step) const { fill(step.layout); }
  void operator()(schedule::LayoutRewrite& step) const { fill(step.layout); }
  void operator()(schedule::StorageAlign& step) const {
    fill(step.factor);
    fill(step.offset);
  }
  void operator()(schedule::Pragma& step) const { fill(step.value); }
  void operator()(schedule::Pipeline& step) const {
    fill(step.stages);
    fill(step.bulk);
  }
  void operator()(schedule::Raster& step) const { fill(step.group); }
  void operator()(schedule::CrossThread& step) const { fill(step.threads); }
  void operator()(schedule::Matrices& step) const { fill(step.part); }
  void operator()(schedule::Rescale& step) const { fill(step.block); }
  template <typename Other>
  void operator()(Other&) const {}  // the other steps have no sizes

 private:
  void fill(schedule::OpenLayout& layout) const {
    for (schedule::OpenLayoutAxis& axis : layout.axes) fill(axis.block);
    std::erase_if(layout.axes, [](const auto& axis) { return axis.block == schedule::Size(1); });
  }
  void fill(schedule::Size& size) const {
    if (!size.is_open()) return;
    const auto parameter = static_cast<size_t>(size.parameter);
    TF_CHECK(parameter < point_.size() && point_[parameter] < sketch_.parameters[parameter].choices.size())
        << "the point has no choice for parameter " << parameter;
    size = schedule::Size(
        sketch_.parameters[parameter].choices[point_[parameter]].at(static_cast<size_t>(size.part)));
  }

  const Sketch& sketch_;
  const Point& point_;
};

}  // namespace

Sketch::Sketch(std::string name, const tensor::KernelSpec& kernel)
    : family(std::move(name)), workload(std::make_shared<const tensor::Workload>(kernel.workload)) {}

std::vector<schedule::Size> Sketch::open(Parameter parameter, const Choice& default_choice) {
  const auto found = std::ranges::find(parameter.choices, default_choice);
  parameter.default_choice = static_cast<uint32_t>(found - parameter.choices.begin());
  if (found == parameter.choices.end()) parameter.choices.push_back(default_choice);
  const auto index = static_cast<int>(parameters.size());
  std::vector<schedule::Size> parts;
  for (size_t part = 0; part < default_choice.size(); ++part)
    parts.push_back(schedule::Size::open(index, static_cast<int>(part)));
  parameters.push_back(std::move(parameter));
  return parts;
}

schedule::Size Sketch::open(std::string name, const std::vector<int64_t>& values, int64_t default_value) {
  return open(scalar_parameter(std::move(name), values), {default_value}).front();
}

Point Sketch::default_point() const {
  Point point;
  for (const Parameter& parameter : parameters) point.push_back(parameter.default_choice);
  return point;
}

double Sketch::size() const {
  double points = 1;
  for (const Parameter& parameter : parameters) points *= static_cast<double>(parameter.choices.size());
  return points;
}

Digest Sketch::hash() const {
  std::string text = schedule::to_string(steps);
  for (const Parameter& parameter : parameters) {
    absl::StrAppend(&text, parameter.name);
    for (const auto& choice : parameter.choices) absl::StrAppend(&text, " ", absl::StrJoin(choice, ","));
    absl::StrAppend(&text, "\n");
  }
  return sha256(text);
}

schedule::Schedule instantiate(const Sketch& sketch, const Point& point) {
  schedule::Schedule schedule = sketch.steps;
  for (schedule::Step& step : schedule.steps) std::visit(Filler(sketch, point), step);
  std::erase_if(schedule.steps, [](const schedule::Step& step) {  // says nothing
    const auto* pragma = std::get_if<schedule::Pragma>(&step);
    return pragma != nullptr && pragma->value == schedule::Size(0);
  });
  return schedule;
}

std::optional<Point> point_of(const Sketch& sketch, std::span<const int64_t> choices) {
  if (choices.size() != sketch.parameters.size()) return std::nullopt;
  Point point;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] < 0 || static_cast<size_t>(choices[i]) >= sketch.parameters[i].choices.size())
      return std::nullopt;
    point.push_back(static_cast<uint32_t>(choices[i]));
  }
  return point;
}

schedule::OpenSizes open_sizes(const Sketch& sketch) {
  schedule::OpenSizes open;
  for (const Parameter& parameter : sketch.parameters) {
    std::vector<schedule::OpenSize>& parts = open.emplace_back();
    for (size_t part = 0; part < parameter.choices.front().size(); ++part) {
      schedule::OpenSize& size = parts.emplace_back();
      size.var = tensor::var(absl::StrCat("$", open.size() - 1, ".", part));
      size.least = size.greatest = parameter.choices.front()[part];
      for (const std::vector<int64_t>& choice : parameter.choices) {
        size.least = std::min(size.least, choice[part]);
        size.greatest = std::max(size.greatest, choice[part]);
      }
    }
  }
  return open;
}

std::string to_string(const Point& point) {
  return absl::StrJoin(point, ",");
}

}  // namespace tf::recipes
