// A tuner that keeps its results in a journal: farm_test_tuner HOST:PORT KEY COUNT JOURNAL
// A candidate that stands in the journal is done; each result is acknowledged after its line is written.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/farm/harness.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  std::set<std::string> done;
  for (const std::string& line : tf::farm_test::lines_of(argv[4]))
    done.insert(line.substr(0, line.find('\t')));
  auto runner = tf::measure::FarmRunner::connect({.tracker = *tf::rpc::parse_endpoint(argv[1]),
                                                  .device_key = argv[2],
                                                  .holder = "journal",
                                                  .first_wait = absl::Seconds(20)});
  if (!runner.ok()) {
    std::fprintf(stderr, "%s\n", runner.status().ToString().c_str());
    return absl::IsNotFound(runner.status()) ? 3 : 1;
  }
  const int journal = open(argv[4], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    const std::string candidate = absl::StrCat("candidate ", i);
    if (done.contains(candidate)) continue;
    const tunefarm::farm::v1::Trial trial;
    const auto result = (*runner)->run(tf::farm_test::request(trial, candidate));
    if (!result.ok()) return 1;
    const std::string line = absl::StrCat(result->detail(), "\t", result->lease_id(), " ", result->epoch(),
                                          " ", result->sequence(), "\n");
    if (write(journal, line.data(), line.size()) < 0) return 1;
    (*runner)->acknowledge(*result);
  }
  return 0;
}
