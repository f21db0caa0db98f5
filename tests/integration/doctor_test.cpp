// What `tuner doctor` says of a farm, a database and a port.

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/files/file.h"
#include "database/sqlite/migrations.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/integration/tuning_fixture.h"
#include "tests/unit/database/sample_records.h"

namespace tf::integration_test {
namespace {

using testing::HasSubstr;

// A control group of version 1 with half a CPU, which this process joins; a group that could not be made is empty.
class HalfACpu {
 public:
  HalfACpu() : folder_("/sys/fs/cgroup/cpu/tunefarm-doctor-test-" + std::to_string(getpid())) {
    is_made_ = ::mkdir(folder_.c_str(), 0755) == 0 && write("/cpu.cfs_period_us", "100000") &&
               write("/cpu.cfs_quota_us", "50000") && write("/cgroup.procs", std::to_string(getpid()));
  }
  ~HalfACpu() {
    std::ofstream("/sys/fs/cgroup/cpu/cgroup.procs") << getpid() << std::flush;
    ::rmdir(folder_.c_str());
  }
  bool is_made() const { return is_made_; }

 private:
  bool write(const std::string& name, const std::string& text) const {
    std::ofstream file(folder_ + name);
    return static_cast<bool>(file << text << std::flush);
  }
  const std::string folder_;
  bool is_made_ = false;
};

TEST_F(Tuning, TheDoctorTellsOfAContainersCpuQuota) {
  const HalfACpu half;
  if (!half.is_made()) GTEST_SKIP() << "control groups of version 1 cannot be made here";
  const Result found = run("tuner", {"doctor"});
  EXPECT_THAT(found.out, HasSubstr("the container's CPU quota gives the time of 0.5: 1 thread by default"));
  EXPECT_THAT(found.out, HasSubstr("weak    target "));
}

TEST_F(ServedTuning, TheDoctorFindsEverythingInOrderWhereAJobWouldBe) {
  wait_for_agent();
  const Result found =
      run("tuner", {"doctor", "--tracker", tracker_at_.text(), "--listen", tuner_at_.text()});
  EXPECT_EQ(found.code, 0) << found.out << found.err;
  for (const std::string& line : std::initializer_list<std::string>{
           "ok      tracker ", "ok      protocol ", "ok      clock ", "device keys (at most ten): box",
           tuner_at_.text() + " is in use; unless by the program"})
    EXPECT_THAT(found.out, HasSubstr(line));
}

TEST_F(Tuning, TheDoctorLooksWhetherADatabaseThatIsNotThereCouldBeMade) {
  const Result found = run("tuner", {"doctor", "--db", file("new.db")});
  EXPECT_THAT(found.out, HasSubstr("ok      database "));
  EXPECT_THAT(found.out, HasSubstr("there is no " + file("new.db") + " yet"));
  EXPECT_FALSE(read_file(file("new.db")).ok()) << "it was only asked";
  const Result nowhere = run("tuner", {"doctor", "--db", file("none/new.db")});
  EXPECT_EQ(nowhere.code, 1) << nowhere.out;
  EXPECT_THAT(nowhere.out, HasSubstr("FAILED  database "));
  EXPECT_THAT(nowhere.out, HasSubstr("make it or give another path"));
}

TEST_F(Tuning, TheDoctorSaysOfACertificateThatMayNotSeeDevicesWhichOneToGive) {
  ASSERT_EQ(run("tracker", {"ca", "init", "--dir", file("ca")}).code, 0);
  const std::string at = farm_test::free_endpoint().text();
  const auto tracker = start(
      "tracker", {"serve", "--tls", file("ca"), "--listen", at, "--state", file("t.db")}, "tracker.log");
  std::string token;
  wait_until("the tracker issues a token", [&] {
    const Result issued =
        run("tracker", {"ca", "token", "--role", "agent", "--tracker", at, "--tls", file("ca/admin")});
    token = issued.out.substr(0, issued.out.find('\n'));
    return issued.code == 0;
  });
  ASSERT_EQ(
      run("device_agent", {"join", "--tracker", at, "--token", token, "--name", "box", "--tls", file("box")})
          .code,
      0);
  const Result found = run("tuner", {"doctor", "--tracker", at, "--tls", file("box")});
  EXPECT_EQ(found.code, 1) << found.out;
  EXPECT_THAT(found.out, HasSubstr("; give --tls the folder of a certificate with that role\n"));
  EXPECT_THAT(found.out, testing::Not(HasSubstr("tracker devices"))) << "it would be refused likewise";
}

TEST_F(Tuning, TheDoctorReadsAllOfADatabaseAndNamesDamageAndDatesInTheFuture) {
  const std::string db = file("t.db");
  {
    auto store = database::open_sqlite_store(db);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->add_workload(database::conv_workload()).ok());
    for (int64_t i = 1; i <= 300; ++i) ASSERT_TRUE((*store)->insert(database::measured(i, i)).ok());
  }
  EXPECT_THAT(run("tuner", {"doctor", "--db", db}).out,
              HasSubstr("1 workload, 1 measured problem, 300 measurements, 0 jobs, no damage\n"));
  {
    auto store = database::open_sqlite_store(db);
    const int64_t tomorrow = absl::ToUnixNanos(absl::Now() + absl::Hours(24));
    ASSERT_TRUE((*store)->insert(database::measured(1, tomorrow)).ok());
  }
  const Result weak = run("tuner", {"doctor", "--db", db});
  EXPECT_THAT(weak.out, HasSubstr("weak    database "));
  EXPECT_THAT(weak.out, HasSubstr("no damage; 1 dated in the future (rows 301), up to 20"));
  std::string bytes = *read_file(db);
  bytes.replace(bytes.size() / 2, 4096, std::string(4096, 'n'));
  ASSERT_TRUE(write_file(db, bytes).ok());
  const Result found = run("tuner", {"doctor", "--db", db});
  EXPECT_EQ(found.code, 1) << found.out;
  EXPECT_THAT(found.out, HasSubstr("FAILED  database "));
  EXPECT_THAT(found.out, HasSubstr("it is damaged ("));
}

// Another remedy beside the database's own could only contradict it.
TEST_F(Tuning, TheDoctorSaysOfAnOlderDatabaseHowToBringItUpToDateAndNothingElse) {
  {
    const auto connection = database::Connection::open(file("old.db"), database::Access::kWrite);
    ASSERT_TRUE(connection.ok()) << connection.status();
    ASSERT_TRUE(database::migrate(**connection, {database::migrations().front()}).ok());
  }
  const Result found = run("tuner", {"doctor", "--json", "--db", file("old.db")});
  EXPECT_EQ(found.code, 1) << found.out << found.err;
  nlohmann::json database;
  for (const nlohmann::json& check : nlohmann::json::parse(found.out))
    if (check["check"] == "database") database = check;
  ASSERT_TRUE(database.is_object()) << found.out;
  EXPECT_EQ(database["detail"],
            "cannot read " + file("old.db") + ": its schema is older than this program's");
  EXPECT_EQ(database["remedy"], "any writing command, such as `tuner import`, brings it up to date");
}

TEST_F(Tuning, TheDoctorSaysWhatFailsOfTheFarmAndWhatToDo) {
  const rpc::Endpoint nobody = farm_test::free_endpoint();
  const Result found = run("tuner", {"doctor", "--tracker", nobody.text(), "--listen", "0.0.0.0:7191"});
  EXPECT_EQ(found.code, 1) << found.out;
  EXPECT_THAT(found.out, HasSubstr("FAILED  tracker"));
  EXPECT_THAT(found.out, HasSubstr(nobody.text()));
  EXPECT_THAT(found.out, HasSubstr("FAILED  listen"));
  const Result stranger = run("tuner", {"doctor", "--tls", file("none")});
  EXPECT_EQ(stranger.code, 1) << stranger.out;
  EXPECT_THAT(stranger.out, HasSubstr("FAILED  certificate"));
}

}  // namespace
}  // namespace tf::integration_test
