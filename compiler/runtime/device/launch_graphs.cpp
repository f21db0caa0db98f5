#include "compiler/runtime/device/launch_graphs.h"

#include <stdlib.h>

#include "compiler/runtime/executor/formula.h"
#include "compiler/runtime/executor/tables.h"

namespace {

constexpr uint32_t kFewest = 3;  // launches that are worth a graph

// Whether nothing of the host's has to happen in it.
bool is_plain_launch(const tf_model_step& step) {
  return step.kind == TF_STEP_LAUNCH && step.index_bytes == 0;
}

void drop(tf_launch_graphs* graphs) {
  for (uint64_t i = 0; i < graphs->step_count; ++i) {
    if (graphs->graphs[i] != nullptr) graphs->driver->drop_graph(graphs->graphs[i]);
    graphs->graphs[i] = nullptr;
    graphs->is_within[i] = false;
  }
  graphs->are_made = false;
}

// One of the steps [first, end), which are plain launches one after another.
void make_stretch(tf_launch_graphs* graphs, tf::gpu::Device* device, const tf_execution* run,
                  tf::gpu::Kernel* const* kernels, const uint32_t* first_kernels, uint64_t first,
                  uint64_t end) {
  const tf_model_step* steps = tf_table_at<tf_model_step>(run->header, run->header->steps);
  uint32_t count = 0;
  for (uint64_t i = first; i < end; ++i) count += tf_device_kernel_of(run, steps[i]).launch_count;
  if (count < kFewest) return;
  auto* launches = static_cast<tf::gpu::GraphLaunch*>(calloc(count, sizeof(tf::gpu::GraphLaunch)));
  if (launches == nullptr) return;
  uint32_t next = 0;
  bool known = true;
  for (uint64_t i = first; i < end; ++i) {
    for (uint32_t k = 0; k < tf_device_kernel_of(run, steps[i]).launch_count; ++k, ++next)
      known &= tf_launch_at(run, steps[i], k, kernels[first_kernels[i] + k], &launches[next]);
  }
  char error[tf::gpu::kErrorChars];
  if (known) graphs->graphs[first] = graphs->driver->make_graph(device, launches, count, error);
  free(launches);
  if (graphs->graphs[first] == nullptr) return;
  for (uint64_t i = first + 1; i < end; ++i) graphs->is_within[i] = true;
}

}  // namespace

const tf_model_device_kernel& tf_device_kernel_of(const tf_execution* run, const tf_model_step& step) {
  return tf_table_at<tf_model_device_kernel>(run->header, run->header->device_kernels)[step.kernel];
}

bool tf_make_launch_graphs(tf_launch_graphs* graphs, const tf::gpu::Driver& driver, uint64_t step_count) {
  graphs->driver = &driver;
  graphs->graphs = static_cast<tf::gpu::Graph**>(calloc(step_count + 1, sizeof(tf::gpu::Graph*)));
  graphs->is_within = static_cast<bool*>(calloc(step_count + 1, sizeof(bool)));
  const bool made = graphs->graphs != nullptr && graphs->is_within != nullptr;
  graphs->step_count = made ? step_count : 0;
  return made;
}

void tf_free_launch_graphs(tf_launch_graphs* graphs) {
  if (graphs->step_count != 0) drop(graphs);
  free(graphs->graphs);
  free(graphs->is_within);
}

void tf_begin_launch_graphs(tf_launch_graphs* graphs, tf::gpu::Device* device, const tf_execution* run,
                            tf::gpu::Kernel* const* kernels, const uint32_t* first_kernels, bool changed) {
  if (graphs->driver->make_graph == nullptr) return;
  if (changed && graphs->are_made) drop(graphs);
  const bool now = !changed && graphs->repeats && !graphs->are_made;
  graphs->repeats = true;
  if (!now) return;
  graphs->are_made = true;
  const tf_model_step* steps = tf_table_at<tf_model_step>(run->header, run->header->steps);
  const tf_model_program* programs = tf_table_at<tf_model_program>(run->header, run->header->programs);
  for (uint64_t p = 0; p < run->header->programs.count; ++p) {
    const uint64_t last = uint64_t{programs[p].first_step} + programs[p].step_count;
    for (uint64_t first = programs[p].first_step; first < last;) {
      uint64_t end = first;
      while (end < last && is_plain_launch(steps[end])) ++end;
      if (end > first) make_stretch(graphs, device, run, kernels, first_kernels, first, end);
      first = end > first ? end : first + 1;
    }
  }
}

bool tf_launch_at(const tf_execution* run, const tf_model_step& step, uint32_t number,
                  tf::gpu::Kernel* kernel, tf::gpu::GraphLaunch* made) {
  const tf_model_launch& launch = tf_table_at<tf_model_launch>(
      run->header, run->header->launches)[uint64_t{tf_device_kernel_of(run, step).first_launch} + number];
  *made = {kernel,
           {{launch.grid[0], launch.grid[1], launch.grid[2]},
            {launch.block[0], launch.block[1], launch.block[2]},
            launch.shared_bytes}};
  // Codes are read of the tables, which no formula changes.
  const int64_t* numbers = tf_table_at<int64_t>(run->header, run->header->numbers);
  for (int axis = 0; axis < 3; ++axis) {
    if (launch.code_count[axis] == 0) continue;
    int64_t blocks = 0;
    if (!tf_code_value(numbers + launch.first_code[axis], launch.code_count[axis],
                       run->numbers + step.first_dim, &blocks) ||
        blocks < 0 || blocks > launch.grid[axis])
      return false;
    made->size.grid[axis] = static_cast<uint64_t>(blocks);
  }
  return true;
}
