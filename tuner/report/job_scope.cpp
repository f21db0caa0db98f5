#include "tuner/report/job_scope.h"

#include <google/protobuf/util/json_util.h>

#include <set>
#include <utility>

#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "tuner/report/kernel_id.h"

namespace tf::report {
namespace {

tunefarm::tune::v1::JobSpec spec_of(const database::Job& job) {
  tunefarm::tune::v1::JobSpec spec;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(job.options, &spec, options).ok()) spec.Clear();
  return spec;
}

// Under which class its measurements are kept: a farm's key, or that of a run without a farm.
std::string device_class_of(const database::Job& job, const tunefarm::tune::v1::JobSpec& spec) {
  if (!job.device.empty()) return job.device;
  return spec.device_class().empty() ? "local" : spec.device_class();
}

}  // namespace

absl::StatusOr<JobScope> job_scope(database::Records& records, const Columns& columns, int64_t job_id) {
  JobScope scope;
  TF_ASSIGN_OR_RETURN(scope.job, records.find_job(job_id));
  scope.spec = spec_of(scope.job);
  scope.asked = {.device_class = device_class_of(scope.job, scope.spec),
                 .allowed = {scope.spec.allowed_numerics().begin(), scope.spec.allowed_numerics().end()}};
  TF_ASSIGN_OR_RETURN(std::vector<database::JobTask> tasks, records.job_tasks(job_id));
  for (database::JobTask& task : tasks)
    scope.kernels.push_back({.id = kernel_id(task.problem),
                             .key = std::move(task.problem),
                             .label = printable(task.label),
                             .weight = task.weight});
  if (!tasks.empty()) return scope;
  std::set<uint32_t> seen;
  for (const uint32_t entry : columns.of_job(job_id)) {
    const uint32_t kernel = columns.entries()[entry].kernel;
    if (seen.insert(kernel).second)
      scope.kernels.push_back({.id = columns.id_of(kernel), .key = columns.kernels()[kernel], .weight = 1});
  }
  return scope;
}

std::vector<bool> wanted_settings(const Columns& columns, const Asked& asked, uint32_t semantics_version) {
  std::vector<bool> wanted;
  for (const Setting& setting : columns.settings()) {
    std::vector<std::string> used;
    if (!setting.numerics.empty()) used = absl::StrSplit(setting.numerics, ',');
    wanted.push_back(setting.semantics_version == semantics_version &&
                     (!asked.device_class || setting.device_class == *asked.device_class) &&
                     database::numerics_allowed(used, asked.allowed));
  }
  return wanted;
}

}  // namespace tf::report
