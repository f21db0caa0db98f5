#pragma once
// Owns: what every peer of oneDNN needs: its engine, memory filled from and read back as plain floats, a
// contender that runs one primitive. Does not know: which primitives there are.

#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/bench/peers/contender.h"

namespace tf::peers::onednn {

using dnnl::algorithm;
using dnnl::memory;

dnnl::engine& engine();

// Of f32; rows of the last extent stand one after another.
memory::desc row_major(const memory::dims& dims);
// Of f32, as a layer between convolutions wants it: vectors of 16 channels where they fill them, else
// row-major.
memory::desc feature_map(const memory::dims& dims);
// Either of them in the types and with the order that a primitive may choose.
memory::desc any_order(const memory::dims& dims, memory::data_type type = memory::data_type::f32);

// Row-major values in the elements and the order that a primitive asked for.
memory packed(std::span<const float> values, const memory::dims& dims, const memory::desc& wanted);

// The same values in the elements and the order that a primitive asked for.
memory reordered(memory values, const memory::desc& wanted);

using Arguments = std::unordered_map<int, memory>;

// A primitive on its own buffers; the answer is the argument DNNL_ARG_DST, read as row-major `result`.
struct Primitive {
  std::string name, note;
  double tolerance = 0;
  dnnl::primitive primitive;
  Arguments arguments;
  memory::dims result;
};
Contender contender(Primitive primitive);

// Adds what `make` gives; nothing if oneDNN has no such primitive.
template <typename Make>
void try_add(std::vector<Contender>& contenders, Make make);
void report(const dnnl::error& error);  // on stderr, unless it says that there is none

template <typename Make>
void try_add(std::vector<Contender>& contenders, Make make) {
  try {
    contenders.push_back(contender(make()));
  } catch (const dnnl::error& error) {
    report(error);
  }
}

}  // namespace tf::peers::onednn
