#include "compiler/graph/dynamic/join_programs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "compiler/graph/dynamic/join_task.h"
#include "compiler/graph/dynamic/program_numbers.h"
#include "compiler/graph/dynamic/table_block.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/found.h"
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
  if (call.indices) absl::StrAppend(&kind, " ", call.indices->operand);
  return kind;
}

using Programs = std::vector<const Program*>;

// Of a constant, if all are.
std::optional<std::vector<int64_t>> whole_numbers(const Graph& graph, NodeId id) {
  const tensor::Element element = graph.type(id).element;
  const std::string_view bytes = as<Constant>(graph.node(id))->data->bytes();
  if (!tensor::is_float(element)) return read_integers(element, bytes);
  constexpr double kExact = 1 << 24;
  std::vector<int64_t> numbers;
  for (const double value : read_floats(element, bytes)) {
    const bool is_minus_zero = value == 0 && std::signbit(value);
    if (!(std::fabs(value) <= kExact) || value != std::trunc(value) || is_minus_zero) return std::nullopt;
    numbers.push_back(static_cast<int64_t>(value));
  }
  return numbers;
}

// The number of all elements of a float constant, if it is one, to the bit.
std::optional<double> only_float(const Graph& graph, NodeId id) {
  const tensor::Element element = graph.type(id).element;
  if (!tensor::is_float(element)) return std::nullopt;
  const std::vector<double> values = read_floats(element, as<Constant>(graph.node(id))->data->bytes());
  if (values.empty() || std::isnan(values[0])) return std::nullopt;
  const auto same = [&](double each) {
    return each == values[0] && std::signbit(each) == std::signbit(values[0]);
  };
  return std::ranges::all_of(values, same) ? std::optional(values[0]) : std::nullopt;
}

// The most numbers of a constant that are computed in the run.
constexpr int64_t kMostComputed = 64;

// What the joiners of a program and its bodies have in common.
struct Joined {
  OpenInputs open;
  std::set<std::pair<int, size_t>> whole;  // inputs of kernels that are one constant at all sizes
  std::vector<Task> tasks;                 // that compute what was a constant, after those of the network
};

