#pragma once
// Owns: what recipes of attention on GPUs share: recognising its stages and axes, the sizes of blocks, and the launch that makes parts
// of blocks of keys. Does not know: what combines the parts.

#include <optional>
#include <string>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// The stages of a workload that is scores, their softmax, and the values that it weights; all else is element-wise.
struct WeightedValues {
  int scores = 0, maximum = 0, sum = 0, result = 0, output = 0;
  std::vector<int> inlined;
};

// Rows, and keys, of the threads along y, and x, and of each of them; and keys of a block, which are those of all its threads.
struct KeyBlockSizes {
  schedule::Size threads_y, rows, threads_x, keys, block, columns, scored, added;
};

// Which axis of the stages that `rescale` makes rows lie along.
struct KeyBlockAxes {
  size_t part = 0, sum = 0, maximum = 0;
  size_t rank = 0, sum_rank = 0, maximum_rank = 0, scores_rank = 0;  // of the stages
};

struct KeyBlockRows {
  WeightedValues values;
  KeyBlockAxes axes;
  bool shuffles = false;  // the target has them
};

// Nothing if the workload is none.
std::optional<KeyBlockRows> find_key_block_rows(const tensor::KernelSpec& kernel);

// The sketch's, with defaults that suit the workload; nothing if the target has too few threads or too little shared memory.
std::optional<KeyBlockSizes> open_key_blocks(const tensor::KernelSpec& kernel, const KeyBlockRows& rows,
                                             Sketch& sketch);

// The launch that makes parts, after `rescale` of the stages with that result: with values, or the sums alone.
struct KeyBlockParts {
  int result = 0, scores = 0;
  bool has_values = true;
  KeyBlockAxes axes;
};
void append_key_blocks(const KeyBlockParts& parts, const KeyBlockSizes& sizes, bool shuffles, Steps& steps);

// A sum's loops: terms outside, so many unrolled, and what the thread has of the result inside.
void append_register_terms(const std::string& stage, size_t rank, const schedule::Size& terms, Steps& steps);

// The first load of the buffer; null if there is none.
const tensor::Load* load_of(const tensor::Stage& reader, const tensor::Buffer& from);
// The axis of `from` that runs along the reader's; of one row, one that has one.
std::optional<size_t> axis_along(const tensor::Stage& reader, const tensor::Axis& axis,
                                 const tensor::Stage& from);

// The state of the definition after these steps; nothing if they are not legal.
std::optional<schedule::State> state_after(const tensor::Workload& workload, const Steps& steps);

}  // namespace tf::recipes
