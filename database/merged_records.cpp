#include "database/merged_records.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "database/store_errors.h"
#include "database/which_count.h"

namespace tf::database {
namespace {

// Of one problem, from all stores.
struct Merged {
  std::vector<Measurement>
      rows;  // each record once, in the order in which they count; `id` is the place in it
  std::vector<const Measurement*> counting;          // of each program the row that counts, in counting order
  std::vector<const Measurement*> counting_untuned;  // the same among untuned rows only
};

// A record and where it stands between those of other stores: its date, or that of one before which its store does not
// let it count.
struct Dated {
  int64_t unix_ns = 0;
  Measurement measurement;
};

// Equal for copies of one record.
using Likeness = std::tuple<int64_t, int64_t, Outcome, size_t, size_t>;
Likeness likeness_of(const Measurement& m) {
  const std::hash<std::string> hash;
  return {m.finished_unix_ns, m.samples.empty() ? 0 : m.samples[0].total_ns, m.outcome, hash(m.schedule),
          hash(m.device.device_class)};
}

// Of problems that are kept for the next question; about 150 MB.
constexpr size_t kMostKeptRows = 100'000;

class MergedRecords final : public Records {
 public:
  explicit MergedRecords(std::vector<std::unique_ptr<Records>> stores) : stores_(std::move(stores)) {}

  absl::StatusOr<std::vector<Measurement>> top(const BestQuery& query, size_t limit) override {
    TF_ASSIGN_OR_RETURN(std::vector<tensor::KernelKey> problems, problems_like(query.problem));
    std::ranges::sort(problems, tensor::nearer_to(query.problem.reuse_distance_bytes),
                      &tensor::KernelKey::reuse_distance_bytes);
    for (const tensor::KernelKey& problem : problems) {
      TF_ASSIGN_OR_RETURN(const std::shared_ptr<const Merged> merged, of_problem(problem));
      std::vector<Measurement> found = top_of(*merged, query, limit);
      if (!found.empty()) return found;
    }
    return std::vector<Measurement>();
  }

  absl::StatusOr<Workload> find_workload(const std::string& key_or_prefix) override {
    std::optional<Workload> found;
    for (const auto& store : stores_) {
      absl::StatusOr<Workload> one = store->find_workload(key_or_prefix);
      if (absl::IsNotFound(one.status())) continue;
      if (!one.ok()) return one;
      if (found && found->text != one->text) return ambiguous_workload(key_or_prefix);
      found = *std::move(one);
    }
    if (!found) return unknown_workload(key_or_prefix);
    return *std::move(found);
  }

  absl::StatusOr<std::vector<Workload>> workloads() override {
    std::vector<Workload> all;
    std::set<Digest> seen;
    for (const auto& store : stores_) {
      TF_ASSIGN_OR_RETURN(std::vector<Workload> some, store->workloads());
      for (Workload& workload : some)
        if (seen.insert(workload.key()).second) all.push_back(std::move(workload));
    }
    return all;
  }

  absl::StatusOr<std::vector<tensor::KernelKey>> problems() override {
    const std::scoped_lock lock(mutex_);
    if (!problems_) {
      TF_ASSIGN_OR_RETURN(problems_, read_problems());
    }
    return *problems_;
  }

