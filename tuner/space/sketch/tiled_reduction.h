#pragma once
// Owns: building a sketch of a register-tiled reduction with fused epilogue: the rule that applies to any
// workload with one reduction, and the piece that the hand-written templates fill with narrower choices.

#include <string>
#include <vector>

#include "compiler/schedule/default_tile.h"
#include "compiler/target/target.h"
#include "tuner/space/generate.h"
#include "tuner/space/sketch.h"

namespace tf::space {

// Choices for the tiles of one output axis and one reduce axis.
struct TiledReductionParameters {
  std::vector<Parameter> axes;  // one an output axis, two parts: tiles a block, elements (or vectors) a tile
  std::vector<Parameter> reduces;  // one a reduce axis, one part: the inner factor
  Parameter unroll;                // one part: statements that unrolling the reduction's inner loops may make
};

// In what a reduction's sketches differ beyond sizes.
struct ReductionForm {
  schedule::Producers producers = schedule::Producers::kStored;
  bool pack = false;  // as ProductChoice's
  schedule::Sums sums = schedule::Sums::kWhole;
  schedule::Storage storage = schedule::Storage::kDefined;
};

// What the workload's structure and the form fix before any choice.
struct TiledReductionFrame {
  ReductionForm form;
  schedule::Structure structure;
  schedule::Prepared prepared;
  std::vector<schedule::Step> preparation;
  schedule::DefaultTile default_tile;
  schedule::ProductChoice default_product;
};
TiledReductionFrame frame_of(const tensor::KernelSpec& spec, const ReductionForm& form);

// The sketch with these parameters, the default tile added to their choices and its point as seed. Parameters
// of one choice stay parameters, so that points keep their meaning.
Sketch tiled_reduction(std::string family, const tensor::KernelSpec& spec, const TiledReductionFrame& frame,
                       TiledReductionParameters parameters);

// The general rule: every axis may be tiled in any way that registers allow.
Sketch generated_tiled_reduction(const tensor::KernelSpec& spec, const ReductionForm& form);

using schedule::extent_of;

}  // namespace tf::space
