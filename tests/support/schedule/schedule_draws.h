#pragma once
// Owns: what random schedules draw from: numbers that are the same on every platform, layouts, and single steps, legal or not.

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/schedule/schedule.h"

namespace tf::test {

// The standard's distributions differ between libraries; this does not.
class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}
  int64_t below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  bool one_in(int64_t count) { return below(count) == 0; }
  template <typename T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
  }
  template <typename T>
  T& of(std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
  }
  template <typename T>
  void shuffle(std::vector<T>& all, size_t from = 0) {
    for (size_t i = all.size(); i > from + 1; --i)
      std::swap(all[i - 1], all[from + static_cast<size_t>(below(static_cast<int64_t>(i - from)))]);
  }

 private:
  std::mt19937_64 random_;
};

tensor::Layout random_layout(int rank, Draws& draws);

// One step of some stage of the state.
class ScheduleDraws {
 public:
  ScheduleDraws(const schedule::State& state, Draws& draws) : state_(state), draws_(draws) {}

  // Of what CPUs run.
  std::optional<schedule::Step> step();
  // Of what GPUs do: loops of grids and blocks, shared memory, pipelines of it, rasters, sums of several threads.
  std::optional<schedule::Step> gpu_step();

 private:
  using Annotation = schedule::Annotation;
  using StageState = schedule::StageState;
  using Step = schedule::Step;

  Step split(const std::string& stage, const std::string& loop, schedule::Tail tail);
  Step fuse(const StageState& stage);
  Step reorder(const StageState& stage);
  Step compute_at(const std::string& stage, const std::vector<tensor::Scope>& scopes);
  Step cache_read(const std::string& reader);
  Step layout();
  Step pragma_or_align(const StageState& stage);
  std::optional<Step> narrow();
  std::optional<Step> raster();
  std::optional<Step> pipeline();
  // Constants and temporaries.
  std::vector<std::string> own_buffers();

  const schedule::State& state_;
  Draws& draws_;
};

}  // namespace tf::test
