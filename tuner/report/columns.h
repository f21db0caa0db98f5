#pragma once
// Owns: what is small of every measurement of a database, in memory, so that questions over very many of them
// are answered at once; 40 bytes a measurement, and as many again for finding them. Does not know: what is
// asked, texts of schedules.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "database/store.h"

namespace tf::report {

// Of what measurements have in common.
using Setting = database::PointSetting;

struct Entry {
  double ns = 0;  // of one run; 0: it has no time
  int64_t finished_unix_ns = 0;
  float sampled_s = 0;        // inside timed samples
  uint32_t row = 0;           // in the database
  uint32_t kernel = 0;        // numbers in Columns
  uint32_t job = 0;           // 0: none
  uint32_t replaces = kNone;  // the entry of the same program that counted until this one came
  uint16_t setting = 0;
  database::Outcome outcome{};
  bool counts : 1 = false;  // when it came (database/which_count.h)
  bool untuned : 1 = false;
  bool interleaved : 1 = false;

  static constexpr uint32_t kNone = UINT32_MAX;
  bool has_time() const { return outcome == database::Outcome::kOk && ns > 0; }
};

// Not thread-safe. Entries, kernels and settings are numbered in order of insertion; numbers stay.
class Columns {
 public:
  // Appends what came since the last time, at first all: a second or two for a million. Errors: the records';
  // OUT_OF_RANGE for a row that is no 32-bit number.
  absl::Status refresh(database::Records& records);

  std::span<const Entry> entries() const { return entries_; }
  std::span<const tensor::KernelKey> kernels() const { return kernels_; }
  std::span<const Setting> settings() const { return settings_; }
  // Entries of a kernel or a job, in order; none of a job that is not known.
  std::span<const uint32_t> of_kernel(uint32_t kernel) const { return by_kernel_[kernel].entries; }
  std::span<const uint32_t> of_job(int64_t job) const;
  // Distinct settings of a kernel's entries.
  std::span<const uint16_t> settings_of(uint32_t kernel) const { return by_kernel_[kernel].settings; }
  // By its kernel_id(); null: no measurement has it.
  const uint32_t* find_kernel(std::string_view id) const;
  const std::string& id_of(uint32_t kernel) const { return by_kernel_[kernel].id; }

 private:
  struct Kernel {
    std::string id;
    std::vector<uint32_t> entries;
    std::vector<uint16_t> settings;
  };
  struct Names;  // of one refresh
  absl::Status add(const database::Point& point, Names& names);
  uint32_t number_of(const tensor::KernelKey& key);
  uint16_t number_of(const Setting& setting);
  void find_place(uint64_t schedule, uint32_t entry, const database::Point& point);

  std::vector<Entry> entries_;
  std::vector<tensor::KernelKey> kernels_;
  std::vector<Kernel> by_kernel_;
  std::vector<Setting> settings_;
  std::vector<uint64_t> classes_;  // of each setting: device class and semantics version, as a hash
  std::map<std::string, uint32_t, std::less<>> kernel_numbers_;  // by id
  std::map<Setting, uint16_t> setting_numbers_;
  std::map<int64_t, std::vector<uint32_t>> by_job_;
  absl::flat_hash_map<uint64_t, uint32_t> programs_;        // the entry that counts, by a hash of the program
  absl::flat_hash_map<uint32_t, uint32_t> imported_after_;  // rows, of imported entries
  int64_t last_row_ = 0;
};

}  // namespace tf::report
