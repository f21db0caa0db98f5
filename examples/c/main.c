/* Runs a model once on an input of ones and prints its largest score. */
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

int main(void) {
  mlp_model* model;
  int32_t error = mlp_open(1, &model); /* one thread */
  if (error != TF_MODEL_OK) return fprintf(stderr, "cannot open the model: %s\n", mlp_error_text(error)), 1;

  const tf_tensor_info* input = mlp_input(model, 0);
  const tf_tensor_info* output = mlp_output(model, 0);
  const size_t count = input->size_bytes / sizeof(float);
  float* values = malloc(input->size_bytes);
  float* scores = malloc(output->size_bytes);
  for (size_t i = 0; i < count; ++i) values[i] = 1;

  const void* inputs[] = {values};
  void* outputs[] = {scores};
  error = mlp_run(model, inputs, outputs);
  if (error != TF_MODEL_OK) return fprintf(stderr, "cannot run the model: %s\n", mlp_error_text(error)), 1;

  size_t best = 0;
  for (size_t i = 1; i < output->size_bytes / sizeof(float); ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  printf("%s: class %zu with score %.3f\n", output->name, best, scores[best]);
  mlp_close(model);
  free(values);
  free(scores);
  return 0;
}
