#include "compiler/records/records_source.h"

#include <unistd.h>

#include <fstream>
#include <set>

#include "compiler/driver/measured_layouts.h"
#include "compiler/graph/program/program.h"
#include "compiler/records/other_records.h"
#include "compiler/schedule/schedule.h"
#include "database/memory_store.h"

namespace tf::records {
namespace {

using tensor::KernelKey;
using testing::HasSubstr;

// A convolution between blocked activations: the case where layouts of inputs and of constants could be
// confused.
graph::Graph network() {
  graph::Graph network;
  const std::vector<int64_t> shape = {1, 16, 8, 8}, weights = {16, 16, 3, 3};
  graph::NodeId x = network.add_input(graph::tensor_type(tensor::Element::kFloat32, shape), "x");
  const graph::NodeId w = network.add_constant(graph::tensor_type(tensor::Element::kFloat32, weights),
                                               graph::make_blob(std::vector<float>(16 * 16 * 9, 0.5f)), "w");
  for (int i = 0; i < 3; ++i)
    x = *network.add(graph::Conv{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, {x, w}, "conv");
  network.outputs = {{"y", x}};
  return network;
}

graph::Program program() {
  return *graph::plan_program(network(), {.lanes = 16});
}

class RecordsSource : public testing::Test {
 protected:
  void SetUp() override {
    for (const graph::Task& task : program_.tasks)
      ASSERT_TRUE(store_
                      ->add_workload({tensor::canonical_text(task.kernel.workload),
                                      task.kernel.workload.label, task.flops})
                      .ok());
  }

  // As the tuner records it: one layout for each input that is not constant.
  database::Measurement record(const graph::Task& task, int64_t ns) {
    database::Measurement m;
    m.problem.workload = tensor::workload_key(task.kernel.workload);
    m.problem.binding = tensor::binding_text(task.kernel.binding);
    for (const tensor::Layout& layout : task.kernel.ports.inputs)
      m.problem.in_layouts.push_back(layout.text());
    for (const tensor::Layout& layout : task.kernel.ports.outputs)
      m.problem.out_layouts.push_back(layout.text());
    m.problem.target = target_.text();
    m.problem.threads = 1;
    m.problem.reuse_distance_bytes = task.kernel.reuse_distance_bytes;
    m.schedule = "schedule v1\n# " + std::to_string(ns) + "\n";
    m.semantics_version = schedule::kSemanticsVersion;
    m.samples = {{ns, 1}};
    m.device.device_class = "local";
    EXPECT_TRUE(store_->insert(m).ok());
    return m;
  }
  tensor::KernelKey query(size_t task) const {
    return tensor::key_for(program_.tasks[task].kernel, target_, 1);
  }

  const target::Target target_ = *target::parse_target("x86_64:cpu=znver4");
  const graph::Program program_ = program();
  const std::unique_ptr<database::Store> store_ = database::make_memory_store();
};

TEST_F(RecordsSource, BestIsTheFastestRecordOfExactlyThisProblem) {
  record(program_.tasks[0], 900);
  const database::Measurement fastest = record(program_.tasks[0], 300);
  BestSource source(*store_);
  auto found = source.find(query(0));
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->schedule, fastest.schedule);
  EXPECT_EQ((*found)->record, database::record_digest(fastest).hex());
  EXPECT_EQ((*found)->median_ns, 300);
  // Another layout, number of threads or target is another kernel.
  ASSERT_GT(program_.tasks.size(), 1u);
  EXPECT_FALSE(source.find(query(1))->has_value());
  tensor::KernelKey other = query(0);
  other.threads = 2;
  EXPECT_FALSE(source.find(other)->has_value());
  other = query(0);
  other.target = "x86_64:cpu=haswell";
  EXPECT_FALSE(source.find(other)->has_value());
}

TEST_F(RecordsSource, RecordsForOtherTargetsAndThreadsAreNamedWhereThereAreNoneForThese) {
  const auto hint = [&](const std::string& target, int threads) {
    return *other_records_hint(*store_, program_, *target::parse_target(target), threads);
  };
  EXPECT_THAT(hint(target_.text(), 1), HasSubstr("the database has no record of this network's kernels"));
  record(program_.tasks[0], 900);
  EXPECT_EQ(hint(target_.text(), 1), "") << "which is asked for";
  EXPECT_EQ(
      hint(target_.text(), 2),
      "these kernels have no record for 2 threads on x86_64:cpu=znver4, but they have records for 1 thread "
      "on x86_64:cpu=znver4: use that --target and --threads, or tune for yours");
  EXPECT_THAT(hint("x86_64:cpu=haswell", 1),
              HasSubstr("have no record for 1 thread on x86_64:cpu=haswell, but they have records for 1 "
                        "thread on x86_64:cpu=zn"));
}

// The network's plan when layouts are chosen by the records.
graph::Program plan_by(driver::ScheduleSource& source, const target::Target& target,
                       std::vector<LockEntry>* consulted = nullptr) {
  driver::MeasuredLayoutCost cost(source, target, 1);
  graph::Program planned = *graph::plan_program(network(), {.lanes = 16, .cost = &cost});
  EXPECT_TRUE(cost.status().ok()) << cost.status();
  for (const driver::ConsultedRecord& record : cost.consulted())
    if (consulted) consulted->push_back({record.query, record.label, record.choice.record});
  return planned;
}

int blocked_results(const graph::Program& program) {
  int blocked = 0;
  for (const graph::Call& call : program.calls)
    blocked += !program.values[call.results[0]].layout.is_row_major();
  return blocked;
}

TEST_F(RecordsSource, MeasuredTimesDecideOverLayoutsAgainstTheEstimate) {
  BestSource source(*store_);
  const int estimated = blocked_results(plan_by(source, target_));
  ASSERT_GT(estimated, 0) << "the estimate must prefer what the records will speak against";
  graph::StaticLayoutCost estimate;
  for (const graph::Task& task : program_.tasks)
    record(task, static_cast<int64_t>(3 * estimate.nanoseconds(task)));
  EXPECT_EQ(blocked_results(plan_by(source, target_)), estimated)
      << "slower than estimated, but so is everything, as far as anybody knows";
  graph::Task plain = program_.tasks[0];
  for (auto* layouts : {&plain.kernel.ports.inputs, &plain.kernel.ports.outputs})
    for (tensor::Layout& layout : *layouts) layout = {};
  record(plain, 100);
  std::vector<LockEntry> consulted;
  EXPECT_EQ(blocked_results(plan_by(source, target_, &consulted)), 0);

  // Once more from what a lock keeps, although the records in the database have turned.
  for (const graph::Task& task : program_.tasks) record(task, 10);
  EXPECT_EQ(blocked_results(plan_by(source, target_)), estimated);
  LockedSource locked(consulted, store_.get(), {}, LockedSource::Unknown::kNoSchedule);
  EXPECT_EQ(blocked_results(plan_by(locked, target_)), 0);
}

// Nine products, eight of which have records: three take half as long again as the median of the others.
TEST_F(RecordsSource, DoubtsWhatWasNotMeasuredByAsMuchAsEstimatesErr) {
  graph::Graph network;
  graph::NodeId x =
      network.add_input(graph::tensor_type(tensor::Element::kFloat32, std::vector<int64_t>{64, 64}), "x");
  for (int64_t size = 64; size < 64 + 9 * 16; size += 16) {
    const graph::NodeId w = network.add_constant(
        graph::tensor_type(tensor::Element::kFloat32, std::vector<int64_t>{size, size + 16}),
        graph::make_blob(std::vector<float>(static_cast<size_t>(size * (size + 16)), 0.5f)), "w");
    x = *network.add(graph::MatMul{}, {x, w}, "product");
  }
  network.outputs = {{"y", x}};
  const std::vector<graph::Task> tasks = graph::plan_program(network, {.lanes = 16})->tasks;
  ASSERT_EQ(tasks.size(), 9u);
  const graph::StaticLayoutCost estimate;
  const auto cost_of_last = [&](size_t recorded) {
    BestSource source(*store_);
    driver::MeasuredLayoutCost cost(source, target_, 1);
    cost.expect({tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(recorded)});
    return cost.nanoseconds(tasks.back()) / estimate.nanoseconds(tasks.back());
  };
  for (size_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(store_->add_workload({tensor::canonical_text(tasks[i].kernel.workload)}).ok());
    record(tasks[i], static_cast<int64_t>((i < 5 ? 200 : 300) * estimate.nanoseconds(tasks[i])));
  }
  EXPECT_NEAR(cost_of_last(8), 300, 1);
  EXPECT_NEAR(cost_of_last(4), 250, 1) << "too few to say: a quarter";
}

// What a tuning session records (network_tasks) is enough to turn the choice.
TEST_F(RecordsSource, RecordsOfTheAlternativesTurnTheChoice) {
  BestSource source(*store_);
  graph::StaticLayoutCost estimate;
  for (const graph::Task& task : program_.tasks)
    record(task, static_cast<int64_t>(3 * estimate.nanoseconds(task)));
  ASSERT_FALSE(program_.alternatives.empty());
  std::set<std::string> alternatives;
  for (const graph::Task& task : program_.alternatives) {
    alternatives.insert(graph::task_key(task));
    ASSERT_TRUE(store_
                    ->add_workload({tensor::canonical_text(task.kernel.workload), task.kernel.workload.label,
                                    task.flops})
                    .ok());
    record(task, 100);
  }
  int turned = 0;
  for (const graph::Task& task : plan_by(source, target_).tasks)
    turned += alternatives.contains(graph::task_key(task));
  EXPECT_GT(turned, 0);
}

TEST_F(RecordsSource, BestIgnoresSchedulesOfAnotherMeaningAndOtherNumerics) {
  database::Measurement m = record(program_.tasks[0], 900);
  m.samples = {{100, 1}};
  m.semantics_version = schedule::kSemanticsVersion + 1;
  ASSERT_TRUE(store_->insert(m).ok());
  m.semantics_version = schedule::kSemanticsVersion;
  m.schedule += "narrow p1 bf16\n";
  m.numerics = {"bf16"};
  ASSERT_TRUE(store_->insert(m).ok());
  EXPECT_EQ((*BestSource(*store_).find(query(0)))->median_ns, 900);
}

TEST_F(RecordsSource, BestKeepsToOneDeviceClassAndTellsOfSeveral) {
  database::Measurement m = record(program_.tasks[0], 900);
  EXPECT_EQ(mixed_devices_warning(*device_classes(*store_, m.problem)), "");
  m.samples = {{100, 1}};
  m.device.device_class = "fast-box";
  ASSERT_TRUE(store_->insert(m).ok());
  m.outcome = database::Outcome::kCrashed;
  m.device.device_class = "broken-box";
  ASSERT_TRUE(store_->insert(m).ok());
  EXPECT_EQ((*BestSource(*store_).find(query(0)))->median_ns, 100);
  EXPECT_EQ((*BestSource(*store_, "local").find(query(0)))->median_ns, 900);
  EXPECT_FALSE(BestSource(*store_, "broken-box").find(query(0))->has_value());
  EXPECT_THAT(mixed_devices_warning(*device_classes(*store_, m.problem)),
              testing::AllOf(HasSubstr("(fast-box, local)"), HasSubstr("--device")));
}

TEST_F(RecordsSource, ADeviceWithoutRecordsIsToldFromThoseThatHaveSome) {
  EXPECT_EQ(other_devices_hint({"desk", "local"}, "nokey"),
            "these kernels have no record of the device class nokey, but they have records of desk, local: "
            "give one of these with --device");
  EXPECT_EQ(other_devices_hint({"desk", "local"}, "desk"), "") << "it has some, whatever else is wrong";
  EXPECT_EQ(other_devices_hint({}, "desk"), "") << "nobody has measured them";
}

TEST_F(RecordsSource, LockedUsesTheNamedRecordAlthoughAFasterOneCame) {
  const database::Measurement named = record(program_.tasks[0], 900);
  record(program_.tasks[0], 300);
  LockedSource source({{query(0), "conv", database::record_digest(named).hex()}, {query(1), "conv", ""}},
                      store_.get());
  EXPECT_EQ((*source.find(query(0)))->schedule, named.schedule);
  EXPECT_FALSE(source.find(query(1))->has_value()) << "the default schedule is locked too";
  tensor::KernelKey other = query(0);
  other.threads = 2;
  EXPECT_THAT(std::string(source.find(other).status().message()), HasSubstr("has no entry for workload"));
}

TEST_F(RecordsSource, LockedSaysWhichRecordIsMissing) {
  LockedSource source({{query(0), "conv 1x16", std::string(64, 'a')}}, store_.get());
  EXPECT_THAT(std::string(source.find(query(0)).status().message()), HasSubstr("'conv 1x16'"));
  LockedSource without({{query(0), "conv", std::string(64, 'a')}}, nullptr);
  EXPECT_THAT(std::string(without.find(query(0)).status().message()), HasSubstr("with --db"));
  LockedSource torn({{query(0), "conv 1x16", "aaaa"}}, store_.get());
  EXPECT_THAT(std::string(torn.find(query(0)).status().message()),
              testing::AllOf(HasSubstr("tuning.lock is damaged"), HasSubstr("'conv 1x16'")));
}

TEST_F(RecordsSource, LockedRefusesARecordThatDoesNotVouchForItsSchedule) {
  const database::Measurement good = record(program_.tasks[0], 900);
  database::Measurement failed = good, old = good;
  failed.outcome = database::Outcome::kWrongOutput;
  old.semantics_version = schedule::kSemanticsVersion + 1;
  const database::Measurement other = record(program_.tasks[1], 500);
  ASSERT_TRUE(store_->insert(failed).ok());
  ASSERT_TRUE(store_->insert(old).ok());
  for (const auto& [bad, why] : std::vector<std::pair<database::Measurement, std::string>>{
           {failed, "its outcome is wrong_output"}, {old, "version"}, {other, "another kernel"}}) {
    LockedSource source({{query(0), "conv 1x16", database::record_digest(bad).hex()}}, store_.get());
    const absl::Status status = source.find(query(0)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), testing::AllOf(HasSubstr(why), HasSubstr("'conv 1x16'")));
  }
}

TEST_F(RecordsSource, LockRoundTripsAndRefusesWhatIsNone) {
  const std::string path = testing::TempDir() + "tuning.lock." + std::to_string(getpid());
  const std::vector<LockEntry> entries = {{query(0), "a", std::string(64, 'b')}, {query(1), "c", ""}};
  ASSERT_TRUE(write_lock(path, {entries, {entries[1]}, {"bf16"}, "anna"}).ok());
  absl::StatusOr<Lock> lock = read_lock(path);
  ASSERT_TRUE(lock.ok()) << lock.status();
  std::vector<LockEntry> again = lock->tasks, want = entries;
  again.insert(again.end(), lock->layouts.begin(), lock->layouts.end());
  want.push_back(entries[1]);
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(lock->name, "anna");
  EXPECT_TRUE(check_allowed(*lock, {"bf16"}).ok());
  EXPECT_THAT(std::string(check_allowed(*lock, {}).message()), HasSubstr("give --allow bf16"));
  EXPECT_THAT(std::string(check_allowed({}, {"bf16"}).message()), HasSubstr("omit it"));
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(again[i].label, want[i].label);
    EXPECT_EQ(again[i].record, want[i].record);
    EXPECT_EQ(again[i].query.workload.hex(), want[i].query.workload.hex());
    EXPECT_EQ(again[i].query.in_layouts, want[i].query.in_layouts);
    EXPECT_EQ(again[i].query.out_layouts, want[i].query.out_layouts);
    EXPECT_EQ(again[i].query.target, want[i].query.target);
  }
  for (const char* text :
       {"", "{", "[]", "{\"version\": 3}", "{\"version\": 3, \"tasks\": []}",
        "{\"version\": 2, \"target\": \"\", \"threads\": 1, \"tasks\": [], \"layouts\": []}",
        "{\"version\": 3, \"target\": \"\", \"threads\": 1, \"tasks\": [3], \"layouts\": []}",
        "{\"version\": 3, \"target\": \"\", \"threads\": 1, \"tasks\": [], \"layouts\": [], \"allow\": [], "
        "\"name\": 3}"}) {
    std::ofstream(path) << text;
    const absl::Status refused = read_lock(path).status();
    EXPECT_THAT(std::string(refused.message()), HasSubstr("without --locked")) << text;
    EXPECT_THAT(std::string(refused.message()), testing::Not(HasSubstr("json.exception"))) << text;
  }
  unlink(path.c_str());
}

TEST_F(RecordsSource, ALockOfBeforeNamesWereKeptHasNone) {
  const std::string path = testing::TempDir() + "unnamed.lock." + std::to_string(getpid());
  std::ofstream(path)
      << R"({"version": 3, "target": "", "threads": 1, "allow": [], "tasks": [], "layouts": []})";
  const absl::StatusOr<Lock> lock = read_lock(path);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(lock->name, "");
  unlink(path.c_str());
}

}  // namespace
}  // namespace tf::records
