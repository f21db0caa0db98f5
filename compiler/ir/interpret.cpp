#include "compiler/ir/interpret.h"

#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/whole_division.h"
#include "compiler/ir/machine.h"

namespace tf::ir {
namespace machine {

absl::StatusOr<Shape> make_shape(const BufferNode& buffer, std::vector<int64_t> extents) {
  Shape shape;
  shape.is_row_major = buffer.layout.is_row_major();
  shape.swizzle_bits = buffer.layout.swizzle_bits;
  // A swizzle of a row-major buffer works on its plain dimensions.
  if (shape.swizzle_bits > 0) shape.is_row_major = false;
  shape.elements = 1;
  bool fits = true;
  for (const PhysicalAxis& axis : physical_axes(buffer)) {
    const int64_t extent = extents[static_cast<size_t>(axis.axis)];
    fits = fits && extent >= 0 && extent < (int64_t{1} << 40);
    const int64_t physical = axis.modulus != 0 ? axis.modulus : ceil_div(extent, axis.divisor);
    shape.axes.push_back({axis.axis, axis.divisor, axis.modulus, physical});
    fits = fits && !__builtin_mul_overflow(shape.elements, physical, &shape.elements);
  }
  if (!fits || shape.elements >= (int64_t{1} << 40))
    return absl::InvalidArgumentError(
        absl::StrCat("buffer ", buffer.name, " has a negative extent or is larger than memory"));
  shape.row_strides.assign(extents.size(), 1);
  for (size_t d = extents.size(); d-- > 1;) shape.row_strides[d - 1] = shape.row_strides[d] * extents[d];
  shape.extents = std::move(extents);
  return shape;
}

namespace {

std::vector<int64_t> read_slots(Machine& m, const std::vector<int32_t>& slots) {
  std::vector<int64_t> out;
  for (int32_t slot : slots) out.push_back(*m.at<int64_t>(slot));
  return out;
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
    return true;
  }
  void give(Machine& m, const Node& node) {
    m.buffers[static_cast<size_t>(node.buffer_slot)] = {bytes_.data(), &shape_};
  }

