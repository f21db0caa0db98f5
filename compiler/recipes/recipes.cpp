#include "compiler/recipes/recipes.h"

#include <limits>
#include <optional>
#include <utility>

#include "compiler/recipes/cpu/attention.h"
#include "compiler/recipes/cpu/conv2d.h"
#include "compiler/recipes/cpu/dense.h"
#include "compiler/recipes/cpu/depthwise.h"
#include "compiler/recipes/cpu/flat.h"
#include "compiler/recipes/cpu/reduction.h"
#include "compiler/recipes/cpu/rows.h"
#include "compiler/recipes/cpu/winograd.h"
#include "compiler/recipes/gpu/attention.h"
#include "compiler/recipes/gpu/conv2d.h"
#include "compiler/recipes/gpu/flat.h"
#include "compiler/recipes/gpu/grid.h"
#include "compiler/recipes/gpu/product.h"
#include "compiler/recipes/gpu/rows.h"
#include "compiler/recipes/gpu/stages.h"
#include "compiler/recipes/gpu/tensor_matrices.h"
#include "compiler/recipes/gpu/tensor_product.h"
#include "compiler/recipes/gpu/transposes.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {
namespace {

// Loops as the workload defines them: always legal.
std::vector<Sketch> plain_loops(const tensor::KernelSpec& kernel) {
  return {Sketch("plain loops", kernel)};
}

constexpr bool kLastResort = true;

constexpr Recipe kPlain = {"plain loops", plain_loops, kLastResort};

const Recipe kCpu[] = {
    {"attention", attention},
    {"rows", rows},
    {"winograd, faster by estimate", faster_winograd},
    {"conv2d", conv2d},
    {"depthwise", depthwise},
    {"dense", dense},
    {"reduction", reduction},
    {"winograd, slower by estimate", slower_winograd},
    {"flat", flat, kLastResort},
    kPlain,
};

const Recipe kGpu[] = {
    {"attention, by few blocks of keys", attention_by_few_blocks_on_gpu},
    {"attention, in two passes over the keys", attention_in_two_passes_on_gpu},
    {"attention", attention_on_gpu},
    {"attention, by many blocks of keys", attention_by_many_blocks_on_gpu},
    {"long rows", long_rows_on_gpu},
    {"rows", rows_on_gpu},
    {"tensor matrices, faster by estimate", tensor_matrices_on_gpu},
    {"tensor product", tensor_product_on_gpu},
    {"product of matrices, faster by estimate", matrix_product_on_gpu},
    {"product", product_on_gpu},
    {"windows", windows_on_gpu},
    {"tensor matrices, slower by estimate", more_tensor_matrices_on_gpu},
    {"product of matrices, slower by estimate", more_matrix_products_on_gpu},
    {"transposes", transposes_on_gpu},
    {"flat", flat_on_gpu},
    {"stages", stages_on_gpu, kLastResort},
    kPlain,
};

bool is_gpu(const target::Target& target) {
  return target.gpu.block_threads > 0;
}

std::optional<Sketch> if_legal(const target::Target& target, Sketch sketch) {
  if (is_gpu(target)) return launched_on(target, std::move(sketch));
  const bool legal = schedule::apply(*sketch.workload, instantiate(sketch, sketch.default_point())).ok();
  return legal ? std::optional(std::move(sketch)) : std::nullopt;
}

// The first legal ones, at most so many.
std::vector<Sketch> legal_sketches(const tensor::KernelSpec& kernel, size_t most) {
  const bool is_empty = computes_nothing(kernel.workload);
  if (is_empty && !is_gpu(kernel.target)) return plain_loops(kernel);
  std::vector<Sketch> sketches;
  for (const Recipe& recipe : recipes_for(kernel.target)) {
    if (recipe.last_resort ? !sketches.empty() : is_empty) continue;
    for (Sketch& sketch : recipe.match(kernel)) {
      std::optional<Sketch> legal = if_legal(kernel.target, std::move(sketch));
      if (!legal) continue;
      sketches.push_back(*std::move(legal));
      if (sketches.size() == most) return sketches;
    }
  }
  return sketches;
}

}  // namespace

std::span<const Recipe> recipes_for(const target::Target& target) {
  return is_gpu(target) ? std::span<const Recipe>(kGpu) : kCpu;
}

std::vector<Sketch> sketches_of(const tensor::KernelSpec& kernel) {
  return legal_sketches(kernel, std::numeric_limits<size_t>::max());
}

schedule::Schedule default_schedule(const tensor::KernelSpec& kernel) {
  const Sketch first = legal_sketches(kernel, 1).front();
  return instantiate(first, first.default_point());
}

}  // namespace tf::recipes
