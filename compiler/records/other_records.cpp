#include "compiler/records/other_records.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cli/counted.h"
#include "base/status.h"
#include "compiler/driver/build_model.h"
#include "compiler/records/records_source.h"

namespace tf::records {

absl::StatusOr<std::string> other_records_hint(database::Records& records, const graph::Program& program,
                                               const target::Target& target, int threads) {
  std::set<std::pair<Digest, std::string>> kernels;  // workload and binding
  for (const graph::Task& task : program.tasks) {
    const tensor::KernelKey problem = tensor::key_for(task.kernel, target, threads);
    kernels.emplace(problem.workload, problem.binding);
  }
  TF_ASSIGN_OR_RETURN(const std::vector<tensor::KernelKey> problems, records.problems());
  std::set<std::pair<std::string, uint32_t>> others;  // targets and threads
  for (const tensor::KernelKey& problem : problems) {
    if (kernels.contains({problem.workload, problem.binding}))
      others.emplace(problem.target, problem.threads);
  }
  if (others.contains({target.text(), static_cast<uint32_t>(threads)}))
    return "";  // their layouts or numerics differ
  if (others.empty())
    return "the database has no record of this network's kernels: tune the network with `tuner tune`";
  const std::string asked = absl::StrCat(counted(threads, "thread"), " on ", target.text());
  const std::string there = absl::StrJoin(others, ", ", [](std::string* out, const auto& other) {
    absl::StrAppend(out, counted(other.second, "thread"), " on ", other.first);
  });
  return absl::StrCat("these kernels have no record for ", asked, ", but they have records for ", there,
                      ": use that --target and --threads, or tune for yours");
}

}  // namespace tf::records
