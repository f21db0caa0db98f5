#include "tuner/service/farm/network_calls.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/text/printable.h"
#include "compiler/graph/kernels/group.h"
#include "compiler/recipes/shape/structure.h"
#include "compiler/tensor/kernel_spec.h"
#include "tuner/report/kernel_id.h"

namespace tf::service {
namespace {

namespace pb = tunefarm::tune::v1;

constexpr int kMostCalls = 5000;   // so that a message holds them
constexpr size_t kMostNodes = 16;  // of a call

using Calls = std::set<uint32_t>;  // by their numbers in the report

class CallLister {
 public:
  CallLister(const graph::Program& model, const target::Target& target, int threads)
      : tasks_(model.tasks), target_(target), threads_(threads), ids_(tasks_.size()) {}

  // Returns the calls that make the program's results. `given` is what makes its inputs.
  Calls add(const graph::Program& program, const Calls& given) {
    std::vector<Calls> made(program.values.size());
    for (const int input : program.inputs) made[static_cast<size_t>(input)] = given;
    std::map<graph::NodeId, std::vector<graph::NodeId>> groups;  // by what is seen of them
    for (graph::Group& group : graph::make_groups(program.graph))
      groups[group.result()] = std::move(group.nodes);
    for (const graph::Call& call : program.calls) {
      Calls inputs;
      for (const graph::Operand& operand : call.operands)
        if (operand.value >= 0) inputs.merge(makers(program, operand.value, made));
      add_bodies(program, call, inputs);
      if (report_.calls_size() >= kMostCalls) continue;
      const auto number = static_cast<uint32_t>(report_.calls_size());
      pb::NetworkCall& out = *report_.add_calls();
      out.mutable_inputs()->Add(inputs.begin(), inputs.end());
      describe(program, call, groups, out);
      for (const int result : call.results)
        if (result >= 0) made[static_cast<size_t>(result)] = {number};
    }
    Calls results;
    for (const int output : program.outputs) results.merge(makers(program, output, made));
    return results;
  }

  pb::NetworkReport take() { return std::move(report_); }

 private:
  // A view is made by who makes what it is a part of; what nobody makes as a whole, a concatenation in place, by
  // all who make parts of it.
  static Calls makers(const graph::Program& program, int value, const std::vector<Calls>& made) {
    for (int whole = value; whole >= 0; whole = program.values[static_cast<size_t>(whole)].within) {
      if (const Calls& known = made[static_cast<size_t>(whole)]; !known.empty()) return known;
      value = whole;
    }
    Calls parts;
    for (size_t i = 0; i < program.values.size(); ++i)
      if (program.values[i].within == value) parts.insert(made[i].begin(), made[i].end());
    return parts;
  }

  void add_bodies(const graph::Program& program, const graph::Call& call, Calls& inputs) {
    const Calls given = inputs;
    const auto body = [&](int number) {
      inputs.merge(add(program.bodies[static_cast<size_t>(number)], given));
    };
    if (const auto* branch = std::get_if<graph::BranchCall>(&call.what)) {
      body(branch->then_body);
      body(branch->else_body);
    } else if (const auto* loop = std::get_if<graph::LoopCall>(&call.what)) {
      body(loop->body);
    }
  }

  void describe(const graph::Program& program, const graph::Call& call,
                const std::map<graph::NodeId, std::vector<graph::NodeId>>& groups, pb::NetworkCall& out) {
    out.set_shape(absl::StrJoin(program.graph.shape(call.node), "x"));
    if (const int task = call.task(); task >= 0) {
      out.set_kernel_id(id_of(static_cast<size_t>(task)));
      std::string label = printable(tasks_[static_cast<size_t>(task)].label);
      if (const size_t end = label.find(absl::StrCat(" ", out.shape())); end != std::string::npos) {
        out.set_shape(label.substr(end + 1));  // with what tells it from namesakes
        label.resize(end);
      }
      out.set_label(label);
    } else if (const auto* host = std::get_if<graph::HostCall>(&call.what)) {
      out.set_label(host->function);
    } else {
      out.set_label(std::holds_alternative<graph::LoopCall>(call.what) ? "loop" : "if");
    }
    const auto group = groups.find(call.node);
    if (group == groups.end() || call.name != program.graph.node(group->second.front()).name) {
      out.add_nodes(printable(call.name));  // a copy, or what the runtime does
      return;
    }
    for (const graph::NodeId node : group->second) {
      if (static_cast<size_t>(out.nodes_size()) >= kMostNodes) break;
      const std::string name = printable(program.graph.node(node).name);
      if (!name.empty() && std::ranges::find(out.nodes(), name) == out.nodes().end()) out.add_nodes(name);
    }
  }

  // Empty for what has one schedule, and no time. Of a kernel for all sizes, the size whose schedule it takes.
  const std::string& id_of(size_t number) {
    std::optional<std::string>& id = ids_[number];
    if (id) return *id;
    id.emplace();
    const graph::Task& task = tasks_[number];
    const tensor::KernelSpec& kernel = task.at_sizes.empty() ? task.kernel : task.at_sizes.front();
    const absl::StatusOr<tensor::Workload> bound = tensor::bind(kernel.workload, kernel.binding);
    if (bound.ok() && !recipes::computes_nothing(*bound))
      *id = report::kernel_id(tensor::key_for(kernel, target_, threads_));
    return *id;
  }

  const std::vector<graph::Task>& tasks_;
  const target::Target& target_;
  const int threads_;
  std::vector<std::optional<std::string>> ids_;
  pb::NetworkReport report_;
};

}  // namespace

pb::NetworkReport network_calls(const graph::Program& program, const target::Target& target, int threads) {
  CallLister lister(program, target, threads);
  lister.add(program, {});
  return lister.take();
}

std::string to_json(const pb::NetworkReport& report) {
  std::string text;
  TF_CHECK(google::protobuf::util::MessageToJsonString(report, &text).ok());
  return text;
}

}  // namespace tf::service
