#pragma once
// Owns: rows on GPUs: the threads of a block share one row, or a few, through all stages of it.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// Of workloads that run row by row (shape/rows.h): reductions, softmax, norms, a matrix by a vector. One launch: each thread of a
// row adds up some of its elements, few threads add up what these have, all read the result. What stages make of each element
// is kept in shared memory, or, in a sketch of its own, computed where it is read.
std::vector<Sketch> rows_on_gpu(const tensor::KernelSpec& kernel);

// Few very long rows of one reduction, in two launches: a block adds up a part of a row, then a thread the parts of it.
std::vector<Sketch> long_rows_on_gpu(const tensor::KernelSpec& kernel);

// Attention in one launch: a block computes the scores of a few rows into shared memory, makes weights of them there as above, and
// its threads add up columns of the result. Where shared memory has room for the rows.
std::vector<Sketch> attention_on_gpu(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
