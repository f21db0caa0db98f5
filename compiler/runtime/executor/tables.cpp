#include "compiler/runtime/executor/tables.h"

namespace {

bool table_fits(const tf_model_header* header, const tf_model_table& table, uint64_t element_bytes) {
  return table.offset_bytes % 8 == 0 && table.offset_bytes <= header->blob_bytes &&
         table.count <= (header->blob_bytes - table.offset_bytes) / element_bytes;
}

bool range_fits(uint64_t first, uint64_t count, uint64_t total) {
  return first <= total && count <= total - first;
}

bool tensors_valid(const tf_model_header* header) {
  const tf_model_tensor* tensors = tf_table_at<tf_model_tensor>(header->tensors);
  for (uint64_t i = 0; i < header->tensors.count; ++i) {
    if (tensors[i].name >= header->strings.count ||
        !range_fits(tensors[i].first_extent, tensors[i].rank, header->numbers.count)) {
      return false;
    }
  }
  return true;
}

bool buffer_valid(const tf_model_header* header, const tf_model_program& program,
                  const tf_model_buffer& buffer) {
  const tf_model_tensor* tensors = tf_table_at<tf_model_tensor>(header->tensors) + program.first_tensor;
  switch (buffer.space) {
    case TF_SPACE_INPUT:
      return buffer.index < program.input_count &&
             range_fits(buffer.offset_bytes, buffer.size_bytes, tensors[buffer.index].size_bytes);
    case TF_SPACE_OUTPUT:
      return buffer.index < program.output_count &&
             range_fits(buffer.offset_bytes, buffer.size_bytes,
                        tensors[program.input_count + buffer.index].size_bytes);
    case TF_SPACE_WEIGHTS:
      return range_fits(buffer.offset_bytes, buffer.size_bytes, header->weights_bytes);
    case TF_SPACE_ARENA:
      return range_fits(buffer.offset_bytes, buffer.size_bytes, program.arena_bytes);
  }
  return false;
}

bool body_valid(const tf_model_header* header, uint64_t program, uint32_t body) {
  return body > program && body < header->programs.count;
}

bool control_valid(const tf_model_header* header, uint64_t program, const tf_model_step& step) {
  if (!body_valid(header, program, step.body)) return false;
  const tf_model_program* programs = tf_table_at<tf_model_program>(header->programs);
  const tf_model_program& body = programs[step.body];
  if (step.kind == TF_STEP_BRANCH) {
    if (!body_valid(header, program, step.other_body)) return false;
    const tf_model_program& other = programs[step.other_body];
    return body.input_count == other.input_count && body.output_count == other.output_count &&
           step.buffer_count == uint64_t{body.input_count} + body.output_count + 2;
  }
  const int64_t* numbers = tf_table_at<int64_t>(header->numbers) + step.first_dim;
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

bool step_valid(const tf_model_header* header, uint64_t program, const tf_model_step& step) {
  if (step.name >= header->strings.count || step.key >= header->strings.count ||
      !range_fits(step.first_buffer, step.buffer_count, header->buffers.count) ||
      !range_fits(step.first_dim, step.dim_count, header->numbers.count)) {
    return false;
  }
  if (step.kind == TF_STEP_BRANCH || step.kind == TF_STEP_LOOP) return control_valid(header, program, step);
  return step.kind == TF_STEP_CALL && step.kernel < header->kernel_count &&
         (step.index_bytes == 0 || step.index_buffer < step.buffer_count);
}

bool program_valid(const tf_model_header* header, uint64_t number) {
  const tf_model_program& program = tf_table_at<tf_model_program>(header->programs)[number];
  if (!range_fits(program.first_tensor, uint64_t{program.input_count} + program.output_count,
                  header->tensors.count) ||
      !range_fits(program.first_step, program.step_count, header->steps.count) ||
      !range_fits(program.first_buffer, program.buffer_count, header->buffers.count)) {
    return false;
  }
  const tf_model_buffer* buffers = tf_table_at<tf_model_buffer>(header->buffers) + program.first_buffer;
  for (uint64_t i = 0; i < program.buffer_count; ++i)
    if (!buffer_valid(header, program, buffers[i])) return false;
  return true;
}

}  // namespace

bool tf_tables_valid(const tf_model_header* header) {
  if (header->magic != TF_MODEL_MAGIC || header->version != TF_MODEL_VERSION) return false;
  if (!table_fits(header, header->programs, sizeof(tf_model_program)) ||
      !table_fits(header, header->tensors, sizeof(tf_model_tensor)) ||
      !table_fits(header, header->steps, sizeof(tf_model_step)) ||
      !table_fits(header, header->buffers, sizeof(tf_model_buffer)) ||
      !table_fits(header, header->numbers, sizeof(int64_t)) || !table_fits(header, header->strings, 1)) {
    return false;
  }
  if (header->strings.count == 0 || tf_table_at<char>(header->strings)[header->strings.count - 1] != '\0')
    return false;
  if (header->programs.count == 0 || !tensors_valid(header)) return false;
  for (uint64_t i = 0; i < header->programs.count; ++i)
    if (!program_valid(header, i)) return false;
  const tf_model_program* programs = tf_table_at<tf_model_program>(header->programs);
  const tf_model_step* steps = tf_table_at<tf_model_step>(header->steps);
  for (uint64_t i = 0; i < header->programs.count; ++i) {
    for (uint64_t k = 0; k < programs[i].step_count; ++k)
      if (!step_valid(header, i, steps[programs[i].first_step + k])) return false;
  }
  return true;
}
