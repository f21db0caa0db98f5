#include "compiler/graph/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
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
    lives[owner_of(program, call.result).first].touch(static_cast<int>(i));
    for (const Operand& operand : call.operands) {
      if (operand.value >= 0) lives[owner_of(program, operand.value).first].touch(static_cast<int>(i));
    }
  }
  return lives;
}

uint64_t aligned(uint64_t bytes) {
  return (bytes + TF_ALIGNMENT - 1) / TF_ALIGNMENT * TF_ALIGNMENT;
}

}  // namespace

MemoryPlan plan_memory(const Program& program) {
  MemoryPlan plan{std::vector<Place>(program.values.size()), 0};
  std::vector<bool> placed(program.values.size());
  auto fix = [&](const std::vector<int>& values, Space space) {
    for (size_t i = 0; i < values.size(); ++i) {
      const int owner = owner_of(program, values[i]).first;
      plan.places[owner] = {space, static_cast<int>(i), 0};
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
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return program.values[a].size_bytes > program.values[b].size_bytes; });
  std::vector<int> arena;  // placed so far, by offset
  for (int v : order) {
    uint64_t offset = 0;
    for (int other : arena) {
      if (!lives[v].meets(lives[other])) continue;
      const uint64_t start = plan.places[other].offset_bytes;
      if (offset + program.values[v].size_bytes <= start) break;
      offset = std::max(offset, aligned(start + program.values[other].size_bytes));
    }
    plan.places[v] = {Space::kArena, 0, offset};
    plan.arena_bytes = std::max(plan.arena_bytes, aligned(offset + program.values[v].size_bytes));
    arena.insert(std::upper_bound(
                     arena.begin(), arena.end(), v,
                     [&](int a, int b) { return plan.places[a].offset_bytes < plan.places[b].offset_bytes; }),
                 v);
  }
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto [owner, offset_bytes] = owner_of(program, static_cast<int>(v));
    if (owner == static_cast<int>(v)) continue;
    plan.places[v] = plan.places[owner];
    plan.places[v].offset_bytes += offset_bytes;
  }
  return plan;
}

absl::Status check_memory(const Program& program, const MemoryPlan& plan) {
  const std::vector<Life> lives = lives_of_owners(program);
  auto overlap = [&](int a, int b) {
    const Place &p = plan.places[a], &q = plan.places[b];
    if (p.space != q.space || (p.space != Space::kArena && p.index != q.index)) return false;
    return p.offset_bytes < q.offset_bytes + program.values[b].size_bytes &&
           q.offset_bytes < p.offset_bytes + program.values[a].size_bytes;
  };
  const int count = static_cast<int>(program.values.size());
  for (int a = 0; a < count; ++a) {
    if (plan.places[a].space == Space::kArena &&
        plan.places[a].offset_bytes + program.values[a].size_bytes > plan.arena_bytes)
      return absl::InternalError(absl::StrCat("value ", a, " leaves the arena"));
    if (plan.places[a].offset_bytes % TF_ALIGNMENT != 0)
      return absl::InternalError(absl::StrCat("value ", a, " is not aligned"));
    for (int b = a + 1; b < count; ++b) {
      const int owner_a = owner_of(program, a).first, owner_b = owner_of(program, b).first;
      if (owner_a != owner_b && lives[owner_a].meets(lives[owner_b]) && overlap(a, b))
        return absl::InternalError(
            absl::StrCat("values ", a, " and ", b, " share bytes while both are alive"));
    }
  }
  for (const Call& call : program.calls) {
    for (const Operand& operand : call.operands) {
      if (operand.value >= 0 && overlap(call.result, operand.value))
        return absl::InternalError(absl::StrCat("'", call.name, "' writes over what it reads"));
    }
  }
  return absl::OkStatus();
}

}  // namespace tf::graph
