#pragma once
// Owns: whether the machine that a model runs on has the CPU features that the model's code was compiled for.
// A feature counts only if the operating system saves its registers, too. Calls nothing but libc, and runs no
// instruction beyond the architecture's baseline. Does not know: models.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// `names` are LLVM's names, each with its terminating zero, then an empty one. Returns 0 if this machine has
// all of them, else TF_MODEL_MISSING_FEATURE plus the number of the first that is missing. A name that the
// table does not have gives TF_MODEL_BAD_LIBRARY.
int32_t tf_missing_feature(const char* names);

// A line for people that names the feature. Null if `error` is not from tf_missing_feature.
const char* tf_missing_feature_text(int32_t error);

// The names that tf_missing_feature knows for this processor, by number; null past the last.
const char* tf_cpu_feature_name(int32_t number);

#ifdef __cplusplus
}
#endif
