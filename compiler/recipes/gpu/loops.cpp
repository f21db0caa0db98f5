#include "compiler/recipes/gpu/loops.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

std::string axis_name(size_t axis) {
  return absl::StrCat("i", axis);
}

void append_inlining(const std::vector<int>& stages, Steps& steps) {
  for (const int stage : stages) steps.push_back(Inline{stage_name(stage)});
}

std::string append_separate_sum(const Structure& structure, Steps& steps) {
  std::string sum = stage_name(*structure.anchor);
  if (*structure.anchor != structure.output) return sum;
  steps.push_back(CacheWrite{sum});
  return sum + ".acc";
}

std::string append_fuse(const std::string& stage, size_t rank, Steps& steps) {
  std::vector<std::string> loops;
  for (size_t axis = 0; axis < rank; ++axis) loops.push_back(axis_name(axis));
  return append_fuse(stage, loops, steps);
}

std::string append_fuse(const std::string& stage, const std::vector<std::string>& loops, Steps& steps) {
  if (loops.size() > 1) steps.push_back(Fuse{stage, loops});
  return absl::StrJoin(loops, "*");
}

}  // namespace tf::recipes