 private:
  Shape shape_;
  std::vector<std::byte> bytes_;
};

bool is_thread(ForKind kind) {
  return kind == ForKind::kThreadX || kind == ForKind::kThreadY || kind == ForKind::kThreadZ;
}

void together(const Node& node, const std::vector<Machine*>& threads);

void execute(const Node& node, Machine& m) {
  switch (node.kind) {
    case StmtKind::kFor: {
      if (node.has_barrier && is_thread(node.for_kind)) return together(node, {&m});
      m.execute(node.code);
      const int64_t low = *m.at<int64_t>(node.a), extent = *m.at<int64_t>(node.b);
      for (int64_t i = 0; i < extent && !m.run->failed; ++i) {
        *m.at<int64_t>(node.slot) = low + i;
        execute(node.children[0], m);
      }
      return;
    }
    case StmtKind::kSeq:
      for (const Node& child : node.children) {
        if (m.run->failed) return;
        execute(child, m);
      }
      return;
    case StmtKind::kIf: {
      m.execute(node.code);
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
      return execute(node.children[0], m);
    }
    case StmtKind::kStore:
    case StmtKind::kAsyncCopy:
      return m.execute(node.code);
    case StmtKind::kBarrier:
    case StmtKind::kAsyncWait:
      return;
  }
}

// A condition or trip count that decides about a barrier must be the same in all threads.
template <typename T>
bool uniform(const std::vector<Machine*>& threads, int32_t slot, const char* what) {
  const T first = *threads[0]->at<T>(slot);
  for (Machine* m : threads) {
    if (*m->at<T>(slot) == first) continue;
    m->run->fail(absl::FailedPreconditionError(
        absl::StrCat("a barrier is inside ", what, " that differs between threads; move it out")));
    return false;
  }
  return true;
}

void threads_together(const Node& node, const std::vector<Machine*>& threads) {
  std::vector<std::unique_ptr<Machine>> all;
  std::vector<Machine*> pointers;
  for (Machine* m : threads) {
    const int64_t low = *m->at<int64_t>(node.a), extent = *m->at<int64_t>(node.b);
    for (int64_t i = 0; i < extent; ++i) {
      all.push_back(std::make_unique<Machine>(*m));
      *all.back()->at<int64_t>(node.slot) = low + i;
      pointers.push_back(all.back().get());
    }
  }
  if (!pointers.empty()) together(node.children[0], pointers);
}

void allocate_together(const Node& node, const std::vector<Machine*>& threads) {
  const bool one = node.buffer->scope == Scope::kShared || node.buffer->scope == Scope::kGlobal;
  std::vector<Allocation> memory(one ? 1 : threads.size());
  for (size_t i = 0; i < threads.size(); ++i) {
    if ((i == 0 || !one) && !memory[i].make(*threads[i], node)) return;
    memory[one ? 0 : i].give(*threads[i], node);
  }
  together(node.children[0], threads);
}

// Runs the threads of one block side by side: a statement without a barrier to its end in each thread, one
// after another; what holds barriers in step.
void together(const Node& node, const std::vector<Machine*>& threads) {
  Run* run = threads[0]->run;
  if (run->failed) return;
  if (!node.has_barrier) {
    for (Machine* m : threads) execute(node, *m);
    return;
  }
  if (node.kind != StmtKind::kAllocate)
    for (Machine* m : threads) m->execute(node.code);
  if (run->failed) return;
  switch (node.kind) {
    case StmtKind::kFor: {
      if (is_thread(node.for_kind)) return threads_together(node, threads);
      if (!uniform<int64_t>(threads, node.b, "a loop with an extent")) return;
      // The slots of min and extent may be used again by the body.
      std::vector<int64_t> low;
      for (Machine* m : threads) low.push_back(*m->at<int64_t>(node.a));
      const int64_t extent = *threads[0]->at<int64_t>(node.b);
      for (int64_t i = 0; i < extent && !run->failed; ++i) {
        for (size_t t = 0; t < threads.size(); ++t) *threads[t]->at<int64_t>(node.slot) = low[t] + i;
        together(node.children[0], threads);
      }
      return;
    }
    case StmtKind::kSeq:
      for (const Node& child : node.children) together(child, threads);
      return;
    case StmtKind::kIf:
      if (!uniform<uint8_t>(threads, node.a, "a condition")) return;
      if (*threads[0]->at<uint8_t>(node.a) != 0) return together(node.children[0], threads);
      if (node.children.size() > 1) together(node.children[1], threads);
      return;
    case StmtKind::kLet:
      return together(node.children[0], threads);
    case StmtKind::kAllocate:
      return allocate_together(node, threads);
    case StmtKind::kBarrier:
    case StmtKind::kStore:
    case StmtKind::kAsyncCopy:
    case StmtKind::kAsyncWait:
      return;
  }
}

absl::Status bind_params(Machine& m, const Program& program, std::span<const Memory> params,
                         std::vector<Shape>* shapes) {
  shapes->reserve(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    const BufferNode& buffer = *program.params[i];
    TF_ASSIGN_OR_RETURN(Shape shape, make_shape(buffer, read_slots(m, program.param_extents[i])));
    const auto needed =
        static_cast<uint64_t>(shape.elements) * static_cast<uint64_t>(tensor::element_bytes(buffer.element));
    if (params[i].size_bytes < needed || (needed > 0 && !params[i].data))
      return absl::InvalidArgumentError(absl::StrCat("parameter ", i, " (", buffer.name, ") needs ", needed,
                                                     " bytes, but ", params[i].size_bytes,
                                                     " bytes are given"));
    shapes->push_back(std::move(shape));
    m.buffers[i] = {static_cast<std::byte*>(params[i].data), &shapes->back()};
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace machine

absl::Status interpret(const Function& function, std::span<const Memory> params,
                       std::span<const int64_t> dims) {
  if (params.size() != function.params.size() || dims.size() != function.dims.size())
    return absl::InvalidArgumentError(
        absl::StrCat("function ", function.name, " takes ", function.params.size(), " buffers and ",
                     function.dims.size(), " dimensions, not ", params.size(), " and ", dims.size()));
  TF_ASSIGN_OR_RETURN(const machine::Program program, machine::compile(function));
  machine::Run run{.program = &program, .status = {}};
  machine::Machine m{&run, program.frame,
                     std::vector<machine::BufferState>(static_cast<size_t>(program.buffer_count))};
  for (size_t i = 0; i < dims.size(); ++i) *m.at<int64_t>(program.dim_slots[i]) = dims[i];
  m.execute(program.param_code);
  std::vector<machine::Shape> shapes;
  TF_RETURN_IF_ERROR(machine::bind_params(m, program, params, &shapes));
  machine::execute(program.body, m);
  return run.status;
}

}  // namespace tf::ir
