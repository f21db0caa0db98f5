// How the interpreter's statements run: one thread alone, or the threads of a block and of its warps side by side.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "compiler/ir/machine_watch.h"

namespace tf::ir::machine {
namespace {

bool is_thread(ForKind kind) {
  return kind >= ForKind::kThreadX;
}
bool is_grid(ForKind kind) {
  return kind >= ForKind::kGridX && !is_thread(kind);
}

void set_thread(Machine& m, ForKind kind, int64_t value) {
  int32_t& at = kind == ForKind::kThreadX ? m.thread.x : kind == ForKind::kThreadY ? m.thread.y : m.thread.z;
  at = static_cast<int32_t>(value);
}

// Memory of one allocation, every bit set.
class Allocation {
 public:
  bool make(Machine& m, const Node& node) {
    m.execute(node.code);
    absl::StatusOr<Shape> shape = make_shape(*node.buffer, read_slots(m, node.extents));
    if (!shape.ok()) {
      m.run->fail(shape.status());
      return false;
    }
    shape_ = *std::move(shape);
    const auto bytes = static_cast<size_t>(shape_.elements) *
                       static_cast<size_t>(tensor::element_bytes(node.buffer->element));
    bytes_.assign(bytes, std::byte{0xff});
    data_ = bytes_.data();
    return m.run->watch == nullptr || watch(m, node);
  }
  void give(Machine& m, const Node& node) {
    m.buffers[static_cast<size_t>(node.buffer_slot)] = {data_, &shape_, shadow_};
  }
  void end(Machine& m, const Node& node) const {
    if (shadow_ == nullptr) return;
    if (shadow_->products > 0)
      m.run->fail(absl::FailedPreconditionError(
          absl::StrCat("a matrix statement still works on ", node.buffer->name, " when its memory ends")));
    if (shadow_->in_flight == 0) return;
    m.run->fail(absl::FailedPreconditionError(
        absl::StrCat("an asynchronous copy into ", node.buffer->name, " is in flight when its memory ends")));
  }

 private:
  // A block has its shared memory at one place, whenever it is allocated.
  bool watch(Machine& m, const Node& node) {
    Watch& watch = *m.run->watch;
    const auto count = static_cast<size_t>(shape_.elements);
    if (node.buffer->scope == Scope::kShared) {
      shadow_ = &watch.shared[&node];
      if (shadow_->block != watch.block || shadow_->cells.size() != count) *shadow_ = {};
      shadow_->block = watch.block;
      for (Cell& cell : shadow_->cells) {
        cell.is_defined = cell.is_in_flight = false;
        cell.products = 0;
      }
      shadow_->in_flight = shadow_->products = 0;
    } else {
      shadow_ = &own_;
    }
    shadow_->cells.resize(count);
    shadow_->is_shared = node.buffer->scope == Scope::kShared || node.buffer->scope == Scope::kGlobal;
    return node.buffer->scope != Scope::kShared || watch.shared_offsets == nullptr || place(m, node);
  }

  bool place(Machine& m, const Node& node) {
    Watch& watch = *m.run->watch;
    constexpr size_t kMost = size_t{256} << 10;  // so that no pointer into it moves
    const int64_t first_byte = watch.shared_offsets->at(node.buffer);
    if (static_cast<size_t>(first_byte) + bytes_.size() > kMost) {
      m.run->fail(absl::ResourceExhaustedError(
          absl::StrCat(node.buffer->name, " has the bytes from ", first_byte, " to ",
                       static_cast<size_t>(first_byte) + bytes_.size(),
                       " of a block's shared memory, of which the interpreter has ", kMost)));
      return false;
    }
    if (watch.bytes_block != watch.block) {
      watch.memory.assign(kMost, std::byte{0xff});
      watch.bytes.assign(kMost, SharedByte());
      watch.bytes_block = watch.block;
    }
    shadow_->first_byte = first_byte;
    data_ = watch.memory.data() + first_byte;
    return true;
  }

