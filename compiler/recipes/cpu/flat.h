#pragma once
// Owns: the recipe of everything that no other recipe takes: element-wise chains, copies. Each stage that is left runs over its axes in
// order, in vectors whose length is open, in parallel over the outer ones.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

std::vector<Sketch> flat(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
