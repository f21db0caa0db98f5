#include "compiler/schedule/tolerance.h"

#include <algorithm>
#include <cmath>

#include "compiler/schedule/numerics.h"

namespace tf::schedule {
namespace {

double unit_roundoff(tensor::Element element) {
  switch (element) {
    case tensor::Element::kFloat16:
      return 0x1p-11;
    case tensor::Element::kBFloat16:
      return 0x1p-8;
    case tensor::Element::kFloat32:
      return 0x1p-24;
    case tensor::Element::kFloat64:
      return 0x1p-53;
    default:
      return 0;
  }
}

}  // namespace

double tolerance(const tensor::Workload& workload, const Schedule& schedule) {
  double roundoff = 0;
  double terms = 0;
  for (const tensor::Stage& stage : workload.stages) {
    tensor::for_each(stage.body, [&](const tensor::Expr& e) {
      roundoff = std::max(roundoff, unit_roundoff(e->type().element));
      return true;
    });
    roundoff = std::max(roundoff, unit_roundoff(stage.output->element));
    double length = 1;
    for (const tensor::Axis& axis : stage.reduce_axes) {
      length *= static_cast<double>(tensor::as_int(axis.extent).value_or(1));
    }
    terms += length;
  }
  return roundoff * (16 + 4 * std::sqrt(terms)) * tolerance_factor(schedule) + storage_error(schedule);
}

}  // namespace tf::schedule
