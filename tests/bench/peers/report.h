#pragma once
// Owns: the rows of the comparison as a table for people and as JSON. Does not know: how they came about.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/peers/comparison.h"

namespace tf::peers {

struct Entry {
  std::string name, note;
  double ns = 0;              // median over the rounds
  Median gflops;              // over the rounds
  Median share_of_peak;       // of the FMA rate that the same threads had in the same round
  Median share_of_floor;      // the kernel's floor in the same round, as a share of the time: 1 is the limit
  Median ours_times_as_fast;  // as this one; 1 of ours itself
};

// What bounds a kernel's time from below: its operations at the FMA rate, or moving its bytes, whichever
// takes longer.
enum class Limit : uint8_t { kArithmetic, kMemory };

struct Row {
  bench::Kernel kernel;
  bench::Family family;
  Limit limit;
  double floor_ns = 0;         // median over the rounds
  std::vector<Entry> entries;  // ours first: the one that the others are compared with
  // The peer with the least median; nothing if no peer has the kernel.
  const Entry* best_peer() const;
  const Entry* find(std::string_view name) const;
};

Row make_row(const bench::Kernel& kernel, std::span<const Contender> contenders, const Turns& turns);

void print_header();
void print_family(bench::Family family);  // above its rows
void print_row(const Row& row);           // one line: ours against the best peer and the limit
void print_entries(const Row& row);       // a line for each contender
// Of the table's kernels, then of the networks' by family: how many, and in geometric mean and at worst how
// many times as fast as the best peer and which share of the floor.
void print_summary(std::span<const Row> rows);
nlohmann::json to_json(const Row& row);

}  // namespace tf::peers
