#include "compiler/runtime/executor/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/executor/formula.h"
#include "compiler/runtime/executor/tables.h"

namespace {

template <typename T>
bool copy_table(T** copy, const tf_model_header* header, const tf_model_table& table) {
  *copy = static_cast<T*>(malloc((table.count + 1) * sizeof(T)));
  if (*copy != nullptr) memcpy(*copy, tf_table_at<T>(header, table), table.count * sizeof(T));
  return *copy != nullptr;
}

template <typename T>
void restore_table(T* copy, const tf_model_header* header, const tf_model_table& table) {
  memcpy(copy, tf_table_at<T>(header, table), table.count * sizeof(T));
}

void copy_sizes(tf_execution* run) {
  for (uint64_t i = 0; i < run->header->buffers.count; ++i) run->sizes_bytes[i] = run->places[i].size_bytes;
}

void restore(tf_execution* run) {
  const tf_model_header* header = run->header;
  restore_table(run->sizes.numbers, header, header->numbers);
  restore_table(run->sizes.tensors, header, header->tensors);
  restore_table(run->sizes.places, header, header->buffers);
}

// False if a formula gives what can be no size.
bool evaluate(tf_execution* run) {
  const tf_model_header* header = run->header;
  // Codes are read of the tables, which no formula changes.
  const int64_t* numbers = tf_table_at<int64_t>(header, header->numbers);
  const tf_model_formula* formulas = tf_table_at<tf_model_formula>(header, header->formulas);
  for (uint64_t i = 0; i < header->formulas.count; ++i) {
    const tf_model_formula& formula = formulas[i];
    int64_t value = 0;
    if (!tf_code_value(numbers + formula.first_code, formula.code_count, run->sizes.values, &value))
      return false;
    if (formula.target == TF_FORMULA_NUMBER) {
      run->sizes.numbers[formula.index] = value;
      continue;
    }
    if (value < 0) return false;
    const auto bytes = static_cast<uint64_t>(value);
    if (formula.target == TF_FORMULA_TENSOR_BYTES)
      run->sizes.tensors[formula.index].size_bytes = bytes;
    else if (formula.target == TF_FORMULA_BUFFER_BYTES)
      run->sizes.places[formula.index].size_bytes = bytes;
    else
      run->sizes.places[formula.index].offset_bytes = bytes;
  }
  return true;
}

int32_t update(tf_execution* run) {
  ++run->sizes.evaluations;
  run->sizes.evaluated =
      evaluate(run) && tf_sizes_valid(run->header, run->numbers, run->tensors, run->places);
  if (!run->sizes.evaluated) restore(run);
  copy_sizes(run);
  return run->sizes.evaluated ? TF_MODEL_OK : TF_MODEL_BAD_SIZE;
}

}  // namespace

bool tf_make_sizes(tf_execution* run) {
  const tf_model_header* header = run->header;
  run->numbers = tf_table_at<int64_t>(header, header->numbers);
  run->tensors = tf_table_at<tf_model_tensor>(header, header->tensors);
  run->places = tf_table_at<tf_model_buffer>(header, header->buffers);
  copy_sizes(run);
  if (header->dims.count == 0) return true;
  tf_sizes& sizes = run->sizes;
  sizes.values = static_cast<int64_t*>(calloc(header->dims.count, sizeof(int64_t)));
  if (sizes.values == nullptr || !copy_table(&sizes.numbers, header, header->numbers) ||
      !copy_table(&sizes.tensors, header, header->tensors) ||
      !copy_table(&sizes.places, header, header->buffers)) {
    return false;
  }
  run->numbers = sizes.numbers;
  run->tensors = sizes.tensors;
  run->places = sizes.places;
  return true;
}

void tf_free_sizes(tf_execution* run) {
  free(run->sizes.values);
  free(run->sizes.numbers);
  free(run->sizes.tensors);
  free(run->sizes.places);
}

int32_t tf_set_sizes(tf_execution* run, const int64_t* values) {
  tf_sizes& sizes = run->sizes;
  const uint64_t values_bytes = run->header->dims.count * sizeof(int64_t);
  if (values_bytes == 0) return TF_MODEL_OK;
  if (sizes.evaluated && memcmp(sizes.values, values, values_bytes) == 0) return TF_MODEL_OK;
  memcpy(sizes.values, values, values_bytes);
  return update(run);
}

int32_t tf_set_size(tf_execution* run, uint32_t dim, int64_t value) {
  if (run->sizes.values[dim] == value) return TF_MODEL_OK;
  run->sizes.values[dim] = value;
  return update(run);
}
