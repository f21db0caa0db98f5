#ifndef TF_RUNTIME_EXECUTOR_TABLES_H
#define TF_RUNTIME_EXECUTOR_TABLES_H
/* Owns: reading the tables of model_abi.h, and whether they are consistent. */
#include "compiler/runtime/model_abi.h"

template <typename T>
const T* tf_table_at(const tf_model_header* header, const tf_model_table& table) {
  return reinterpret_cast<const T*>(reinterpret_cast<const uint8_t*>(header) + table.offset_bytes);
}

/* Those from step.first_dim on: the values of tf_call.dims, and the extent of its indices. */
inline uint64_t tf_number_count(const tf_model_step& step) {
  return uint64_t{step.dim_count} + (step.index_bytes != 0 ? 1 : 0);
}

/* False for a library that was cut short or made by another version: nothing else may be read of its tables. The header
 * stands before its tables. */
bool tf_tables_valid(const tf_model_header* header);

/* Whether extents, sizes and places that are not the tables' own lie within those that the tables give: extents and
 * tensors are no larger, buffers lie in their spaces, and what bodies are given has room for what they take. The inputs
 * and outputs of the first program and of variants have the bytes of their extents. Of tables that are valid. */
bool tf_sizes_valid(const tf_model_header* header, const int64_t* numbers, const tf_model_tensor* tensors,
                    const tf_model_buffer* places);

#endif
