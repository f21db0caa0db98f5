#pragma once
// Owns: records for sets, and stores of them.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "database/memory_store.h"
#include "tests/unit/database/sample_records.h"

namespace tf::record_sets {

using database::Measurement;
using database::NetworkVerdict;

inline std::string message(const absl::Status& status) {
  return std::string(status.message());
}

inline Measurement record(int64_t ns, int64_t time = 1) {
  Measurement m = database::measured(ns, time);
  m.semantics_version = schedule::kSemanticsVersion;
  return m;
}

inline Measurement untuned(Measurement m) {
  m.untuned = true;
  return m;
}

inline std::unique_ptr<database::Store> store_of(const std::vector<Measurement>& records,
                                                 const std::vector<NetworkVerdict>& verdicts = {}) {
  std::unique_ptr<database::Store> store = database::make_memory_store();
  EXPECT_TRUE(store->add_workload(database::conv_workload()).ok());
  for (const Measurement& m : records) EXPECT_TRUE(store->insert(m).ok());
  for (const NetworkVerdict& verdict : verdicts)
    EXPECT_TRUE(store->save_verdict(verdict, database::Origin::kLive).ok());
  return store;
}

inline std::vector<Digest> digests(const std::vector<Measurement>& records) {
  std::vector<Digest> out;
  for (const Measurement& m : records) out.push_back(record_digest(m));
  return out;
}

}  // namespace tf::record_sets
