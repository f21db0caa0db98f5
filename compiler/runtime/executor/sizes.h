#ifndef TF_RUNTIME_EXECUTOR_SIZES_H
#define TF_RUNTIME_EXECUTOR_SIZES_H
/* Owns: the numbers, sizes and places of a run: those of the tables or, for a model with dimensions, what its formulas
 * give for their values. Does not know: where the values come from. */
#include "compiler/runtime/executor/executor.h"

/* Points `run` to the tables' numbers, or makes copies that formulas may change. False if there is no memory. */
bool tf_make_sizes(tf_execution* run);
void tf_free_sizes(tf_execution* run);

/* Evaluates the formulas for a value of each dimension, unless these are those of the last time. It may be called
 * during a run, once a step has made a dimension: the caller then binds the programs that run anew (tf_bind_program).
 * TF_MODEL_BAD_SIZE if a size or an offset lies beyond what the tables allow: the sizes are then those of the tables. */
int32_t tf_set_sizes(tf_execution* run, const int64_t* values);

#endif
