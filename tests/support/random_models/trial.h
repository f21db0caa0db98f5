#pragma once
// Owns: what a random model gives as a built library, against ONNX Runtime. Does not know: how models are drawn.

#include <string>
#include <vector>

#include "compiler/driver/build_pool.h"
#include "compiler/graph/host_tensor.h"
#include "compiler/schedule/numerics.h"
#include "tests/support/random_models/onnx_runtime.h"
#include "tests/support/random_models/random_model.h"

namespace tf {

enum class Verdict {
  kEqual,
  kRefused,               // by us, and ONNX Runtime answers
  kRefusedByOnnxRuntime,  // and not by us, or by both
  kDifferent,
  kExcluded,  // ONNX Runtime is known to be wrong
};
const char* verdict_name(Verdict verdict);

struct TrialOptions {
  std::string folder;                 // for the model and its data, in the form of an ONNX backend test
  std::vector<int> threads = {1, 2};  // the library is built for each number of threads and runs with it
  std::vector<std::string> allow;     // each of these methods in a build of its own
};

struct TrialResult {
  Verdict verdict = Verdict::kEqual;
  std::string text;  // why, in one line
};
TrialResult try_against(OnnxRuntime& reference, const onnx::RandomCase& test, driver::BuildPool& pool,
                        const TrialOptions& options);

}  // namespace tf
