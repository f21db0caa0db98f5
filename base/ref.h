#pragma once
// Owns: Ref<T>, the intrusive reference that holds immutable IR nodes. Counts are atomic: nodes are shared
// freely between threads because nobody writes to them.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace tf {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

 protected:
  virtual ~RefCounted() = default;

 private:
  template <typename T>
  friend class Ref;
  mutable std::atomic<int32_t> references_{0};
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): null is a natural literal here.
  explicit Ref(const T* node) : node_(node) { acquire(); }
  Ref(const Ref& other) : node_(other.node_) { acquire(); }
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  // clang-format off
  template <typename U>
    requires std::is_base_of_v<T, U>
  Ref(const Ref<U>& other) : node_(other.get()) { acquire(); }  // NOLINT: upcasts are implicit.
  // clang-format on
  Ref& operator=(Ref other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Ref() { release(); }

  const T* get() const { return node_; }
  const T* operator->() const { return node_; }
  const T& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  bool same_as(const Ref& other) const { return node_ == other.node_; }

 private:
  void acquire() const {
    if (node_) as_counted()->references_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (node_ && as_counted()->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete as_counted();
  }
  const RefCounted* as_counted() const { return static_cast<const RefCounted*>(node_); }
  const T* node_ = nullptr;
};

}  // namespace tf
