#include "compiler/passes/pipeline.h"

#include "compiler/analysis/simplify.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

ir::Function simplify(const ir::Function& function) {
  return analysis::simplify(function);
}

}  // namespace

Pipeline cpu_pipeline() {
  static constexpr Pass kPasses[] = {
      {"simplify", simplify},
      // While indices are logical: whether one is inside is a question of single axes.
      {"guard_memory", guard_memory},
      {"simplify_guards", simplify},
      // After guards stand where they are needed and before they are vectors.
      {"partition_loops", partition_loops},
      {"simplify_parts", simplify},
      // Before vectors, so that blocks of a layout cancel against split loops as scalars.
      {"flatten", flatten},
      {"simplify_offsets", simplify},
      {"form_dots", form_dots},
      {"vectorize", vectorize},
      {"unroll", unroll},
      {"simplify_vectors", simplify},
      // Once every access of a register is a constant.
      {"narrow_vectors", narrow_vectors},
      // Once lanes are constants apart from a common base.
      {"split_loads", split_loads},
      // Last: nothing after them needs to see through their lets.
      {"hoist_loads", hoist_loads},
      {"expand_math", expand_math},
  };
  return {kPasses, {.flat = true, .explicit_vectors = true, .for_cpu = true}};
}

Pipeline gpu_pipeline() {
  static constexpr Pass kPasses[] = {
      {"simplify", simplify},
      // Before guard_memory, which asks what holds around a load.
      {"part_lanes", part_lanes},
      {"guard_memory", guard_memory_under_branches},
      {"simplify_guards", simplify},
      // No loop is peeled: threads of a warp would part. Functions are the device library's.
      // While the places of tiles are rows and columns.
      {"own_fragments", own_fragments},
      {"flatten", flatten},
      {"simplify_offsets", simplify},
      {"vectorize", vectorize},
      {"unroll", unroll},
      {"simplify_vectors", simplify},
  };
  return {kPasses, {.flat = true, .explicit_vectors = true}};
}

}  // namespace tf::passes
