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
  std::vector<std::string> lengths;  // the named dimensions that it has beside the batch with named_lengths
};
std::vector<Network> networks();

struct Options {
  int64_t batch = 1;
  std::string batch_name;      // not empty: the batch is a named dimension instead of a number
  int64_t sequence = 128;      // tokens or frames a sequence, of networks that read these
  bool named_lengths = false;  // lengths are the named dimensions `sequence` and `past` instead of numbers
  uint64_t seed = 1;
  bool halves = false;  // f16 instead of f32
};

// The bytes of an ONNX model (of operator set 13, 14 or 17) whose weights are drawn so that activations keep
// their scale from layer to layer (He et al., "Delving Deep into Rectifiers", 2015) and a softmax, at the end
// or in attention, is neither flat nor saturated. The same options give the same bytes. NOT_FOUND for a name
// that networks() does not list.
absl::StatusOr<std::string> model(std::string_view name, const Options& options);

}  // namespace tf::zoo
