// Runs a model.so once: model_runner FILE THREADS. Standard input: the bytes of all inputs; standard output:
// the bytes of all outputs, in the model's order. It is cross-compiled without libstdc++.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/runtime/model.h"

namespace {

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "model_runner: %s\n", what);
  exit(3);
}

template <typename F>
F* find(void* library, const char* name, F* /*declaration*/) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) fail(name);
  return reinterpret_cast<F*>(symbol);
}
#define TF_FIND(name) const auto name##_ = find(library, #name, &name)

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) fail("want FILE THREADS");
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) fail(dlerror());
  TF_FIND(tf_model_open);
  TF_FIND(tf_model_input_count);
  TF_FIND(tf_model_output_count);
  TF_FIND(tf_model_input);
  TF_FIND(tf_model_output);
  TF_FIND(tf_model_run);
  TF_FIND(tf_model_close);
  tf_model* model = nullptr;
  if (tf_model_open_(atoi(argv[2]), &model) != TF_MODEL_OK) fail("cannot open the model");
  void* inputs[64];
  void* outputs[64];
  const int32_t input_count = tf_model_input_count_(model), output_count = tf_model_output_count_(model);
  if (input_count > 64 || output_count > 64) fail("too many inputs or outputs");
  for (int32_t i = 0; i < input_count; ++i) {
    const uint64_t bytes = tf_model_input_(model, i)->size_bytes;
    inputs[i] = malloc(bytes);
    if (fread(inputs[i], 1, bytes, stdin) != bytes) fail("standard input ends too early");
  }
  for (int32_t i = 0; i < output_count; ++i) outputs[i] = malloc(tf_model_output_(model, i)->size_bytes);
  if (tf_model_run_(model, inputs, outputs) != TF_MODEL_OK) fail("the model failed");
  for (int32_t i = 0; i < output_count; ++i)
    fwrite(outputs[i], 1, tf_model_output_(model, i)->size_bytes, stdout);
  tf_model_close_(model);
  return fflush(stdout) == 0 ? 0 : 3;
}
