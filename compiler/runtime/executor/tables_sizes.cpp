#include "compiler/runtime/executor/tables.h"
#include "compiler/runtime/executor/tables_dims.h"

namespace {

// The sizes that are checked, beside the tables.
struct Sizes {
  const tf_model_header* header;
  const int64_t* numbers;
  const tf_model_tensor* tensors;
  const tf_model_buffer* places;
};

bool tensors_fit(const Sizes& sizes) {
  const tf_model_tensor* greatest = tf_table_at<tf_model_tensor>(sizes.header, sizes.header->tensors);
  const int64_t* greatest_numbers = tf_table_at<int64_t>(sizes.header, sizes.header->numbers);
  for (uint64_t i = 0; i < sizes.header->tensors.count; ++i) {
    if (sizes.tensors[i].size_bytes > greatest[i].size_bytes) return false;
    for (uint64_t k = greatest[i].first_extent; k < uint64_t{greatest[i].first_extent} + greatest[i].rank;
         ++k)
      if (sizes.numbers[k] < 0 || sizes.numbers[k] > greatest_numbers[k]) return false;
  }
  return true;
}

bool buffer_fits(const Sizes& sizes, const tf_model_program& program, const tf_model_buffer& buffer) {
  if (buffer.offset_bytes % TF_ALIGNMENT != 0) return false;
  const tf_model_tensor* tensors = sizes.tensors + program.first_tensor;
  switch (buffer.space) {
    case TF_SPACE_INPUT:
      return buffer.index < program.input_count &&
             tf_range_fits(buffer.offset_bytes, buffer.size_bytes, tensors[buffer.index].size_bytes);
    case TF_SPACE_OUTPUT:
      return buffer.index < program.output_count &&
             tf_range_fits(buffer.offset_bytes, buffer.size_bytes,
                           tensors[program.input_count + buffer.index].size_bytes);
    case TF_SPACE_WEIGHTS:
      return tf_range_fits(buffer.offset_bytes, buffer.size_bytes, sizes.header->weights_bytes);
    case TF_SPACE_ARENA:
      return tf_range_fits(buffer.offset_bytes, buffer.size_bytes, program.arena_bytes);
  }
  return false;
}

// A step that makes a dimension writes before the output has its size: it may have room for the greatest. Such steps are
// in no bodies, so the output's memory has it.
bool made_output_fits(const Sizes& sizes, const tf_model_program& program, uint64_t index) {
  const tf_model_buffer& buffer = sizes.places[index];
  if (buffer.space != TF_SPACE_OUTPUT || buffer.index >= program.output_count) return false;
  const tf_model_tensor& greatest = tf_table_at<tf_model_tensor>(
      sizes.header, sizes.header->tensors)[program.first_tensor + program.input_count + buffer.index];
  if (buffer.offset_bytes % TF_ALIGNMENT != 0 ||
      !tf_range_fits(buffer.offset_bytes, buffer.size_bytes, greatest.size_bytes)) {
    return false;
  }
  const tf_model_step* steps = tf_table_at<tf_model_step>(sizes.header, sizes.header->steps);
  for (uint64_t i = program.first_step; i < uint64_t{program.first_step} + program.step_count; ++i) {
    const bool is_own =
        index >= steps[i].first_buffer && index - steps[i].first_buffer < steps[i].buffer_count;
    if (is_own && steps[i].made_dim != TF_NO_DIMENSION) return true;
  }
  return false;
}

// A step's buffers one after another, each with room for what it is used as.
class Room {
 public:
  Room(const Sizes& sizes, const tf_model_step& step) : next_(sizes.places + step.first_buffer) {}

  void has(uint64_t bytes) { enough_ &= (next_++)->size_bytes >= bytes; }
  // What has to be known when the step runs.
  void skip() { ++next_; }
  bool enough() const { return enough_; }

