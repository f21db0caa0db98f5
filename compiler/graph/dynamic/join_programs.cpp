#include "compiler/graph/dynamic/join_programs.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "compiler/graph/dynamic/join_workloads.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/program/host_calls.h"
#include "compiler/ops/builder.h"
#include "compiler/tensor/greatest_sizes.h"

namespace tf::graph {
namespace {

using tensor::Expr;
using tensor::Layout;

absl::Status other_network(std::string_view what) {
  return absl::NotFoundError(absl::StrCat("the network is another one at another size: ",
                                          absl::string_view(what.data(), what.size())));
}

// Whether `part` is what the first rows, columns, … of `whole` hold.
bool is_leading_block(const Graph& part_graph, NodeId part, const Graph& whole_graph, NodeId whole) {
  const TensorType &type = part_graph.type(part), &whole_type = whole_graph.type(whole);
  if (type.element != whole_type.element || type.rank() != whole_type.rank()) return false;
  const std::vector<int64_t> shape = part_graph.shape(part), all = whole_graph.shape(whole);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > all[d]) return false;
  const std::string_view bytes = as<Constant>(part_graph.node(part))->data->bytes(),
                         from = as<Constant>(whole_graph.node(whole))->data->bytes();
  if (bytes.empty()) return true;
  // Row by row: rows are as long as the part's last axis.
  const auto element = static_cast<size_t>(tensor::element_bytes(type.element));
  const size_t row = (shape.empty() ? 1 : static_cast<size_t>(shape.back())) * element;
  std::vector<int64_t> at(shape.size(), 0);
  for (size_t begin = 0; begin < bytes.size(); begin += row) {
    size_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      place = place * static_cast<size_t>(all[d]) + static_cast<size_t>(at[d]);
    if (std::memcmp(bytes.data() + begin, from.data() + place * element, row) != 0) return false;
    for (size_t d = shape.size(); d-- > 1;) {
      if (++at[d - 1] < shape[d - 1]) break;
      at[d - 1] = 0;
    }
  }
  return true;
}

bool is_same_constant(const Graph& a, NodeId x, const Graph& b, NodeId y) {
  const BlobRef &p = as<Constant>(a.node(x))->data, &q = as<Constant>(b.node(y))->data;
  return a.type(x).element == b.type(y).element && a.shape(x) == b.shape(y) &&
         (p == q || p->bytes() == q->bytes());
}

// What a call does, but for its numbers.
std::string kind_of(const Call& call) {
  std::string kind = absl::StrCat(call.what.index(), " ", call.in_place, " ", call.operands.size(), " ");
  for (const Operand& operand : call.operands) absl::StrAppend(&kind, operand.value, ",");
  absl::StrAppend(&kind, " ", absl::StrJoin(call.results, ","), " ", absl::StrJoin(call.memory, ","), " ");
  if (const auto* kernel = std::get_if<KernelCall>(&call.what)) absl::StrAppend(&kind, kernel->task);
  if (const auto* host = std::get_if<HostCall>(&call.what)) absl::StrAppend(&kind, host->function);
  if (const auto* branch = std::get_if<BranchCall>(&call.what))
    absl::StrAppend(&kind, branch->then_body, " ", branch->else_body);
  if (const auto* loop = std::get_if<LoopCall>(&call.what)) absl::StrAppend(&kind, loop->body);
  if (call.indices) absl::StrAppend(&kind, " ", call.indices->operand, " ", call.indices->extent);
  return kind;
}

using Programs = std::vector<const Program*>;

// Constants of kernels that grow with a size: of a task, the workload's inputs, with the extents of the greatest.
using Grown = std::map<std::pair<int, size_t>, std::vector<int64_t>>;

// What the joiners of a program and its bodies have in common.
struct Joined {
  Grown grown;
  std::vector<Task> tasks;  // that compute what was a constant, after those of the network
};

class ProgramJoiner {
 public:
  ProgramJoiner(Fitters& fitters, Programs all, const Program& greatest, size_t task_count, Joined& joined)
      : fitters_(fitters),
        all_(std::move(all)),
        greatest_(greatest),
        task_count_(task_count),
        shared_(joined) {}

