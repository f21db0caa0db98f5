#include "compiler/driver/library/placed_steps.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::driver {
namespace {

using runtime::ModelBuffer;
using runtime::ModelStep;

enum Side : unsigned { kHost = 1, kDevice = 2 };

uint64_t begin_of(const ModelBuffer& buffer) {
  return static_cast<uint64_t>(buffer.offset_bytes.value);
}
uint64_t end_of(const ModelBuffer& buffer) {
  return begin_of(buffer) + static_cast<uint64_t>(buffer.size_bytes.value);
}

bool varies(const ModelBuffer& buffer) {
  return !buffer.offset_bytes.code.empty() || !buffer.size_bytes.code.empty();
}

// Of each byte of all spaces, at the greatest sizes, the sides that have what was written last.
class Sides {
 public:
  void write(const ModelBuffer& buffer, unsigned sides) {
    if (begin_of(buffer) == end_of(buffer)) return;
    Ranges& ranges = spaces_[{buffer.space, buffer.index}];
    split(ranges, buffer, true);
    ranges.erase(ranges.lower_bound(begin_of(buffer)), ranges.lower_bound(end_of(buffer)));
    ranges[begin_of(buffer)] = {end_of(buffer), sides, buffer};
  }

  // The parts of the buffer that only the other side has, which the side has then, too.
  absl::StatusOr<std::vector<ModelBuffer>> fetch(const ModelBuffer& buffer, Side side) {
    std::vector<ModelBuffer> missing;
    if (begin_of(buffer) == end_of(buffer)) return missing;
    Ranges& ranges = spaces_[{buffer.space, buffer.index}];
    if (!varies(buffer)) split(ranges, buffer, false);
    auto range = ranges.upper_bound(begin_of(buffer));
    if (range != ranges.begin() && std::prev(range)->second.end > begin_of(buffer)) --range;
    for (; range != ranges.end() && range->first < end_of(buffer); ++range) {
      auto& [begin, rest] = *range;
      if ((rest.sides & side) != 0) continue;
      rest.sides |= side;
      if (varies(rest.written)) {
        if (begin != begin_of(rest.written) || rest.end != end_of(rest.written))
          return absl::UnimplementedError("a part of a value whose size varies was overwritten");
        missing.push_back(rest.written);
      } else if (!missing.empty() && !varies(missing.back()) && end_of(missing.back()) == begin) {
        missing.back().size_bytes.value += static_cast<int64_t>(rest.end - begin);
      } else {
        missing.push_back({buffer.space, buffer.index, begin, rest.end - begin});
      }
    }
    return missing;
  }

 private:
  struct Range {
    uint64_t end = 0;
    unsigned sides = 0;
    ModelBuffer written;  // that the range is of
  };
  using Ranges = std::map<uint64_t, Range>;  // by where they begin; bytes in none were never written

  // So that ranges begin and end where the buffer does; those of what varies only if `all`.
  static void split(Ranges& ranges, const ModelBuffer& buffer, bool all) {
    for (const uint64_t at : {begin_of(buffer), end_of(buffer)}) {
      auto after = ranges.upper_bound(at);
      if (after == ranges.begin()) continue;
      auto& [begin, range] = *std::prev(after);
      if (begin >= at || range.end <= at || !(all || !varies(range.written))) continue;
      ranges[at] = range;
      range.end = at;
    }
  }

  std::map<std::pair<uint32_t, uint32_t>, Ranges> spaces_;
};

class Copier {
 public:
  // Before a step that reads the buffer on that side.
  absl::Status need(const ModelBuffer& buffer, Side side, const std::string& reader) {
    if (buffer.space == TF_SPACE_WEIGHTS) return absl::OkStatus();
    absl::StatusOr<std::vector<ModelBuffer>> parts = sides_.fetch(buffer, side);
    if (!parts.ok())
      return absl::Status(parts.status().code(), absl::StrCat(reader, ": ", parts.status().message()));
    for (ModelBuffer& part : *parts) {
      ModelStep copy{.name = absl::StrCat(reader, side == kDevice ? " (upload)" : " (download)"),
                     .kind = side == kDevice ? TF_STEP_UPLOAD : TF_STEP_DOWNLOAD,
                     .key = "",
                     .bytes = static_cast<double>(part.size_bytes.value)};
      copy.buffers.push_back(std::move(part));
      steps_.push_back(std::move(copy));
    }
    return absl::OkStatus();
  }

  absl::Status run(PlacedStep placed) {
    const ModelStep& step = placed.step;
    const Side side = step.kind == TF_STEP_LAUNCH ? kDevice : kHost;
    const auto read = [&](size_t i, Side by) {
      const auto whole = placed.wholes.find(i);
      return need(whole != placed.wholes.end() ? whole->second : step.buffers[i], by, step.name);
    };
    for (size_t i = 0; i < placed.read_count; ++i) TF_RETURN_IF_ERROR(read(i, side));
    if (step.indices.element_bytes != 0) TF_RETURN_IF_ERROR(read(step.indices.buffer, kHost));
    for (size_t i = placed.read_count; i < step.buffers.size(); ++i) sides_.write(step.buffers[i], side);
    steps_.push_back(std::move(placed.step));
    return absl::OkStatus();
  }

  Sides& sides() { return sides_; }
  std::vector<ModelStep> take() { return std::move(steps_); }

 private:
  Sides sides_;
  std::vector<ModelStep> steps_;
};

}  // namespace

absl::StatusOr<std::vector<ModelStep>> with_copies(std::vector<PlacedStep> steps,
                                                   const runtime::ModelProgram& program) {
  Copier copier;
  for (size_t i = 0; i < program.inputs.size(); ++i)
    copier.sides().write({TF_SPACE_INPUT, static_cast<uint32_t>(i), 0, program.inputs[i].size_bytes}, kHost);
  for (PlacedStep& step : steps) TF_RETURN_IF_ERROR(copier.run(std::move(step)));
  for (size_t i = 0; i < program.outputs.size(); ++i)
    TF_RETURN_IF_ERROR(
        copier.need({TF_SPACE_OUTPUT, static_cast<uint32_t>(i), 0, program.outputs[i].size_bytes}, kHost,
                    program.outputs[i].name));
  return copier.take();
}

}  // namespace tf::driver
