#pragma once
// Owns: Blob, the immutable bytes of a constant, shared between every graph that a pass makes from another.
// Does not know: types and shapes.

#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"

namespace tf::graph {

// Row-major, densely packed elements in the host's byte order. Thread-safe.
class Blob {
 public:
  explicit Blob(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string_view bytes() const { return bytes_; }
  // SHA-256 of the bytes, computed when first asked for.
  const Digest& digest() const;

  // The bytes as elements of T; what is left over is cut off.
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

 private:
  std::string bytes_;
  mutable std::once_flag once_;
  mutable Digest digest_;
};

using BlobRef = std::shared_ptr<const Blob>;

template <typename T>
BlobRef make_blob(std::span<const T> elements) {
  return std::make_shared<const Blob>(
      std::string(reinterpret_cast<const char*>(elements.data()), elements.size_bytes()));
}
template <typename T>
BlobRef make_blob(const std::vector<T>& elements) {
  return make_blob(std::span<const T>(elements));
}

}  // namespace tf::graph
