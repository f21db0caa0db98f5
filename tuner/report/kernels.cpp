#include "tuner/report/kernels.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"
#include "database/follow_verdict.h"
#include "tuner/report/kernel_id.h"

namespace tf::report {
namespace {

constexpr size_t kMostKept = 4096;  // standings, each with two schedules

std::string shape_of(const tensor::Workload& bound) {
  return absl::StrJoin(bound.outputs, ",", [](std::string* out, const tensor::Buffer& output) {
    absl::StrAppend(out,
                    absl::StrJoin(output->extents, "x", [](std::string* text, const tensor::Expr& extent) {
                      absl::StrAppend(text, tensor::as_int(extent).value_or(0));
                    }));
  });
}

KernelFacts facts_of(const database::Workload& workload, const tensor::KernelKey& key) {
  KernelFacts facts{.label = printable(workload.op), .workload = printable_lines(workload.text)};
  const absl::StatusOr<tensor::KernelSpec> spec = tensor::parse_spec(workload.text, key);
  if (!spec.ok()) return facts;
  absl::StatusOr<tensor::Workload> bound = tensor::bind(spec->workload, spec->binding);
  if (!bound.ok()) return facts;
  facts.flops = tensor::count_flops(*bound);
  facts.bytes = tensor::count_bytes(*bound);
  facts.shape = shape_of(*bound);
  if (const size_t end = facts.label.find(" " + facts.shape); end != std::string::npos) {
    facts.shape = facts.label.substr(end + 1);  // with what tells it from namesakes
    facts.label.resize(end);
  }
  facts.bound = *std::move(bound);
  return facts;
}

}  // namespace

absl::Status Kernels::refresh() {
  TF_ASSIGN_OR_RETURN(verdicts_, records_.verdicts());
  return absl::OkStatus();
}

absl::StatusOr<const database::Workload*> Kernels::workload(const Digest& key) {
  auto found = workloads_.find(key);
  if (found == workloads_.end()) {
    TF_ASSIGN_OR_RETURN(std::vector<database::Workload> all, records_.workloads());
    for (database::Workload& each : all) {
      const Digest digest = each.key();
      workloads_.try_emplace(digest, std::move(each));
    }
    found = workloads_.find(key);
  }
  if (found == workloads_.end())
    return absl::NotFoundError(absl::StrCat("the database has no workload ", key.hex()));
  return &found->second;
}

absl::StatusOr<std::shared_ptr<const KernelFacts>> Kernels::facts(const tensor::KernelKey& key) {
  const std::string id = kernel_id(key);
  if (const auto found = facts_.find(id); found != facts_.end()) return found->second;
  TF_ASSIGN_OR_RETURN(const database::Workload* of, workload(key.workload));
  return facts_[id] = std::make_shared<KernelFacts>(facts_of(*of, key));
}

absl::StatusOr<std::string> Kernels::op(const tensor::KernelKey& key) {
  TF_ASSIGN_OR_RETURN(const database::Workload* of, workload(key.workload));
  return printable(of->op);
}

absl::StatusOr<Standing> Kernels::ask(const tensor::KernelKey& key, const Asked& asked) {
  database::BestQuery query{.problem = key,
                            .device_class = asked.device_class,
                            .allowed_numerics = asked.allowed,
                            .semantics_version = schedule::kSemanticsVersion};
  database::BestQuery of_untuned = query;
  database::follow_verdict(verdicts_, query);
  Standing standing;
  TF_ASSIGN_OR_RETURN(std::optional<database::Choice> choice, records_.choose(query));
  // Of another reuse distance, a build would take it, but it was not measured for this kernel.
  if (choice && choice->record.problem == key) {
    standing.best = std::move(choice->record);
    standing.why = database::why_name(choice->why);
  }
  of_untuned.of = database::BestQuery::Of::kUntuned;
  if (!of_untuned.device_class && standing.best) of_untuned.device_class = standing.best->device.device_class;
  TF_ASSIGN_OR_RETURN(std::vector<database::Measurement> untuned, records_.top(of_untuned, 1));
  if (!untuned.empty() && untuned.front().problem == key) standing.untuned = std::move(untuned.front());
  return standing;
}

absl::StatusOr<std::shared_ptr<const Standing>> Kernels::standing(const tensor::KernelKey& key,
                                                                  const Asked& asked) {
  const std::string id = kernel_id(key);
  const uint32_t* number = columns_.find_kernel(id);
  if (!number) return std::make_shared<Standing>();  // nothing was measured
  Kept& kept = standings_[absl::StrCat(id, " ", asked.device_class ? "of " + *asked.device_class : "", " ",
                                       absl::StrJoin(asked.allowed, ","))];
  const size_t entries = columns_.of_kernel(*number).size();
  const int64_t decided = verdicts_.empty() ? 0 : verdicts_.front().decided_unix_ns;
  if (!kept.standing || kept.entries != entries || kept.verdicts != verdicts_.size() ||
      kept.decided_unix_ns != decided) {
    TF_ASSIGN_OR_RETURN(Standing standing, ask(key, asked));
    kept = {entries, verdicts_.size(), decided, std::make_shared<Standing>(std::move(standing))};
  }
  std::shared_ptr<const Standing> answer = kept.standing;
  if (standings_.size() > kMostKept) standings_.clear();
  return answer;
}

}  // namespace tf::report
