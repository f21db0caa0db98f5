#pragma once
// Owns: SHA-256 as a value. Content addresses, workload keys and lock files all use it.

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tf {

struct Digest {
  std::array<uint8_t, 32> bytes{};
  auto operator<=>(const Digest&) const = default;
  // 64 lower-case hexadecimal digits.
  std::string hex() const;
  static absl::StatusOr<Digest> from_hex(std::string_view text);
};

// SHA-256 (FIPS 180-4) of the bytes. Thread-safe.
Digest sha256(std::string_view bytes);

// The same of bytes that come part by part. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void add(std::string_view part);
  // Of all parts. Once, and the last call.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tf
