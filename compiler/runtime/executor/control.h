#ifndef TF_RUNTIME_EXECUTOR_CONTROL_H
#define TF_RUNTIME_EXECUTOR_CONTROL_H
/* Owns: steps that run other programs: branches and loops. */
#include "compiler/runtime/executor/executor.h"

int32_t tf_run_control(tf_execution* run, const tf_model_step& step);

#endif
