#include "device_agent/worker/sandbox_capabilities.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/files/temporary_folder.h"
#include "device_agent/worker/worker.h"

namespace {

using tf::worker::all_capabilities;
using tf::worker::Capability;
using tf::worker::capability_names;
using tf::worker::confines;
using tf::worker::kOwnCandidates;
using tf::worker::parse_without_sandbox;
using tf::worker::Worker;

TEST(SandboxCapabilities, AListNamesThemOneByOneOrInGroups) {
  EXPECT_TRUE(parse_without_sandbox("")->without.empty());
  EXPECT_EQ(capability_names(parse_without_sandbox("landlock,seccomp")->without),
            (std::vector<std::string>{"seccomp", "landlock"}));
  EXPECT_EQ(capability_names(parse_without_sandbox("cgroup")->without),
            (std::vector<std::string>{"pids-cgroup", "memory-cgroup"}));
  EXPECT_EQ(capability_names(parse_without_sandbox("namespaces")->without).size(), 6u);
  EXPECT_FALSE(parse_without_sandbox("seccomp")->without_missing);
  EXPECT_TRUE(parse_without_sandbox("missing")->without_missing);
  EXPECT_TRUE(parse_without_sandbox("missing")->without.empty());
}

TEST(SandboxCapabilities, AnEmptyListKeepsTheDefaultAndNothingDemandsTheWholeSandbox) {
  EXPECT_TRUE(parse_without_sandbox("", kOwnCandidates)->own_candidates);
  const auto whole = parse_without_sandbox("nothing", kOwnCandidates);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_FALSE(whole->own_candidates);
  EXPECT_TRUE(whole->without.empty());
  EXPECT_FALSE(parse_without_sandbox("seccomp", kOwnCandidates)->own_candidates);
  EXPECT_FALSE(parse_without_sandbox("seccomp,nothing").ok());
}

TEST(SandboxCapabilities, SeccompOrLandlockOrAllNamespacesConfine) {
  const auto set = [](const char* list) { return parse_without_sandbox(list)->without; };
  EXPECT_TRUE(confines({}));
  EXPECT_TRUE(confines(set("cgroup")));
  EXPECT_TRUE(confines(set("cgroup,namespaces,landlock")));
  EXPECT_TRUE(confines(set("cgroup,namespaces,seccomp")));
  EXPECT_TRUE(confines(set("cgroup,seccomp,landlock,uts-namespace")));
  EXPECT_FALSE(confines(set("seccomp,landlock,mount-namespace")));
  EXPECT_FALSE(confines(all_capabilities()));
}

TEST(SandboxCapabilities, EveryNameIsUnderstoodAlone) {
  for (const std::string& name : capability_names(all_capabilities()))
    EXPECT_EQ(capability_names(parse_without_sandbox(name)->without), std::vector<std::string>{name});
}

TEST(SandboxCapabilities, AnUnknownNameIsRefusedWithThoseThatThereAre) {
  const absl::Status status = parse_without_sandbox("seccomp,cgruop").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(testing::HasSubstr("'cgruop'"), testing::HasSubstr("memory-cgroup")));
}

TEST(SandboxCapabilities, TheProbeAnswersForEachAndAdvisesWhereOneIsMissing) {
  const auto states = tf::worker::probe_sandbox();
  ASSERT_TRUE(states.ok()) << states.status();
  ASSERT_EQ(states->size(), tf::worker::sandbox::kCapabilityCount);
  for (const auto& state : *states) {
    EXPECT_EQ(state.present, state.reason.empty()) << tf::worker::capability_name(state.capability);
    EXPECT_EQ(state.present, state.advice.empty()) << tf::worker::capability_name(state.capability);
  }
}

TEST(SandboxCapabilities, WhatIsMissingIsSaidInOneLineWithTheWayOut) {
  const absl::Status refused = tf::worker::refuse_missing(
      {tf::worker::missing_capability(Capability::kSeccomp, "Invalid argument"),
       tf::worker::missing_capability(Capability::kPidsCgroup, "/sys/fs/cgroup/x: Permission denied"),
       tf::worker::missing_capability(Capability::kMemoryCgroup, "/sys/fs/cgroup/x: Permission denied")});
  const std::string line(refused.message());
  EXPECT_THAT(line, testing::HasSubstr("qemu-user"));
  EXPECT_THAT(line, testing::HasSubstr("Delegate=yes"));
  EXPECT_THAT(line, testing::EndsWith("--without-sandbox pids-cgroup,memory-cgroup,seccomp"));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find("Permission denied"), line.rfind("Permission denied")) << "each reason once";
}

// A helper that reports the layers in `missing` as missing, until it is told to go without them.
std::string program_without(tf::worker::CapabilitySet missing, const tf::TemporaryFolder& folder) {
  const std::string source = folder.file("helper.py"), program = folder.file("trial_worker");
  std::ofstream(source) << "import socket, struct\n"
                           "s = socket.socket(fileno=0)\n"
                           "without = struct.unpack('I', s.recv(4))[0]\n"
                        << "missing = " << missing.bits
                        << " & ~without\n"
                           "s.send(struct.pack('10i', *(38 if missing >> i & 1 else 0 for i in range(10))))\n"
                           "s.recv(1)\n";
  std::ofstream(program) << "#!/bin/sh\nexec /usr/bin/python3 " << source << "\n";
  chmod(program.c_str(), 0700);
  return program;
}

TEST(SandboxRequired, AMachineThatLacksSomethingRunsNothingUnlessToldTo) {
  const auto folder = *tf::TemporaryFolder::make();
  const std::string program = program_without(parse_without_sandbox("landlock")->without, folder);
  const auto cgroup = *parse_without_sandbox("cgroup");
  const absl::Status refused = Worker::start({.program = program, .sandbox = cgroup}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("--without-sandbox landlock"));
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("Function not implemented"));

  const auto named =
      Worker::start({.program = program, .sandbox = *parse_without_sandbox("cgroup,landlock")});
  ASSERT_TRUE(named.ok()) << named.status();
  const auto missing =
      Worker::start({.program = program, .sandbox = *parse_without_sandbox("cgroup,missing")});
  ASSERT_TRUE(missing.ok()) << missing.status();
  EXPECT_EQ((*named)->without_sandbox(), (*missing)->without_sandbox());
  EXPECT_EQ(capability_names((*missing)->without_sandbox()),
            (std::vector<std::string>{"pids-cgroup", "memory-cgroup", "landlock"}));
}

TEST(SandboxRequired, OwnCandidatesRunInThePartOfTheSandboxThatThereIs) {
  const auto folder = *tf::TemporaryFolder::make();
  const auto missing = parse_without_sandbox("cgroup,namespaces,landlock")->without;
  const std::string program = program_without(missing, folder);
  const auto worker = Worker::start({.program = program, .sandbox = kOwnCandidates});
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_FALSE((*worker)->missing_layers().empty());
  EXPECT_TRUE((*worker)->without_sandbox().contains(Capability::kLandlock));
  EXPECT_FALSE((*worker)->without_sandbox().contains(Capability::kSeccomp));
  EXPECT_FALSE(Worker::start({.program = program}).ok()) << "code from others needs the whole sandbox";
}

TEST(SandboxRequired, OwnCandidatesAreRefusedWhereNothingConfines) {
  const auto folder = *tf::TemporaryFolder::make();
  const std::string program =
      program_without(parse_without_sandbox("namespaces,seccomp,landlock")->without, folder);
  const absl::Status refused = Worker::start({.program = program, .sandbox = kOwnCandidates}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("CONFIG_SECCOMP_FILTER"));
}

}  // namespace
