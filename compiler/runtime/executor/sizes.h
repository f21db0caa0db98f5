#ifndef TF_RUNTIME_EXECUTOR_SIZES_H
#define TF_RUNTIME_EXECUTOR_SIZES_H
/* Owns: the numbers, sizes and places of a run: those of the tables or, for a model with dimensions, what its formulas
 * give for their values. Does not know: where the values come from. */
#include "compiler/runtime/executor/executor.h"

/* Points `run` to the tables' numbers, or makes copies that formulas may change. False if there is no memory. */
bool tf_make_sizes(tf_execution* run);
void tf_free_sizes(tf_execution* run);

/* Evaluates the formulas for a value of each dimension, unless these are those of the last time. TF_MODEL_BAD_SIZE if a
 * size or an offset lies beyond what the tables allow: the sizes are then those of the tables. */
int32_t tf_set_sizes(tf_execution* run, const int64_t* values);

/* The same for a dimension that a step has made; the others keep their values. The caller then binds the buffers of the
 * program that runs anew. After tf_set_sizes has succeeded. */
int32_t tf_set_size(tf_execution* run, uint32_t dim, int64_t value);

#endif
