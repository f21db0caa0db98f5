#include "compiler/driver/build_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/cli/exit_code.h"
#include "base/files/file.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/recipes/recipes.h"
#include "compiler/tensor/workload.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::driver {
namespace {

namespace proto = tunefarm::kernel::v1;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

tensor::Workload matmul(int64_t m, int64_t n, int64_t k) {
  ops::Builder b;
  ops::Buffer x = b.input("x", tensor::Element::kFloat32, {tensor::imm(m), tensor::imm(k)});
  ops::Buffer w = b.constant("w", tensor::Element::kFloat32, {tensor::imm(k), tensor::imm(n)});
  return *b.finish({ops::matmul(b, x, w)});
}

proto::BuildRequest kernel_request(const tensor::Workload& workload, const std::string& schedule = "") {
  proto::BuildRequest request;
  proto::BuildKernelRequest& kernel = *request.mutable_kernel();
  kernel.set_workload(tensor::canonical_text(workload));
  kernel.set_schedule(schedule);
  kernel.set_target("host");
  kernel.set_entry("kernel");
  kernel.set_use(proto::KERNEL_USE_DEVICE);
  return request;
}

std::unique_ptr<BuildPool> pool(BuildPoolOptions options = {}) {
  absl::StatusOr<std::unique_ptr<BuildPool>> made = BuildPool::create(std::move(options));
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

// A worker program that does what the shell commands say.
std::string script(const std::string& commands) {
  std::string path = ::testing::TempDir() + "/worker_XXXXXX";
  close(mkstemp(path.data()));
  EXPECT_TRUE(write_file(path, "#!/bin/sh\n" + commands + "\n").ok());
  chmod(path.c_str(), 0755);
  return path;
}

void fill(support::AlignedBytes& bytes, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& v : bytes.as<float>()) v = uniform(random);
}

TEST(BuildPool, BuildsAKernelThatComputesTheWorkload) {
  constexpr int64_t kM = 13, kN = 19, kK = 37;
  auto workers = pool();
  absl::StatusOr<proto::BuildReply> reply = workers->build(kernel_request(matmul(kM, kN, kK)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->code(), 0) << reply->message();
  const proto::Manifest& manifest = reply->artifact().manifest();
  EXPECT_EQ(manifest.target(), target::host_target().text());
  EXPECT_EQ(manifest.computation(), tensor::workload_key(matmul(kM, kN, kK)).hex());
  ASSERT_EQ(manifest.ports_size(), 3);
  EXPECT_EQ(manifest.ports(0).role(), proto::PORT_ROLE_INPUT);
  EXPECT_EQ(manifest.ports(1).role(), proto::PORT_ROLE_CONSTANT);
  EXPECT_EQ(manifest.ports(2).role(), proto::PORT_ROLE_OUTPUT);
  EXPECT_EQ(manifest.ports(2).size_bytes(), 4u * kM * kN);
  EXPECT_EQ(manifest.flops(), 2.0 * kM * kN * kK);
  EXPECT_EQ(reply->code_digest().size(), 64u);
  EXPECT_GT(reply->phases_size(), 4);

  auto loaded = support::LoadedKernel::load(reply->artifact().blobs(0).content(), "kernel");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  support::CompiledKernel kernel{*std::move(loaded), manifest.workspace_bytes(),
                                 manifest.workspace_per_thread_bytes()};
  std::mt19937 random(1);
  support::AlignedBytes x(4 * kM * kK), w(4 * kK * kN), y(4 * kM * kN, 0xFF);
  fill(x, random);
  fill(w, random);
  support::AlignedBytes* buffers[] = {&x, &w, &y};
  ASSERT_EQ(support::call_kernel(kernel, buffers), TF_KERNEL_OK);
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < kK; ++k) {
        double term = double{x.as<float>()[i * kK + k]} * w.as<float>()[k * kN + j];
        sum += term;
        magnitude += std::abs(term);
      }
      ASSERT_LE(std::abs(y.as<float>()[i * kN + j] - sum), manifest.tolerance() * magnitude);
    }
  }
}

