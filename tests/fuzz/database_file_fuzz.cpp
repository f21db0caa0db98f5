// A database file: opened for reading and for writing, asked everything, exported.
#include <filesystem>
#include <sstream>

#include "database/jsonl.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/fuzz/input.h"

namespace {

using namespace tf::database;

void ask(Records& records) {
  (void)records.workloads();
  std::ostringstream exported;
  (void)export_jsonl(records, {}, exported);
  const auto problems = records.problems();
  if (!problems.ok()) return;
  for (const tf::tensor::KernelKey& problem : *problems) (void)records.best({.problem = problem});
}

void change(Store& store) {
  if (const auto verdicts = store.verdicts(); verdicts.ok())
    for (const NetworkVerdict& verdict : *verdicts) (void)store.save_verdict(verdict, Origin::kImport);
  const auto jobs = store.jobs();
  if (!jobs.ok()) return;
  for (const Job& job : *jobs) {
    (void)store.job_tasks(job.id);
    (void)store.count_trials(job.id);
    (void)store.update_job(job);
  }
  (void)store.add_job({});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = tf::fuzz::as_file("records.db", tf::fuzz::text(data, size));
  if (const auto records = open_sqlite_records(path); records.ok()) ask(**records);
  if (const auto store = open_sqlite_store(path, {.commit_window = absl::ZeroDuration()}); store.ok()) {
    ask(**store);
    change(**store);
  }
  for (const auto& left : std::filesystem::directory_iterator(tf::fuzz::folder().path()))
    std::filesystem::remove_all(left.path());
  return 0;
}
