#include "tuner/report/network_report.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace tf::report {

namespace pb = tunefarm::tune::v1;

namespace {

// A database may be anybody's: a call reads earlier ones only, and texts are those that a screen may show.
void make_harmless(uint32_t number, pb::NetworkCall& call) {
  auto& inputs = *call.mutable_inputs();
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(), [&](uint32_t input) { return input >= number; }),
               inputs.end());
  call.set_label(printable(call.label()));
  call.set_shape(printable(call.shape()));
  for (std::string& node : *call.mutable_nodes()) node = printable(node);
}

}  // namespace

absl::StatusOr<pb::NetworkReport> network_report(View& view, const JobScope& scope) {
  TF_ASSIGN_OR_RETURN(const std::string kept, view.records.job_network(scope.job.id));
  if (kept.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("no graph was kept of job ", scope.job.id,
                     ": it has not read its model yet, or is of an earlier version"));
  pb::NetworkReport report;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(kept, &report, options).ok())
    return absl::DataLossError(
        absl::StrCat("the graph that was kept of job ", scope.job.id, " cannot be read"));
  report.set_name(printable(scope.job.model_name));
  std::map<std::string, std::shared_ptr<const Standing>, std::less<>> standings;
  double best_ns = 0, untuned_ns = 0;
  bool all_best = true, all_untuned = true;
  for (const Subject& kernel : scope.kernels) {
    TF_ASSIGN_OR_RETURN(standings[kernel.id], view.kernels.standing(kernel.key, scope.asked));
    if (kernel.weight <= 0) continue;
    const Standing& standing = *standings[kernel.id];
    best_ns += kernel.weight * standing.best_ns();
    untuned_ns += kernel.weight * standing.untuned_ns();
    all_best &= standing.best_ns() > 0;
    all_untuned &= standing.untuned_ns() > 0;
  }
  if (all_best) report.set_best_ns(best_ns);
  if (all_untuned) report.set_untuned_ns(untuned_ns);
  std::vector<uint32_t> trials(view.columns.kernels().size());
  for (const uint32_t entry : view.columns.of_job(scope.job.id))
    ++trials[view.columns.entries()[entry].kernel];
  for (int i = 0; i < report.calls_size(); ++i) {
    pb::NetworkCall& call = *report.mutable_calls(i);
    make_harmless(static_cast<uint32_t>(i), call);
    const auto found = standings.find(call.kernel_id());
    if (found == standings.end()) continue;
    const Standing& standing = *found->second;
    if (const uint32_t* kernel = view.columns.find_kernel(call.kernel_id())) call.set_trials(trials[*kernel]);
    call.set_untuned_ns(standing.untuned_ns());
    call.set_best_ns(standing.best_ns());
    if (best_ns > 0) call.set_share(standing.best_ns() / best_ns);
    call.set_is_untuned(!standing.best || standing.best->untuned);
  }
  return report;
}

}  // namespace tf::report