TEST(BuildPool, ReferenceArtifactGivesOutputsThenMagnitudes) {
  proto::BuildRequest request = kernel_request(matmul(3, 4, 5));
  request.mutable_kernel()->set_reference(true);
  absl::StatusOr<proto::BuildReply> reply = pool()->build(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->code(), 0) << reply->message();
  const proto::Manifest& manifest = reply->artifact().manifest();
  ASSERT_EQ(manifest.ports_size(), 4);
  EXPECT_EQ(manifest.ports(3).role(), proto::PORT_ROLE_OUTPUT);
  EXPECT_EQ(manifest.computation(), tensor::workload_key(matmul(3, 4, 5)).hex());

  auto loaded = support::LoadedKernel::load(reply->artifact().blobs(0).content(), "kernel");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  support::CompiledKernel kernel{*std::move(loaded), manifest.workspace_bytes(),
                                 manifest.workspace_per_thread_bytes()};
  support::AlignedBytes x(4 * 15), w(4 * 20), y(4 * 12), magnitude(manifest.ports(3).size_bytes());
  for (float& v : x.as<float>()) v = -1;
  for (size_t i = 0; i < 20; ++i) w.as<float>()[i] = i / 4 % 2 == 0 ? 1.0f : -1.0f;
  support::AlignedBytes* buffers[] = {&x, &w, &y, &magnitude};
  ASSERT_EQ(support::call_kernel(kernel, buffers), TF_KERNEL_OK);
  for (float v : y.as<float>()) EXPECT_EQ(v, -1);
  ASSERT_EQ(magnitude.size(), 4u * 12);
  for (float v : magnitude.as<float>()) EXPECT_EQ(v, 5);
}

