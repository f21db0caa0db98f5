#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/gpu/rows.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Stage;
using tensor::Workload;

// Longer rows, and fewer of them, have a block a part.
constexpr int64_t kLongRow = 1 << 14, kFewRows = 64;

int64_t count_of(const std::vector<tensor::Axis>& axes) {
  int64_t elements = 1;
  for (const tensor::Axis& axis : axes) elements *= extent_of(axis);
  return elements;
}

}  // namespace

std::vector<Sketch> long_rows_on_gpu(const tensor::KernelSpec& kernel) {
  const Workload& workload = kernel.workload;
  Structure structure = structure_of(workload);
  // One number of all elements; what follows from it is a launch of one thread.
  if (!structure.anchor && structure.reductions.size() == 1 && workload.outputs.size() == 1 &&
      workload.stages[static_cast<size_t>(structure.reductions[0])].axes.empty()) {
    structure.anchor = structure.reductions[0];
    for (int s = 0; s < *structure.anchor; ++s) structure.producers.push_back(s);
  }
  if (!structure.anchor) return {};
  const Stage& anchor = anchor_of(workload, structure);
  if (count_of(anchor.reduce_axes) < kLongRow || count_of(anchor.axes) > kFewRows) return {};
  Sketch sketch("rows in parts", kernel);
  Steps& steps = sketch.steps.steps;
  append_inlining(structure.producers, steps);
  append_inlining(structure.epilogue, steps);
  const std::string name = stage_name(*structure.anchor), part = name + ".rf";
  std::vector<std::string> loops;
  for (size_t r = 0; r < anchor.reduce_axes.size(); ++r) loops.push_back(absl::StrCat("r", r));
  if (loops.size() > 1) steps.push_back(Fuse{name, loops});
  const std::string all = absl::StrJoin(loops, "*");
  // One thread adds up the parts of a row: few, however long it is.
  constexpr int64_t kParts = 1024;
  const int64_t terms = std::max(
      kLongRow / 4,
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count_of(anchor.reduce_axes) / kParts))));
  steps.push_back(
      Split{name, all, {sketch.open("terms", {1024, 2048, 4096, 8192, 16384}, terms)}, Tail::kGuard});
  steps.push_back(RFactor{name, all + ".0"});
  // The first launch: a block a part.
  const Size threads = sketch.open("threads", {32, 64, 128, 256}, 128);
  steps.push_back(Split{part, "r0", {threads}, Tail::kGuard});
  steps.push_back(RFactor{part, "r0.1"});
  steps.push_back(Split{part, "r0", {sketch.open("fan", {4, 8, 16, 32}, 16)}, Tail::kGuard});
  steps.push_back(RFactor{part, "r0.1"});
  const std::string grid = append_fuse(part, anchor.axes.size() + 1, steps);
  steps.push_back(Annotate{part, grid, Annotation::kGridX});
  steps.push_back(CrossThread{part, Annotation::kThreadX, threads});
  for (const char* piece : {".rf.1", ".rf"}) {
    steps.push_back(ComputeAt{part + piece, part, "x", tensor::Scope::kShared});
    steps.push_back(Annotate{part + piece, "i0", Annotation::kThreadX});
  }
  if (anchor.axes.empty()) return {std::move(sketch)};
  // The second: a thread a row.
  const std::string output = stage_name(structure.output);
  const std::string row = append_fuse(output, anchor.axes.size(), steps);
  steps.push_back(Split{output, row, {32}, Tail::kGuard});
  steps.push_back(Annotate{output, row + ".0", Annotation::kGridX});
  steps.push_back(Annotate{output, row + ".1", Annotation::kThreadX});
  if (output != name) steps.push_back(ComputeAt{name, output, row + ".1", tensor::Scope::kRegister});
  return {std::move(sketch)};
}

}  // namespace tf::recipes
