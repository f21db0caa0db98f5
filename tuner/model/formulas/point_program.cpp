#include "tuner/model/formulas/point_program.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"
#include "tuner/model/formulas/log2.h"

namespace tf::model {

// Makes the program: operands before what uses them, registers free after their last use.
class PointProgramBuilder {
 public:
  PointProgramBuilder(const space::Sketch& sketch, const std::vector<Formulas::Node>& nodes,
                      std::span<const int> outputs, PointProgram& program)
      : sketch_(sketch),
        nodes_(nodes),
        outputs_(outputs),
        program_(program),
        place_(nodes.size(), kNowhere) {}

  void build() {
    for (int output : outputs_) order(output);
    count_uses();
    for (int node : order_)
      if (at(node).op == Op::kConstant) place_constant(node);
    program_.registers_ = program_.constants_.size();
    for (int node : order_)
      if (at(node).op == Op::kParameter) place_parameter(node);
    for (int node : order_)
      if (!is_given(at(node))) emit(node);
    program_.outputs_ = outputs_.size();
    program_.sketch_parameters_ = sketch_.parameters.size();
  }

 private:
  static constexpr uint32_t kNowhere = ~0u;

  const Formulas::Node& at(int node) const { return nodes_[static_cast<size_t>(node)]; }
  // Before the program runs; its register is nobody else's.
  static bool is_given(const Formulas::Node& node) {
    return node.op == Op::kConstant || node.op == Op::kParameter;
  }
  static size_t operands(const Formulas::Node& node) {
    if (is_given(node) || node.op == Op::kPart) return 0;
    return node.operands[1] < 0 ? 1 : node.operands[2] < 0 ? 2 : 3;
  }

  // What an output needs stands just before it, so that few values wait for their use.
  void order(int root) {
    std::vector<std::pair<int, size_t>> path = {{root, 0}};
    if (place_[static_cast<size_t>(root)] != kNowhere) return;
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next < operands(at(node))) {
        const int operand = at(node).operands[next++];
        if (place_[static_cast<size_t>(operand)] == kNowhere) path.emplace_back(operand, 0);
        continue;
      }
      if (place_[static_cast<size_t>(node)] == kNowhere) order_.push_back(node);
      place_[static_cast<size_t>(node)] = 0;
      path.pop_back();
    }
  }

  void count_uses() {
    uses_.assign(nodes_.size(), 0);
    for (int node : order_)
      for (size_t i = 0; i < operands(at(node)); ++i) ++uses_[static_cast<size_t>(at(node).operands[i])];
    for (size_t i = 0; i < outputs_.size(); ++i) results_.emplace(outputs_[i], static_cast<uint32_t>(i));
  }

  void place_constant(int node) {
    place_[static_cast<size_t>(node)] = static_cast<uint32_t>(program_.constants_.size());
    program_.constants_.push_back(at(node).value);
    for (auto [i, end] = results_.equal_range(node); i != end; ++i) copy(node, i->second);
  }

  void place_parameter(int node) {
    place_[static_cast<size_t>(node)] = take();
    program_.parameters_.push_back(
        {place_[static_cast<size_t>(node)], static_cast<size_t>(at(node).operands[0])});
    for (auto [i, end] = results_.equal_range(node); i != end; ++i) copy(node, i->second);
  }

  void copy(int node, uint32_t output) {
    const uint32_t from = place_[static_cast<size_t>(node)];
    program_.instructions_.push_back({Op::kMin, true, output, {from, from, 0}});
  }

  uint32_t table_of(const Formulas::Node& node) {
    const auto [known, is_new] = tables_.try_emplace({node.operands[0], node.operands[1]},
                                                     static_cast<uint32_t>(program_.tables_.size()));
    if (is_new) {
      std::vector<double>& table = program_.tables_.emplace_back();
      for (const std::vector<int64_t>& choice :
           sketch_.parameters[static_cast<size_t>(node.operands[0])].choices)
        table.push_back(static_cast<double>(choice[static_cast<size_t>(node.operands[1])]));
    }
    return known->second;
  }

  void emit(int number) {
    const Formulas::Node& node = at(number);
    PointProgram::Instruction instruction{.op = node.op};
    if (node.op == Op::kPart) {
      instruction.operands[0] = static_cast<uint32_t>(node.operands[0]);
      instruction.operands[1] = table_of(node);
    }
    for (size_t i = 0; i < operands(node); ++i)
      instruction.operands[i] = place_[static_cast<size_t>(node.operands[i])];
    for (size_t i = 0; i < operands(node); ++i) release(node.operands[i]);
    const auto [first, last] = results_.equal_range(number);
    const bool used = uses_[static_cast<size_t>(number)] > 0 || std::distance(first, last) > 1;
    instruction.stores = !used;
    instruction.out = used ? take() : first->second;
    if (used) place_[static_cast<size_t>(number)] = instruction.out;
    program_.instructions_.push_back(instruction);
    if (used)
      for (auto i = first; i != last; ++i) copy(number, i->second);
  }

  uint32_t take() {
    if (free_.empty()) return static_cast<uint32_t>(program_.registers_++);
    const uint32_t place = free_.back();
    free_.pop_back();
    return place;
  }

  void release(int node) {
    if (--uses_[static_cast<size_t>(node)] == 0 && !is_given(at(node)))
      free_.push_back(place_[static_cast<size_t>(node)]);
  }

  const space::Sketch& sketch_;
  const std::vector<Formulas::Node>& nodes_;
  std::span<const int> outputs_;
  PointProgram& program_;
  std::vector<int> order_;
  std::vector<uint32_t> place_, free_;
  std::vector<int> uses_;
  std::multimap<int, uint32_t> results_;
  std::map<std::pair<int, int>, uint32_t> tables_;
};

