#include "tuner/report/report.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"
#include "tuner/report/candidate.h"
#include "tuner/report/columns.h"
#include "tuner/report/job_curves.h"
#include "tuner/report/job_scope.h"
#include "tuner/report/kernel_id.h"
#include "tuner/report/kernel_report.h"
#include "tuner/report/kernels.h"
#include "tuner/report/network_report.h"
#include "tuner/report/programs.h"

namespace tf::report {
namespace {

constexpr size_t kCurvePoints = 500, kCandidatePoints = 2000, kMostPoints = 100'000, kLeastPoints = 4;

size_t points_of(uint32_t asked, size_t otherwise) {
  return std::clamp<size_t>(asked == 0 ? otherwise : asked, kLeastPoints, kMostPoints);
}

}  // namespace

struct Report::Parts {
  Parts(database::Records& from, driver::Builder* builder)
      : records(from), kernels(from, columns), programs(builder) {}

  // Answers by what is known now; one question at a time, for each is short.
  template <typename Reply>
  absl::StatusOr<Reply> answer(const std::function<absl::StatusOr<Reply>(View&)>& question) {
    const std::scoped_lock lock(mutex);
    TF_RETURN_IF_ERROR(columns.refresh(records));
    TF_RETURN_IF_ERROR(kernels.refresh());
    View view{records, columns, kernels};
    return question(view);
  }

  database::Records& records;
  std::mutex mutex;  // of the next two
  Columns columns;
  Kernels kernels;
  Programs programs;
  std::once_flag loaded;
  std::thread loader;
};

Report::Report(database::Records& records, driver::Builder* builder)
    : parts_(std::make_unique<Parts>(records, builder)) {}

Report::~Report() {
  if (parts_->loader.joinable()) parts_->loader.join();
}

void Report::load() {
  std::call_once(parts_->loaded, [this] {
    parts_->loader = std::thread([this] {
      const std::scoped_lock lock(parts_->mutex);
      parts_->columns.refresh(parts_->records).IgnoreError();  // who asks is told
    });
  });
}

namespace {

// Of a request that may name a job.
absl::StatusOr<std::optional<JobScope>> scope_of(View& view, int64_t job_id) {
  std::optional<JobScope> scope;
  if (job_id != 0) {
    TF_ASSIGN_OR_RETURN(scope, job_scope(view.records, view.columns, job_id));
  }
  return scope;
}

const JobScope* pointer(const std::optional<JobScope>& scope) {
  return scope ? &*scope : nullptr;
}

}  // namespace

absl::StatusOr<pb::JobCurves> Report::describe_job(const pb::DescribeJobRequest& request) {
  return parts_->answer<pb::JobCurves>([&](View& view) -> absl::StatusOr<pb::JobCurves> {
    TF_ASSIGN_OR_RETURN(const JobScope scope, job_scope(view.records, view.columns, request.job_id()));
    return job_curves(view, scope, points_of(request.most_points(), kCurvePoints));
  });
}

absl::StatusOr<pb::ListKernelsReply> Report::list_kernels(const pb::ListKernelsRequest& request) {
  return parts_->answer<pb::ListKernelsReply>([&](View& view) -> absl::StatusOr<pb::ListKernelsReply> {
    TF_ASSIGN_OR_RETURN(const auto scope, scope_of(view, request.job_id()));
    return kernel_list(view, request, pointer(scope));
  });
}

absl::StatusOr<pb::KernelReport> Report::describe_kernel(const pb::DescribeKernelRequest& request) {
  return parts_->answer<pb::KernelReport>([&](View& view) -> absl::StatusOr<pb::KernelReport> {
    TF_ASSIGN_OR_RETURN(const auto scope, scope_of(view, request.job_id()));
    TF_ASSIGN_OR_RETURN(const Subject kernel, find_subject(view, request.kernel_id(), pointer(scope)));
    return kernel_report(view, kernel, pointer(scope));
  });
}

absl::StatusOr<pb::Candidates> Report::list_candidates(const pb::ListCandidatesRequest& request) {
  return parts_->answer<pb::Candidates>([&](View& view) -> absl::StatusOr<pb::Candidates> {
    TF_ASSIGN_OR_RETURN(const auto scope, scope_of(view, request.job_id()));
    TF_ASSIGN_OR_RETURN(const Subject kernel, find_subject(view, request.kernel_id(), pointer(scope)));
    return candidates(view, kernel, pointer(scope), points_of(request.most_points(), kCandidatePoints));
  });
}

absl::StatusOr<pb::Candidate> Report::describe_candidate(const pb::DescribeCandidateRequest& request) {
  return parts_->answer<pb::Candidate>([&](View& view) -> absl::StatusOr<pb::Candidate> {
    TF_ASSIGN_OR_RETURN(const database::Measurement found, view.records.find_row(request.row()));
    TF_ASSIGN_OR_RETURN(const auto facts, view.kernels.facts(found.problem));
    return candidate_of(found, *facts);
  });
}

absl::StatusOr<pb::Program> Report::show_program(const pb::ShowProgramRequest& request) {
  std::string schedule;
  absl::StatusOr<tensor::KernelSpec> spec;
  using Found = absl::StatusOr<tensor::KernelSpec>;
  const auto look = [&](View& view) -> Found {
    TF_ASSIGN_OR_RETURN(const Subject kernel, find_subject(view, request.kernel_id(), nullptr));
    if (request.row() != 0) {
      TF_ASSIGN_OR_RETURN(const database::Measurement record, view.records.find_row(request.row()));
      if (!(record.problem == kernel.key))
        return absl::InvalidArgumentError(absl::StrCat(
            "row ", request.row(), " is a candidate of another kernel, ", kernel_id(record.problem)));
      if (record.semantics_version != schedule::kSemanticsVersion)
        return absl::FailedPreconditionError(absl::StrCat(
            "row ", request.row(), " has a schedule of version ", record.semantics_version,
            ", which would be another program now: this tuner builds version ", schedule::kSemanticsVersion));
      schedule = record.schedule;
    } else {
      TF_ASSIGN_OR_RETURN(const auto standing, view.kernels.standing(kernel.key, {}));
      if (standing->untuned) schedule = standing->untuned->schedule;
    }
    TF_ASSIGN_OR_RETURN(const database::Workload workload,
                        view.records.find_workload(kernel.key.workload.hex()));
    absl::StatusOr<tensor::KernelSpec> parsed = tensor::parse_spec(workload.text, kernel.key);
    if (parsed.ok()) return parsed;
    return absl::FailedPreconditionError(
        absl::StrCat("the kernel cannot be built: ", std::string(parsed.status().message())));
  };
  spec = parts_->answer<tensor::KernelSpec>(look);
  TF_RETURN_IF_ERROR(spec.status());
  if (schedule.empty() && request.row() == 0) {
    TF_ASSIGN_OR_RETURN(schedule, default_schedule_of(*spec));
  }
  return parts_->programs.show(*spec, schedule);
}

absl::StatusOr<pb::NetworkReport> Report::describe_network(const pb::DescribeNetworkRequest& request) {
  return parts_->answer<pb::NetworkReport>([&](View& view) -> absl::StatusOr<pb::NetworkReport> {
    TF_ASSIGN_OR_RETURN(const JobScope scope, job_scope(view.records, view.columns, request.job_id()));
    return network_report(view, scope);
  });
}

}  // namespace tf::report
