#include "compiler/runtime/executor/executor.h"

#include <string.h>

#include "compiler/runtime/clock.h"
#include "compiler/runtime/device/device.h"
#include "compiler/runtime/executor/control.h"
#include "compiler/runtime/executor/sizes.h"
#include "compiler/runtime/executor/tables_dims.h"
#include "compiler/runtime/model_types.h"

namespace {

// Without a branch for each, so that they are compared as vectors.
template <typename T>
bool all_within(const void* indices, uint64_t count, int64_t extent) {
  const T* values = static_cast<const T*>(indices);
  bool outside = false;
  for (uint64_t i = 0; i < count; ++i) outside |= values[i] < -extent || values[i] >= extent;
  return !outside;
}

bool indices_valid(const tf_execution* run, const tf_model_step& step) {
  if (step.index_bytes == 0) return true;
  const uint64_t buffer = step.first_buffer + step.index_buffer;
  const uint64_t count = run->sizes_bytes[buffer] / step.index_bytes;
  const int64_t extent = run->numbers[step.first_dim + step.dim_count];
  return step.index_bytes == sizeof(int32_t) ? all_within<int32_t>(run->buffers[buffer], count, extent)
                                             : all_within<int64_t>(run->buffers[buffer], count, extent);
}

int32_t run_call(const tf_execution* run, const tf_model_step& step) {
  if (!indices_valid(run, step)) return TF_MODEL_BAD_INDEX;
  tf_call call;
  call.abi_version = TF_ABI_VERSION;
  call.buffer_count = step.buffer_count;
  call.buffers = run->buffers + step.first_buffer;
  call.sizes_bytes = run->sizes_bytes + step.first_buffer;
  call.dims = run->numbers + step.first_dim;
  call.workspace = run->workspace;
  call.runtime = run->runtime;
  return tf_model_kernels[step.kernel](&call);
}

// Null of what is only on the device.
void* within(void* tensor, uint64_t offset_bytes) {
  return tensor != nullptr ? static_cast<uint8_t*>(tensor) + offset_bytes : nullptr;
}

// Where the program's buffers lie now.
void bind_buffers(tf_execution* run, const tf_model_program& program, uint8_t* arena) {
  const tf_model_buffer* buffers = run->places + program.first_buffer;
  void** inputs = run->bound + program.first_tensor;
  void** outputs = inputs + program.input_count;
  for (uint64_t i = 0; i < program.buffer_count; ++i) {
    const tf_model_buffer& buffer = buffers[i];
    void** place = run->buffers + program.first_buffer + i;
    if (buffer.space == TF_SPACE_ARENA)
      *place = arena + buffer.offset_bytes;
    else if (buffer.space == TF_SPACE_INPUT || buffer.space == TF_SPACE_OUTPUT)
      *place = within((buffer.space == TF_SPACE_INPUT ? inputs : outputs)[buffer.index], buffer.offset_bytes);
  }
}

// A launch or a copy.
int32_t run_on_device(const tf_execution* run, uint32_t number, const tf_model_step& step) {
  if (step.kind == TF_STEP_LAUNCH && !indices_valid(run, step)) return TF_MODEL_BAD_INDEX;
  int64_t device_ns = 0;
  const int32_t error =
      run->on_device->run_step(run->device, run, number, run->profile != nullptr ? &device_ns : nullptr);
  if (error != TF_MODEL_OK || run->profile == nullptr) return error;
  const int64_t end_ns = tf_monotonic_ns();
  run->profile(run->profile_context, static_cast<int32_t>(number), end_ns - device_ns, end_ns);
  return TF_MODEL_OK;
}

// Of a step that has run.
int32_t make_dimension(tf_execution* run, const tf_model_step& step) {
  const int64_t value = *static_cast<const int64_t*>(run->buffers[step.first_buffer + step.made_buffer]);
  const tf_model_dimension& dim =
      tf_table_at<tf_model_dimension>(run->header, run->header->dims)[step.made_dim];
  if (!tf_is_value_of(dim, value)) return TF_MODEL_BAD_SIZE;
  return tf_set_size(run, step.made_dim, value);
}

}  // namespace

int32_t tf_run_program(tf_execution* run, uint32_t number, uint8_t* arena) {
  const tf_model_program& program = tf_table_at<tf_model_program>(run->header, run->header->programs)[number];
  const tf_model_step* steps = tf_table_at<tf_model_step>(run->header, run->header->steps);
  bind_buffers(run, program, arena);
  for (uint32_t i = program.first_step; i < program.first_step + program.step_count; ++i) {
    if (steps[i].kind >= TF_STEP_LAUNCH) {
      if (int32_t error = run_on_device(run, i, steps[i]); error != 0) return error;
      continue;
    }
    if (steps[i].kind != TF_STEP_CALL) {
      if (int32_t error = tf_run_control(run, steps[i]); error != 0) return error;
      continue;
    }
    const int64_t start_ns = run->profile ? tf_monotonic_ns() : 0;
    if (int32_t error = run_call(run, steps[i]); error != 0) return error;
    if (run->profile)
      run->profile(run->profile_context, static_cast<int32_t>(i), start_ns, tf_monotonic_ns());
    if (steps[i].made_dim == TF_NO_DIMENSION) continue;
    if (int32_t error = make_dimension(run, steps[i]); error != 0) return error;
    bind_buffers(run, program, arena);
  }
  return TF_MODEL_OK;
}
