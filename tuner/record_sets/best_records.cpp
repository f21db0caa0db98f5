#include "tuner/record_sets/best_records.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/schedule/numerics.h"
#include "compiler/schedule/schedule.h"
#include "database/follow_verdict.h"

namespace tf::record_sets {
namespace {

using database::BestQuery;
using database::Measurement;
using database::NetworkVerdict;

using Numerics = std::vector<std::string>;

// What builds may allow: nothing, one kind, all, and what there is a verdict for; the fewest first.
std::vector<Numerics> allowances(const std::vector<NetworkVerdict>& verdicts) {
  std::set<std::pair<size_t, Numerics>> all;
  const auto add = [&](const Numerics& some) { all.emplace(some.size(), some); };
  add({});
  add(schedule::all_numerics());
  for (const std::string& name : schedule::all_numerics()) add({name});
  for (const NetworkVerdict& verdict : verdicts) add(verdict.numerics);
  std::vector<Numerics> in_order;
  for (const auto& [size, some] : all) in_order.push_back(some);
  return in_order;
}

class Selector {
 public:
  Selector(database::Records& records, const Selection& selection, std::vector<NetworkVerdict> verdicts)
      : records_(records),
        selection_(selection),
        verdicts_(std::move(verdicts)),
        allowances_(allowances(verdicts_)) {}

  absl::Status add(const tensor::KernelKey& problem) {
    std::vector<std::pair<Numerics, Digest>> chosen;
    for (const Numerics& allowed : allowances_) {
      BestQuery query{.problem = problem,
                      .device_class = selection_.device_class,
                      .allowed_numerics = allowed,
                      .semantics_version = schedule::kSemanticsVersion};
      database::follow_verdict(verdicts_, query);
      TF_ASSIGN_OR_RETURN(std::optional<database::Choice> choice, records_.choose(query));
      if (!choice || !(choice->record.problem == problem)) continue;
      Measurement& record = choice->record;
      // Where verdicts are left out, records alone decide: none may win where a verdict chose another.
      const bool without_verdict = !selection_.as.empty();
      const Digest digest = record_digest(record);
      if (without_verdict && std::ranges::any_of(chosen, [&](const auto& earlier) {
            return earlier.second != digest && database::numerics_allowed(record.numerics, earlier.first);
          }))
        continue;
      chosen.emplace_back(allowed, digest);
      add(std::move(record));
      if (without_verdict) continue;
      query.of = BestQuery::Of::kUntuned;
      TF_ASSIGN_OR_RETURN(std::vector<Measurement> untuned, records_.top(query, 1));
      if (!untuned.empty() && untuned[0].problem == problem) add(std::move(untuned[0]));
    }
    return absl::OkStatus();
  }

  BestRecords take() && {
    for (NetworkVerdict& verdict : verdicts_) {
      if (selection_.as.empty())
        found_.records.verdicts.push_back(std::move(verdict));
      else
        ++found_.verdicts_left_out;
    }
    found_.targets.assign(targets_.begin(), targets_.end());
    return std::move(found_);
  }

 private:
  void add(Measurement m) {
    if (!selection_.as.empty()) {
      m.device.device_class = selection_.as;
      m.lease.reset();  // names a result of the other class
    }
    if (!seen_.insert(record_digest(m)).second) return;
    targets_.insert(m.problem.target);
    found_.records.measurements.push_back(std::move(m));
  }

  database::Records& records_;
  const Selection& selection_;
  std::vector<NetworkVerdict> verdicts_;
  const std::vector<Numerics> allowances_;
  std::set<Digest> seen_;
  std::set<std::string> targets_;
  BestRecords found_;
};

// Of all times, sorted.
absl::StatusOr<std::vector<std::string>> classes_of(database::Records& records) {
  std::set<std::string> classes;
  TF_RETURN_IF_ERROR(records.scan({.which = database::Filter::Which::kOk}, [&](const Measurement& m) {
    classes.insert(m.device.device_class);
    return absl::OkStatus();
  }));
  return std::vector<std::string>(classes.begin(), classes.end());
}

absl::Status nothing_found(database::Records& records, const Selection& selection) {
  TF_ASSIGN_OR_RETURN(const std::vector<std::string> classes, classes_of(records));
  const std::string there = classes.empty() ? "nothing was measured" : absl::StrJoin(classes, ", ");
  return absl::NotFoundError(absl::StrCat("no record of the device class ", printable(selection.device_class),
                                          selection.target.empty() ? "" : " and of that target",
                                          " can be shared; device classes with records: ", printable(there)));
}

}  // namespace

absl::StatusOr<BestRecords> best_records(database::Records& records, const Selection& selection) {
  TF_ASSIGN_OR_RETURN(const std::vector<tensor::KernelKey> problems, records.problems());
  TF_ASSIGN_OR_RETURN(std::vector<NetworkVerdict> verdicts, records.verdicts());
  std::erase_if(verdicts, [&](const NetworkVerdict& verdict) {
    return verdict.device_class != selection.device_class ||
           (!selection.target.empty() && verdict.target != selection.target);
  });
  Selector selector(records, selection, std::move(verdicts));
  for (const tensor::KernelKey& problem : problems) {
    if (!selection.target.empty() && problem.target != selection.target) continue;
    if (selection.leave_out(problem.workload)) continue;
    TF_RETURN_IF_ERROR(selector.add(problem));
  }
  BestRecords found = std::move(selector).take();
  if (found.records.measurements.empty()) return nothing_found(records, selection);
  std::set<Digest> workloads;
  for (const Measurement& m : found.records.measurements) {
    if (!workloads.insert(m.problem.workload).second) continue;
    TF_ASSIGN_OR_RETURN(found.records.workloads.emplace_back(),
                        records.find_workload(m.problem.workload.hex()));
  }
  return found;
}

}  // namespace tf::record_sets
