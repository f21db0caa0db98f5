#include "tuner/report/kernel_report.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "database/remote/records_wire.h"
#include "tuner/report/candidate.h"
#include "tuner/report/curve.h"
#include "tuner/session/calibrate/calibration.h"

namespace tf::report {
namespace {

namespace pb = tunefarm::tune::v1;

constexpr size_t kPageSize = 100, kMostPageSize = 1000;
constexpr size_t kFastest = 20;

const Asked& asked_of(const JobScope* scope) {
  static const Asked any;
  return scope ? scope->asked : any;
}

// Of a kernel: how many measurements, of the job if there is one, and when the last of them came.
struct Tally {
  uint32_t trials = 0;
  double last_unix_s = 0;
};

std::vector<Tally> tallies(const Columns& columns, const JobScope* scope) {
  std::vector<Tally> tallies(columns.kernels().size());
  const auto count = [&](const Entry& entry) {
    Tally& tally = tallies[entry.kernel];
    ++tally.trials;
    tally.last_unix_s = std::max(tally.last_unix_s, static_cast<double>(entry.finished_unix_ns) * 1e-9);
  };
  if (scope) {
    for (const uint32_t entry : columns.of_job(scope->job.id)) count(columns.entries()[entry]);
  } else {
    std::ranges::for_each(columns.entries(), count);
  }
  return tallies;
}

absl::StatusOr<pb::KernelRow> row_of(View& view, const Subject& kernel, const Asked& asked,
                                     const Tally& tally, double network_ns) {
  TF_ASSIGN_OR_RETURN(const auto standing, view.kernels.standing(kernel.key, asked));
  pb::KernelRow row;
  row.set_kernel_id(kernel.id);
  row.set_label(kernel.label);
  // A job may know kernels that the database has never seen measured.
  if (const auto facts = view.kernels.facts(kernel.key); facts.ok()) {
    if (row.label().empty() || !(*facts)->shape.empty()) row.set_label((*facts)->label);
    row.set_shape((*facts)->shape);
    if (standing->best_ns() > 0) row.set_gflops_per_s((*facts)->flops / standing->best_ns());
  }
  row.set_target(printable(kernel.key.target));
  row.set_threads(kernel.key.threads);
  if (standing->best) row.set_device_class(printable(standing->best->device.device_class));
  row.set_trials(tally.trials);
  row.set_best_ns(standing->best_ns());
  row.set_untuned_ns(standing->untuned_ns());
  row.set_weight(kernel.weight);
  if (network_ns > 0) row.set_share(kernel.weight * standing->best_ns() / network_ns);
  row.set_last_unix_s(tally.last_unix_s);
  row.set_why(std::string(standing->why));
  return row;
}

// The time of the job's network with the best of each kernel.
absl::StatusOr<double> network_ns(View& view, const JobScope* scope) {
  double sum = 0;
  if (!scope) return sum;
  for (const Subject& kernel : scope->kernels) {
    TF_ASSIGN_OR_RETURN(const auto standing, view.kernels.standing(kernel.key, scope->asked));
    sum += kernel.weight * standing->best_ns();
  }
  return sum;
}

// Whether it is searched for. The label is a job's, or the database's.
absl::StatusOr<bool> matches(View& view, const Subject& kernel, const std::string& search) {
  if (search.empty()) return true;
  const auto has = [lower = absl::AsciiStrToLower(search)](const std::string& text) {
    return absl::StrContains(absl::AsciiStrToLower(text), lower);
  };
  if (has(kernel.label) || has(kernel.key.target)) return true;
  const uint32_t* number = view.columns.find_kernel(kernel.id);
  if (!number) return false;
  TF_ASSIGN_OR_RETURN(const std::string op, view.kernels.op(kernel.key));
  return has(op) || std::ranges::any_of(view.columns.settings_of(*number), [&](uint16_t setting) {
           return has(view.columns.settings()[setting].device_class);
         });
}

// A kernel in a list, and what it is ordered by.
struct Listed {
  Subject kernel;
  double key = 0;  // the greatest first
};

// All of the job or the database that match, in order.
absl::StatusOr<std::vector<Listed>> listed(View& view, const JobScope* scope, const std::string& search,
                                           const std::vector<Tally>& tallies) {
  std::vector<Listed> list;
  if (scope) {
    for (const Subject& kernel : scope->kernels) {
      TF_ASSIGN_OR_RETURN(const auto standing, view.kernels.standing(kernel.key, scope->asked));
      list.push_back({kernel, kernel.weight * standing->best_ns()});
    }
  } else {
    for (uint32_t i = 0; i < view.columns.kernels().size(); ++i) {
      const tensor::KernelKey& key = view.columns.kernels()[i];
      if (!session::is_calibration(key.workload))
        list.push_back({{.id = view.columns.id_of(i), .key = key}, tallies[i].last_unix_s});
    }
  }
  std::vector<Listed> found;
  for (Listed& each : list) {
    TF_ASSIGN_OR_RETURN(const bool is_match, matches(view, each.kernel, search));
    if (is_match) found.push_back(std::move(each));
  }
  std::ranges::stable_sort(found, std::greater(), &Listed::key);
  return found;
}

absl::StatusOr<pb::Peaks> peaks_of(database::Records& records, const database::Measurement& best) {
  pb::Peaks peaks;
  const absl::StatusOr<target::Target> target = target::parse_target(best.problem.target);
  if (!target.ok()) return peaks;
  TF_ASSIGN_OR_RETURN(const auto calibration, session::CalibrationRecords::read(records));
  const model::MeasuredRates rates =
      calibration.rates_of({*target, best.device.device_class, best.device.fingerprint});
  peaks.set_flops_per_s(rates.flops_per_s);
  peaks.set_l2_bytes_per_s(rates.l2_bytes_per_s);
  peaks.set_shared_bytes_per_s(rates.shared_bytes_per_s);
  peaks.set_memory_bytes_per_s(rates.memory_bytes_per_s);
  return peaks;
}

Tally tally_of(const Columns& columns, const uint32_t* number, const JobScope* scope) {
  return number ? tallies(columns, scope)[*number] : Tally();
}

}  // namespace

absl::StatusOr<Subject> find_subject(const View& view, std::string_view id, const JobScope* scope) {
  if (scope) {
    for (const Subject& kernel : scope->kernels)
      if (kernel.id == id) return kernel;
  }
  if (const uint32_t* number = view.columns.find_kernel(id))
    return Subject{.id = std::string(id), .key = view.columns.kernels()[*number]};
  return absl::NotFoundError(absl::StrCat("there is no kernel ", printable(id)));
}

absl::StatusOr<pb::ListKernelsReply> kernel_list(View& view, const pb::ListKernelsRequest& request,
                                                 const JobScope* scope) {
  size_t begin = 0;
  if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &begin))
    return absl::InvalidArgumentError("the page token is not one that an earlier page gave");
  const size_t size =
      std::min<size_t>(request.page_size() == 0 ? kPageSize : request.page_size(), kMostPageSize);
  const std::vector<Tally> tally = tallies(view.columns, scope);
  TF_ASSIGN_OR_RETURN(const std::vector<Listed> found, listed(view, scope, request.search(), tally));
  TF_ASSIGN_OR_RETURN(const double whole_ns, network_ns(view, scope));
  pb::ListKernelsReply reply;
  reply.set_total(static_cast<uint32_t>(found.size()));
  const size_t end = begin < found.size() ? std::min(found.size(), begin + size) : begin;
  for (size_t i = begin; i < end; ++i) {
    const uint32_t* number = view.columns.find_kernel(found[i].kernel.id);
    TF_ASSIGN_OR_RETURN(*reply.add_kernels(), row_of(view, found[i].kernel, asked_of(scope),
                                                     number ? tally[*number] : Tally(), whole_ns));
  }
  if (end < found.size()) reply.set_next_page_token(absl::StrCat(end));
  return reply;
}

