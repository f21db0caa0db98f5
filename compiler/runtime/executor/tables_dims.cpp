#include "compiler/runtime/executor/tables_dims.h"

#include "compiler/runtime/executor/formula.h"

namespace {

// By the number TF_ELEMENT_*; 0: there is no such element.
uint64_t element_bytes(uint32_t element) {
  constexpr uint8_t kBytes[] = {0, 1, 1, 1, 4, 8, 2, 2, 4, 8, 2, 2, 4, 8};
  return element < sizeof kBytes ? kBytes[element] : 0;
}

const tf_model_program& program_at(const tf_model_header* header, uint32_t number) {
  return tf_table_at<tf_model_program>(header, header->programs)[number];
}

const tf_model_dimension& dim_at(const tf_model_header* header, uint64_t number) {
  return tf_table_at<tf_model_dimension>(header, header->dims)[number];
}

uint64_t count_of(const tf_model_header* header, uint32_t target) {
  if (target == TF_FORMULA_NUMBER) return header->numbers.count;
  return target == TF_FORMULA_TENSOR_BYTES ? header->tensors.count : header->buffers.count;
}

bool is_before(const tf_model_formula& a, uint32_t target, uint64_t index) {
  return a.target != target ? a.target < target : a.index < index;
}

bool formulas_valid(const tf_model_header* header) {
  const tf_model_formula* formulas = tf_table_at<tf_model_formula>(header, header->formulas);
  const int64_t* numbers = tf_table_at<int64_t>(header, header->numbers);
  const tf_model_buffer* buffers = tf_table_at<tf_model_buffer>(header, header->buffers);
  for (uint64_t i = 0; i < header->formulas.count; ++i) {
    const tf_model_formula& formula = formulas[i];
    if (formula.target > TF_FORMULA_BUFFER_OFFSET || formula.index >= count_of(header, formula.target))
      return false;
    if (i > 0 && !is_before(formulas[i - 1], formula.target, formula.index)) return false;
    if (!tf_range_fits(formula.first_code, formula.code_count, header->numbers.count) ||
        !tf_code_valid(numbers + formula.first_code, formula.code_count, header->dims.count)) {
      return false;
    }
    // Weights have one place in all runs.
    if (formula.target == TF_FORMULA_BUFFER_OFFSET && buffers[formula.index].space == TF_SPACE_WEIGHTS)
      return false;
  }
  return true;
}

// Null if the entry has none.
const tf_model_formula* formula_of(const tf_model_header* header, uint32_t target, uint64_t index) {
  const tf_model_formula* formulas = tf_table_at<tf_model_formula>(header, header->formulas);
  const uint64_t i = tf_first_formula(header, target, index);
  const bool is_there =
      i < header->formulas.count && formulas[i].target == target && formulas[i].index == index;
  return is_there ? &formulas[i] : nullptr;
}

// Every extent of an input is fixed or a dimension that inputs give.
bool inputs_valid(const tf_model_header* header) {
  const tf_model_program& program = program_at(header, 0);
  const int64_t* numbers = tf_table_at<int64_t>(header, header->numbers);
  const tf_model_tensor* inputs =
      tf_table_at<tf_model_tensor>(header, header->tensors) + program.first_tensor;
  for (uint64_t i = 0; i < program.input_count; ++i) {
    for (uint64_t k = inputs[i].first_extent; k < uint64_t{inputs[i].first_extent} + inputs[i].rank; ++k) {
      if (formula_of(header, TF_FORMULA_NUMBER, k) == nullptr) continue;
      const int32_t dim = tf_dim_of(header, k);
      if (dim < 0) return false;
      const tf_model_dimension& named = dim_at(header, static_cast<uint64_t>(dim));
      if (named.made_by != TF_DIM_GIVEN || named.high != numbers[k]) return false;
    }
  }
  return true;
}

bool is_given(const tf_model_header* header, uint64_t dim) {
  const tf_model_program& program = program_at(header, 0);
  const tf_model_tensor* inputs =
      tf_table_at<tf_model_tensor>(header, header->tensors) + program.first_tensor;
  for (uint64_t i = 0; i < program.input_count; ++i) {
    for (uint64_t k = inputs[i].first_extent; k < uint64_t{inputs[i].first_extent} + inputs[i].rank; ++k)
      if (tf_dim_of(header, k) == static_cast<int64_t>(dim)) return true;
  }
  return false;
}

bool dims_valid(const tf_model_header* header) {
  for (uint64_t i = 0; i < header->dims.count; ++i) {
    const tf_model_dimension& dim = dim_at(header, i);
    if (dim.name >= header->strings.count || dim.low < 0 || dim.low > dim.high) return false;
    if (dim.multiple_of < 1 || dim.low % dim.multiple_of != 0 || dim.high % dim.multiple_of != 0)
      return false;
    if (dim.made_by > TF_DIM_MADE || (dim.made_by == TF_DIM_GIVEN && !is_given(header, i))) return false;
  }
  return header->dims.count <= INT32_MAX;
}

// Whether numbers[index] of a variant, whose value for the dimension this is, is that dimension's extent, of which `most`
// is the greatest.
bool has_value(const tf_model_header* header, uint64_t index, int32_t dim, int64_t value, int64_t most) {
  const int64_t extent = tf_table_at<int64_t>(header, header->numbers)[index];
  if (value == TF_ANY_VALUE) return tf_dim_of(header, index) == dim && extent == most;
  return formula_of(header, TF_FORMULA_NUMBER, index) == nullptr && extent == value;
}

// A variant's tensors are those of the model at its values: inputs have the sizes that the caller gives, and outputs
// fit the memory of the greatest.
bool variant_valid(const tf_model_header* header, const tf_model_variant& variant) {
  const int64_t* numbers = tf_table_at<int64_t>(header, header->numbers);
  if (variant.program == 0 || variant.program >= header->programs.count ||
      !tf_range_fits(variant.first_value, header->dims.count, header->numbers.count)) {
    return false;
  }
  const int64_t* values = numbers + variant.first_value;
  for (uint64_t i = 0; i < header->dims.count; ++i) {
    const tf_model_dimension& dim = dim_at(header, i);
    if (values[i] == TF_ANY_VALUE) continue;
    if (dim.made_by == TF_DIM_MADE || !tf_is_value_of(dim, values[i])) return false;
  }
  const tf_model_program &general = program_at(header, 0), &own = program_at(header, variant.program);
  if (own.input_count != general.input_count || own.output_count != general.output_count) return false;
  const tf_model_tensor* tensors = tf_table_at<tf_model_tensor>(header, header->tensors);
  for (uint64_t i = 0; i < uint64_t{own.input_count} + own.output_count; ++i) {
    const tf_model_tensor &tensor = tensors[own.first_tensor + i],
                          &greatest = tensors[general.first_tensor + i];
    if (tensor.element != greatest.element || tensor.rank != greatest.rank ||
        tensor.size_bytes > greatest.size_bytes) {
      return false;
    }
    for (uint64_t k = 0; k < tensor.rank; ++k) {
      const uint64_t index = tensor.first_extent + k;
      const int64_t most = numbers[greatest.first_extent + k];
      const int32_t dim = tf_dim_of(header, greatest.first_extent + k);
      if (numbers[index] > most) return false;
      if (dim >= 0 ? !has_value(header, index, dim, values[dim], most)
                   : i < own.input_count && !has_value(header, index, dim, most, most))
        return false;
    }
  }
  return true;
}

}  // namespace