 private:
  const tf_model_buffer* next_;
  bool enough_ = true;
};

bool branch_fits(const Sizes& sizes, const tf_model_step& step, const tf_model_program& body) {
  Room room(sizes, step);
  room.has(1);
  for (uint64_t i = 0; i < uint64_t{body.input_count} + body.output_count; ++i)
    room.has(sizes.tensors[body.first_tensor + i].size_bytes);
  room.has(body.arena_bytes);
  return room.enough();
}

// In the order of TF_STEP_LOOP.
bool loop_fits(const Sizes& sizes, const tf_model_step& step, const tf_model_program& body) {
  const int64_t* numbers = tf_table_at<int64_t>(sizes.header, sizes.header->numbers) + step.first_dim;
  const auto conditional = static_cast<uint64_t>(numbers[0]), carried = static_cast<uint64_t>(numbers[1]);
  const auto scanned = static_cast<uint64_t>(numbers[2]), joined = static_cast<uint64_t>(numbers[3]);
  const tf_model_tensor *inputs = sizes.tensors + body.first_tensor, *outputs = inputs + body.input_count;
  const auto carried_fits = [&](uint64_t i) {
    return inputs[1 + i].size_bytes == outputs[conditional + i].size_bytes;
  };
  Room room(sizes, step);
  room.has(sizeof(int64_t));
  if (conditional == 1) room.has(1);
  for (uint64_t i = 1; i < body.input_count; ++i) {
    const bool is_scanned = i > carried && i <= carried + scanned;
    if (is_scanned)
      room.skip();
    else
      room.has(inputs[i].size_bytes);
  }
  for (uint64_t i = 0; i < carried; ++i) {
    if (!carried_fits(i)) return false;
    room.has(inputs[1 + i].size_bytes);
  }
  for (uint64_t i = 0; i < joined; ++i) room.skip();
  room.has(sizeof(int64_t));
  room.has(1);
  for (uint64_t i = 0; i < carried + scanned; ++i) room.has(inputs[1 + i].size_bytes);
  for (uint64_t i = 0; i < joined; ++i) room.has(outputs[conditional + carried + i].size_bytes);
  room.has(body.arena_bytes);
  return room.enough() && inputs[0].size_bytes <= sizeof(int64_t) &&
         (conditional == 0 || outputs[0].size_bytes <= 1);
}

bool program_fits(const Sizes& sizes, const tf_model_program& program) {
  for (uint64_t i = program.first_buffer; i < uint64_t{program.first_buffer} + program.buffer_count; ++i) {
    if (!buffer_fits(sizes, program, sizes.places[i]) && !made_output_fits(sizes, program, i)) return false;
  }
  const tf_model_program* programs = tf_table_at<tf_model_program>(sizes.header, sizes.header->programs);
  const tf_model_step* steps = tf_table_at<tf_model_step>(sizes.header, sizes.header->steps);
  for (uint64_t i = 0; i < program.step_count; ++i) {
    const tf_model_step& step = steps[program.first_step + i];
    if (step.made_dim != TF_NO_DIMENSION &&
        sizes.places[step.first_buffer + step.made_buffer].size_bytes < sizeof(int64_t))
      return false;
    if (step.kind == TF_STEP_LOOP && !loop_fits(sizes, step, programs[step.body])) return false;
    if (step.kind == TF_STEP_BRANCH && !(branch_fits(sizes, step, programs[step.body]) &&
                                         branch_fits(sizes, step, programs[step.other_body])))
      return false;
  }
  return true;
}

}  // namespace

bool tf_sizes_valid(const tf_model_header* header, const int64_t* numbers, const tf_model_tensor* tensors,
                    const tf_model_buffer* places) {
  const Sizes sizes = {header, numbers, tensors, places};
  const tf_model_program* programs = tf_table_at<tf_model_program>(header, header->programs);
  if (!tensors_fit(sizes) || !tf_tensor_bytes_valid(programs[0], numbers, tensors)) return false;
  const tf_model_variant* variants = tf_table_at<tf_model_variant>(header, header->variants);
  for (uint64_t i = 0; i < header->variants.count; ++i) {
    if (variants[i].program >= header->programs.count ||
        !tf_tensor_bytes_valid(programs[variants[i].program], numbers, tensors)) {
      return false;
    }
  }
  for (uint64_t i = 0; i < header->programs.count; ++i)
    if (!program_fits(sizes, programs[i])) return false;
  return true;
}