absl::StatusOr<pb::KernelReport> kernel_report(View& view, const Subject& kernel, const JobScope* scope) {
  const uint32_t* number = view.columns.find_kernel(kernel.id);
  TF_ASSIGN_OR_RETURN(const double whole_ns, network_ns(view, scope));
  pb::KernelReport report;
  TF_ASSIGN_OR_RETURN(*report.mutable_row(),
                      row_of(view, kernel, asked_of(scope), tally_of(view.columns, number, scope), whole_ns));
  *report.mutable_key() = remote::to_proto(kernel.key);
  if (!number) return report;
  TF_ASSIGN_OR_RETURN(const auto facts, view.kernels.facts(kernel.key));
  report.set_workload(facts->workload);
  report.set_flops(facts->flops);
  report.set_bytes(facts->bytes);
  std::array<uint32_t, 9> counts{};
  for (const uint32_t entry : view.columns.of_kernel(*number))
    ++counts[static_cast<size_t>(view.columns.entries()[entry].outcome)];
  for (size_t i = 1; i < counts.size(); ++i)
    if (counts[i] > 0)
      (*report.mutable_outcomes())[std::string(database::outcome_name(database::Outcome(i)))] = counts[i];
  TF_ASSIGN_OR_RETURN(const auto standing, view.kernels.standing(kernel.key, asked_of(scope)));
  if (standing->untuned) *report.mutable_untuned() = candidate_of(*standing->untuned, *facts);
  if (!standing->best) return report;
  *report.mutable_best() = candidate_of(*standing->best, *facts);
  TF_ASSIGN_OR_RETURN(*report.mutable_peaks(), peaks_of(view.records, *standing->best));
  TF_ASSIGN_OR_RETURN(const std::vector<database::Measurement> fastest,
                      view.records.top({.problem = kernel.key,
                                        .device_class = asked_of(scope).device_class,
                                        .allowed_numerics = asked_of(scope).allowed,
                                        .semantics_version = schedule::kSemanticsVersion},
                                       kFastest));
  for (const database::Measurement& each : fastest) *report.add_fastest() = candidate_of(each, *facts);
  return report;
}

absl::StatusOr<pb::Candidates> candidates(View& view, const Subject& kernel, const JobScope* scope,
                                          size_t most_points) {
  pb::Candidates out;
  for (size_t i = 1; i < 9; ++i)
    out.add_outcome_names(std::string(database::outcome_name(database::Outcome(i))));
  const uint32_t* number = view.columns.find_kernel(kernel.id);
  if (!number) return out;
  const std::span<const Entry> entries = view.columns.entries();
  std::vector<uint32_t> shown;
  std::vector<bool> was_best;
  double best_ns = std::numeric_limits<double>::infinity();
  for (const uint32_t entry : view.columns.of_kernel(*number)) {
    const Entry& each = entries[entry];
    if (scope && each.job != scope->job.id) continue;
    shown.push_back(entry);
    was_best.push_back(each.has_time() && each.ns < best_ns);
    if (was_best.back()) best_ns = each.ns;
  }
  out.set_total(static_cast<uint32_t>(shown.size()));
  for (const size_t i : thinned_candidates(view.columns, shown, was_best, most_points)) {
    const Entry& each = entries[shown[i]];
    out.add_rows(each.row);
    out.add_finished_unix_s(static_cast<double>(each.finished_unix_ns) * 1e-9);
    out.add_ns(database::is_failure(each.outcome) ? 0 : each.ns);
    out.add_outcomes(static_cast<uint32_t>(each.outcome) - 1);
  }
  return out;
}

}  // namespace tf::report
