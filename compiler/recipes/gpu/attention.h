#pragma once
// Owns: attention on GPUs, a block of keys at a time. Does not know: rows whose scores are all there at once (rows.h).

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// Attention in two launches, for any number of keys (the step `rescale`): a block of threads takes a block of keys and a few rows.
// Its threads have the scores in registers, some rows and keys each, and put their exponentials into shared memory; then they
// add up columns of values. The second launch combines what the blocks of keys gave, a few rows of results each, not the scores.
std::vector<Sketch> attention_by_blocks_on_gpu(const tensor::KernelSpec& kernel);

// The same where what the blocks give takes little memory by default, or much.
std::vector<Sketch> attention_by_few_blocks_on_gpu(const tensor::KernelSpec& kernel);
std::vector<Sketch> attention_by_many_blocks_on_gpu(const tensor::KernelSpec& kernel);

// Attention in two passes over the keys: the first gives the greatest score and the sum of each row, two numbers a block of keys;
// the second computes the scores again, a block of keys after the other, and adds up values. Half as many operations more, and
// little memory for any number of keys.
std::vector<Sketch> attention_in_two_passes_on_gpu(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
