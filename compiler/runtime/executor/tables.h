#ifndef TF_RUNTIME_EXECUTOR_TABLES_H
#define TF_RUNTIME_EXECUTOR_TABLES_H
/* Owns: reading the tables of model_abi.h, and whether they are consistent. */
#include "compiler/runtime/model_abi.h"

template <typename T>
const T* tf_table_at(const tf_model_table& table) {
  return reinterpret_cast<const T*>(tf_model_blob + table.offset_bytes);
}

/* False for a library that was cut short or made by another version: nothing else may be read of its tables. */
bool tf_tables_valid(const tf_model_header* header);

#endif
