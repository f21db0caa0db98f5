#pragma once
// Owns: where elements of shared memory lie instead of in order, so that columns of rows come to lie in different banks. Does
// not know: buffers, banks.

#include <cstdint>

namespace tf::tensor {

// Of an element's offset, bits base … base + bits - 1 are XORed with those that stand `shift` above them. Text form:
// "BITS:BASE:SHIFT". Elements of one run of 2^base stay together; the offset stays within its 2^(base + bits).
struct Swizzle {
  int bits = 0;  // 0: nothing moves
  int base = 0, shift = 0;

  bool operator==(const Swizzle&) const = default;
  explicit operator bool() const { return bits > 0; }
  // Whether no two offsets become one.
  bool is_legal() const {
    return bits >= 0 && base >= 0 && bits <= shift && bits <= 8 && base <= 16 && shift <= 16;
  }
  int64_t of(int64_t offset) const {
    return offset ^ ((offset >> shift) & (((int64_t{1} << bits) - 1) << base));
  }
  int64_t run() const { return int64_t{1} << base; }
  int64_t block() const { return int64_t{1} << (base + bits); }
  // After which the pattern repeats.
  int64_t period() const { return int64_t{1} << (base + shift + bits); }
};

}  // namespace tf::tensor
