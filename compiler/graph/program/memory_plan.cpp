#include "compiler/graph/program/memory_plan.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/runtime/kernel_abi.h"

namespace tf::graph {
namespace {

// First and last call that touch a value; a value that nothing reads still lives while it is written.
struct Life {
  int first = INT32_MAX;
  int last = -1;
  void touch(int call) {
    first = std::min(first, call);
    last = std::max(last, call);
  }
  bool meets(const Life& other) const { return first <= other.last && other.first <= last; }
};

// The value that owns the bytes, and where in it this one starts.
std::pair<int, uint64_t> owner_of(const Program& program, int value) {
  uint64_t offset_bytes = 0;
  while (program.values[value].within >= 0) {
    offset_bytes += program.values[value].offset_bytes;
    value = program.values[value].within;
  }
  return {value, offset_bytes};
}

// Lives of owners: all that lies within them counts.
std::vector<Life> lives_of_owners(const Program& program) {
  std::vector<Life> lives(program.values.size());
  for (size_t i = 0; i < program.calls.size(); ++i) {
    const Call& call = program.calls[i];
    for (const auto* values : {&call.results, &call.memory})
      for (int value : *values) lives[owner_of(program, value).first].touch(static_cast<int>(i));
    for (const Operand& operand : call.operands) {
      if (operand.value >= 0) lives[owner_of(program, operand.value).first].touch(static_cast<int>(i));
    }
  }
  return lives;
}

uint64_t aligned(uint64_t bytes, uint64_t alignment_bytes) {
  return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}

// Owners of the model's inputs and outputs, which others may lie in but not replace.
std::set<int> fixed_owners(const Program& program) {
  std::set<int> fixed;
  for (const auto* values : {&program.inputs, &program.outputs})
    for (int value : *values) fixed.insert(owner_of(program, value).first);
  return fixed;
}

// In every run.
bool have_one_size(const Program& program, int a, int b) {
  const Value &x = program.values[static_cast<size_t>(a)], &y = program.values[static_cast<size_t>(b)];
  return x.size_bytes == y.size_bytes && tensor::structurally_equal(x.size_of_run, y.size_of_run);
}

// Makes one value of the two that own the call's result and its operand k, if all that shares bytes with the
// operand is read for the last time by this call.
bool replace_operand(Program& program, size_t index, int k) {
  const Call& call = program.calls[index];
  const int result = call.results[0];
  if (k < 0 || static_cast<size_t>(k) >= call.operands.size()) return false;
  const int operand = call.operands[static_cast<size_t>(k)].value;
  if (operand < 0) return false;
  const int dead = owner_of(program, operand).first, kept = owner_of(program, result).first;
  const std::set<int> fixed = fixed_owners(program);
  if (dead == kept || fixed.contains(dead) || !have_one_size(program, dead, result) ||
      lives_of_owners(program)[dead].last > static_cast<int>(index))
    return false;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const int other = call.operands[i].value;
    if (static_cast<int>(i) != k && other >= 0 && owner_of(program, other).first == dead) return false;
  }
  // The result's place may be given: in an output, or as part of something larger.
  const bool given = fixed.contains(kept) || !have_one_size(program, kept, result);
  program.values[given ? dead : kept].within = given ? result : dead;
  return true;
}

class MemoryCheck {
 public:
  MemoryCheck(const Program& program, const MemoryPlan& plan)
      : program_(program), plan_(plan), made_by_(program.values.size(), -1) {
    for (size_t i = 0; i < program.calls.size(); ++i)
      for (int made : program.calls[i].results) made_by_[made] = static_cast<int>(i);
  }