PointProgram::PointProgram(const space::Sketch& sketch, Formulas& formulas, std::span<const Value> outputs) {
  std::vector<int> nodes;
  for (const Value& output : outputs) nodes.push_back(formulas.node_of(output));
  PointProgramBuilder(sketch, formulas.nodes(), nodes, *this).build();
}

struct PointProgram::Batch {
  std::vector<double> registers;
  std::vector<double> results;    // output i of all points, then output i + 1
  std::vector<uint32_t> choices;  // of sketch parameter 0 of all points, then of sketch parameter 1
};

namespace {

constexpr size_t kWidth = PointProgram::kBatch;

// One loop an operation, over whole registers: what compilers vectorise.
// An operand's register may be the result's, of which each element is read before it is written.
#define TF_FOR_EACH(expression) \
  _Pragma("GCC ivdep") for (size_t i = 0; i < kWidth; ++i) out[i] = static_cast<double>(expression)

__attribute__((always_inline)) inline void operate(Op op, double* out, const double* a, const double* b,
                                                   const double* c) {
  switch (op) {
    case Op::kAdd:
      TF_FOR_EACH(a[i] + b[i]);
      return;
    case Op::kSub:
      TF_FOR_EACH(a[i] - b[i]);
      return;
    case Op::kMul:
      TF_FOR_EACH(a[i] * b[i]);
      return;
    case Op::kDiv:
      TF_FOR_EACH(a[i] / b[i]);
      return;
    case Op::kFloor:
      TF_FOR_EACH(std::floor(a[i]));
      return;
    case Op::kCeil:
      TF_FOR_EACH(std::ceil(a[i]));
      return;
    case Op::kMin:
      TF_FOR_EACH(b[i] < a[i] ? b[i] : a[i]);
      return;
    case Op::kMax:
      TF_FOR_EACH(a[i] < b[i] ? b[i] : a[i]);
      return;
    case Op::kLess:
      TF_FOR_EACH(a[i] < b[i] ? 1.0 : 0.0);
      return;
    case Op::kEqual:
      TF_FOR_EACH(a[i] == b[i] ? 1.0 : 0.0);
      return;
    case Op::kSelect:
      TF_FOR_EACH(a[i] != 0 ? b[i] : c[i]);
      return;
    case Op::kLog2:
      TF_FOR_EACH(fast_log2(a[i]));
      return;
    case Op::kConstant:
    case Op::kPart:
    case Op::kParameter:
      break;
  }
}
#undef TF_FOR_EACH

// The same code for each instruction set; results do not differ, because nothing is contracted.
using Operate = void (*)(Op, double*, const double*, const double*, const double*);
void operate_anywhere(Op op, double* out, const double* a, const double* b, const double* c) {
  operate(op, out, a, b, c);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) void operate_avx2(Op op, double* out, const double* a, const double* b,
                                                  const double* c) {
  operate(op, out, a, b, c);
}
__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))) void operate_avx512(
    Op op, double* out, const double* a, const double* b, const double* c) {
  operate(op, out, a, b, c);
}
Operate best_operate() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return operate_avx512;
  return __builtin_cpu_supports("avx2") ? operate_avx2 : operate_anywhere;
}
#else
Operate best_operate() {
  return operate_anywhere;
}
#endif

}  // namespace

