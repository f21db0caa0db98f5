#ifndef TF_RUNTIME_EXECUTOR_FORMULA_H
#define TF_RUNTIME_EXECUTOR_FORMULA_H
/* Owns: the code of formulas (TF_CODE_*): whether it is well formed, and its value. Does not know: what they give. */
#include <stdint.h>

/* Whether the code names operations that exist and dimensions below `dim_count`, keeps within its stack, and leaves
 * one value. */
bool tf_code_valid(const int64_t* code, uint64_t count, uint64_t dim_count);

/* Of valid code, at these values of the dimensions. False if a number on the way does not fit an int64. */
bool tf_code_value(const int64_t* code, uint64_t count, const int64_t* dims, int64_t* value);

#endif
