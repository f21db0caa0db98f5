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

// A function of the model, by what follows its prefix.
template <typename F>
F* find(void* library, const char* name, F* /*declaration*/) {
  const auto* prefix = static_cast<const char*>(dlsym(library, "tf_model_prefix"));
  if (prefix == nullptr) fail("tf_model_prefix");
  char full[256];
  snprintf(full, sizeof full, "%s_%s", prefix, name);
  void* symbol = dlsym(library, full);
  if (symbol == nullptr) fail(full);
  return reinterpret_cast<F*>(symbol);
}
#define TF_FIND(name) const auto tf_model_##name##_ = find(library, #name, &tf_model_##name)

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) fail("want FILE THREADS");
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) fail(dlerror());
  TF_FIND(open);
  TF_FIND(input_count);
  TF_FIND(output_count);
  TF_FIND(input);
  TF_FIND(output);
  TF_FIND(run);
  TF_FIND(close);
  TF_FIND(error_text);
  tf_model* model = nullptr;
  if (const int32_t error = tf_model_open_(atoi(argv[2]), &model); error != TF_MODEL_OK)
    fail(tf_model_error_text_(error));
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
