/* Prints the scores of an input of ones. */
#include <stdio.h>

#include "model.h"

int main(void) {
  mlp_model* model;
  int32_t error = mlp_open(0, &model); /* as many threads as there are CPUs for this process */
  if (error != TF_MODEL_OK) return fprintf(stderr, "cannot open the model: %s\n", mlp_error_text(error)), 1;
  float values[MLP_INPUT_0_BYTES / sizeof(float)], scores[MLP_OUTPUT_0_BYTES / sizeof(float)];
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i) values[i] = 1;
  const void* inputs[] = {values};
  void* outputs[] = {scores};
  error = mlp_run(model, inputs, outputs);
  if (error != TF_MODEL_OK) return fprintf(stderr, "cannot run the model: %s\n", mlp_error_text(error)), 1;
  for (size_t i = 0; i < sizeof scores / sizeof *scores; ++i) printf("class %zu: %.3f\n", i, scores[i]);
  mlp_close(model);
  return 0;
}