  absl::Status run() const {
    for (size_t v = 0; v < program_.values.size(); ++v) TF_RETURN_IF_ERROR(placed(static_cast<int>(v)));
    for (size_t i = 0; i < program_.calls.size(); ++i) {
      const Call& call = program_.calls[i];
      for (size_t k = 0; k < call.operands.size(); ++k) {
        const int operand = call.operands[k].value;
        if (operand < 0) continue;
        TF_RETURN_IF_ERROR(kept_until(static_cast<int>(i), operand));
        for (int written : written_by(call)) {
          const bool replaced = call.in_place == static_cast<int>(k) && same_place(operand, written);
          if (overlap(written, operand) && !replaced)
            return absl::InternalError(absl::StrCat("'", call.name, "' writes over what it reads"));
        }
      }
      const std::vector<int> written = written_by(call);
      for (size_t k = 0; k < written.size(); ++k)
        for (size_t m = 0; m < k; ++m)
          if (overlap(written[k], written[m]))
            return absl::InternalError(absl::StrCat("'", call.name, "' writes two values to one place"));
    }
    for (int output : program_.outputs)
      TF_RETURN_IF_ERROR(kept_until(static_cast<int>(program_.calls.size()), output));
    return absl::OkStatus();
  }

 private:
  static std::vector<int> written_by(const Call& call) {
    std::vector<int> values = call.results;
    values.insert(values.end(), call.memory.begin(), call.memory.end());
    return values;
  }

  bool overlap(int a, int b) const {
    const Place &p = plan_.places[a], &q = plan_.places[b];
    if (p.space != q.space || (p.space != Space::kArena && p.index != q.index)) return false;
    return p.offset_bytes < q.offset_bytes + q.size_bytes && q.offset_bytes < p.offset_bytes + p.size_bytes;
  }

  bool same_place(int a, int b) const {
    return overlap(a, b) && plan_.places[a].offset_bytes == plan_.places[b].offset_bytes &&
           program_.values[a].size_bytes == program_.values[b].size_bytes;
  }

  uint64_t space_bytes(const Place& place) const {
    if (place.space == Space::kArena) return plan_.arena_bytes;
    const std::vector<int>& values = place.space == Space::kInput ? program_.inputs : program_.outputs;
    return program_.values[values[static_cast<size_t>(place.index)]].size_bytes;
  }

  absl::Status placed(int value) const {
    const Place& place = plan_.places[value];
    if (place.offset_bytes + place.size_bytes > space_bytes(place))
      return absl::InternalError(absl::StrCat("value ", value, " leaves its space"));
    if (place.offset_bytes % TF_ALIGNMENT != 0)
      return absl::InternalError(absl::StrCat("value ", value, " is not aligned"));
    return absl::OkStatus();
  }

  // The values, each written at once (by a call, or by the model's user), whose bytes this one consists of.
  std::vector<int> pieces(int value) const {
    const Value& v = program_.values[value];
    if (made_by_[value] >= 0) return {value};
    const Node& node = program_.graph.node(v.node);
    if (is_view(node)) return pieces(v.within);
    if (!as<Concat>(node)) return {value};
    std::vector<int> all;
    for (size_t part = 0; part < program_.values.size(); ++part) {
      if (program_.values[part].within != value ||
          std::ranges::count(node.inputs, program_.values[part].node) == 0)
        continue;
      for (int piece : pieces(static_cast<int>(part))) all.push_back(piece);
    }
    return all;
  }

  // Whether nothing is written where the value lies after it was made and before that call.
  absl::Status kept_until(int call, int value) const {
    for (int piece : pieces(value)) {
      for (int i = made_by_[piece] + 1; i < call; ++i) {
        const Call& between = program_.calls[static_cast<size_t>(i)];
        for (int written : written_by(between))
          if (overlap(written, piece))
            return absl::InternalError(
                absl::StrCat("'", between.name, "' writes over value ", piece, ", which is still read"));
      }
    }
    return absl::OkStatus();
  }

  const Program& program_;
  const MemoryPlan& plan_;
  std::vector<int> made_by_;  // the call whose result the value is, or -1
};

}  // namespace

