#include "tuner/space/carry_over.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::space {
namespace {

using Choice = std::vector<int64_t>;

// Of sizes, which may be 0.
double log_ratio(double a, double b) {
  return std::abs(std::log2((1 + a) / (1 + b)));
}

double product_as_double(const Choice& choice) {
  double all = 1;
  for (const int64_t part : choice) all *= static_cast<double>(part);
  return all;
}

double largest(const Parameter& parameter) {
  double most = 0;
  for (const Choice& choice : parameter.choices) most = std::max(most, product_as_double(choice));
  return most;
}

const tensor::Stage& main_stage(const tensor::Workload& workload) {
  const recipes::Structure structure = recipes::structure_of(workload);
  return workload.stages[static_cast<size_t>(structure.anchor.value_or(structure.output))];
}

uint32_t nearest(const Parameter& from, uint32_t choice, const Parameter& to) {
  constexpr double kInnermost = 4;  // an inner part weighs more than all outside it
  const Choice& wanted = from.choices[choice];
  const double whole = product_as_double(wanted) == largest(from) ? largest(to) : product_as_double(wanted);
  uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t i = 0; i < to.choices.size(); ++i) {
    const Choice& offered = to.choices[i];
    double apart = log_ratio(product_as_double(offered), whole), weight = 1;
    for (size_t part = 1; part < offered.size(); ++part) {
      weight *= kInnermost;
      apart += weight * log_ratio(static_cast<double>(offered[part]), static_cast<double>(wanted[part]));
    }
    if (apart < least) {
      least = apart;
      best = i;
    }
  }
  return best;
}

}  // namespace

bool are_alike(const Sketch& a, const Sketch& b) {
  return a.family == b.family &&
         std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(), b.parameters.end(),
                    [](const Parameter& one, const Parameter& other) {
                      return one.name == other.name &&
                             one.choices.front().size() == other.choices.front().size();
                    });
}

double distance(const Sketch& a, const Sketch& b) {
  const tensor::Stage &one = main_stage(*a.workload), &other = main_stage(*b.workload);
  double apart = 0;
  const auto add = [&](const std::vector<tensor::Axis>& axes, const std::vector<tensor::Axis>& others) {
    if (axes.size() != others.size()) apart = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < std::min(axes.size(), others.size()); ++i)
      apart += log_ratio(static_cast<double>(recipes::extent_of(axes[i])),
                         static_cast<double>(recipes::extent_of(others[i])));
  };
  add(one.axes, other.axes);
  add(one.reduce_axes, other.reduce_axes);
  return apart;
}

Point carry_over(const Sketch& from, const Point& point, const Sketch& to) {
  TF_CHECK(are_alike(from, to) && point.size() == from.parameters.size()) << "a point of another family";
  Point carried;
  for (size_t parameter = 0; parameter < point.size(); ++parameter)
    carried.push_back(nearest(from.parameters[parameter], point[parameter], to.parameters[parameter]));
  return carried;
}

}  // namespace tf::space
