#include "compiler/graph/dynamic/join_task.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "compiler/tensor/greatest_sizes.h"
#include "compiler/tensor/text.h"

namespace tf::graph {
namespace {

using tensor::Expr;
using tensor::Layout;

// An input that was a constant becomes one that is given in each run, row-major.
void give_in_runs(tensor::KernelSpec& kernel, size_t input) {
  std::vector<tensor::Input>& inputs = kernel.workload.inputs;
  if (!inputs[input].constant) return;
  const auto before = std::count_if(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(input),
                                    [](const tensor::Input& each) { return !each.constant; });
  inputs[input].constant = false;
  kernel.ports.inputs.insert(kernel.ports.inputs.begin() + before, Layout());
}

// For people: of a long sum, its beginning.
std::string short_text(const Expr& number) {
  constexpr size_t kLongest = 40;
  const std::string text = tensor::to_string(number);
  return text.size() <= kLongest ? text : absl::StrCat(text.substr(0, kLongest - 3), "...");
}

}  // namespace

absl::StatusOr<JoinedTask> join_task(Fitters& fitters, std::span<const Program> at_points, size_t number,
                                     const OpenInputs& open) {
  std::vector<tensor::Workload> bound;
  for (const Program& program : at_points) {
    const tensor::KernelSpec& kernel = program.tasks[number].kernel;
    const tensor::KernelSpec& base = at_points[0].tasks[number].kernel;
    if (!(kernel.ports.inputs == base.ports.inputs) || !(kernel.ports.outputs == base.ports.outputs))
      return absl::NotFoundError("the network is another one at another size: a kernel has other layouts");
    TF_ASSIGN_OR_RETURN(bound.emplace_back(), tensor::bind(kernel.workload, kernel.binding));
  }
  JoinedTask made{at_points[0].tasks[number], {}};
  Task& task = made.task;
  for (const auto& [of_task, input] : open.computed) {
    if (of_task != static_cast<int>(number)) continue;
    for (tensor::Workload& each : bound) each.inputs[input].constant = false;
    give_in_runs(task.kernel, input);
  }
  std::map<size_t, InputBlock> blocks;
  for (const auto& [place, block] : open.blocks)
    if (place.first == static_cast<int>(number)) blocks[place.second] = block;
  absl::StatusOr<JoinedWorkload> all = join_workloads(fitters.of_kernels(), bound, blocks, fitters.numbers());
  if (!all.ok())
    return absl::Status(all.status().code(),
                        absl::StrCat("kernel '", task.label, "': ", all.status().message()));
  const tensor::Workload& joined = all->workload;
  if (joined.dims.empty() && blocks.empty()) return made;
  tensor::Substitution sizes;
  for (size_t d = 0; d < joined.dims.size(); ++d) {
    made.call.dims.push_back(fitters.in_network(all->dims[d]));
    sizes[joined.dims[d].var.get()] = made.call.dims[d];
  }
  for (const auto& [input, begin] : all->blocks)
    for (const Expr& first : begin) made.call.blocks[input].push_back(fitters.in_network(first));
  TF_ASSIGN_OR_RETURN(const tensor::Workload largest,
                      tensor::bind(joined, tensor::greatest_sizes(joined.dims)));
  task.flops = tensor::count_flops(largest);
  task.bytes = tensor::count_bytes(largest);
  task.label =
      absl::StrCat(joined.label, " [",
                   absl::StrJoin(joined.outputs[0]->extents, ", ",
                                 [&](std::string* out, const Expr& extent) {
                                   absl::StrAppend(out, short_text(tensor::substitute(extent, sizes)));
                                 }),
                   "]");
  task.at_sizes = {task.kernel};
  TF_ASSIGN_OR_RETURN(task.kernel.workload, tensor::parse_workload(tensor::canonical_text(joined)));
  task.kernel.workload.label = joined.label;
  task.kernel.binding.clear();
  return made;
}

void share_kernels(Program& program) {
  std::map<std::string, int> known;
  std::vector<Task> tasks;
  std::vector<int> numbers;
  for (Task& task : program.tasks) {
    const auto [found, is_new] = known.try_emplace(task_key(task), static_cast<int>(tasks.size()));
    numbers.push_back(found->second);
    if (is_new) {
      tasks.push_back(std::move(task));
      continue;
    }
    Task& shared = tasks[static_cast<size_t>(found->second)];
    shared.count += task.count;
    shared.nodes.insert(shared.nodes.end(), task.nodes.begin(), task.nodes.end());
  }
  program.tasks = std::move(tasks);
  for_each_program(program, [&](Program& each) {
    for (Call& call : each.calls)
      if (auto* kernel = std::get_if<KernelCall>(&call.what))
        kernel->task = numbers[static_cast<size_t>(kernel->task)];
  });
}

}  // namespace tf::graph
