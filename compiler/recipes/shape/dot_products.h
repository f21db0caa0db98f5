#pragma once
// Owns: which anchors a target's dot-product instructions can compute. Does not know: tiles.

#include <cstdint>
#include <optional>

#include "compiler/recipes/shape/structure.h"
#include "compiler/schedule/step.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::recipes {

// What f32 factors of an anchor's products are stored as (numerics.h: it costs accuracy).
enum class Storage : uint8_t { kDefined, kBFloat16, kFloat16 };

// Whether what moves with the vector axis is read as it is given, or from a copy in the order of tiles.
enum class Columns : uint8_t { kAsGiven, kPacked };

// How many neighbours of the first reduce axis a dot-product instruction of the target takes at once (4
// bytes, 2 bf16), if the anchor sums products of such elements, of which one factor moves with the vector axis
// and is a constant or packed, and the other lies in groups of neighbours in memory, apart from it; 1
// otherwise. Factors of f32 count as what `storage` makes of them.
int64_t dot_group(const tensor::KernelSpec& kernel, const Structure& structure, Columns columns,
                  Storage storage = Storage::kDefined);

// The step that moves one factor by half of its range, where dot_group's instruction needs factors of different signs
// (x86) and the anchor's have the same. It moves the factor that does not move with the vector axis. The caller fills
// in the step's stage.
std::optional<schedule::Offset> dot_offset(const tensor::KernelSpec& kernel, const Structure& structure);

}  // namespace tf::recipes
