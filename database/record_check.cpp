#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "database/record.h"

namespace tf::database {
namespace {

constexpr size_t kMaxTextBytes = 4 << 20, kMaxTexts = 10'000, kMaxSamples = 100'000, kMaxChoices = 10'000;
constexpr uint32_t kMaxThreads = 1 << 16;
constexpr int64_t kMaxSampleNs = 1'000'000'000'000'000;  // eleven days
// A microcontroller does more than the least in a second, and no core will do the most.
constexpr double kLeastRate = 1e5, kMostRate = 1e15;
constexpr int64_t kMostRunsPerNs = 5;  // a call is many cycles
// Clocks of machines that synchronise them differ by less.
constexpr absl::Duration kClockSkew = absl::Minutes(5);

absl::Status wrong(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("it ", std::string(what)));
}

absl::Status check_texts(const Measurement& m) {
  std::vector<const std::string*> texts = {&m.schedule,           &m.sketch_hash,    &m.detail,
                                           &m.problem.binding,    &m.problem.target, &m.device.device_class,
                                           &m.device.fingerprint, &m.device.model,   &m.device.governor,
                                           &m.artifact_digest,    &m.code_digest};
  for (const auto* list : {&m.problem.in_layouts, &m.problem.out_layouts, &m.numerics})
    for (const std::string& text : *list) texts.push_back(&text);
  if (m.lease) texts.insert(texts.end(), {&m.lease->slot, &m.lease->lease_id});
  if (texts.size() > kMaxTexts) return wrong(absl::StrCat("has ", texts.size(), " texts"));
  for (const std::string* text : texts) {
    if (text->size() > kMaxTextBytes) return wrong(absl::StrCat("has a text of ", text->size(), " bytes"));
  }
  return absl::OkStatus();
}

absl::Status check_samples(const Measurement& m) {
  if (m.samples.size() > kMaxSamples) return wrong(absl::StrCat("has ", m.samples.size(), " samples"));
  for (const Sample& sample : m.samples) {
    if (sample.total_ns < 0 || sample.total_ns > kMaxSampleNs)
      return wrong(absl::StrCat("has a sample of ", sample.total_ns, " ns"));
  }
  return absl::OkStatus();
}

absl::Status check_interleaved(const Measurement& m) {
  if (!m.interleaved) return absl::OkStatus();
  const auto& [began_unix_ns, ns, bounds] = *m.interleaved;
  const bool is_time = bounds.low_ns > 0 && bounds.low_ns <= ns && ns <= bounds.high_ns &&
                       bounds.high_ns <= static_cast<double>(kMaxSampleNs);
  if (began_unix_ns > 0 && is_time && median_ns(m.samples)) return absl::OkStatus();
  return wrong(absl::StrCat("took ", ns, " ns, from ", bounds.low_ns, " to ", bounds.high_ns,
                            ", in a final re-measurement that began ", began_unix_ns, " ns after 1970"));
}

absl::Status check_lease(const Measurement& m) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();  // of a column
  if (!m.lease || (m.lease->epoch <= kMost && m.lease->sequence <= kMost)) return absl::OkStatus();
  return wrong(absl::StrCat("has the epoch ", m.lease->epoch, " and the sequence ", m.lease->sequence));
}

}  // namespace

absl::Status check(const Measurement& m) {
  if (m.outcome < Outcome::kOk || m.outcome > Outcome::kOutOfMemory)
    return wrong(absl::StrCat("has the outcome ", static_cast<int>(m.outcome), ", which does not exist"));
  if (m.cache_mode > CacheMode::kWarm)
    return wrong(
        absl::StrCat("has the cache mode ", static_cast<int>(m.cache_mode), ", which does not exist"));
  if (m.problem.threads < 1 || m.problem.threads > kMaxThreads)
    return wrong(absl::StrCat("is of ", m.problem.threads, " threads"));
  if (m.problem.reuse_distance_bytes > uint64_t{1} << 60)
    return wrong(absl::StrCat("has a reuse distance of ", m.problem.reuse_distance_bytes, " bytes"));
  if (m.finished_unix_ns < 0)
    return wrong(absl::StrCat("was measured ", m.finished_unix_ns, " ns after 1970"));
  if (m.choices.size() > kMaxChoices) return wrong(absl::StrCat("has ", m.choices.size(), " choices"));
  TF_RETURN_IF_ERROR(check_texts(m));
  TF_RETURN_IF_ERROR(check_samples(m));
  TF_RETURN_IF_ERROR(check_lease(m));
  return check_interleaved(m);
}

bool is_in_future(int64_t unix_ns, absl::Time now) {
  return absl::FromUnixNanos(unix_ns) > now + kClockSkew;
}

absl::Status check_time(const Measurement& m, absl::Time now) {
  if (is_in_future(m.finished_unix_ns, now)) {
    return wrong(absl::StrCat("was measured at ",
                              absl::FormatTime("%Y-%m-%d %H:%M:%S UTC",
                                               absl::FromUnixNanos(m.finished_unix_ns), absl::UTCTimeZone()),
                              ", which is in the future: set this machine's clock, or delete the line"));
  }
  if (m.outcome != Outcome::kOk) return absl::OkStatus();
  const auto impossible = [](std::string_view what) {
    return wrong(absl::StrCat(std::string(what), ", which no core reaches: delete the line"));
  };
  if (m.samples.empty()) return impossible("is ok but has no sample");
  for (const Sample& sample : m.samples) {
    if (sample.iterations >= 1 && sample.iterations <= kMostRunsPerNs * sample.total_ns) continue;
    return impossible(
        absl::StrCat("has a sample of ", sample.iterations, " runs in ", sample.total_ns, " ns"));
  }
  if (m.interleaved && m.interleaved->ns * kMostRunsPerNs < 1)
    return impossible(absl::StrCat("took ", m.interleaved->ns, " ns in a final re-measurement"));
  return absl::OkStatus();
}

bool is_rate(double per_s) {
  return per_s >= kLeastRate && per_s <= kMostRate;  // which NaN is not
}

}  // namespace tf::database
