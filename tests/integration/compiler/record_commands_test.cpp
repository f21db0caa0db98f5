// What the `compiler` program makes of records in a database.
#include <fstream>

#include "compiler/frontends/frontends.h"
#include "compiler/graph/program/program.h"
#include "compiler/records/records_source.h"
#include "compiler/schedule/schedule.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/integration/compiler/commands.h"

namespace tf {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A record of the host's answer to the task, with that schedule.
database::Measurement record_of(const graph::Task& task, const std::string& schedule) {
  const tensor::KernelKey query = tensor::key_for(task.kernel, target::host_target(), 1);
  database::Measurement m;
  m.problem = {.workload = {tensor::workload_key(task.kernel.workload)},
               .binding = query.binding,
               .in_layouts = query.in_layouts,
               .out_layouts = query.out_layouts,
               .target = query.target,
               .threads = 1};
  m.schedule = schedule;
  m.semantics_version = schedule::kSemanticsVersion;
  m.samples = {{1000, 1}};
  m.device.device_class = "local";
  return m;
}

// With mlp.onnx, and records of its first task in tune.db.
class CommandsOnRecords : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    ASSERT_EQ(run("zoo mlp -o " + file("mlp.onnx")).code, 0);
    task_ = graph::plan_program(*frontends::import_file(file("mlp.onnx"), {}),
                                {.lanes = target::host_target().fp32_lanes()})
                ->tasks[0];
  }

  void keep(const std::vector<database::Measurement>& records) {
    const auto store = database::open_sqlite_store(file("tune.db"));
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)
                    ->add_workload({tensor::canonical_text(task_.kernel.workload),
                                    task_.kernel.workload.label, task_.flops})
                    .ok());
    for (const database::Measurement& record : records) ASSERT_TRUE((*store)->insert(record).ok());
  }

  graph::Task task_;
};

TEST_F(CommandsOnRecords, ARecordThatCannotBeBuiltIsAWarnedMissAndUnderLockedAnError) {
  const database::Measurement illegal = record_of(task_, "schedule v1\nsplit t9 i0 factors 4\n");
  keep({illegal});
  const std::string show =
      "show " + tensor::workload_key(task_.kernel.workload).hex() + " --db " + file("tune.db");
  EXPECT_THAT(run(show).out, HasSubstr("split t9"));
  for (const char* part : {" --ir", " --asm"}) {
    const Answer answer = run(show + part);
    EXPECT_EQ(answer.code, 1) << answer.err;
    EXPECT_THAT(answer.err, HasSubstr("record " + database::record_digest(illegal).hex().substr(0, 12)));
    EXPECT_EQ(lines(answer.err), 1) << answer.err;
  }
  const std::string folder = file("model");
  const std::string build = "build " + file("mlp.onnx") + " --db " + file("tune.db") + " -o " + folder;
  Answer answer = run(build);
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(answer.err, AllOf(HasSubstr("warning"), HasSubstr(task_.label)));
  EXPECT_EQ(lines(answer.err), 1) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("5 kernels: 0 tuned, 0 untuned, 5 default (without a record)"));

  const std::string lock = folder + "/tuning.lock";
  records::Lock entries = *records::read_lock(lock);
  EXPECT_EQ(entries.tasks[0].record, "");
  entries.tasks[0].record = database::record_digest(illegal).hex();
  ASSERT_TRUE(records::write_lock(lock, entries).ok());
  const std::string before = *read_file(lock);
  answer = run(build + " --locked");
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, AllOf(HasSubstr(task_.label), HasSubstr("cannot be built")));
  EXPECT_EQ(*read_file(lock), before);
}

TEST_F(CommandsOnRecords, ALockedBuildKeepsTheNameOfTheBuildThatMadeTheLock) {
  const std::string build = "build " + file("mlp.onnx") + " -o " + file("model");
  ASSERT_EQ(run(build + " --name anna").code, 0);
  const std::string library = *read_file(file("model/model.so")), header = *read_file(file("model/model.h"));
  ASSERT_THAT(header, HasSubstr("anna_open"));
  for (const char* name : {"", " --name anna"}) {
    const Answer answer = run(build + " --locked" + name);
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_TRUE(*read_file(file("model/model.so")) == library) << name;
    EXPECT_EQ(*read_file(file("model/model.h")), header) << name;
  }
  const Answer refused = run(build + " --locked --name berta");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("anna"), HasSubstr("omit --name")));
  EXPECT_TRUE(*read_file(file("model/model.so")) == library);

  records::Lock unnamed = *records::read_lock(file("model/tuning.lock"));
  unnamed.name.clear();
  ASSERT_TRUE(records::write_lock(file("model/tuning.lock"), unnamed).ok());
  ASSERT_EQ(run(build + " --locked").code, 0);
  EXPECT_THAT(*read_file(file("model/model.h")), HasSubstr("mlp_open")) << "the lock says nothing of it";
}

TEST_F(CommandsOnRecords, RecordsOfSeveralDeviceClassesAreNamedUnlessOneIsChosen) {
  database::Measurement here = record_of(task_, "schedule v1\n"), there = here;
  there.device.device_class = "desk";
  there.samples = {{500, 1}};
  keep({here, there});
  const std::string db = " --db " + file("tune.db");
  const std::string show = "show " + tensor::workload_key(task_.kernel.workload).hex() + db;
  const std::string build = "build " + file("mlp.onnx") + db + " --json -o " + file("model");
  for (const std::string& command : {show, build}) {
    const Answer any = run(command), one = run(command + " --device local");
    EXPECT_EQ(any.code, 0) << any.err;
    EXPECT_THAT(any.err, HasSubstr("(desk, local)"));
    EXPECT_EQ(lines(any.err), 1) << any.err;
    EXPECT_THAT(any.out, HasSubstr(database::record_digest(there).hex().substr(0, 12)));
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_EQ(one.err, "");
    EXPECT_THAT(one.out, HasSubstr(database::record_digest(here).hex().substr(0, 12)));
  }
  EXPECT_EQ(run(show + " --device phone").code, 1);
}

