#include "compiler/runtime/executor/tables.h"

#include "compiler/runtime/device/device.h"
#include "compiler/runtime/executor/tables_dims.h"

namespace {

bool table_fits(const tf_model_header* header, const tf_model_table& table, uint64_t element_bytes) {
  return table.offset_bytes % 8 == 0 && table.offset_bytes <= header->blob_bytes &&
         table.count <= (header->blob_bytes - table.offset_bytes) / element_bytes;
}

bool all_tables_fit(const tf_model_header* header) {
  return table_fits(header, header->programs, sizeof(tf_model_program)) &&
         table_fits(header, header->tensors, sizeof(tf_model_tensor)) &&
         table_fits(header, header->steps, sizeof(tf_model_step)) &&
         table_fits(header, header->buffers, sizeof(tf_model_buffer)) &&
         table_fits(header, header->numbers, sizeof(int64_t)) && table_fits(header, header->strings, 1) &&
         table_fits(header, header->dims, sizeof(tf_model_dimension)) &&
         table_fits(header, header->variants, sizeof(tf_model_variant)) &&
         table_fits(header, header->formulas, sizeof(tf_model_formula));
}

bool tensors_valid(const tf_model_header* header) {
  const tf_model_tensor* tensors = tf_table_at<tf_model_tensor>(header, header->tensors);
  for (uint64_t i = 0; i < header->tensors.count; ++i) {
    if (tensors[i].name >= header->strings.count ||
        !tf_range_fits(tensors[i].first_extent, tensors[i].rank, header->numbers.count)) {
      return false;
    }
  }
  return true;
}

bool body_valid(const tf_model_header* header, uint64_t program, uint32_t body) {
  return body > program && body < header->programs.count;
}

bool control_valid(const tf_model_header* header, uint64_t program, const tf_model_step& step) {
  if (!body_valid(header, program, step.body)) return false;
  const tf_model_program* programs = tf_table_at<tf_model_program>(header, header->programs);
  const tf_model_program& body = programs[step.body];
  if (step.kind == TF_STEP_BRANCH) {
    if (!body_valid(header, program, step.other_body)) return false;
    const tf_model_program& other = programs[step.other_body];
    return body.input_count == other.input_count && body.output_count == other.output_count &&
           step.buffer_count == uint64_t{body.input_count} + body.output_count + 2;
  }
  const int64_t* numbers = tf_table_at<int64_t>(header, header->numbers) + step.first_dim;
  if (step.dim_count < 4) return false;
  for (int i = 0; i < 4; ++i)
    if (numbers[i] < 0 || numbers[i] > INT32_MAX) return false;
  const auto conditional = static_cast<uint64_t>(numbers[0]), carried = static_cast<uint64_t>(numbers[1]);
  const auto scanned = static_cast<uint64_t>(numbers[2]), joined = static_cast<uint64_t>(numbers[3]);
  if (conditional > 1 || step.dim_count != 4 + scanned + joined) return false;
  return body.input_count >= 1 + carried + scanned && body.output_count == conditional + carried + joined &&
         step.buffer_count ==
             conditional + body.input_count + carried + joined + 2 + carried + scanned + joined + 1;
}

bool step_valid(const tf_model_header* header, uint64_t number, const tf_model_step& step) {
  const tf_model_program& program = tf_table_at<tf_model_program>(header, header->programs)[number];
  if (step.name >= header->strings.count || step.key >= header->strings.count ||
      step.first_buffer < program.first_buffer ||
      !tf_range_fits(step.first_buffer - program.first_buffer, step.buffer_count, program.buffer_count) ||
      !tf_range_fits(step.first_dim, tf_number_count(step), header->numbers.count)) {
    return false;
  }
  if (step.made_dim != TF_NO_DIMENSION && (step.kind != TF_STEP_CALL || step.made_dim >= header->dims.count ||
                                           step.made_buffer >= step.buffer_count)) {
    return false;
  }
  if (step.kind == TF_STEP_BRANCH || step.kind == TF_STEP_LOOP) return control_valid(header, number, step);
  if (step.kind >= TF_STEP_LAUNCH && step.kind <= TF_STEP_DOWNLOAD)
    return true;  // tf_device_tables_valid looks
  const bool has_indices = step.index_bytes == sizeof(int32_t) || step.index_bytes == sizeof(int64_t);
  return step.kind == TF_STEP_CALL && step.kernel < header->kernel_count &&
         (has_indices ? step.index_buffer < step.buffer_count : step.index_bytes == 0);
}

bool program_valid(const tf_model_header* header, const tf_model_program& program) {
  return tf_range_fits(program.first_tensor, uint64_t{program.input_count} + program.output_count,
                       header->tensors.count) &&
         tf_range_fits(program.first_step, program.step_count, header->steps.count) &&
         tf_range_fits(program.first_buffer, program.buffer_count, header->buffers.count);
}

bool programs_valid(const tf_model_header* header) {
  const tf_model_program* programs = tf_table_at<tf_model_program>(header, header->programs);
  const tf_model_step* steps = tf_table_at<tf_model_step>(header, header->steps);
  for (uint64_t i = 0; i < header->programs.count; ++i)
    if (!program_valid(header, programs[i])) return false;
  for (uint64_t i = 0; i < header->programs.count; ++i) {
    for (uint64_t k = 0; k < programs[i].step_count; ++k)
      if (!step_valid(header, i, steps[programs[i].first_step + k])) return false;
  }
  return header->programs.count != 0;
}

}  // namespace

bool tf_tables_valid(const tf_model_header* header) {
  if (header->magic != TF_MODEL_MAGIC || header->version != TF_MODEL_VERSION) return false;
  if (!all_tables_fit(header)) return false;
  if (header->strings.count == 0 ||
      tf_table_at<char>(header, header->strings)[header->strings.count - 1] != '\0')
    return false;
  return tensors_valid(header) && programs_valid(header) &&
         tf_sizes_valid(header, tf_table_at<int64_t>(header, header->numbers),
                        tf_table_at<tf_model_tensor>(header, header->tensors),
                        tf_table_at<tf_model_buffer>(header, header->buffers)) &&
         tf_dims_valid(header) && tf_made_dims_valid(header) && tf_device_tables_valid(header);
}