void reuse_operands(Program& program, const std::vector<std::vector<int>>& allowed) {
  for_each_program(program, [&](Program& each) {
    for (size_t i = 0; i < each.calls.size(); ++i) {
      if (each.calls[i].task() < 0) continue;
      for (int k : allowed[static_cast<size_t>(each.calls[i].task())]) {
        if (!replace_operand(each, i, k)) continue;
        each.calls[i].in_place = k;
        break;
      }
    }
  });
}

namespace {

// Of each value; where a call's bodies have their arena, what the larger one needs.
std::vector<uint64_t> sizes_of(const Program& program, const std::vector<MemoryPlan>& bodies) {
  std::vector<uint64_t> sizes;
  for (const Value& value : program.values) sizes.push_back(value.size_bytes);
  for (const Call& call : program.calls) {
    std::vector<int> run;
    if (const auto* branch = std::get_if<BranchCall>(&call.what))
      run = {branch->then_body, branch->else_body};
    if (const auto* loop = std::get_if<LoopCall>(&call.what)) run = {loop->body};
    for (int body : run) {
      uint64_t& size_bytes = sizes[static_cast<size_t>(call.memory.back())];
      size_bytes = std::max(size_bytes, bodies[static_cast<size_t>(body)].arena_bytes);
    }
  }
  return sizes;
}

}  // namespace

MemoryPlan plan_memory(const Program& program, uint64_t alignment_bytes) {
  MemoryPlan plan{
      .places = std::vector<Place>(program.values.size()), .arena_bytes = 0, .bodies = {}, .variants = {}};
  for (const Program& body : program.bodies) plan.bodies.push_back(plan_memory(body, alignment_bytes));
  for (const Variant& variant : program.variants)
    plan.variants.push_back(plan_memory(variant.program, alignment_bytes));
  const std::vector<uint64_t> sizes = sizes_of(program, plan.bodies);
  std::vector<bool> placed(program.values.size());
  auto fix = [&](const std::vector<int>& values, Space space) {
    for (size_t i = 0; i < values.size(); ++i) {
      const int owner = owner_of(program, values[i]).first;
      plan.places[owner] = {space, static_cast<int>(i), 0, 0};
      placed[owner] = true;
    }
  };
  fix(program.inputs, Space::kInput);
  fix(program.outputs, Space::kOutput);
  const std::vector<Life> lives = lives_of_owners(program);
  std::vector<int> order;
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (program.values[v].within < 0 && !placed[v]) order.push_back(static_cast<int>(v));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return sizes[a] > sizes[b]; });
  std::vector<int> arena;  // placed so far, by offset
  for (int v : order) {
    uint64_t offset = 0;
    for (int other : arena) {
      if (!lives[v].meets(lives[other])) continue;
      const uint64_t start = plan.places[other].offset_bytes;
      if (offset + sizes[v] <= start) break;
      offset = std::max(offset, aligned(start + sizes[other], alignment_bytes));
    }
    plan.places[v] = {Space::kArena, 0, offset, 0};
    plan.arena_bytes = std::max(plan.arena_bytes, aligned(offset + sizes[v], alignment_bytes));
    arena.insert(std::upper_bound(
                     arena.begin(), arena.end(), v,
                     [&](int a, int b) { return plan.places[a].offset_bytes < plan.places[b].offset_bytes; }),
                 v);
  }
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto [owner, offset_bytes] = owner_of(program, static_cast<int>(v));
    if (owner != static_cast<int>(v)) {
      plan.places[v] = plan.places[owner];
      plan.places[v].offset_bytes += offset_bytes;
    }
    plan.places[v].size_bytes = sizes[v];
  }
  return plan;
}

absl::Status check_memory(const Program& program, const MemoryPlan& plan) {
  for (size_t i = 0; i < program.bodies.size(); ++i)
    TF_RETURN_IF_ERROR(check_memory(program.bodies[i], plan.bodies[i]));
  for (size_t i = 0; i < program.variants.size(); ++i)
    TF_RETURN_IF_ERROR(check_memory(program.variants[i].program, plan.variants[i]));
  return MemoryCheck(program, plan).run();
}

}  // namespace tf::graph
