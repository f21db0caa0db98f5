#include <algorithm>

#include "compiler/runtime/host/functions.h"
#include "compiler/runtime/host/order.h"
#include "compiler/runtime/host/workspace.h"

namespace tf::host {
namespace {

struct Box {
  float top, left, bottom, right, area;
};

Box box_of(const float* at, bool centered) {
  Box box;
  if (centered) {  // x, y, width, height
    const float half_width = at[2] / 2, half_height = at[3] / 2;
    box = {at[1] - half_height, at[0] - half_width, at[1] + half_height, at[0] + half_width, 0};
  } else {  // two opposite corners, each y, x
    box = {at[0], at[1], at[2], at[3], 0};
    if (at[0] >= at[2]) std::swap(box.top, box.bottom);
    if (at[1] >= at[3]) std::swap(box.left, box.right);
  }
  box.area = (box.right - box.left) * (box.bottom - box.top);
  return box;
}

bool overlap(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left),
              height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return false;
  const float both = width * height, either = a.area + b.area - both;
  if (!(both > 0 && a.area > 0 && b.area > 0 && either > 0)) return false;
  return both / either > threshold;
}

// The best score first, of equals the lower place; a NaN last.
uint64_t order_of_box(float score, int64_t place) {
  return placed(score != score ? 0 : order_of(score) + 1, static_cast<int64_t>(UINT32_MAX) - place);
}

int64_t box_of_order(uint64_t order) {
  return static_cast<int64_t>(UINT32_MAX) - place_of(order);
}

struct Limits {
  int64_t most;  // of one class
  float overlap, score;
  bool has_score, centered;
};

// Writes the boxes of one class to places 2, 5, 8, … of `selected`; returns how many.
int64_t select(const float* boxes, const float* scores, int64_t count, const Limits& limits, uint64_t* queue,
               Box* chosen, int64_t* selected) {
  int64_t waiting = 0, found = 0;
  for (int64_t i = 0; i < count; ++i)
    if (!limits.has_score || scores[i] > limits.score) queue[waiting++] = order_of_box(scores[i], i);
  std::make_heap(queue, queue + waiting);
  for (; waiting > 0 && found < limits.most; --waiting) {
    std::pop_heap(queue, queue + waiting);
    const int64_t place = box_of_order(queue[waiting - 1]);
    const Box box = box_of(boxes + 4 * place, limits.centered);
    bool apart = true;
    for (int64_t i = 0; i < found && apart; ++i) apart = !overlap(box, chosen[i], limits.overlap);
    if (!apart) continue;
    chosen[found] = box;
    selected[3 * found++ + 2] = place;
  }
  return found;
}

uint64_t queue_bytes(int64_t count) {
  return aligned(static_cast<uint64_t>(count) * sizeof(uint64_t));
}

}  // namespace
}  // namespace tf::host

tf_host_workspace tf_host_non_max_suppression_workspace(const int64_t* dims) {
  const int64_t count = tf::host::shape_at(dims, 0).extents[1];
  return {
      tf::host::queue_bytes(count) + tf::host::aligned(static_cast<uint64_t>(count) * sizeof(tf::host::Box)),
      0};
}

int32_t tf_host_non_max_suppression(const tf_call* call) {
  using namespace tf::host;
  const tf_host_arguments arguments = tf_host_arguments_of(call);
  const tf_host_tensor boxes = tf_host_tensor_at(&arguments, 0), scores = tf_host_tensor_at(&arguments, 1),
                       selected = tf_host_tensor_at(&arguments, 5);
  const int64_t batches = boxes.extents[0], count = boxes.extents[1], classes = scores.extents[1];
  if (count > int64_t{UINT32_MAX}) return TF_KERNEL_SHORT_BUFFER;
  const int64_t most = std::clamp(*static_cast<const int64_t*>(call->buffers[2]), int64_t{0}, count);
  if (batches * classes * most > selected.extents[0]) return TF_KERNEL_SHORT_BUFFER;
  const Limits limits = {most, *static_cast<const float*>(call->buffers[3]),
                         *static_cast<const float*>(call->buffers[4]), arguments.attributes[1] != 0,
                         arguments.attributes[0] != 0};
  auto* queue = static_cast<uint64_t*>(call->workspace);
  auto* chosen = reinterpret_cast<Box*>(static_cast<uint8_t*>(call->workspace) + queue_bytes(count));
  auto* next = static_cast<int64_t*>(selected.data);
  int64_t total = 0;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t c = 0; c < classes; ++c) {
      const int64_t found = select(static_cast<const float*>(boxes.data) + b * count * 4,
                                   static_cast<const float*>(scores.data) + (b * classes + c) * count, count,
                                   limits, queue, chosen, next);
      for (int64_t i = 0; i < found; ++i, next += 3) {
        next[0] = b;
        next[1] = c;
      }
      total += found;
    }
  }
  *static_cast<int64_t*>(call->buffers[6]) = total;
  return 0;
}