class ProgramJoiner {
 public:
  ProgramJoiner(Fitters& fitters, Programs all, std::span<const TableSlices> slices, const Program& greatest,
                size_t task_count, Joined& joined)
      : fitters_(fitters),
        all_(std::move(all)),
        slices_(slices),
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
    // Extents of results follow from those of operands, also within kernels.
    for (size_t i = 0; fitters_.samples().is_scattered && i < out.graph.nodes.size(); ++i)
      TF_RETURN_IF_ERROR(join_type(NodeId(i), out));
    for (size_t v = 0; v < out.values.size(); ++v) TF_RETURN_IF_ERROR(join_value(v, out));
    for (size_t c = 0; c < out.calls.size(); ++c) TF_RETURN_IF_ERROR(join_call(c, out));
    TF_RETURN_IF_ERROR(set_found(out));
    for (size_t b = 0; b < out.bodies.size(); ++b) {
      Programs bodies;
      for (const Program* each : all_) bodies.push_back(&each->bodies[b]);
      const bool has = b < greatest_.bodies.size();
      TF_ASSIGN_OR_RETURN(out.bodies[b],
                          ProgramJoiner(fitters_, bodies, slices_, has ? greatest_.bodies[b] : Program(),
                                        task_count_, shared_)
                              .run());
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

  absl::StatusOr<Expr> number(const std::function<int64_t(const Program&)>& of, std::string_view what,
                              const std::vector<Expr>& nearby = {}) const {
    std::vector<int64_t> values;
    for (const Program* each : all_) values.push_back(of(*each));
    const std::optional<Expr> fitted = fitters_.fit(values, nearby);
    if (fitted) return *fitted;
    return absl::OutOfRangeError(absl::StrCat(
        "the network is another one at another size: ", absl::string_view(what.data(), what.size()), " is ",
        values[0], ", then ", values[1], ", then ", values[2]));
  }

  int64_t greatest_of(const Expr& number, const Program& out) const { return out.graph.value(number); }

  absl::Status join_type(NodeId id, Program& out) {
    if (!joined_.insert(id).second) return absl::OkStatus();
    Node& node = out.graph.nodes[static_cast<size_t>(index(id))];
    std::vector<Expr> nearby;
    for (const NodeId input : node.inputs) add_extents(out.graph.node(input), nearby);
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
        note_sum(node, d, out);
        TF_ASSIGN_OR_RETURN(
            type.extents[d],
            number([&](const Program& program) { return program.graph.value(of(program).extents[d]); },
                   absl::StrCat("an extent of '", node.name, "'"), nearby));
      }
    }
    return absl::OkStatus();
  }

  // Of a concatenation, which may have many operands: that its extent is the sum of theirs.
  void note_sum(const Node& node, size_t d, const Program& out) {
    const auto* concat = as<Concat>(node);
    if (!concat || !fitters_.samples().is_scattered || static_cast<size_t>(concat->axis) != d) return;
    Expr sum = tensor::imm(0);
    for (const NodeId input : node.inputs) sum = sum + out.graph.type(input).extents[d];
    fitters_.numbers()->add(sum);
  }

  static void add_extents(const Node& node, std::vector<Expr>& extents) {
    extents.insert(extents.end(), node.type.extents.begin(), node.type.extents.end());
    for (const TensorType& type : node.more_types)
      extents.insert(extents.end(), type.extents.begin(), type.extents.end());
  }

  absl::Status join_value(size_t v, Program& out) {
    Value& value = out.values[v];
    TF_RETURN_IF_ERROR(join_type(value.node, out));
    const std::vector<Expr>& nearby = out.graph.type(value.node).extents;
    TF_ASSIGN_OR_RETURN(const Expr size,
                        number([&](const Program& p) { return static_cast<int64_t>(p.values[v].size_bytes); },
                               "a value's size", nearby));
    TF_ASSIGN_OR_RETURN(
        const Expr offset,
        number([&](const Program& p) { return static_cast<int64_t>(p.values[v].offset_bytes); },
               "a value's place", nearby));
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
    if (call.indices) {
      TF_ASSIGN_OR_RETURN(const Expr extent,
                          number([&](const Program& p) { return p.calls[c].indices->extent; }, call.name));
      call.indices->extent = greatest_of(extent, out);
      if (!tensor::as_int(extent)) call.indices->extent_of_run = extent;
    }
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

  // A constant is the same at every point, or a block of a table.
  absl::Status join_constant(size_t c, size_t k, Program& out) {
    const NodeId id = out.calls[c].operands[k].constant;
    const Program& base = *all_[0];
    const int task = out.calls[c].task();
    std::vector<Table> parts;
    for (const Program* each : all_)
      parts.push_back(table_of(each->graph, each->calls[c].operands[k].constant));
    if (std::ranges::all_of(parts, [&](const Table& part) { return is_same(part, parts[0]); })) {
      shared_.whole.insert({task, k});
      return absl::OkStatus();
    }
    const std::string name = absl::StrCat("the constant '", base.graph.node(id).name, "'");
    if (task < 0) return make_constant(c, k, name, out);
    if (is_made_of_numbers(c, k)) {
      const absl::Status made = make_constant(c, k, name, out);
      if (made.ok()) shared_.open.computed.insert({task, k});
      if (!absl::IsOutOfRange(made)) return made;
    }
    InputBlock block;
    std::optional<Table> table = greatest_table(c, k, parts, block.begin);
    if (!table) table = sliced_table(base.graph.node(id).name, parts, block.begin);
    if (!table) return other_network(absl::StrCat(name, " has other values"));
    block.extents = table->shape;
    // A node of its own: the one that grows may be an output, whose extents it has.
    const auto [whole, is_first] = wholes_.try_emplace(id, NodeId(out.graph.nodes.size()));
    if (is_first) {
      const std::string& node_name = base.graph.node(id).name;
      out.graph.add_constant(tensor_type(table->element, table->shape), table->data, node_name);
    } else if (!is_same(table_of(out.graph, whole->second), *table)) {
      return other_network(absl::StrCat(name, " is a block of several tables"));
    }
    out.calls[c].operands[k].constant = whole->second;
    const auto [known, is_new] = shared_.open.blocks.try_emplace({task, k}, block);
    if (!is_new && !(known->second == block))
      return other_network(absl::StrCat(name, " is another block than that of a kernel like it"));
    return absl::OkStatus();
  }

  // The constant at the greatest sizes, if the parts are its corners.
  std::optional<Table> greatest_table(size_t c, size_t k, const std::vector<Table>& parts,
                                      std::vector<std::vector<int64_t>>& begin) const {
    if (c >= greatest_.calls.size() || kind_of(greatest_.calls[c]) != kind_of(all_[0]->calls[c]))
      return std::nullopt;
    Table table = table_of(greatest_.graph, greatest_.calls[c].operands[k].constant);
    auto corners = corner_blocks(parts, table);
    if (!corners) return std::nullopt;
    begin = *std::move(corners);
    return table;
  }

  // The constant of which the parts are slices in the network.
  std::optional<Table> sliced_table(const std::string& name, const std::vector<Table>& parts,
                                    std::vector<std::vector<int64_t>>& begin) const {
    std::optional<Table> table;
    begin.clear();
    for (size_t p = 0; p < parts.size(); ++p) {
      const auto window = slices_[p].find(name);
      if (window == slices_[p].end()) return std::nullopt;
      if (!table) table = window->second.table;
      if (!is_same(*table, window->second.table) || !is_block(parts[p], *table, window->second.begin))
        return std::nullopt;
      begin.push_back(window->second.begin);
    }
    return table;
  }

  // Whether a constant of a kernel is a few whole numbers, as many at each point.
  bool is_made_of_numbers(size_t c, size_t k) const {
    const auto type = [&](const Program& program) {
      return program.graph.type(program.calls[c].operands[k].constant);
    };
    const TensorType base = type(*all_[0]);
    const absl::StatusOr<int64_t> count = element_count(all_[0]->graph.shape(base));
    return count.ok() && *count <= kMostComputed && std::ranges::all_of(all_, [&](const Program* each) {
             const NodeId id = each->calls[c].operands[k].constant;
             return each->graph.shape(id) == all_[0]->graph.shape(base) && whole_numbers(each->graph, id);
           });
  }

  // What a constant's elements are at any size, in order; of one that grows, what all of them are.
  absl::StatusOr<std::vector<Expr>> elements_of_constant(size_t c, size_t k, const std::string& name,
                                                         bool grows) {
    const auto id_in = [&](const Program& program) { return program.calls[c].operands[k].constant; };
    const TensorType& type = all_[0]->graph.type(id_in(*all_[0]));
    std::vector<std::vector<int64_t>> values;
    std::set<std::pair<double, bool>> floats;  // with their signs, which zeros have, too
    bool are_floats = grows;
    for (const Program* each : all_) {
      const TensorType& here = each->graph.type(id_in(*each));
      if (here.rank() != type.rank() || here.element != type.element)
        return other_network(absl::StrCat(name, " has other values"));
      const std::optional<double> only = grows ? only_float(each->graph, id_in(*each)) : std::nullopt;
      are_floats = are_floats && only;
      if (only) floats.emplace(*only, std::signbit(*only));
    }
    if (are_floats && floats.size() == 1)
      return std::vector<Expr>{tensor::imm(tensor::Type{type.element, 1}, floats.begin()->first)};
    for (const Program* each : all_) {
      std::optional<std::vector<int64_t>> numbers = whole_numbers(each->graph, id_in(*each));
      if (!numbers) return other_network(absl::StrCat(name, " has other values"));
      if (grows && std::ranges::adjacent_find(*numbers, std::not_equal_to<>()) != numbers->end())
        return other_network(absl::StrCat(name, " has more values"));
      if (grows) numbers->resize(1);
      values.push_back(*std::move(numbers));
    }
    if (values[0].size() > kMostComputed) return other_network(absl::StrCat(name, " has other values"));
    std::vector<Expr> elements;
    for (size_t i = 0; i < values[0].size(); ++i) {
      size_t point = 0;
      TF_ASSIGN_OR_RETURN(Expr element, number([&](const Program&) { return values[point++][i]; }, name));
      elements.push_back(std::move(element));
    }
    return elements;
  }

  // Whole numbers, as a loop's number of trips or a shape that is a result, are computed by a kernel where they are numbers
  // of the sizes. So is one number in as many places as the sizes say, as the state in which a recurrence begins.
  absl::Status make_constant(size_t c, size_t k, const std::string& name, Program& out) {
    const Program& base = *all_[0];
    const NodeId id = base.calls[c].operands[k].constant;
    const TensorType& type = base.graph.type(id);
    const auto shape_of = [&](const Program& program) {
      return program.graph.shape(program.calls[c].operands[k].constant);
    };
    const std::vector<int64_t> shape = shape_of(base);
    const bool grows =
        std::ranges::any_of(all_, [&](const Program* each) { return shape_of(*each) != shape; });
    TF_ASSIGN_OR_RETURN(const std::vector<Expr> elements, elements_of_constant(c, k, name, grows));
    std::vector<Expr>& extents = out.graph.nodes[static_cast<size_t>(index(id))].type.extents;
    Expr size = tensor::imm(tensor::element_bytes(type.element));
    for (size_t d = 0; d < extents.size(); ++d) {
      TF_ASSIGN_OR_RETURN(extents[d], number([&](const Program& each) { return shape_of(each)[d]; }, name));
      size = size * extents[d];
    }
    const Layout row_major;
    out.values.push_back(
        {.node = id, .layout = row_major, .size_bytes = static_cast<uint64_t>(greatest_of(size, out))});
    if (!tensor::as_int(size)) out.values.back().size_of_run = size;
    KernelCall kernel{static_cast<int>(task_count_ + shared_.tasks.size()), {}, {}};
    TF_ASSIGN_OR_RETURN(Task task, constant_task(elements, type.element, extents, kernel.dims));
    Call call{.what = std::move(kernel),
              .node = id,
              .name = absl::StrCat(base.graph.node(id).name, " (of sizes)"),
              .operands = {},
              .results = {static_cast<int>(out.values.size()) - 1}};
    task.nodes = {call.name};
    task.label = absl::StrCat("sizes [", absl::StrJoin(out.graph.shape(id), ", "), "]");
    shared_.tasks.push_back(std::move(task));
    out.calls[c].operands[k] = {call.results[0], id};
    made_[c].push_back(std::move(call));
    return absl::OkStatus();
  }

  absl::StatusOr<Task> constant_task(const std::vector<Expr>& elements, tensor::Element element,
                                     const std::vector<Expr>& extents, std::vector<Expr>& dims) const {
    ops::Builder builder;
    // Those that are found later must not be asked for.
    for (const tensor::Dimension& dim : fitters_.samples().dims)
      if (std::ranges::any_of(elements, [&](const Expr& each) { return uses(each, dim.var); }) ||
          std::ranges::any_of(extents, [&](const Expr& each) { return uses(each, dim.var); })) {
        builder.dimension(dim);
        dims.push_back(dim.var);
      }
    const auto body = [&](ops::Indices i) {
      Expr place = tensor::imm(0);
      for (size_t d = 0; d < extents.size(); ++d) place = place * extents[d] + i[d];
      Expr value = elements.back();
      for (size_t e = elements.size() - 1; e-- > 0;)
        value =
            tensor::select(tensor::equal(place, tensor::imm(static_cast<int64_t>(e))), elements[e], value);
      return tensor::cast({element, 1}, value);
    };
    const tensor::Buffer result = builder.compute("sizes", element, extents, body);
    builder.label("sizes");
    TF_ASSIGN_OR_RETURN(const tensor::Workload workload, builder.finish({result}));
    Task task;
    task.count = 1;
    task.kernel.ports.outputs.resize(1);
    TF_ASSIGN_OR_RETURN(task.kernel.workload, tensor::parse_workload(tensor::canonical_text(workload)));
    task.kernel.workload.label = workload.label;
    TF_ASSIGN_OR_RETURN(const tensor::Workload bound,
                        tensor::bind(workload, tensor::greatest_sizes(workload.dims)));
    task.at_sizes = {task.kernel};
    TF_ASSIGN_OR_RETURN(task.at_sizes[0].workload, tensor::parse_workload(tensor::canonical_text(bound)));
    return task;
  }

  // Which dimension a call finds.
  absl::Status set_found(Program& out) const {
    for (Call& call : out.calls) {
      const tensor::VarNode* found = found_by(out.graph.node(call.node));
      if (!found || call.task() >= 0) continue;
      const auto dim = std::ranges::find_if(
          fitters_.samples().dims, [&](const NamedDimension& each) { return each.var->name == found->name; });
      if (dim == fitters_.samples().dims.end())
        return other_network(absl::StrCat("it finds '", found->name, "'"));
      call.finds = static_cast<int>(dim - fitters_.samples().dims.begin());
    }
    return absl::OkStatus();
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
  const std::span<const TableSlices> slices_;  // of the network at each point
  const Program& greatest_;
  const size_t task_count_;  // of the network
  Joined& shared_;
  std::map<size_t, std::vector<Call>> made_;  // by the call before which they run
  std::set<NodeId> joined_;
  std::map<NodeId, NodeId> wholes_;  // of constants that grow, all of them
};

}  // namespace

