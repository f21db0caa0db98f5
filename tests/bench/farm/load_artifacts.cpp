#include "tests/bench/farm/load_artifacts.h"

#include <random>

#include "base/digest.h"

namespace tf::farm_load {

LoadArtifacts::LoadArtifacts(int count) : uploaded_(static_cast<size_t>(count)) {
  for (size_t i = 0; i < uploaded_.size(); ++i) digests_.push_back(sha256(bytes(i)).hex());
}

std::string LoadArtifacts::bytes(size_t number) {
  std::mt19937_64 random(number);
  std::string bytes(kArtifactBytes, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

}  // namespace tf::farm_load
