#include "compiler/ir/interpret.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/whole_division.h"
#include "compiler/ir/machine_watch.h"

namespace tf::ir {
namespace machine {

absl::StatusOr<Shape> make_shape(const BufferNode& buffer, std::vector<int64_t> extents) {
  Shape shape;
  shape.is_row_major = buffer.layout.is_row_major();
  shape.swizzle = buffer.layout.swizzle;
  shape.elements = 1;
  bool fits = true;
  for (const PhysicalAxis& axis : physical_axes(buffer)) {
    const int64_t extent = extents[static_cast<size_t>(axis.axis)];
    fits = fits && extent >= 0 && extent < (int64_t{1} << 40);
    const int64_t physical = axis.modulus != 0 ? axis.modulus : ceil_div(extent, axis.divisor);
    shape.axes.push_back({axis.axis, axis.divisor, axis.modulus, physical});
    fits = fits && !__builtin_mul_overflow(shape.elements, physical, &shape.elements);
  }
  if (shape.swizzle) shape.elements = round_up(shape.elements, shape.swizzle.block());
  if (!fits || shape.elements >= (int64_t{1} << 40))
    return absl::InvalidArgumentError(
        absl::StrCat("buffer ", buffer.name, " has a negative extent or is larger than memory"));
  shape.row_strides.assign(extents.size(), 1);
  for (size_t d = extents.size(); d-- > 1;) shape.row_strides[d - 1] = shape.row_strides[d] * extents[d];
  shape.extents = std::move(extents);
  return shape;
}

namespace {

absl::Status bind_params(Machine& m, const Program& program, std::span<const Memory> params,
                         std::vector<Shape>* shapes, std::vector<Shadow>* shadows) {
  shapes->reserve(params.size());
  shadows->reserve(params.size());
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
    if (m.run->watch == nullptr) continue;
    Shadow& shadow = shadows->emplace_back();
    shadow.cells.resize(static_cast<size_t>(shapes->back().elements), Cell{.is_defined = true});
    shadow.is_shared = shadow.is_param = true;
    m.buffers[i].shadow = &shadow;
  }
  return absl::OkStatus();
}

// Whether the function has threads at all.
bool is_for_gpu(const Function& function) {
  class Find final : public Visitor {
   public:
    bool found = false;

   protected:
    bool enter(const Stmt& stmt) override {
      const auto* loop = as<For>(stmt);
      found = found || as<AsyncCopy>(stmt) || (loop != nullptr && loop->for_kind >= ForKind::kGridX);
      return !found;
    }
    bool enter(const Expr&) override { return false; }
  };
  Find find;
  find(function.body);
  return find.found;
}

}  // namespace
}  // namespace machine

absl::Status interpret(const Function& function, std::span<const Memory> params,
                       std::span<const int64_t> dims, const InterpretOptions& options) {
  if (params.size() != function.params.size() || dims.size() != function.dims.size())
    return absl::InvalidArgumentError(
        absl::StrCat("function ", function.name, " takes ", function.params.size(), " buffers and ",
                     function.dims.size(), " dimensions, not ", params.size(), " and ", dims.size()));
  const bool watched = options.watch_threads && machine::is_for_gpu(function);
  TF_ASSIGN_OR_RETURN(const machine::Program program, machine::compile(function, watched));
  machine::Watch watch{.copies_land_late = options.copies_land_late,
                       .shared_offsets = options.shared_offsets};
  machine::Run run{.program = &program, .watch = watched ? &watch : nullptr, .status = {}};
  machine::Machine m{&run, program.frame,
                     std::vector<machine::BufferState>(static_cast<size_t>(program.buffer_count))};
  if (watched) m.undefined.resize(program.frame.size());
  for (size_t i = 0; i < dims.size(); ++i) *m.at<int64_t>(program.dim_slots[i]) = dims[i];
  m.execute(program.param_code);
  std::vector<machine::Shape> shapes;
  std::vector<machine::Shadow> shadows;
  TF_RETURN_IF_ERROR(machine::bind_params(m, program, params, &shapes, &shadows));
  machine::execute(program.body, m);
  return run.status;
}

}  // namespace tf::ir
