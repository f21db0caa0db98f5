#include "tuner/web/gateway/routes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tf::web {
namespace {

TEST(Routes, EveryCallOfTheTunersServicesIsServed) {
  std::set<std::string> served;
  for (const Route& route : routes()) served.insert(route.method);
  for (const rpc::AccessRule& rule : rpc::access_table()) {
    const bool is_tuners = rule.method.starts_with("/tunefarm.tune.v1.");
    EXPECT_TRUE(!is_tuners || served.contains(std::string(rule.method))) << rule.method;
  }
}

TEST(Routes, OfTheTrackerOnlyListsAreServed) {
  for (const Route& route : routes()) {
    if (!route.at_tracker) continue;
    EXPECT_TRUE(route.is_read()) << route.path;
    EXPECT_TRUE(route.path.starts_with("/api/v1/Operators/List")) << route.path;
  }
  EXPECT_EQ(find_route("/api/v1/Operators/ForceRelease"), nullptr);
}

TEST(Routes, AreFoundByTheirWholePathOnly) {
  ASSERT_NE(find_route("/api/v1/Tuner/ListJobs"), nullptr);
  EXPECT_EQ(find_route("/api/v1/Tuner/ListJobs")->method, "/tunefarm.tune.v1.Tuner/ListJobs");
  for (const char* path : {"/api/v1/Tuner/ListJob", "/api/v1/Tuner/ListJobs/", "/api/v1/tuner/listjobs",
                           "/api/v1/Tuner", "/api/v1/Members/IssueToken", "/api/v1/../v1/Tuner/ListJobs"})
    EXPECT_EQ(find_route(path), nullptr) << path;
}

TEST(Routes, WhatChangesSomethingIsNoRead) {
  for (const char* path : {"/api/v1/Tuner/Submit", "/api/v1/Tuner/CancelJob", "/api/v1/Tuner/PauseJob"})
    EXPECT_FALSE(find_route(path)->is_read()) << path;
  EXPECT_TRUE(find_route("/api/v1/Tuner/WatchJob")->is_read());
  EXPECT_TRUE(find_route("/api/v1/Tuner/WatchJob")->answers_parts);
  EXPECT_TRUE(find_route("/api/v1/Tuner/Submit")->takes_model);
}

}  // namespace
}  // namespace tf::web
