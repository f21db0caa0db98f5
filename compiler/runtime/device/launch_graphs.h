#ifndef TF_RUNTIME_DEVICE_LAUNCH_GRAPHS_H
#define TF_RUNTIME_DEVICE_LAUNCH_GRAPHS_H
/* Owns: launches of a model that follow each other without a copy between them, as graphs, which drivers launch at once. Does not
 * know: what launches are bound to. */
#include "compiler/runtime/executor/executor.h"
#include "compiler/runtime/gpu/gpu.h"

struct tf_launch_graphs {
  const tf::gpu::Driver* driver;
  tf::gpu::Graph** graphs; /* of the first step of each stretch; else null */
  bool* is_within;         /* of each step: a graph that began before it has it */
  uint64_t step_count;
  bool are_made;
  bool repeats; /* what kernels are bound to, and its sizes, were the same in the run before */
};

bool tf_make_launch_graphs(tf_launch_graphs* graphs, const tf::gpu::Driver& driver, uint64_t step_count);
void tf_free_launch_graphs(tf_launch_graphs* graphs);

/* Before each run: graphs are made in the second one with the same memory and sizes, and dropped when these change. `kernels` are those of all
 * launches; the first ones of each step are at first_kernels[step]. Where the driver makes no graph, steps are launched one by one. */
void tf_begin_launch_graphs(tf_launch_graphs* graphs, tf::gpu::Device* device, const tf_execution* run,
                            tf::gpu::Kernel* const* kernels, const uint32_t* first_kernels, bool changed);

/* The kernel that a step launches. */
const tf_model_device_kernel& tf_device_kernel_of(const tf_execution* run, const tf_model_step& step);
/* The launch of the table at a step, by number, of the run's sizes. False if these want more blocks than the table says. */
bool tf_launch_at(const tf_execution* run, const tf_model_step& step, uint32_t launch,
                  tf::gpu::Kernel* kernel, tf::gpu::GraphLaunch* made);

#endif
