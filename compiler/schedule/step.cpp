#include "compiler/schedule/step.h"

#include <algorithm>

namespace tf::schedule {

OpenLayout::OpenLayout(const tensor::Layout& layout) : swizzle(layout.swizzle) {
  for (const tensor::LayoutAxis& axis : layout.axes) axes.push_back({axis.axis, axis.block});
}

bool OpenLayout::is_open() const {
  return std::ranges::any_of(axes, [](const OpenLayoutAxis& axis) { return axis.block.is_open(); });
}

void OpenLayout::push_back(int axis, Size block) {
  if (block != Size(1)) axes.push_back({axis, block});
}

tensor::Layout OpenLayout::closed() const {
  tensor::Layout layout;
  layout.swizzle = swizzle;
  for (const OpenLayoutAxis& axis : axes) layout.axes.push_back({axis.axis, axis.block.value});
  return layout;
}

}  // namespace tf::schedule
