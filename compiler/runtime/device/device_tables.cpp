#include "compiler/runtime/device/device.h"
#include "compiler/runtime/executor/formula.h"
#include "compiler/runtime/executor/tables.h"
#include "compiler/runtime/executor/tables_dims.h"
#include "compiler/runtime/gpu/gpu.h"

namespace {

constexpr uint64_t kMostWorkspaceBytes = uint64_t{1} << 40;

bool table_fits(const tf_model_header* header, const tf_model_table& table, uint64_t element_bytes) {
  return table.offset_bytes % 8 == 0 && table.offset_bytes <= header->blob_bytes &&
         table.count <= (header->blob_bytes - table.offset_bytes) / element_bytes;
}

// Whether the blocks along an axis have no code, or one over the dims of the kernel's steps.
bool grid_code_valid(const tf_model_header* header, const tf_model_launch& launch, int axis,
                     uint32_t dim_count) {
  const uint64_t first = launch.first_code[axis], count = launch.code_count[axis];
  return count == 0 ||
         (tf_range_fits(first, count, header->numbers.count) &&
          tf_code_valid(tf_table_at<int64_t>(header, header->numbers) + first, count, dim_count));
}

bool launches_valid(const tf_model_header* header) {
  const tf_model_launch* launches = tf_table_at<tf_model_launch>(header, header->launches);
  for (uint64_t i = 0; i < header->launches.count; ++i) {
    uint64_t threads = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const uint64_t block = launches[i].block[axis];
      if (block == 0 || block > TF_MOST_BLOCK_THREADS || launches[i].grid[axis] * block > UINT32_MAX)
        return false;
      threads *= block;
    }
    // The entry's name ends: tf_tables_valid saw that the last string does.
    if (threads > TF_MOST_BLOCK_THREADS || launches[i].shared_bytes > TF_MOST_SHARED_BYTES ||
        launches[i].entry >= header->strings.count ||
        !tf_range_fits(launches[i].first_map, launches[i].map_count, header->tensor_maps.count))
      return false;
  }
  const tf_model_tensor_map* maps = tf_table_at<tf_model_tensor_map>(header, header->tensor_maps);
  for (uint64_t i = 0; i < header->tensor_maps.count; ++i) {
    if (maps[i].rank > TF_MOST_TENSOR_AXES) return false;
    tf::gpu::TensorMap map = {.argument = 0,
                              .element_bytes = maps[i].element_bytes,
                              .rank = maps[i].rank,
                              .extents = {},
                              .box = {}};
    for (uint32_t axis = 0; axis < maps[i].rank; ++axis) {
      map.extents[axis] = maps[i].extents[axis];
      map.box[axis] = maps[i].box[axis];
    }
    if (!tf::gpu::is_tensor_map(map)) return false;
  }
  return true;
}

// What is in a code is not looked at: it is as trusted as the library that it is part of.
bool codes_valid(const tf_model_header* header) {
  const tf_model_code* codes = tf_table_at<tf_model_code>(header, header->codes);
  for (uint64_t i = 0; i < header->codes.count; ++i) {
    if (codes[i].kind < TF_DEVICE_CODE_OPENCL_C || codes[i].kind > TF_DEVICE_CODE_PTX ||
        codes[i].byte_count == 0 ||
        !tf_range_fits(codes[i].first_byte, codes[i].byte_count, header->codes_bytes.count))
      return false;
  }
  return true;
}

// Their launches lie behind each other, so that each is looked at once.
bool kernels_valid(const tf_model_header* header) {
  const tf_model_device_kernel* kernels = tf_table_at<tf_model_device_kernel>(header, header->device_kernels);
  uint64_t next_launch = 0;
  for (uint64_t i = 0; i < header->device_kernels.count; ++i) {
    if (kernels[i].code_count == 0 || kernels[i].workspace_bytes > kMostWorkspaceBytes ||
        !tf_range_fits(kernels[i].first_code, kernels[i].code_count, header->codes.count) ||
        !tf_range_fits(kernels[i].first_launch, kernels[i].launch_count, header->launches.count) ||
        kernels[i].first_launch < next_launch)
      return false;
    next_launch = uint64_t{kernels[i].first_launch} + kernels[i].launch_count;
    const tf_model_launch* launches =
        tf_table_at<tf_model_launch>(header, header->launches) + kernels[i].first_launch;
    for (uint32_t k = 0; k < kernels[i].launch_count; ++k)
      for (int axis = 0; axis < 3; ++axis)
        if (!grid_code_valid(header, launches[k], axis, kernels[i].dim_count)) return false;
  }
  return true;
}

// Whether a formula gives a number of these.
bool has_formula(const tf_model_header* header, uint32_t target, uint64_t first, uint64_t count) {
  const tf_model_formula* formulas = tf_table_at<tf_model_formula>(header, header->formulas);
  const uint64_t i = tf_first_formula(header, target, first);
  return i < header->formulas.count && formulas[i].target == target && formulas[i].index < first + count;
}