TEST(BuildPool, MistakesInARequestAreRepliesThatSayWhatIsWrong) {
  auto workers = pool();
  auto message = [&](const std::function<void(proto::BuildKernelRequest&)>& spoil) {
    proto::BuildRequest request = kernel_request(matmul(4, 4, 4));
    spoil(*request.mutable_kernel());
    absl::StatusOr<proto::BuildReply> reply = workers->build(request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (!reply.ok()) return std::string();
    EXPECT_NE(reply->code(), 0);
    EXPECT_FALSE(reply->has_artifact());
    return reply->message();
  };
  EXPECT_NE(message([](auto& r) { r.set_workload("nonsense"); }), "");
  EXPECT_THAT(message([](auto& r) { r.set_target("z80"); }), HasSubstr("unknown architecture 'z80'"));
  EXPECT_THAT(message([](auto& r) {
                r.set_target("opencl");
                r.set_use(proto::KERNEL_USE_MODEL);
              }),
              HasSubstr("kernels for opencl cannot be linked into a model library"));
  EXPECT_THAT(message([](auto& r) { r.set_entry("a b"); }), HasSubstr("not a C identifier"));
  EXPECT_NE(message([](auto& r) { r.set_schedule("schedule v1\nsplit t9 i0 4 guard\n"); }), "");
  EXPECT_THAT(message([](auto& r) { r.clear_use(); }), HasSubstr("give KERNEL_USE_DEVICE"));
  EXPECT_THAT(message([](auto& r) {
                r.add_in_layouts("0");
                r.add_in_layouts("1");
              }),
              HasSubstr("2 layouts for 1 inputs"));
  absl::StatusOr<proto::BuildReply> empty = workers->build({});
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
}

TEST(BuildPool, ShowsAKernelAsTextsAndWithoutAssemblyCompilesNothing) {
  auto workers = pool();
  proto::BuildRequest request;
  *request.mutable_show()->mutable_kernel() = kernel_request(matmul(4, 4, 4)).kernel();
  request.mutable_show()->set_ir(true);
  request.mutable_show()->set_assembly(true);
  absl::StatusOr<proto::BuildReply> reply = workers->build(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->code(), 0) << reply->message();
  EXPECT_THAT(reply->ir(), HasSubstr("for "));
  EXPECT_THAT(reply->assembly(), HasSubstr("kernel:"));
  EXPECT_FALSE(reply->has_artifact());
  // No code can be generated for this schedule there, so the IR alone comes of lowering alone.
  request.mutable_show()->mutable_kernel()->set_target("opencl");
  request.mutable_show()->mutable_kernel()->set_schedule("schedule v1\nannotate t0 i0 parallel\n");
  EXPECT_THAT(workers->build(request)->message(), HasSubstr("a parallel loop is for CPUs"));
  request.mutable_show()->set_assembly(false);
  reply = workers->build(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->code(), 0) << reply->message();
  EXPECT_THAT(reply->ir(), HasSubstr("for "));
  EXPECT_EQ(reply->assembly(), "");
}

TEST(BuildPool, AWorkerThatCrashesIsATypedReplyAndTheNextBuildGetsANewOne) {
  std::string marker = ::testing::TempDir() + "/crashed_once";
  unlink(marker.c_str());
  // Crashes on the first request, and hands the second to the real worker.
  std::string real = std::string(TF_BINARY_DIR) + "/bin/build_worker";
  auto workers = pool({.worker_path = script("if [ -e " + marker + " ]; then exec " + real +
                                             " \"$@\"; fi; touch " + marker + "; kill -SEGV $$")});
  absl::StatusOr<proto::BuildReply> reply = workers->build(kernel_request(matmul(4, 4, 4)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->code(), static_cast<int>(absl::StatusCode::kAborted));
  EXPECT_THAT(reply->message(), HasSubstr("was killed by signal 11"));
  reply = workers->build(kernel_request(matmul(4, 4, 4)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->code(), 0) << reply->message();
}

TEST(BuildPool, AWorkerThatHangsIsKilledAtTheTimeout) {
  auto workers = pool({.worker_path = script("exec sleep 1000"), .timeout = absl::Milliseconds(200)});
  absl::Time start = absl::Now();
  absl::StatusOr<proto::BuildReply> reply = workers->build(kernel_request(matmul(4, 4, 4)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->code(), static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
}

TEST(BuildPool, AWorkerThatNeedsTooMuchMemoryIsATypedReply) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve terabytes of addresses, so workers have no limit";
#endif
  auto workers = pool({.memory_bytes = 1 << 20});
  absl::StatusOr<proto::BuildReply> reply = workers->build(kernel_request(matmul(4, 4, 4)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->code(), ::testing::AnyOf(static_cast<int>(absl::StatusCode::kResourceExhausted),
                                              static_cast<int>(absl::StatusCode::kAborted)));
  EXPECT_NE(reply->message(), "");
}

// Soft limits on processor time of this thread's children, in seconds.
std::vector<int64_t> cpu_limits_of_children() {
  const std::string self = absl::StrCat("/proc/self/task/", gettid(), "/children");
  std::vector<int64_t> limits;
  std::ifstream children(self);
  for (int64_t child = 0; children >> child;) {
    std::ifstream table(absl::StrCat("/proc/", child, "/limits"));
    for (std::string line; std::getline(table, line);) {
      int64_t soft = 0;
      if (std::sscanf(line.c_str(), "Max cpu time %" SCNd64, &soft) == 1) limits.push_back(soft);
    }
  }
  return limits;
}

TEST(BuildPool, AWorkerHasTheProcessorTimeOfARequestOfItsKind) {
  auto workers = pool({.timeout = absl::Seconds(40), .link_timeout = absl::Seconds(4000)});
  proto::BuildRequest link;
  link.mutable_link()->set_target("host");
  ASSERT_TRUE(workers->build(kernel_request(matmul(4, 4, 4))).ok());
  EXPECT_THAT(cpu_limits_of_children(), ElementsAre(AllOf(Ge(40), Le(80))));
  ASSERT_TRUE(workers->build(link).ok());
  EXPECT_THAT(cpu_limits_of_children(), ElementsAre(Ge(4000)));
  ASSERT_TRUE(workers->build(kernel_request(matmul(4, 4, 4))).ok());
  EXPECT_THAT(cpu_limits_of_children(), ElementsAre(AllOf(Ge(40), Le(120))));
}

TEST(BuildWorker, ExitsWithTheCodeOfAWrongCommandLine) {
  const int status = std::system(TF_BINARY_DIR "/bin/build_worker --nonsense 2> /dev/null");
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kExitUsage);
}

TEST(BuildPool, CancelEndsRunningAndLaterBuilds) {
  auto workers = pool({.worker_path = script("exec sleep 1000")});
  absl::Status status;
  std::thread caller([&] { status = workers->build(kernel_request(matmul(4, 4, 4))).status(); });
  absl::SleepFor(absl::Milliseconds(100));
  workers->cancel();
  caller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(workers->build(kernel_request(matmul(4, 4, 4))).status().code(), absl::StatusCode::kCancelled);
}

TEST(BuildPool, ManyThreadsShareFewWorkers) {
  auto workers = pool({.workers = 2});
  std::vector<std::thread> threads;
  std::vector<int> codes(6, -1);
  for (size_t i = 0; i < codes.size(); ++i) {
    threads.emplace_back([&, i] {
      absl::StatusOr<proto::BuildReply> reply =
          workers->build(kernel_request(matmul(static_cast<int64_t>(i) + 1, 4, 4)));
      if (reply.ok()) codes[i] = reply->code();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(codes, ::testing::Each(0));
}

TEST(BuildPool, AMissingWorkerProgramIsNotFound) {
  absl::StatusOr<std::unique_ptr<BuildPool>> made =
      BuildPool::create({.worker_path = "/nowhere/build_worker"});
  EXPECT_EQ(made.status().code(), absl::StatusCode::kNotFound);
}

TEST(BuildPool, BuildsACudaKernelWithItsLaunchPlanWithoutAGpu) {
  auto workers = pool();
  const tensor::Workload workload = matmul(100, 256, 32);
  const target::Target target = *target::parse_target("cuda:arch=sm_90");
  proto::BuildRequest request = kernel_request(
      workload, schedule::to_string(recipes::default_schedule({.workload = workload, .target = target})));
  request.mutable_kernel()->set_target(target.text());
  request.mutable_kernel()->set_use(proto::KERNEL_USE_MODEL);
  absl::StatusOr<proto::BuildReply> reply = workers->build(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->message(), HasSubstr("cannot be linked into a model library"));

  request.mutable_kernel()->set_use(proto::KERNEL_USE_DEVICE);
  reply = workers->build(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  if (reply->code() == static_cast<int>(absl::StatusCode::kNotFound)) GTEST_SKIP() << reply->message();
  ASSERT_EQ(reply->code(), 0) << reply->message();
  const proto::Manifest& manifest = reply->artifact().manifest();
  EXPECT_EQ(manifest.target(), "cuda:arch=sm_90");
  EXPECT_EQ(manifest.ports_size(), 3);
  ASSERT_EQ(manifest.launches_size(), 1);
  const proto::Launch& launch = manifest.launches(0);
  EXPECT_EQ(launch.entry(), "kernel_0");
  EXPECT_THAT(launch.grid(), ::testing::ElementsAre("4", "2", "1"));
  EXPECT_THAT(launch.block(), ::testing::ElementsAre("16", "16", "1"));
  EXPECT_EQ(launch.shared_bytes(), "24576");  // three tiles of each factor: cp.async makes them ahead
  ASSERT_EQ(reply->artifact().blobs_size(), 2);
  EXPECT_EQ(reply->artifact().blobs(0).kind(), proto::BLOB_KIND_CUBIN);
  EXPECT_EQ(reply->artifact().blobs(1).kind(), proto::BLOB_KIND_PTX);
  EXPECT_THAT(reply->artifact().blobs(1).content(), HasSubstr(".entry kernel"));
  EXPECT_GT(reply->artifact().manifest().launches(0).resources().registers_per_thread(), 0u);
  EXPECT_FALSE(reply->artifact().manifest().launches(0).resources().spills());
  EXPECT_THAT(reply->artifact().blobs(0).content(), HasSubstr("kernel"));
}

}  // namespace
}  // namespace tf::driver