void PointProgram::execute(const PointProgram& program, Batch& batch) {
  static const Operate operate_fast = best_operate();
  double* const registers = batch.registers.data();
  for (const Instruction& instruction : program.instructions_) {
    double* const out =
        (instruction.stores ? batch.results.data() : registers) + size_t{instruction.out} * kWidth;
    const uint32_t* const operands = instruction.operands;
    if (instruction.op == Op::kPart) {
      const uint32_t* choices = batch.choices.data() + size_t{operands[0]} * kWidth;
      const double* table = program.tables_[operands[1]].data();
      for (size_t i = 0; i < kWidth; ++i) out[i] = table[choices[i]];
      continue;
    }
    operate_fast(instruction.op, out, registers + size_t{operands[0]} * kWidth,
                 registers + size_t{operands[1]} * kWidth, registers + size_t{operands[2]} * kWidth);
  }
}

void PointProgram::run(std::span<const space::Point* const> points, std::span<double> results,
                       std::span<const double> parameters) const {
  TF_CHECK(results.size() == points.size() * outputs_) << "a row of outputs a point";
  Batch batch;
  batch.registers.resize(std::max<size_t>(registers_, 1) * kWidth);
  batch.results.resize(outputs_ * kWidth);
  batch.choices.resize(sketch_parameters_ * kWidth);
  const auto fill = [&](size_t place, double value) {
    std::fill_n(batch.registers.begin() + static_cast<std::ptrdiff_t>(place * kWidth), kWidth, value);
  };
  for (size_t c = 0; c < constants_.size(); ++c) fill(c, constants_[c]);
  for (const auto& [place, number] : parameters_) {
    TF_CHECK(number < parameters.size()) << "a number for each parameter";
    fill(place, parameters[number]);
  }
  for (size_t first = 0; first < points.size(); first += kWidth) {
    const size_t count = std::min(kWidth, points.size() - first);
    // What is missing of the last batch repeats its first point: every choice stays valid.
    for (size_t p = 0; p < kWidth; ++p) {
      const space::Point& point = *points[first + (p < count ? p : 0)];
      TF_CHECK(point.size() == sketch_parameters_) << "one choice a parameter";
      for (size_t parameter = 0; parameter < sketch_parameters_; ++parameter)
        batch.choices[parameter * kWidth + p] = point[parameter];
    }
    execute(*this, batch);
    for (size_t p = 0; p < count; ++p)
      for (size_t i = 0; i < outputs_; ++i)
        results[(first + p) * outputs_ + i] = batch.results[i * kWidth + p];
  }
}

}  // namespace tf::model
