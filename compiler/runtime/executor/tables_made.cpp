#include "compiler/runtime/executor/tables_dims.h"

namespace {

bool code_uses(const int64_t* code, uint64_t count, uint64_t dim) {
  for (uint64_t i = 0; i < count; ++i) {
    if (code[i] != TF_CODE_NUMBER && code[i] != TF_CODE_DIM) continue;
    const bool is_dim = code[i] == TF_CODE_DIM;
    if (static_cast<uint64_t>(code[++i]) == dim && is_dim) return true;
  }
  return false;
}

// Of `count` entries from `first` on, whether a formula uses the dimension.
bool entries_use(const tf_model_header* header, uint32_t target, uint64_t first, uint64_t count,
                 uint64_t dim) {
  const tf_model_formula* formulas = tf_table_at<tf_model_formula>(header, header->formulas);
  const int64_t* numbers = tf_table_at<int64_t>(header, header->numbers);
  for (uint64_t i = tf_first_formula(header, target, first);
       i < header->formulas.count && formulas[i].target == target && formulas[i].index < first + count; ++i) {
    if (code_uses(numbers + formulas[i].first_code, formulas[i].code_count, dim)) return true;
  }
  return false;
}

bool step_uses(const tf_model_header* header, const tf_model_step& step, uint64_t dim) {
  return entries_use(header, TF_FORMULA_NUMBER, step.first_dim, tf_number_count(step), dim) ||
         entries_use(header, TF_FORMULA_BUFFER_BYTES, step.first_buffer, step.buffer_count, dim) ||
         entries_use(header, TF_FORMULA_BUFFER_OFFSET, step.first_buffer, step.buffer_count, dim);
}

bool tensors_use(const tf_model_header* header, const tf_model_program& program, uint64_t dim) {
  const uint64_t count = uint64_t{program.input_count} + program.output_count;
  if (entries_use(header, TF_FORMULA_TENSOR_BYTES, program.first_tensor, count, dim)) return true;
  const tf_model_tensor* tensors =
      tf_table_at<tf_model_tensor>(header, header->tensors) + program.first_tensor;
  for (uint64_t i = 0; i < count; ++i)
    if (entries_use(header, TF_FORMULA_NUMBER, tensors[i].first_extent, tensors[i].rank, dim)) return true;
  return false;
}

// In a program that runs on its own: one step makes the dimension, and only later ones use it; or none does either.
bool made_before_used(const tf_model_header* header, const tf_model_program& program, uint64_t dim) {
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps) + program.first_step;
  bool is_made = false;
  for (uint64_t i = 0; i < program.step_count; ++i) {
    if (!is_made && step_uses(header, steps[i], dim)) return false;
    if (steps[i].made_dim != dim) continue;
    if (is_made) return false;
    is_made = true;
  }
  return is_made || !tensors_use(header, program, dim);
}

bool neither_made_nor_used(const tf_model_header* header, const tf_model_program& program, uint64_t dim) {
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps) + program.first_step;
  for (uint64_t i = 0; i < program.step_count; ++i)
    if (steps[i].made_dim == dim || step_uses(header, steps[i], dim)) return false;
  return !tensors_use(header, program, dim);
}

bool is_variant(const tf_model_header* header, uint64_t program) {
  const tf_model_variant* variants = tf_table_at<tf_model_variant>(header, header->variants);
  for (uint64_t i = 0; i < header->variants.count; ++i)
    if (variants[i].program == program) return true;
  return false;
}

// Of all programs that steps run.
bool bodies_valid(const tf_model_header* header, uint64_t dim) {
  const tf_model_program* programs = tf_table_at<tf_model_program>(header, header->programs);
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps);
  for (uint64_t i = 0; i < header->steps.count; ++i) {
    const tf_model_step& step = steps[i];
    if (step.kind != TF_STEP_BRANCH && step.kind != TF_STEP_LOOP) continue;
    if (!neither_made_nor_used(header, programs[step.body], dim)) return false;
    if (step.kind == TF_STEP_BRANCH && !neither_made_nor_used(header, programs[step.other_body], dim))
      return false;
  }
  return true;
}

}  // namespace

bool tf_made_dims_valid(const tf_model_header* header) {
  const tf_model_dimension* dims = tf_table_at<tf_model_dimension>(header, header->dims);
  const tf_model_program* programs = tf_table_at<tf_model_program>(header, header->programs);
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps);
  for (uint64_t i = 0; i < header->steps.count; ++i) {
    if (steps[i].made_dim == TF_NO_DIMENSION) continue;
    if (steps[i].made_dim >= header->dims.count || dims[steps[i].made_dim].made_by != TF_DIM_MADE)
      return false;
  }
  for (uint64_t dim = 0; dim < header->dims.count; ++dim) {
    if (dims[dim].made_by != TF_DIM_MADE) continue;
    if (!bodies_valid(header, dim)) return false;
    for (uint64_t i = 0; i < header->programs.count; ++i) {
      const bool on_its_own = i == 0 || is_variant(header, i);
      if (on_its_own && !made_before_used(header, programs[i], dim)) return false;
    }
  }
  return true;
}
