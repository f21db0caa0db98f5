// The design's module edges, checked against every #include in the tree.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "tests/unit/included_by.h"

namespace {

namespace fs = std::filesystem;

// For each module, the modules it may include directly; a module may always include itself.
const std::map<std::string, std::set<std::string>>& allowed_edges() {
  static const std::map<std::string, std::set<std::string>> edges = {
      {"base", {}},
      {"proto", {}},
      {"database", {"base", "compiler/tensor"}},
      {"database/remote", {"base", "proto", "rpc", "database"}},
      {"database/stores", {"base", "database", "database/remote"}},
      {"rpc", {"base", "proto"}},
      {"rpc/doctor", {"base", "proto", "rpc"}},
      {"tracker", {"base", "proto", "rpc", "database"}},
      {"device_agent/worker", {"base", "proto", "compiler/runtime", "compiler/runtime/gpu"}},
      {"device_agent/agent",
       {"base", "proto", "rpc", "rpc/doctor", "compiler/runtime", "device_agent/worker"}},
      {"compiler/tensor", {"base", "compiler/target"}},
      {"compiler/target", {"base"}},
      {"compiler/tensor_units", {"compiler/tensor"}},
      {"compiler/ir", {"base", "compiler/tensor", "compiler/tensor_units"}},
      {"compiler/analysis", {"base", "compiler/tensor", "compiler/ir"}},
      {"compiler/schedule",
       {"base", "compiler/tensor", "compiler/target", "compiler/tensor_units", "compiler/ir",
        "compiler/analysis"}},
      {"compiler/recipes",
       {"base", "compiler/tensor", "compiler/target", "compiler/tensor_units", "compiler/analysis",
        "compiler/schedule"}},
      {"compiler/passes",
       {"base", "compiler/tensor", "compiler/target", "compiler/tensor_units", "compiler/ir",
        "compiler/analysis", "compiler/schedule"}},
      {"compiler/backends",
       {"base", "proto", "compiler/tensor", "compiler/target", "compiler/tensor_units", "compiler/ir",
        "compiler/analysis", "compiler/passes", "compiler/runtime"}},
      {"compiler/ops", {"base", "compiler/tensor"}},
      {"compiler/graph", {"base", "compiler/tensor", "compiler/target", "compiler/ops", "compiler/runtime"}},
      {"compiler/frontends", {"base", "compiler/tensor", "compiler/ops", "compiler/graph"}},
      {"compiler/runtime", {"compiler/runtime/gpu"}},
      {"compiler/runtime/blob", {"base", "compiler/runtime"}},
      {"compiler/runtime/gpu", {}},
      {"compiler/driver",
       {"base", "proto", "compiler/tensor", "compiler/target", "compiler/analysis", "compiler/schedule",
        "compiler/recipes", "compiler/graph", "compiler/runtime", "compiler/runtime/blob"}},
      {"compiler/driver/worker",
       {"base", "proto", "compiler/tensor", "compiler/target", "compiler/ir", "compiler/schedule",
        "compiler/passes", "compiler/backends", "compiler/runtime", "compiler/driver"}},
      {"compiler/records",
       {"base", "database", "compiler/target", "compiler/schedule", "compiler/graph", "compiler/driver"}},
      {"compiler/cli",
       {"base", "proto", "database", "compiler/records", "compiler/tensor", "compiler/target", "compiler/ir",
        "compiler/schedule", "compiler/recipes", "compiler/passes", "compiler/ops", "compiler/graph",
        "compiler/frontends", "compiler/runtime", "compiler/driver", "database/stores"}},
      {"compiler/python",
       {"base", "proto", "database", "compiler/tensor", "compiler/target", "compiler/schedule",
        "compiler/recipes", "compiler/graph", "compiler/runtime", "compiler/driver", "device_agent/worker"}},
      {"tuner/space", {"base", "compiler/tensor", "compiler/schedule", "compiler/recipes"}},
      {"tuner/model",
       {"base", "compiler/tensor", "compiler/target", "compiler/ir", "compiler/analysis", "compiler/schedule",
        "compiler/recipes", "tuner/space"}},
      {"tuner/search",
       {"base", "compiler/tensor", "compiler/target", "compiler/schedule", "tuner/space", "tuner/model"}},
      {"tuner/measure",
       {"base", "proto", "rpc", "compiler/runtime", "compiler/driver", "device_agent/worker", "database"}},
      {"tuner/session",
       {"base", "proto", "database", "compiler/tensor", "compiler/target", "compiler/schedule",
        "compiler/recipes", "compiler/passes", "compiler/graph", "compiler/driver", "compiler/records",
        "tuner/space", "tuner/model", "tuner/search", "tuner/measure"}},
      {"tuner/record_sets", {"base", "rpc", "database", "compiler/schedule"}},
      {"tuner/report",
       {"base", "proto", "database", "database/remote", "compiler/tensor", "compiler/target",
        "compiler/schedule", "compiler/recipes", "compiler/driver", "tuner/session"}},
      {"tuner/service",
       {"base", "proto", "rpc", "database", "database/remote", "database/stores", "tuner/search",
        "compiler/tensor", "compiler/target", "compiler/schedule", "compiler/recipes", "compiler/graph",
        "compiler/frontends", "compiler/driver", "tuner/measure", "tuner/session", "tuner/report"}},
      {"tuner/web", {"base", "proto", "rpc"}},
      {"tuner/cli",
       {"base",
        "proto",
        "rpc",
        "rpc/doctor",
        "database",
        "compiler/tensor",
        "compiler/target",
        "compiler/schedule",
        "compiler/graph",
        "compiler/frontends",
        "compiler/runtime",
        "compiler/driver",
        "tuner/space",
        "tuner/model",
        "tuner/search",
        "tuner/measure",
        "tuner/session",
        "database/stores",
        "tuner/service",
        "tuner/record_sets",
        "tuner/report",
        "tuner/web"}},
  };
  return edges;
}

// The longest listed module that the path lies in, or "".
std::string module_of(const std::string& path) {
  std::string found;
  for (const auto& [module, edges] : allowed_edges()) {
    if (path.starts_with(module + "/") && module.size() > found.size()) found = module;
  }
  return found;
}

TEST(IncludeEdges, EveryIncludeFollowsTheTableOfModules) {
  const fs::path root = TF_SOURCE_DIR;
  int checked = 0;
  for (const char* top : {"base", "compiler", "database", "rpc", "tracker", "device_agent", "tuner"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp") continue;
      const std::string path = fs::relative(entry.path(), root);
      const std::string from = module_of(path);
      ASSERT_NE(from, "") << path << " lies in no module of the table";
      std::ifstream lines(entry.path());
      for (std::string line; std::getline(lines, line);) {
        const std::string include = included_by(line), to = module_of(include);
        if (to.empty() || to == from) continue;  // a third-party header, or the module's own
        ++checked;
        EXPECT_TRUE(allowed_edges().at(from).contains(to))
            << path << " includes " << include << ", but " << from << " must not know " << to;
      }
    }
  }
  EXPECT_GT(checked, 50) << "the test looked at too little to mean anything";
}

}  // namespace