uint64_t tf_first_formula(const tf_model_header* header, uint32_t target, uint64_t index) {
  const tf_model_formula* formulas = tf_table_at<tf_model_formula>(header, header->formulas);
  uint64_t begin = 0, end = header->formulas.count;
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    if (is_before(formulas[middle], target, index))
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

int32_t tf_dim_of(const tf_model_header* header, uint64_t index) {
  const tf_model_formula* formula = formula_of(header, TF_FORMULA_NUMBER, index);
  if (formula == nullptr || formula->code_count != 2) return -1;
  const int64_t* code = tf_table_at<int64_t>(header, header->numbers) + formula->first_code;
  return code[0] == TF_CODE_DIM ? static_cast<int32_t>(code[1]) : -1;
}

bool tf_tensor_bytes_valid(const tf_model_program& program, const int64_t* numbers,
                           const tf_model_tensor* tensors) {
  for (uint64_t i = 0; i < uint64_t{program.input_count} + program.output_count; ++i) {
    const tf_model_tensor& tensor = tensors[program.first_tensor + i];
    uint64_t bytes = element_bytes(tensor.element);
    if (bytes == 0) return false;
    for (uint64_t k = 0; k < tensor.rank; ++k)
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(numbers[tensor.first_extent + k]), &bytes))
        return false;
    if (bytes != tensor.size_bytes) return false;
  }
  return true;
}

bool tf_dims_valid(const tf_model_header* header) {
  if (header->dims.count == 0 && (header->variants.count != 0 || header->formulas.count != 0)) return false;
  if (!formulas_valid(header) || !inputs_valid(header) || !dims_valid(header)) return false;
  const tf_model_variant* variants = tf_table_at<tf_model_variant>(header, header->variants);
  for (uint64_t i = 0; i < header->variants.count; ++i)
    if (!variant_valid(header, variants[i])) return false;
  return true;
}
