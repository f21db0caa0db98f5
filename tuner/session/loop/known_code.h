#pragma once
// Owns: which programs were measured, by the digest of their code and read-only data, so that no two
// schedules that compile to the same code are both measured. Does not know: schedules, how anything is
// measured.

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tf::session {

// Thread-safe. `Work` is one who asks, `Outcome` what came of a measurement; both are copied. Programs of
// different tasks are different: the same code may run on other sizes.
template <typename Work, typename Outcome>
class KnownCode {
 public:
  enum class Claim {
    kMeasure,  // it is the first: settle() or give_up() follows
    kWait,     // the first is on its way: the work comes back from settle() or give_up()
    kKnown,    // `*outcome` says what came of it
  };

  // An empty digest is nobody's duplicate.
  Claim claim(int task, const std::string& digest, const Work& work, Outcome* outcome) {
    if (digest.empty()) return Claim::kMeasure;
    std::lock_guard lock(mutex_);
    const auto [code, is_first] = codes_.try_emplace({task, digest});
    if (is_first) return Claim::kMeasure;
    if (code->second.settled) {
      *outcome = code->second.outcome;
      return Claim::kKnown;
    }
    code->second.duplicates.push_back(work);
    return Claim::kWait;
  }

  // It was measured. Returns who waited for it.
  std::vector<Work> settle(int task, const std::string& digest, Outcome outcome) {
    if (digest.empty()) return {};
    std::lock_guard lock(mutex_);
    Code& code = codes_[{task, digest}];
    code.settled = true;
    code.outcome = std::move(outcome);
    return std::exchange(code.duplicates, {});
  }

  // It was not measured, and nothing is known of it, unless another was. Returns who waited for it.
  std::vector<Work> give_up(int task, const std::string& digest) {
    std::lock_guard lock(mutex_);
    const auto code = codes_.find({task, digest});
    if (code == codes_.end() || code->second.settled) return {};
    std::vector<Work> duplicates = std::move(code->second.duplicates);
    codes_.erase(code);
    return duplicates;
  }

 private:
  struct Code {
    bool settled = false;
    Outcome outcome{};
    std::vector<Work> duplicates;
  };
  std::mutex mutex_;
  std::map<std::pair<int, std::string>, Code> codes_;
};

}  // namespace tf::session
