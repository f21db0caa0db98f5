#pragma once
// Owns: well-known networks as ONNX files with random weights. Does not know: how anything runs them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tf::zoo {

struct Network {
  std::string name;
  std::string description;
};
std::vector<Network> networks();

struct Options {
  int64_t batch = 1;
  std::string batch_name;  // not empty: the batch is a named dimension instead of a number
  int64_t sequence = 128;  // tokens a text, of networks that read text
  uint64_t seed = 1;
};

// The bytes of an ONNX model (operator set 13 or 17) whose weights are drawn so that activations keep their
// scale from layer to layer (He et al., "Delving Deep into Rectifiers", 2015) and a softmax, at the end or in
// attention, is neither flat nor saturated. The same options give the same bytes. NOT_FOUND for a name that
// networks() does not list.
absl::StatusOr<std::string> model(std::string_view name, const Options& options);

}  // namespace tf::zoo