  absl::StatusOr<Program> run() {
    Program out = *all_[0];
    TF_RETURN_IF_ERROR(check_form());
    out.graph.dims.clear();
    out.graph.binding.clear();
    out.graph.dims.assign(fitters_.samples().dims.begin(), fitters_.samples().dims.end());
    out.graph.binding = tensor::greatest_sizes(out.graph.dims);
    for (size_t v = 0; v < out.values.size(); ++v) TF_RETURN_IF_ERROR(join_value(v, out));
    for (size_t c = 0; c < out.calls.size(); ++c) TF_RETURN_IF_ERROR(join_call(c, out));
    for (size_t b = 0; b < out.bodies.size(); ++b) {
      Programs bodies;
      for (const Program* each : all_) bodies.push_back(&each->bodies[b]);
      const bool has = b < greatest_.bodies.size();
      TF_ASSIGN_OR_RETURN(
          out.bodies[b],
          ProgramJoiner(fitters_, bodies, has ? greatest_.bodies[b] : Program(), task_count_, shared_).run());
    }
    insert_made(out);
    return out;
  }

 private:
  absl::Status check_form() const {
    const Program& base = *all_[0];
    for (const Program* each : all_) {
      if (each->inputs != base.inputs || each->outputs != base.outputs)
        return other_network("its inputs or outputs are others");
      if (each->calls.size() != base.calls.size() || each->values.size() != base.values.size() ||
          each->bodies.size() != base.bodies.size() || each->graph.nodes.size() != base.graph.nodes.size())
        return other_network(absl::StrCat("it has ", each->calls.size(), " steps, not ", base.calls.size()));
      for (size_t c = 0; c < base.calls.size(); ++c)
        if (kind_of(each->calls[c]) != kind_of(base.calls[c]) || each->calls[c].node != base.calls[c].node)
          return other_network(absl::StrCat("'", base.calls[c].name, "' is computed in another way"));
      for (size_t v = 0; v < base.values.size(); ++v)
        if (each->values[v].node != base.values[v].node ||
            !(each->values[v].layout == base.values[v].layout) ||
            each->values[v].within != base.values[v].within)
          return other_network("a value lies elsewhere");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Expr> number(const std::function<int64_t(const Program&)>& of, std::string_view what) const {
    std::vector<int64_t> values;
    for (const Program* each : all_) values.push_back(of(*each));
    const std::optional<Expr> fitted = fitters_.fit(values);
    if (fitted) return *fitted;
    return absl::OutOfRangeError(absl::StrCat(
        "the network is another one at another size: ", absl::string_view(what.data(), what.size()), " is ",
        values[0], ", then ", values[1], ", then ", values[2]));
  }

  int64_t greatest_of(const Expr& number, const Program& out) const { return out.graph.value(number); }

  absl::Status join_type(NodeId id, Program& out) {
    if (!joined_.insert(id).second) return absl::OkStatus();
    Node& node = out.graph.nodes[static_cast<size_t>(index(id))];
    for (size_t k = 0; k <= node.more_types.size(); ++k) {
      TensorType& type = k == 0 ? node.type : node.more_types[k - 1];
      const auto of = [&](const Program& program) -> const TensorType& {
        const Node& there = program.graph.node(id);
        return k == 0 ? there.type : there.more_types[k - 1];
      };
      for (const Program* each : all_)
        if (each->graph.node(id).more_types.size() != node.more_types.size() ||
            of(*each).rank() != type.rank() || of(*each).element != type.element)
          return other_network(absl::StrCat("'", node.name, "' has another rank"));
      for (size_t d = 0; d < type.extents.size(); ++d) {
        TF_ASSIGN_OR_RETURN(
            type.extents[d],
            number([&](const Program& program) { return program.graph.value(of(program).extents[d]); },
                   absl::StrCat("an extent of '", node.name, "'")));
      }
    }
    return absl::OkStatus();
  }

  absl::Status join_value(size_t v, Program& out) {
    Value& value = out.values[v];
    TF_RETURN_IF_ERROR(join_type(value.node, out));
    TF_ASSIGN_OR_RETURN(const Expr size,
                        number([&](const Program& p) { return static_cast<int64_t>(p.values[v].size_bytes); },
                               "a value's size"));
    TF_ASSIGN_OR_RETURN(
        const Expr offset,
        number([&](const Program& p) { return static_cast<int64_t>(p.values[v].offset_bytes); },
               "a value's place"));
    value.size_bytes = static_cast<uint64_t>(greatest_of(size, out));
    value.offset_bytes = static_cast<uint64_t>(greatest_of(offset, out));
    if (!tensor::as_int(size)) value.size_of_run = size;
    if (!tensor::as_int(offset)) value.offset_of_run = offset;
    return absl::OkStatus();
  }

  absl::Status join_call(size_t c, Program& out) {
    Call& call = out.calls[c];
    for (size_t k = 0; k < call.operands.size(); ++k)
      if (call.operands[k].value < 0) TF_RETURN_IF_ERROR(join_constant(c, k, out));
    const auto* host = std::get_if<HostCall>(&call.what);
    if (!host) return absl::OkStatus();
    std::vector<std::vector<int64_t>> numbers;
    for (const Program* each : all_)
      numbers.push_back(host_numbers(std::get<HostCall>(each->calls[c].what), each->graph,
                                     each->graph.node(each->calls[c].node)));
    for (const std::vector<int64_t>& each : numbers)
      if (each.size() != numbers[0].size())
        return other_network(absl::StrCat("'", call.name, "' has other operands"));
    for (size_t i = 0; i < numbers[0].size(); ++i) {
      size_t point = 0;
      TF_ASSIGN_OR_RETURN(Expr joined,
                          number([&](const Program&) { return numbers[point++][i]; }, call.name));
      call.numbers.push_back(std::move(joined));
    }
    return absl::OkStatus();
  }

  // A constant is the same at every point, or the leading block of that at the greatest sizes.
  absl::Status join_constant(size_t c, size_t k, Program& out) {
    const NodeId id = out.calls[c].operands[k].constant;
    const auto at = [&](const Program& program) { return program.calls[c].operands[k].constant; };
    const Program& base = *all_[0];
    if (std::ranges::all_of(all_, [&](const Program* each) {
          return is_same_constant(each->graph, at(*each), base.graph, id);
        }))
      return absl::OkStatus();
    const std::string name = absl::StrCat("the constant '", base.graph.node(id).name, "'");
    if (out.calls[c].task() < 0) return make_constant(c, k, name, out);
    if (c >= greatest_.calls.size() || kind_of(greatest_.calls[c]) != kind_of(base.calls[c]))
      return other_network(absl::StrCat(name, " is another one, and the greatest size has other kernels"));
    for (const Program* each : all_)
      if (!is_leading_block(each->graph, at(*each), greatest_.graph, at(greatest_)))
        return other_network(absl::StrCat(name, " has other values"));
    const Node& whole = greatest_.graph.node(at(greatest_));
    Node& node = out.graph.nodes[static_cast<size_t>(index(id))];
    node.op = whole.op;
    node.type = tensor_type(whole.type.element, greatest_.graph.shape(at(greatest_)));
    const int task = out.calls[c].task();
    const auto [known, is_new] = shared_.grown.try_emplace({task, k}, greatest_.graph.shape(at(greatest_)));
    if (!is_new && known->second != greatest_.graph.shape(at(greatest_)))
      return other_network(absl::StrCat(name, " is of several sizes"));
    return absl::OkStatus();
  }

  // Whole numbers that a branch, a loop or a host function takes, as a loop's number of trips, are computed by a kernel
  // where they are numbers of the sizes.
  absl::Status make_constant(size_t c, size_t k, const std::string& name, Program& out) {
    constexpr size_t kMost = 64;
    const Program& base = *all_[0];
    const NodeId id = base.calls[c].operands[k].constant;
    const TensorType& type = base.graph.type(id);
    std::vector<std::vector<int64_t>> values;
    for (const Program* each : all_) {
      const NodeId there = each->calls[c].operands[k].constant;
      const bool is_alike = each->graph.shape(there) == base.graph.shape(id) &&
                            each->graph.type(there).element == type.element &&
                            !tensor::is_float(type.element);
      if (!is_alike) return other_network(absl::StrCat(name, " is another one"));
      values.push_back(read_integers(type.element, as<Constant>(each->graph.node(there))->data->bytes()));
    }
    if (values[0].size() > kMost) return other_network(absl::StrCat(name, " has other values"));
    std::vector<Expr> elements;
    for (size_t i = 0; i < values[0].size(); ++i) {
      size_t point = 0;
      TF_ASSIGN_OR_RETURN(Expr element, number([&](const Program&) { return values[point++][i]; }, name));
      elements.push_back(std::move(element));
    }
    const Layout row_major;
    out.values.push_back({.node = id,
                          .layout = row_major,
                          .size_bytes = as<Constant>(base.graph.node(id))->data->bytes().size()});
    TF_ASSIGN_OR_RETURN(Task task, constant_task(elements, type.element, base.graph.shape(id)));
    Call call{.what = KernelCall{static_cast<int>(task_count_ + shared_.tasks.size())},
              .node = id,
              .name = absl::StrCat(base.graph.node(id).name, " (of sizes)"),
              .operands = {},
              .results = {static_cast<int>(out.values.size()) - 1}};
    task.nodes = {call.name};
    shared_.tasks.push_back(std::move(task));
    out.calls[c].operands[k] = {call.results[0], id};
    made_[c].push_back(std::move(call));
    return absl::OkStatus();
  }

  absl::StatusOr<Task> constant_task(const std::vector<Expr>& elements, tensor::Element element,
                                     const std::vector<int64_t>& shape) const {
    ops::Builder builder;
    for (const tensor::Dimension& dim : fitters_.samples().dims) builder.dimension(dim);
    const auto body = [&](ops::Indices i) {
      Expr place = tensor::imm(0);
      for (size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + i[d];
      Expr value = elements.back();
      for (size_t e = elements.size() - 1; e-- > 0;)
        value =
            tensor::select(tensor::equal(place, tensor::imm(static_cast<int64_t>(e))), elements[e], value);
      return tensor::cast({element, 1}, value);
    };
    const tensor::Buffer result =
        builder.compute("sizes", element, tensor_type(element, shape).extents, body);
    builder.label("sizes");
    TF_ASSIGN_OR_RETURN(const tensor::Workload workload, builder.finish({result}));
    Task task;
    task.label = absl::StrCat("sizes [", absl::StrJoin(shape, ", "), "]");
    task.count = 1;
    task.kernel.ports.outputs.resize(1);
    TF_ASSIGN_OR_RETURN(task.kernel.workload, tensor::parse_workload(tensor::canonical_text(workload)));
    task.kernel.workload.label = workload.label;
    for (const tensor::Dimension& dim : workload.dims) task.dims.push_back(dim.var);
    TF_ASSIGN_OR_RETURN(const tensor::Workload bound,
                        tensor::bind(workload, tensor::greatest_sizes(workload.dims)));
    task.at_sizes = {task.kernel};
    TF_ASSIGN_OR_RETURN(task.at_sizes[0].workload, tensor::parse_workload(tensor::canonical_text(bound)));
    return task;
  }

  void insert_made(Program& out) {
    std::vector<Call> calls;
    for (size_t c = 0; c < out.calls.size(); ++c) {
      for (Call& made : made_[c]) calls.push_back(std::move(made));
      calls.push_back(std::move(out.calls[c]));
    }
    out.calls = std::move(calls);
  }

  Fitters& fitters_;
  const Programs all_;
  const Program& greatest_;
  const size_t task_count_;  // of the network
  Joined& shared_;
  std::map<size_t, std::vector<Call>> made_;  // by the call before which they run
  std::set<NodeId> joined_;
};

// The kernel for all sizes.
absl::StatusOr<Task> join_task(Fitters& fitters, std::span<const Program> at_points, size_t number,
                               const Grown& grown) {
  std::vector<tensor::Workload> bound;
  for (const Program& program : at_points) {
    const tensor::KernelSpec& kernel = program.tasks[number].kernel;
    const tensor::KernelSpec& base = at_points[0].tasks[number].kernel;
    if (!(kernel.ports.inputs == base.ports.inputs) || !(kernel.ports.outputs == base.ports.outputs))
      return other_network("a kernel has other layouts");
    TF_ASSIGN_OR_RETURN(bound.emplace_back(), tensor::bind(kernel.workload, kernel.binding));
  }
  Task task = at_points[0].tasks[number];
  std::map<size_t, std::vector<int64_t>> inputs;
  for (const auto& [place, shape] : grown)
    if (place.first == static_cast<int>(number)) inputs[place.second] = shape;
  absl::StatusOr<JoinedWorkload> all = join_workloads(fitters.of_kernels(), bound, inputs);
  if (!all.ok())
    return absl::Status(all.status().code(),
                        absl::StrCat("kernel '", task.label, "': ", all.status().message()));
  const tensor::Workload& joined = all->workload;
  if (joined.dims.empty()) return task;
  tensor::Substitution sizes;
  for (size_t d = 0; d < joined.dims.size(); ++d) {
    task.dims.push_back(fitters.in_network(all->dims[d]));
    sizes[joined.dims[d].var.get()] = task.dims[d];
  }
  TF_ASSIGN_OR_RETURN(const tensor::Workload largest,
                      tensor::bind(joined, tensor::greatest_sizes(joined.dims)));
  task.flops = tensor::count_flops(largest);
  task.bytes = tensor::count_bytes(largest);
  task.label =
      absl::StrCat(joined.label, " [",
                   absl::StrJoin(joined.outputs[0]->extents, ", ",
                                 [&](std::string* out, const Expr& extent) {
                                   absl::StrAppend(out, tensor::to_string(tensor::substitute(extent, sizes)));
                                 }),
                   "]");
  task.at_sizes = {task.kernel};
  TF_ASSIGN_OR_RETURN(task.kernel.workload, tensor::parse_workload(tensor::canonical_text(joined)));
  task.kernel.workload.label = joined.label;
  task.kernel.binding.clear();
  return task;
}

}  // namespace

absl::StatusOr<Program> join_programs(Fitters& fitters, std::span<const Program> at_points,
                                      const Program& greatest) {
  for (const Program& each : at_points)
    if (each.tasks.size() != at_points[0].tasks.size()) return other_network("it has other kernels");
  Programs all;
  for (const Program& each : at_points) all.push_back(&each);
  Joined joined;
  const size_t task_count = at_points[0].tasks.size();
  TF_ASSIGN_OR_RETURN(Program out, ProgramJoiner(fitters, all, greatest, task_count, joined).run());
  out.dims = fitters.samples().dims;
  for (size_t i = 0; i < out.tasks.size(); ++i) {
    TF_ASSIGN_OR_RETURN(out.tasks[i], join_task(fitters, at_points, i, joined.grown));
  }
  for (Task& task : joined.tasks) out.tasks.push_back(std::move(task));
  return out;
}

}  // namespace tf::graph