  absl::Status scan(const Filter& filter, const Visitor& visit) override {
    if (filter.job_id)
      return absl::InvalidArgumentError(
          absl::StrCat("cannot select job ", *filter.job_id,
                       " of several databases: jobs are numbered in each; give one --db"));
    std::vector<tensor::KernelKey> all;
    if (filter.problem) {
      all.push_back(*filter.problem);
    } else {
      TF_ASSIGN_OR_RETURN(all, problems());
    }
    for (const tensor::KernelKey& problem : all) {
      if (filter.workload && problem.workload != *filter.workload) continue;
      TF_RETURN_IF_ERROR(scan_problem(problem, filter.which, visit));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Measurement> find_record(const Digest& digest) override {
    for (const auto& store : stores_) {
      absl::StatusOr<Measurement> found = store->find_record(digest);
      if (!absl::IsNotFound(found.status())) return found;
    }
    return unknown_record(digest);
  }

  absl::StatusOr<bool> is_measured(const tensor::KernelKey& problem, const std::string& schedule) override {
    for (const auto& store : stores_) {
      TF_ASSIGN_OR_RETURN(const bool found, store->is_measured(problem, schedule));
      if (found) return true;
    }
    return false;
  }

  absl::StatusOr<std::vector<NetworkVerdict>> verdicts() override {
    std::vector<NetworkVerdict> all;
    for (const auto& store : stores_) {
      TF_ASSIGN_OR_RETURN(const std::vector<NetworkVerdict> some, store->verdicts());
      all.insert(all.end(), some.begin(), some.end());
    }
    std::ranges::stable_sort(all, std::ranges::greater(), &NetworkVerdict::decided_unix_ns);
    std::set<Digest> seen;
    std::erase_if(all, [&](const NetworkVerdict& verdict) { return !seen.insert(verdict.key).second; });
    return all;
  }

 private:
  absl::StatusOr<std::vector<tensor::KernelKey>> read_problems() {
    std::vector<tensor::KernelKey> all;
    std::set<std::string> seen;
    for (const auto& store : stores_) {
      TF_ASSIGN_OR_RETURN(std::vector<tensor::KernelKey> some, store->problems());
      for (tensor::KernelKey& problem : some)
        if (seen.insert(tensor::to_string(problem)).second) all.push_back(std::move(problem));
    }
    return all;
  }

  absl::StatusOr<std::vector<tensor::KernelKey>> problems_like(const tensor::KernelKey& problem) {
    TF_ASSIGN_OR_RETURN(std::vector<tensor::KernelKey> all, problems());
    std::erase_if(all, [&](const tensor::KernelKey& each) { return !same_kernel(each, problem); });
    return all;
  }

  // A build asks of each of its problems several times.
  absl::StatusOr<std::shared_ptr<const Merged>> of_problem(const tensor::KernelKey& problem) {
    const std::string name = tensor::to_string(problem);
    const std::scoped_lock lock(mutex_);
    if (const auto known = kept_.find(name); known != kept_.end()) return known->second;
    TF_ASSIGN_OR_RETURN(std::shared_ptr<const Merged> merged, read_problem(problem));
    if (kept_rows_ + merged->rows.size() > kMostKeptRows) {
      kept_.clear();
      kept_rows_ = 0;
    }
    kept_rows_ += merged->rows.size();
    kept_[name] = merged;
    return merged;
  }

  absl::StatusOr<std::shared_ptr<const Merged>> read_problem(const tensor::KernelKey& problem) {
    std::vector<Dated> all;
    std::set<Likeness> seen;
    for (const auto& store : stores_) {
      std::vector<Measurement> rows;
      TF_RETURN_IF_ERROR(store->scan({.problem = problem}, [&](const Measurement& m) {
        if (!seen.contains(likeness_of(m))) rows.push_back(m);
        return absl::OkStatus();
      }));
      for (const Measurement& m : rows) seen.insert(likeness_of(m));
      std::ranges::stable_sort(rows, {}, counting_order);
      int64_t unix_ns = 0;
      for (Measurement& m : rows) {
        unix_ns = std::max(unix_ns, m.finished_unix_ns);
        all.push_back({unix_ns, std::move(m)});
      }
    }
    std::ranges::stable_sort(all, {}, &Dated::unix_ns);
    return merged_of(std::move(all));
  }

  static std::shared_ptr<const Merged> merged_of(std::vector<Dated> in_order) {
    auto merged = std::make_shared<Merged>();
    for (Dated& row : in_order) {
      merged->rows.push_back(std::move(row.measurement));
      merged->rows.back().id = std::ssize(merged->rows);
      merged->rows.back().imported_after.reset();
    }
    std::vector<const Measurement*> untuned;
    for (const Measurement& row : merged->rows)
      if (row.untuned) untuned.push_back(&row);
    merged->counting = which_count(merged->rows);
    merged->counting_untuned = which_count(std::move(untuned));
    return merged;
  }

  static std::vector<Measurement> top_of(const Merged& merged, const BestQuery& query, size_t limit) {
    const bool untuned = query.of == BestQuery::Of::kUntuned;
    std::vector<const Measurement*> found = untuned ? merged.counting_untuned : merged.counting;
    std::erase_if(found, [&](const Measurement* m) {
      return !is_answer(*m) || (query.device_class && m->device.device_class != *query.device_class) ||
             (query.semantics_version && m->semantics_version != *query.semantics_version) ||
             (query.schedule && m->schedule != *query.schedule) ||
             !numerics_allowed(m->numerics, query.allowed_numerics);
    });
    if (untuned) {
      std::ranges::reverse(found);
    } else {
      std::ranges::sort(found, {}, [](const Measurement* m) { return std::pair(*m->median_ns(), m->id); });
    }
    std::vector<Measurement> out;
    for (const Measurement* m : found) {
      if (out.size() == limit) break;
      out.push_back(*m);
    }
    return out;
  }

  absl::Status scan_problem(const tensor::KernelKey& problem, Filter::Which which, const Visitor& visit) {
    TF_ASSIGN_OR_RETURN(const std::shared_ptr<const Merged> merged, of_problem(problem));
    std::set<Program> standing;
    for (const Measurement* m : merged->counting)
      if (is_answer(*m)) standing.insert(program_of(*m));
    for (const Measurement& m : merged->rows) {
      const bool is_ok = m.outcome == Outcome::kOk;
      if (which == Filter::Which::kOk && !is_ok) continue;
      if (which != Filter::Which::kAll && is_ok && !standing.contains(program_of(m))) continue;
      TF_RETURN_IF_ERROR(visit(m));
    }
    return absl::OkStatus();
  }

  const std::vector<std::unique_ptr<Records>> stores_;
  std::mutex mutex_;
  std::optional<std::vector<tensor::KernelKey>> problems_;
  std::map<std::string, std::shared_ptr<const Merged>> kept_;  // by the problem's name
  size_t kept_rows_ = 0;
};

}  // namespace

std::unique_ptr<Records> merge_records(std::vector<std::unique_ptr<Records>> stores) {
  TF_CHECK(!stores.empty()) << "no store to merge";
  if (stores.size() == 1) return std::move(stores.front());
  return std::make_unique<MergedRecords>(std::move(stores));
}

}  // namespace tf::database
