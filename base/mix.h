#pragma once
// Owns: the mixing function that seeds, hashes and counter-based random numbers share.

#include <cstdint>

namespace tf {

// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): the step of its
// counter, and the function that makes each count a number of 64 independent looking bits.
inline constexpr uint64_t kMixStep = 0x9e3779b97f4a7c15ull;
constexpr uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace tf