  Shape shape_;
  std::vector<std::byte> bytes_;
  std::byte* data_ = nullptr;
  Shadow own_;
  Shadow* shadow_ = nullptr;
};

using Threads = std::vector<Machine*>;

void together(const Node& node, const Threads& threads);

void loop(const Node& node, Machine& m) {
  if ((node.meets_block || node.meets_lanes > 0) && is_thread(node.for_kind)) return together(node, {&m});
  m.execute(node.code);
  if (m.run->watch != nullptr && !check_decision(m, node)) return;
  const int64_t low = *m.at<int64_t>(node.a), extent = *m.at<int64_t>(node.b);
  for (int64_t i = 0; i < extent && !m.run->failed; ++i) {
    m.set_index(node.slot, low + i);
    if (is_thread(node.for_kind)) set_thread(m, node.for_kind, i);
    if (is_grid(node.for_kind) && m.run->watch != nullptr) m.run->watch->begin_block();
    execute(node.children[0], m);
  }
  if (is_thread(node.for_kind)) set_thread(m, node.for_kind, 0);
}

// A condition or trip count that decides about where threads meet must be the same in all of them.
template <typename T>
bool uniform(const Threads& threads, int32_t slot, const Node& node, const char* what) {
  const T first = *threads[0]->at<T>(slot);
  for (Machine* m : threads) {
    if (*m->at<T>(slot) == first) continue;
    m->run->fail(absl::FailedPreconditionError(
        absl::StrCat(node.meets_block ? "a barrier" : "a statement of a whole warp or four", " is inside ",
                     what, " that differs between threads; move it out")));
    return false;
  }
  return true;
}

void threads_together(const Node& node, const Threads& threads) {
  std::vector<std::unique_ptr<Machine>> all;
  for (Machine* m : threads) {
    const int64_t low = *m->at<int64_t>(node.a), extent = *m->at<int64_t>(node.b);
    for (int64_t i = 0; i < extent; ++i) {
      all.push_back(std::make_unique<Machine>(*m));
      all.back()->set_index(node.slot, low + i);
      set_thread(*all.back(), node.for_kind, i);
    }
  }
  Threads pointers;
  for (const auto& machine : all) pointers.push_back(machine.get());
  // Neighbours in x are neighbours in a warp, whichever loop is outside.
  std::ranges::stable_sort(pointers, {}, &Machine::thread);
  if (!pointers.empty()) together(node.children[0], pointers);
}

void allocate_together(const Node& node, const Threads& threads) {
  const Scope scope = node.buffer->scope;
  std::vector<Allocation> memory(threads.size());
  std::vector<size_t> owners;
  for (size_t i = 0; i < threads.size(); ++i) {
    const size_t owner = scope == Scope::kShared     ? 0
                         : scope == Scope::kFragment ? i / node.fragment_lanes * node.fragment_lanes
                                                     : i;
    if (owner == i && !memory[i].make(*threads[i], node)) return;
    memory[owner].give(*threads[i], node);
    if (owner == i) owners.push_back(i);
  }
  together(node.children[0], threads);
  for (const size_t owner : owners) memory[owner].end(*threads[owner], node);
}

void loop_together(const Node& node, const Threads& threads) {
  Run* run = threads[0]->run;
  if (is_thread(node.for_kind)) return threads_together(node, threads);
  if (!uniform<int64_t>(threads, node.b, node, "a loop with an extent")) return;
  // The slots of min and extent may be used again by the body.
  std::vector<int64_t> low;
  for (Machine* m : threads) low.push_back(*m->at<int64_t>(node.a));
  const int64_t extent = *threads[0]->at<int64_t>(node.b);
  for (int64_t i = 0; i < extent && !run->failed; ++i) {
    for (size_t t = 0; t < threads.size(); ++t) threads[t]->set_index(node.slot, low[t] + i);
    together(node.children[0], threads);
  }
}

void collective(const Node& node, const Threads& threads) {
  if (threads.size() == node.meets_lanes) return node.collective(node, threads);
  const size_t warps = node.meets_lanes / kWarpThreads;
  threads[0]->run->fail(absl::FailedPreconditionError(
      absl::StrCat("a statement of ", warps == 1 ? "a whole warp" : absl::StrCat(warps, " whole warps"),
                   " runs in ", threads.size(), " threads; a warp has ", kWarpThreads)));
}

// Runs threads side by side: a statement in which they do not meet to its end in each thread, one after
// another; in which those of a warp (or four) meet, warp after warp; in which all meet, in step.
void together(const Node& node, const Threads& threads) {
  Run* run = threads[0]->run;
  if (run->failed) return;
  if (!node.meets_block && node.meets_lanes == 0) {
    for (Machine* m : threads) execute(node, *m);
    return;
  }
  const bool opens_threads = node.kind == StmtKind::kFor && is_thread(node.for_kind);
  const size_t lanes = node.meets_lanes;
  if (!node.meets_block && threads.size() > lanes && !opens_threads) {
    for (size_t i = 0; i < threads.size(); i += lanes) {
      const auto first = threads.begin() + static_cast<std::ptrdiff_t>(i);
      together(node,
               Threads(first, first + static_cast<std::ptrdiff_t>(std::min(lanes, threads.size() - i))));
    }
    return;
  }
  if (node.kind != StmtKind::kAllocate)
    for (Machine* m : threads) {
      m->execute(node.code);
      if (run->watch != nullptr) check_decision(*m, node);
    }
  if (run->failed) return;
  if (node.collective != nullptr) return collective(node, threads);
  switch (node.kind) {
    case StmtKind::kFor:
      return loop_together(node, threads);
    case StmtKind::kSeq:
      for (const Node& child : node.children) together(child, threads);
      return;
    case StmtKind::kIf:
      if (!uniform<uint8_t>(threads, node.a, node, "a condition")) return;
      if (*threads[0]->at<uint8_t>(node.a) != 0) return together(node.children[0], threads);
      if (node.children.size() > 1) together(node.children[1], threads);
      return;
    case StmtKind::kLet:
      return together(node.children[0], threads);
    case StmtKind::kAllocate:
      return allocate_together(node, threads);
    case StmtKind::kBarrier:
      return execute(node, *threads[0]);
    case StmtKind::kStore:
    case StmtKind::kAsyncCopy:
    case StmtKind::kAsyncWait:
    case StmtKind::kMatrixOp:  // a collective, as the next
    case StmtKind::kLaneFold:
      return;
  }
}

}  // namespace

std::vector<int64_t> read_slots(Machine& m, const std::vector<int32_t>& slots) {
  std::vector<int64_t> out;
  out.reserve(slots.size());
  for (int32_t slot : slots) out.push_back(*m.at<int64_t>(slot));
  return out;
}

void execute(const Node& node, Machine& m) {
  if (node.is_launch && m.run->watch != nullptr) m.run->watch->begin_launch();
  switch (node.kind) {
    case StmtKind::kFor:
      return loop(node, m);
    case StmtKind::kSeq:
      for (const Node& child : node.children) {
        if (m.run->failed) return;
        execute(child, m);
      }
      return;
    case StmtKind::kIf: {
      m.execute(node.code);
      if (m.run->watch != nullptr) check_decision(m, node);
      const bool holds = *m.at<uint8_t>(node.a) != 0;
      if (m.run->failed) return;
      if (holds) return execute(node.children[0], m);
      if (node.children.size() > 1) execute(node.children[1], m);
      return;
    }
    case StmtKind::kLet:
      m.execute(node.code);
      if (!m.run->failed) execute(node.children[0], m);
      return;
    case StmtKind::kAllocate: {
      Allocation memory;
      if (!memory.make(m, node)) return;
      memory.give(m, node);
      execute(node.children[0], m);
      return memory.end(m, node);
    }
    case StmtKind::kStore:
    case StmtKind::kAsyncCopy:
      return m.execute(node.code);
    case StmtKind::kAsyncWait:
      return wait_for_copies(m, node.a);
    case StmtKind::kBarrier:
      if (m.run->watch != nullptr) m.run->watch->pass_barrier();
      return;
    case StmtKind::kMatrixOp:
      if (node.collective == nullptr) return publish(m);
      return m.run->fail(
          absl::FailedPreconditionError("a matrix statement is outside of thread loops: a warp runs it"));
    case StmtKind::kLaneFold:
      return m.run->fail(
          absl::FailedPreconditionError("a fold of lanes is outside of thread loops: a warp runs it"));
  }
}

}  // namespace tf::ir::machine
