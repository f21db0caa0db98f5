#pragma once
// Owns: how many models each submitter has on their way here at once, so that nobody takes all the memory for
// them, however slowly theirs come. Thread-safe. Does not know: models, messages.

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tf::service {

class Uploads {
 public:
  static constexpr size_t kMostEach = 2;

  // One upload, while it lives; the Uploads must outlive it.
  class Turn {
   public:
    Turn(Turn&& other) noexcept : uploads_(std::exchange(other.uploads_, nullptr)), one_(other.one_) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    friend class Uploads;
    using One = std::multiset<std::string>::iterator;
    Turn(Uploads& uploads, One one) : uploads_(&uploads), one_(one) {}

    Uploads* uploads_;
    One one_;
  };

  // UNAVAILABLE: the submitter has kMostEach already.
  absl::StatusOr<Turn> begin(const std::string& submitter);

 private:
  std::mutex mutex_;
  std::multiset<std::string> of_;
};

}  // namespace tf::service
