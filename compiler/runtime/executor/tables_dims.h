#ifndef TF_RUNTIME_EXECUTOR_TABLES_DIMS_H
#define TF_RUNTIME_EXECUTOR_TABLES_DIMS_H
/* Owns: whether the dimensions of a model, its variants and its formulas are consistent with its other tables, and
 * which extents are dimensions. */
#include "compiler/runtime/executor/tables.h"

/* Whether `total` elements have a range of `count` from `first` on. */
inline bool tf_range_fits(uint64_t first, uint64_t count, uint64_t total) {
  return first <= total && count <= total - first;
}

/* Whether the dimension, with these fields, has this value. */
inline bool tf_is_value_of(const tf_model_dimension& dim, int64_t value) {
  return value >= dim.low && value <= dim.high && value % dim.multiple_of == 0;
}

/* Of a header whose tables fit and whose programs are valid. */
bool tf_dims_valid(const tf_model_header* header);

/* Whether the bytes of the program's inputs and outputs are those of their extents. */
bool tf_tensor_bytes_valid(const tf_model_program& program, const int64_t* numbers,
                           const tf_model_tensor* tensors);

/* Whether a dimension that is made is made once, before the steps whose formulas use it, in the first program and in
 * each variant that uses it, and nowhere in bodies. Of a header whose dimensions are valid. */
bool tf_made_dims_valid(const tf_model_header* header);

/* The first formula that is not before that of this entry, by number. */
uint64_t tf_first_formula(const tf_model_header* header, uint32_t target, uint64_t index);

/* The dimension that numbers[index] is, or -1. */
int32_t tf_dim_of(const tf_model_header* header, uint64_t index);

#endif
