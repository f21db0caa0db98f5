#include "compiler/graph/dynamic/program_at.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "compiler/graph/dynamic/table_block.h"
#include "compiler/graph/program/host_calls.h"

namespace tf::graph {
namespace {

// With other extents of constants, which may be blocks of tables.
std::string text_without_constants(const tensor::Workload& workload) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(tensor::canonical_text(workload), '\n'))
    if (!absl::StartsWith(line, "constant ")) absl::StrAppend(&text, line, "\n");
  return text;
}

class Comparison {
 public:
  Comparison(const Program& there, const Sizes& sizes, const Program& joined)
      : there_tasks_(there.tasks), joined_tasks_(joined.tasks), sizes_(sizes) {}

  bool is_program_at(const Program& there, const Program& joined) const {
    // What computes numbers of the sizes stands for constants.
    std::vector<const Call*> calls;
    for (const Call& call : joined.calls)
      if (call.task() < 0 || !call.operands.empty()) calls.push_back(&call);
    if (there.calls.size() != calls.size() || there.bodies.size() != joined.bodies.size()) return false;
    if (there.values.size() + joined.calls.size() != joined.values.size() + calls.size()) return false;
    for (size_t v = 0; v < there.values.size(); ++v) {
      const Value& value = joined.values[v];
      if (static_cast<int64_t>(there.values[v].size_bytes) !=
              number_at(value.size_of_run, value.size_bytes) ||
          static_cast<int64_t>(there.values[v].offset_bytes) !=
              number_at(value.offset_of_run, value.offset_bytes))
        return false;
    }
    for (size_t i = 0; i < calls.size(); ++i)
      if (!is_call_at(there, there.calls[i], joined, *calls[i])) return false;
    for (size_t b = 0; b < there.bodies.size(); ++b)
      if (!is_program_at(there.bodies[b], joined.bodies[b])) return false;
    return true;
  }

 private:
  bool is_call_at(const Program& program, const Call& there, const Program& joined_program,
                  const Call& joined) const {
    if (there.what.index() != joined.what.index() || there.results != joined.results ||
        there.in_place != joined.in_place || there.memory != joined.memory || !has_operands(there, joined) ||
        there.indices.has_value() != joined.indices.has_value())
      return false;
    if (there.indices && there.indices->extent != number_at(joined.indices->extent_of_run,
                                                            static_cast<uint64_t>(joined.indices->extent)))
      return false;
    if (there.task() >= 0) {
      if (!is_kernel_at(there_tasks_[static_cast<size_t>(there.task())], joined)) return false;
      for (size_t k = 0; k < there.operands.size(); ++k)
        if (there.operands[k].value < 0 &&
            !is_constant_at({program.graph, there.operands[k]}, {joined_program.graph, joined.operands[k]},
                            std::get<KernelCall>(joined.what), k))
          return false;
      return true;
    }
    const auto* host = std::get_if<HostCall>(&there.what);
    if (!host) return true;
    if (host->function != std::get<HostCall>(joined.what).function) return false;
    const std::vector<int64_t> numbers = host_numbers(*host, program.graph, program.graph.node(there.node));
    if (numbers.size() != joined.numbers.size()) return false;
    for (size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] != number_at(joined.numbers[i], 0)) return false;
    return true;
  }

  // What was a constant there may be computed in the run.
  static bool has_operands(const Call& there, const Call& joined) {
    return std::ranges::equal(there.operands, joined.operands, [](const Operand& a, const Operand& b) {
      return a.value < 0 || a.value == b.value;
    });
  }

  // Null: the fixed number.
  int64_t number_at(const tensor::Expr& number, uint64_t fixed) const {
    return number ? sizes_(number) : static_cast<int64_t>(fixed);
  }

  bool is_kernel_at(const Task& there, const Call& call) const {
    const Task& joined = joined_tasks_[static_cast<size_t>(call.task())];
    tensor::Binding binding = joined.kernel.binding;
    binding.merge(sizes_.of(std::get<KernelCall>(call.what), joined.kernel.workload));
    auto a = tensor::bind(there.kernel.workload, there.kernel.binding);
    auto b = tensor::bind(joined.kernel.workload, binding);
    if (!a.ok() || !b.ok() || a->inputs.size() != b->inputs.size()) return false;
    // What is computed of the sizes was a constant there. Ranges of test values say nothing of what a kernel does.
    for (size_t i = 0; i < a->inputs.size(); ++i) {
      b->inputs[i].constant = i < call.operands.size() && call.operands[i].value < 0;
      a->inputs[i] = {a->inputs[i].buffer, b->inputs[i].constant, b->inputs[i].low, b->inputs[i].high};
    }
    for (const auto& [input, begin] : std::get<KernelCall>(call.what).blocks)
      read_from(*a, a->inputs[input].buffer, begin_at(begin));
    return text_without_constants(*a) == text_without_constants(*b);
  }

  std::vector<int64_t> begin_at(const std::vector<tensor::Expr>& begin) const {
    std::vector<int64_t> values;
    for (const tensor::Expr& each : begin) values.push_back(sizes_(each));
    return values;
  }

  // Loads of the buffer become those of a table of which it is the block that begins there.
  static void read_from(tensor::Workload& workload, const tensor::Buffer& buffer,
                        const std::vector<int64_t>& begin) {
    for (tensor::Stage& stage : workload.stages) {
      stage.body = tensor::rewrite(stage.body, [&](const tensor::Expr& e) {
        const auto* load = tensor::as<tensor::Load>(e);
        if (!load || !load->buffer.same_as(buffer)) return e;
        std::vector<tensor::Expr> indices = load->indices;
        for (size_t d = 0; d < indices.size(); ++d) indices[d] = indices[d] + begin[d];
        return tensor::load(buffer, std::move(indices));
      });
    }
  }

  // A kernel's operand number `input`.
  struct ConstantIn {
    const Graph& graph;
    const Operand& operand;
  };
  bool is_constant_at(const ConstantIn& there, const ConstantIn& joined, const KernelCall& call,
                      size_t input) const {
    if (joined.operand.value >= 0) return true;  // computed in the run
    const Table part = table_of(there.graph, there.operand.constant),
                table = table_of(joined.graph, joined.operand.constant);
    const auto block = call.blocks.find(input);
    return block == call.blocks.end() ? is_same(part, table) : is_block(part, table, begin_at(block->second));
  }

  const std::vector<Task>& there_tasks_;
  const std::vector<Task>& joined_tasks_;
  const Sizes& sizes_;
};

}  // namespace

Sizes::Sizes(const std::vector<NamedDimension>& dims, const tensor::Binding& binding) {
  for (const NamedDimension& dim : dims) values_[dim.var.get()] = tensor::imm(binding.at(dim.var->name));
}

int64_t Sizes::operator()(const tensor::Expr& number) const {
  return *tensor::as_int(tensor::substitute(number, values_));
}

tensor::Binding Sizes::of(const KernelCall& call, const tensor::Workload& workload) const {
  tensor::Binding binding;
  for (size_t d = 0; d < call.dims.size(); ++d) binding[workload.dims[d].var->name] = (*this)(call.dims[d]);
  return binding;
}

bool is_program_at(const Program& there, const Sizes& sizes, const Program& joined) {
  return Comparison(there, sizes, joined).is_program_at(there, joined);
}

}  // namespace tf::graph
