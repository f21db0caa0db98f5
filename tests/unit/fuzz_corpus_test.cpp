// The fuzz targets that call methods begin from a call of every method there is.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

const fs::path kSource = TF_SOURCE_DIR;

// "/package.Service/Method" of every method in proto/.
std::set<std::string> methods() {
  const std::regex package("package ([\\w.]+);.*"), service("service (\\w+) .*"), method("  rpc (\\w+)\\(.*");
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "proto")) {
    if (entry.path().extension() != ".proto") continue;
    std::ifstream file(entry.path());
    std::string line, in_package, in_service;
    for (std::smatch match; std::getline(file, line);) {
      if (std::regex_match(line, match, package)) in_package = match[1];
      if (std::regex_match(line, match, service)) in_service = match[1];
      if (std::regex_match(line, match, method))
        found.insert("/" + in_package + "." + in_service + "/" + match[1].str());
    }
  }
  return found;
}

TEST(FuzzCorpus, CallsEveryMethod) {
  std::set<std::string> uncalled = methods();
  ASSERT_GT(uncalled.size(), 30u) << "the test read the protocol wrongly";
  for (const char* target : {"tracker_call", "member_call", "tuner_call"}) {
    for (const auto& entry : fs::directory_iterator(kSource / "tests/fuzz/corpus" / target)) {
      std::ifstream file(entry.path(), std::ios::binary);
      std::string called;
      std::getline(file, called);
      uncalled.erase(called);
    }
  }
  for (const std::string& method : uncalled)
    ADD_FAILURE() << "no input in tests/fuzz/corpus calls " << method;
}

}  // namespace
