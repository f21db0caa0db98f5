#ifndef TF_RUNTIME_HOST_ORDER_H
#define TF_RUNTIME_HOST_ORDER_H
/* Owns: elements as unsigned integers in the same order, so that sorting compares integers. All NaN are equal and the
 * largest; the two zeros are equal. */
#include "compiler/runtime/host/elements.h"

namespace tf::host {

template <size_t kBytes>
using Unsigned = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

template <typename T>
constexpr bool is_float = !std::is_integral_v<T> && !std::is_same_v<T, Bool>;

/* The exponent of all ones. */
template <typename T>
constexpr Unsigned<sizeof(T)> infinity_bits() {
  if constexpr (std::is_same_v<T, Float16>)
    return 0x7c00;
  else if constexpr (std::is_same_v<T, Bfloat16>)
    return 0x7f80;
  else if constexpr (std::is_same_v<T, float>)
    return 0x7f800000;
  else
    return 0x7ff0000000000000;
}

/* An unsigned integer of the element's size. */
template <typename T>
Unsigned<sizeof(T)> order_of(T element) {
  using Key = Unsigned<sizeof(T)>;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  if constexpr (std::is_same_v<T, Bool>) {
    return value_of(element);
  } else if constexpr (is_float<T>) {
    Key bits;
    memcpy(&bits, &element, sizeof bits);
    const Key magnitude = bits & static_cast<Key>(~kSign);
    // Selected, not branched to, so that loops over elements become vectors.
    const Key negative = static_cast<Key>(magnitude == 0 ? kSign : static_cast<Key>(~bits));
    const Key ordered = (bits & kSign) != 0 ? negative : static_cast<Key>(bits | kSign);
    return magnitude > infinity_bits<T>() ? static_cast<Key>(~Key{0}) : ordered;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(static_cast<Key>(element) ^ kSign);
  } else {
    return element;
  }
}

/* An element's order and its place; equal ones are in the order of their places. */
struct Placed64 {
  uint64_t key;
  uint64_t place;
};

inline bool operator<(const Placed64& a, const Placed64& b) {
  return a.key != b.key ? a.key < b.key : a.place < b.place;
}

/* Both in one integer, where the key has at most 32 bits; places are below 2^32. */
template <typename T>
struct Placed {
  using Key = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  using Type = std::conditional_t<sizeof(T) == 8, Placed64, uint64_t>;
};

inline Placed64 placed(uint64_t key, int64_t place) {
  return {key, static_cast<uint64_t>(place)};
}

inline uint64_t placed(uint32_t key, int64_t place) {
  return uint64_t{key} << 32 | static_cast<uint64_t>(place);
}

inline uint64_t key_of(Placed64 all) {
  return all.key;
}

inline uint32_t key_of(uint64_t all) {
  return static_cast<uint32_t>(all >> 32);
}

inline int64_t place_of(Placed64 all) {
  return static_cast<int64_t>(all.place);
}

inline int64_t place_of(uint64_t all) {
  return static_cast<int64_t>(all & 0xffffffff);
}

}  // namespace tf::host

#endif