absl::StatusOr<Program> join_programs(Fitters& fitters, std::span<const Program> at_points,
                                      std::span<const TableSlices> slices, const Program& greatest) {
  for (const Program& each : at_points)
    if (each.tasks.size() != at_points[0].tasks.size()) return other_network("it has other kernels");
  Programs all;
  for (const Program& each : at_points) all.push_back(&each);
  Joined joined;
  const size_t task_count = at_points[0].tasks.size();
  TF_ASSIGN_OR_RETURN(Program out, ProgramJoiner(fitters, all, slices, greatest, task_count, joined).run());
  for (const auto& [place, block] : joined.open.blocks)
    if (joined.whole.contains(place))
      return other_network(absl::StrCat("kernel '", out.tasks[static_cast<size_t>(place.first)].label,
                                        "' reads a block of a table in one place, and not in another"));
  out.dims = fitters.samples().dims;
  std::vector<KernelCall> kernels(out.tasks.size());  // but for the tasks
  for (size_t i = 0; i < out.tasks.size(); ++i) {
    TF_ASSIGN_OR_RETURN(JoinedTask made, join_task(fitters, at_points, i, joined.open));
    out.tasks[i] = std::move(made.task);
    kernels[i] = std::move(made.call);
  }
  for (Task& task : joined.tasks) out.tasks.push_back(std::move(task));
  for_each_program(out, [&](Program& each) {
    for (Call& call : each.calls) {
      auto* kernel = std::get_if<KernelCall>(&call.what);
      if (!kernel || static_cast<size_t>(kernel->task) >= task_count) continue;
      const int task = kernel->task;
      *kernel = kernels[static_cast<size_t>(task)];
      kernel->task = task;
    }
  });
  share_kernels(out);
  return out;
}

}  // namespace tf::graph
