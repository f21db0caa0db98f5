#pragma once
// Owns: the artifacts that a load's trials name, as large as real ones and of nothing that compresses, and
// which of them the tracker has. Does not know: how they travel.

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace tf::farm_load {

// About what a kernel of a matrix product takes.
inline constexpr size_t kArtifactBytes = 20'000;

// Thread-safe after construction.
class LoadArtifacts {
 public:
  // One: it stands for all, and nobody uploads or fetches it.
  explicit LoadArtifacts(int count);

  bool travel() const { return digests_.size() > 1; }
  size_t count() const { return digests_.size(); }
  const std::string& digest(size_t number) const { return digests_[number]; }  // hexadecimal
  static std::string bytes(size_t number);

  bool is_uploaded(size_t number) const { return uploaded_[number]; }
  void set_uploaded(size_t number) { uploaded_[number] = true; }

 private:
  std::vector<std::string> digests_;
  std::vector<std::atomic<bool>> uploaded_;
};

}  // namespace tf::farm_load
