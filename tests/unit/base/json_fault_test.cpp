#include "base/text/json_fault.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace tf {
namespace {

std::string fault_of(const std::function<void(const nlohmann::json&)>& use) {
  try {
    use(nlohmann::json::parse(R"({"here": 5, "list": [1]})"));
  } catch (const nlohmann::json::exception& error) {
    return json_fault(error);
  }
  return "none";
}

TEST(JsonFault, NamesTheKeyThatIsMissing) {
  EXPECT_EQ(fault_of([](const nlohmann::json& in) { (void)in.at("it's"); }), "a key is missing: \"it's\"");
}

TEST(JsonFault, NamesTheTypeThatDoesNotBelong) {
  EXPECT_EQ(fault_of([](const nlohmann::json& in) { (void)in.at("here").at("key"); }),
            "a number where an object or a list is expected");
  EXPECT_EQ(fault_of([](const nlohmann::json& in) { (void)in.at("list").at("key"); }),
            "a list where an object is expected");
  EXPECT_EQ(fault_of([](const nlohmann::json& in) { (void)in.at(0); }), "an object where a list is expected");
  EXPECT_EQ(fault_of([](const nlohmann::json& in) { (void)in.at("here").get<std::string>(); }),
            "a value's type must be string, but is number");
}

TEST(JsonFault, LeavesOutTheLibrarysNameOfAnyOther) {
  EXPECT_EQ(fault_of([](const nlohmann::json& in) { (void)in.at("list").at(3); }),
            "array index 3 is out of range");
}

}  // namespace
}  // namespace tf
