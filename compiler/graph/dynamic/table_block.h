#pragma once
// Owns: constants that are blocks of a table: where a block begins, and tables that a network takes slices of. Does not
// know: kernels.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace tf::graph {

// A constant as elements of a shape.
struct Table {
  tensor::Element element{};
  std::vector<int64_t> shape;
  BlobRef data;
};
Table table_of(const Graph& graph, NodeId constant);
// Of the same type with the same bytes.
bool is_same(const Table& a, const Table& b);

// Whether `part` is what the table holds from these indices on.
bool is_block(const Table& part, const Table& table, std::span<const int64_t> begin);

// Where each part begins. Along each axis, all parts are either the first elements of the table or the last; the first where
// both are right. Nothing if the parts are not such blocks.
std::optional<std::vector<std::vector<int64_t>>> corner_blocks(std::span<const Table> parts,
                                                               const Table& table);

// A slice of a constant.
struct TableSlice {
  Table table;
  std::vector<int64_t> begin;
};
// The slices of constants in a graph, with steps of 1, by name.
std::map<std::string, TableSlice> table_slices(const Graph& graph);

}  // namespace tf::graph
