#ifndef TF_RUNTIME_HOST_RANDOM_WORDS_H
#define TF_RUNTIME_HOST_RANDOM_WORDS_H
/* Owns: random numbers that are a function of seed, run and place, so that threads and devices agree on them.
 *
 * Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), section 4.2. */
#include <stdint.h>

namespace tf::host {

struct RandomWords {
  uint32_t words[4];

  /* In [0, 1), of 53 bits; `half` is 0 or 1. */
  double uniform(int half) const {
    return words[2 * half] * 0x1p-32 + (words[2 * half + 1] & 0xfffff800u) * 0x1p-64;
  }
};

class RandomStream {
 public:
  RandomStream(int64_t seed, int64_t run)
      : seed_(static_cast<uint64_t>(seed)), run_(static_cast<uint64_t>(run)) {}

  RandomWords at(int64_t place) const {
    uint32_t counter[4] = {low(static_cast<uint64_t>(place)), high(static_cast<uint64_t>(place)), low(run_),
                           high(run_)};
    uint32_t key[2] = {low(seed_), high(seed_)};
    for (int round = 0; round < 10; ++round) {
      const uint64_t first = uint64_t{0xd2511f53u} * counter[0], second = uint64_t{0xcd9e8d57u} * counter[2];
      const uint32_t next[4] = {high(second) ^ counter[1] ^ key[0], low(second),
                                high(first) ^ counter[3] ^ key[1], low(first)};
      for (int i = 0; i < 4; ++i) counter[i] = next[i];
      key[0] += 0x9e3779b9u;
      key[1] += 0xbb67ae85u;
    }
    return {{counter[0], counter[1], counter[2], counter[3]}};
  }

 private:
  static uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
  static uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

  uint64_t seed_, run_;
};

}  // namespace tf::host

#endif
