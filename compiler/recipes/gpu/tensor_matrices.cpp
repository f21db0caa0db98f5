#include "compiler/recipes/gpu/tensor_matrices.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/gpu/matrix_form.h"
#include "compiler/recipes/gpu/tensor_tile.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written
using tensor_units::TensorUnit;

namespace {

// A kernel with the instruction that multiplies its matrices.
struct TensorMatrices {
  const tensor::KernelSpec& kernel;
  const Structure& structure;
  const MatrixForm& form;
  const TensorMethod& method;
  const TensorUnit& unit;
  bool narrows_a = false, narrows_b = false;
  // Lines of memory must run along the terms, unless ldmatrix turns them, as it does with 16 bits.
  bool turns() const { return tensor::element_bytes(unit.b_element) != 2 || form.b.runs_along_terms; }
  std::array<int64_t, 2> vectors() const {
    return matrix_vectors(kernel, structure, form, turns(),
                          kCopyBytes / tensor::element_bytes(unit.a_element));
  }
  // Whether threads gather a convolution's matrices in vectors. Products that are none have a recipe of their own.
  bool copies_lines() const {
    const std::array<int64_t, 2> elements = vectors();
    return form.is_convolution && !narrows_a && !narrows_b && elements[0] > 1 && elements[1] > 1;
  }
};

// With each instruction of the target, the best guess first.
std::vector<TensorMatrices> tensor_matrices(const tensor::KernelSpec& kernel, const Structure& structure,
                                            const MatrixForm& form, const TensorMethod& method) {
  std::vector<TensorMatrices> all;
  if (kernel.target.arch != target::Arch::kCuda) return all;
  const auto narrowed = [&](const MatrixFactor& factor) {
    return method.narrow && factor.element == tensor::Element::kFloat32;
  };
  const bool narrows_a = narrowed(form.a), narrows_b = narrowed(form.b);
  if (method.narrow.has_value() != (narrows_a && narrows_b)) return all;
  const auto units = in_order(units_for(kernel.target, narrows_a ? *method.narrow : form.a.element,
                                        narrows_b ? *method.narrow : form.b.element,
                                        anchor_of(kernel.workload, structure).output->element, method.tf32),
                              form.extents);
  for (const TensorUnit* unit : units) {
    const TensorMatrices of{kernel, structure, form, method, *unit, narrows_a, narrows_b};
    if (!unit->reads_shared || of.copies_lines()) all.push_back(of);
  }
  return all;
}

// A block's part of the matrix in shared memory, of which each warp takes its own in fragments.
void append_matrix(const std::string& matrix, size_t rank, int64_t element_bytes, int64_t vector,
                   bool lines_inside, const std::string& sum, const TensorUnit& unit,
                   const OpenTensorTile& tile, Steps& steps) {
  steps.push_back(CacheRead{matrix, sum, {}, tensor::Scope::kGlobal});
  steps.push_back(ComputeAt{matrix + ".pack", sum, "r0.1", tensor::Scope::kFragment});
  steps.push_back(ComputeAt{matrix, sum, "r0.0", tensor::Scope::kShared});
  append_threads(matrix, append_gather(matrix, rank, vector, lines_inside, steps), unit, tile, steps);
  const int64_t line = kCopyBytes / element_bytes;  // so that eight neighbours lie in different banks
  steps.push_back(StorageAlign{matrix, static_cast<int>(rank) - 2, Size(line), Size(line)});
}

// Likewise in lines that the instruction reads.
void append_lines(const std::string& matrix, size_t rank, tensor::Element element, int64_t vector,
                  const std::string& sum, const TensorUnit& unit, const OpenTensorTile& tile, Steps& steps) {
  const int last = static_cast<int>(rank) - 1;
  const std::string copy = matrix + ".pack";
  steps.push_back(
      CacheRead{matrix, sum, lines_layout(last + 1, last, last - 1, element), tensor::Scope::kGlobal});
  steps.push_back(ComputeAt{copy, sum, "r0.0", tensor::Scope::kShared});
  append_threads(copy, append_gather(copy, rank, vector, false, steps), unit, tile, steps);
  steps.push_back(Inline{matrix});
}

Steps matrix_steps(const TensorMatrices& of, const OpenTensorTile& tile, const Size& part) {
  const auto& [kernel, structure, form, method, unit, narrows_a, narrows_b] = of;
  const bool in_parts = part != Size(0), turns = of.turns();
  Steps steps;
  for (const MatrixFactor* factor : {&form.a, &form.b})
    if (factor->constant && (factor == &form.a ? narrows_a : narrows_b))
      steps.push_back(Narrow{input_name(*factor->constant), *method.narrow});
  const MatrixStages stages = append_matrices(kernel, structure, form, turns, part, steps);
  if (narrows_a && !form.a.constant) steps.push_back(Narrow{stages.a(), *method.narrow});
  if (narrows_b && !form.b.constant) steps.push_back(Narrow{stages.b(), *method.narrow});
  append_inlining(structure.epilogue, steps);
  std::string output = stage_name(structure.output), sum = stages.product();
  const size_t rank = form.rank() + (in_parts ? 1 : 0);
  std::array<std::string, 3> loops;
  if (in_parts) {
    output = sum;
    steps.push_back(CacheWrite{output});
    sum += ".acc";
    loops = {append_fuse(output, rank - 2, steps), axis_name(rank - 2), axis_name(rank - 1)};
  } else {
    if (stages.anchor != output) steps.push_back(Inline{stages.anchor});
    loops = append_matrix_loops(output, form, steps);
  }
  const std::string lane = append_lanes(output, loops[0], loops[1], loops[2], unit, tile, steps);
  steps.push_back(ComputeAt{sum, output, lane, tensor::Scope::kFragment});
  const std::string first = append_sums(sum, rank, unit, tile, steps);
  const int64_t bytes = tensor::element_bytes(unit.a_element);
  const std::array<int64_t, 2> vectors = of.vectors();
  if (unit.reads_shared) {
    append_lines(stages.a(), rank, unit.a_element, vectors[0], sum, unit, tile, steps);
    append_lines(stages.b(), rank, unit.b_element, vectors[1], sum, unit, tile, steps);
  } else {
    append_matrix(stages.a(), rank, bytes, vectors[0], !form.a.runs_along_terms, sum, unit, tile, steps);
    append_matrix(stages.b(), rank, bytes, vectors[1], turns && !form.b.runs_along_terms, sum, unit, tile,
                  steps);
  }
  steps.push_back(Pipeline{sum, "r0.0", tile.stages});
  steps.push_back(Raster{output, tile.group});
  steps.push_back(Tensorize{sum, first, std::string(unit.name)});
  if (in_parts) append_sum_of_parts(kernel, structure, steps);
  return steps;
}

// Which of the sketches; without a tile, the usual one, as small as the product asks for.
struct Wish {
  bool faster = true, slower = false;
  std::optional<TensorTile> tile;
  std::optional<int64_t> part;
};

std::vector<Sketch> tensor_matrix_sketches(const tensor::KernelSpec& kernel, const Wish& wish) {
  const Structure structure = structure_of(kernel.workload);
  const std::optional<MatrixForm> form = matrix_form(kernel, structure);
  std::vector<Sketch> sketches;
  if (!form) return sketches;
  const auto add = [&](const TensorMatrices& of, const TensorTile& fit, std::optional<int64_t> part) {
    const std::string suffix =
        absl::StrCat(of.method.suffix, of.unit.reads_shared ? absl::StrCat(", wgmma n", of.unit.n) : "");
    Sketch sketch(absl::StrCat(form->is_convolution ? "tensor convolution" : "tensor product",
                               part ? ", in parts" : "", suffix),
                  kernel);
    const OpenTensorTile tile = opened(fit, of.unit, kernel.target, sketch);
    sketch.steps.steps =
        matrix_steps(of, tile, part ? sketch.open("part", part_choices(form->extents.k), *part) : Size(0));
    sketches.push_back(std::move(sketch));
  };
  for (const TensorMethod& method : tensor_methods(kernel))
    for (const TensorMatrices& of : tensor_matrices(kernel, structure, *form, method)) {
      if (of.unit.reads_shared) {
        const bool is_faster = fills(of.unit, form->extents);
        if (!wish.part && (is_faster ? wish.faster : wish.slower))
          add(of, default_tile(of.unit, form->extents), std::nullopt);
        continue;
      }
      const TensorTile fit =
          wish.tile ? fitted(*wish.tile, of.unit, form->extents) : default_tile(of.unit, form->extents);
      if (wish.part) {
        add(of, fit, *wish.part > 0 ? wish.part : std::nullopt);
        continue;
      }
      const int64_t terms = form->extents.k;
      const int64_t parts = default_parts(blocks_of(fit, of.unit, form->extents), terms);
      const bool can_part = !part_choices(terms).empty();
      if (parts > 1 ? wish.faster : wish.slower && can_part)
        add(of, fit, terms_of_parts(terms, std::max<int64_t>(parts, 2)));
      if (form->is_convolution && (parts > 1 ? wish.slower : wish.faster)) add(of, fit, std::nullopt);
    }
  return sketches;
}

}  // namespace

std::vector<Sketch> tensor_matrices_on_gpu(const tensor::KernelSpec& kernel) {
  return tensor_matrix_sketches(kernel, {});
}

std::vector<Sketch> tensor_matrices_on_gpu(const tensor::KernelSpec& kernel, const TensorTile& tile,
                                           int64_t part) {
  return tensor_matrix_sketches(kernel, {.tile = tile, .part = part});
}

std::vector<Sketch> more_tensor_matrices_on_gpu(const tensor::KernelSpec& kernel) {
  return tensor_matrix_sketches(kernel, {.faster = false, .slower = true});
}

}  // namespace tf::recipes