TEST_F(CommandsOnRecords, TheBestOfSeveralDatabasesIsTaken) {
  database::Measurement slow = record_of(task_, "schedule v1\n"), fast = slow;
  fast.samples = {{500, 1}};
  keep({fast});
  std::filesystem::rename(file("tune.db"), file("other.db"));
  keep({slow});
  const std::string both = " --db " + file("tune.db") + " --db " + file("other.db");
  const std::string build = "build " + file("mlp.onnx") + both + " --json -o " + file("model");
  for (const std::string& command :
       {build, build + " --locked", "show " + tensor::workload_key(task_.kernel.workload).hex() + both}) {
    const Answer answer = run(command);
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_THAT(answer.out, HasSubstr(database::record_digest(fast).hex().substr(0, 12))) << command;
  }
  const Answer missing =
      run("build " + file("mlp.onnx") + both + " --db " + file("no.db") + " -o " + file("model"));
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("no.db"));
}

TEST_F(CommandsOnRecords, ABuildSaysHowManyOfItsRecordsAreOfTheUntunedSchedule) {
  database::Measurement untuned = record_of(task_, "schedule v1\n");
  const std::string build = "build " + file("mlp.onnx") + " --db " + file("tune.db") + " -o " + file("model");
  keep({untuned});
  EXPECT_THAT(run(build).out, HasSubstr("5 kernels: 1 tuned, 0 untuned, 4 default"));
  untuned.untuned = true;
  untuned.samples = {{400, 1}};
  keep({untuned});
  EXPECT_THAT(run(build).out, HasSubstr("5 kernels: 0 tuned, 1 untuned, 4 default"));
  EXPECT_THAT(run(build + " --json").out, HasSubstr("\"untuned\": true"));
}

TEST_F(CommandsOnRecords, ShowSaysHowItsTextsBecomeTheSameKernel) {
  database::Measurement turned = record_of(task_, "schedule v1\n");
  turned.problem.in_layouts = {""};
  turned.problem.out_layouts = {"1,0"};
  keep({turned});
  const std::string show =
      "show " + tensor::workload_key(task_.kernel.workload).hex() + " --db " + file("tune.db");
  std::ofstream(file("workload")) << run(show + " --workload").out;
  std::ofstream(file("schedule")) << run(show + " --schedule").out;
  EXPECT_THAT(run(show + " --print-after vectorize").out, HasSubstr("\n# after vectorize\nfunction kernel"));
  EXPECT_EQ(run(show + " --print-after vectorise").code, 2) << "the record is not at fault";
  const std::string assembly = run(show + " --asm").out;
  const std::string before = "\n# compiler kernel WORKLOAD --with SCHEDULE ";
  ASSERT_THAT(assembly, HasSubstr(before));
  const size_t begin = assembly.find(before) + before.size();
  const std::string options = assembly.substr(begin, assembly.find('\n', begin) - begin);
  EXPECT_THAT(options, testing::EndsWith(" --out-layout 1,0"));
  const Answer kernel =
      run("kernel " + file("workload") + " --with " + file("schedule") + " --asm " + options);
  ASSERT_EQ(kernel.code, 0) << kernel.err;
  ASSERT_NE(kernel.out, "");
  EXPECT_THAT(assembly, testing::EndsWith(kernel.out + "\n"));
}

// Its text goes from a terminal into a shell.
TEST_F(CommandsOnRecords, ShowQuotesWhatAnotherWroteIntoARecord) {
  database::Measurement foreign = record_of(task_, "schedule v1\n");
  foreign.problem.in_layouts = {"", "it's | ls"};
  keep({foreign});
  EXPECT_THAT(
      run("show " + tensor::workload_key(task_.kernel.workload).hex() + " --db " + file("tune.db")).out,
      HasSubstr(" --in-layout '' --in-layout 'it'\\''s | ls'\n"));
}

TEST_F(CommandsOnRecords, ARecordOfNumericsThatAreNotAllowedIsHintedAt) {
  database::Measurement narrow = record_of(task_, "schedule v1\nnarrow p1 bf16\n");
  narrow.numerics = {"bf16"};
  keep({narrow});
  const std::string db = " --db " + file("tune.db");
  const std::string show = "show " + tensor::workload_key(task_.kernel.workload).hex() + db;
  const Answer refused = run(show), shown = run(show + " --allow bf16 --schedule");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("give --allow bf16"));
  EXPECT_THAT(shown.out, HasSubstr("narrow p1 bf16"));
  EXPECT_THAT(run("build " + file("mlp.onnx") + db + " -o " + file("model")).err,
              HasSubstr("the fastest records of 1 of 5 tasks need --allow bf16"));
  std::ofstream(file("workload")) << run(show + " --workload").out;
  std::ofstream(file("schedule")) << shown.out;
  const Answer kernel = run("kernel " + file("workload") + " --asm --with " + file("schedule"));
  EXPECT_EQ(kernel.code, 0) << kernel.err;
}

}  // namespace
}  // namespace tf