bool step_valid(const tf_model_header* header, const tf_model_step& step) {
  if (header->device_function == TF_NO_DEVICE || step.made_dim != TF_NO_DIMENSION) return false;
  if (step.kind == TF_STEP_LAUNCH) {
    if (step.kernel >= header->device_kernels.count) return false;
    const uint32_t dim_count =
        tf_table_at<tf_model_device_kernel>(header, header->device_kernels)[step.kernel].dim_count;
    if (dim_count != 0 && dim_count != step.dim_count) return false;
    const bool has_indices = step.index_bytes == sizeof(int32_t) || step.index_bytes == sizeof(int64_t);
    if (has_indices ? step.index_buffer >= step.buffer_count : step.index_bytes != 0) return false;
  } else if (step.buffer_count != 1 || step.index_bytes != 0) {
    return false;
  }
  const tf_model_buffer* buffers = tf_table_at<tf_model_buffer>(header, header->buffers);
  for (uint64_t i = step.first_buffer; i < uint64_t{step.first_buffer} + step.buffer_count; ++i) {
    if (buffers[i].offset_bytes % (step.kind == TF_STEP_LAUNCH ? TF_DEVICE_ALIGNMENT : 1) != 0) return false;
    if (step.kind != TF_STEP_LAUNCH && buffers[i].space == TF_SPACE_WEIGHTS) return false;
  }
  return true;
}

bool uses_device(const tf_model_header* header, const tf_model_program& program) {
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps);
  for (uint64_t i = program.first_step; i < uint64_t{program.first_step} + program.step_count; ++i)
    if (steps[i].kind >= TF_STEP_LAUNCH) return true;
  return false;
}

// Whether it is the first program or a variant, as its tensors have the places of the first's.
bool runs_on_its_own(const tf_model_header* header, uint64_t number) {
  const tf_model_variant* variants = tf_table_at<tf_model_variant>(header, header->variants);
  bool found = number == 0;
  for (uint64_t i = 0; i < header->variants.count; ++i) found |= variants[i].program == number;
  return found;
}

bool makes_dims(const tf_model_header* header) {
  const tf_model_dimension* dims = tf_table_at<tf_model_dimension>(header, header->dims);
  for (uint64_t i = 0; i < header->dims.count; ++i)
    if (dims[i].made_by == TF_DIM_MADE) return true;
  return false;
}

}  // namespace

bool tf_device_tables_valid(const tf_model_header* header) {
  if (!table_fits(header, header->device_kernels, sizeof(tf_model_device_kernel)) ||
      !table_fits(header, header->codes, sizeof(tf_model_code)) ||
      !table_fits(header, header->launches, sizeof(tf_model_launch)) ||
      !table_fits(header, header->tensor_maps, sizeof(tf_model_tensor_map)) ||
      !table_fits(header, header->codes_bytes, 1))
    return false;
  if (header->device_function != TF_NO_DEVICE && header->device_function >= header->kernel_count)
    return false;
  if (!launches_valid(header) || !codes_valid(header) || !kernels_valid(header)) return false;
  const tf_model_program* programs = tf_table_at<tf_model_program>(header, header->programs);
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps);
  for (uint64_t i = 0; i < header->steps.count; ++i) {
    if (steps[i].kind >= TF_STEP_LAUNCH && !step_valid(header, steps[i])) return false;
    // Bodies run in a part of the arena, and may do so at any place.
    const bool is_branch = steps[i].kind == TF_STEP_BRANCH;
    if (!is_branch && steps[i].kind != TF_STEP_LOOP) continue;
    if (uses_device(header, programs[steps[i].body])) return false;
    if (is_branch && uses_device(header, programs[steps[i].other_body])) return false;
  }
  for (uint64_t i = 0; i < header->programs.count; ++i)
    if (uses_device(header, programs[i]) && (!runs_on_its_own(header, i) || makes_dims(header))) return false;
  return true;
}

bool tf_step_varies(const tf_model_header* header, const tf_model_step& step) {
  return has_formula(header, TF_FORMULA_NUMBER, step.first_dim, tf_number_count(step)) ||
         has_formula(header, TF_FORMULA_BUFFER_BYTES, step.first_buffer, step.buffer_count) ||
         has_formula(header, TF_FORMULA_BUFFER_OFFSET, step.first_buffer, step.buffer_count);
}

bool tf_used_on_host(const tf_model_header* header, uint64_t tensor) {
  const tf_model_program& program = *tf_table_at<tf_model_program>(header, header->programs);
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps);
  const tf_model_buffer* buffers = tf_table_at<tf_model_buffer>(header, header->buffers);
  for (uint64_t i = program.first_step; i < uint64_t{program.first_step} + program.step_count; ++i) {
    for (uint64_t k = 0; k < steps[i].buffer_count; ++k) {
      const tf_model_buffer& buffer = buffers[steps[i].first_buffer + k];
      const bool is_input = buffer.space == TF_SPACE_INPUT;
      if (!is_input && buffer.space != TF_SPACE_OUTPUT) continue;
      const bool is_on_host =
          steps[i].kind < TF_STEP_LAUNCH || (steps[i].index_bytes != 0 && steps[i].index_buffer == k);
      if (is_on_host && (is_input ? 0 : uint64_t{program.input_count}) + buffer.index == tensor) return true;
    }
  }
  return false;
}

bool tf_all_on_device(const tf_model_header* header) {
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps);
  for (uint64_t i = 0; i < header->steps.count; ++i)
    if (steps[i].kind < TF_STEP_LAUNCH || steps[i].index_bytes != 0) return false;
  return true;
}
