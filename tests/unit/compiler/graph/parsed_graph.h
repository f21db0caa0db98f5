#pragma once
// Owns: a small graph from the lines of its text. Does not know: what is tested with it.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "compiler/graph/text.h"

namespace tf::graph {

inline Graph parsed(const std::string& body) {
  absl::StatusOr<Graph> graph = parse_graph("graph \"g\" {\n" + body + "}\n", nullptr);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

}  // namespace tf::graph
