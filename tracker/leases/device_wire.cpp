#include "tracker/leases/device_wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "proto/farm/v1/farm.pb.h"
#include "tracker/leases/names.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

// A slot's next lease has the next epoch, and the state file's integers are signed: above this an agent lies
// or its state is broken, and the tracker must not count on from there until it wraps.
constexpr uint64_t kHighestEpoch = uint64_t{1} << 62;

// All of it is kept in memory and on disk, and is in every listing. A server with hundreds of CPU features
// has 4 KiB.
constexpr int kMostSlots = 256;
// Agents number them from 0, so that all that are ever offered of a device, of which some is kept for ever,
// are no more than that.
constexpr uint32_t kHighestSlot = kMostSlots - 1;
constexpr size_t kMostHelloBytes = 64 << 10;

// CAPABILITY_SECCOMP is "seccomp"; empty for what this tracker does not know.
std::string name_of(int capability) {
  if (capability == pb::CAPABILITY_UNSPECIFIED || !pb::Capability_IsValid(capability)) return "";
  const std::string name = pb::Capability_Name(static_cast<pb::Capability>(capability));
  return absl::AsciiStrToLower(absl::StripPrefix(name, "CAPABILITY_"));
}

absl::Status add_slots(const pb::AgentHello& hello, DeviceInfo& device) {
  if (hello.slots().empty() || hello.slots_size() > kMostSlots) {
    return absl::InvalidArgumentError(absl::StrCat("agent ", hello.agent_id(), " offers ", hello.slots_size(),
                                                   " slots: offer from 1 to ", kMostSlots));
  }
  std::set<uint32_t> seen;
  for (const auto& offer : hello.slots()) {
    if (offer.cpus().empty() || !seen.insert(offer.slot()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("agent ", hello.agent_id(), " offers slot ", offer.slot(), " twice or without CPUs"));
    }
    if (offer.slot() > kHighestSlot) {
      return absl::InvalidArgumentError(absl::StrCat("agent ", hello.agent_id(), " offers slot ",
                                                     offer.slot(), ": number them from 0 to ", kHighestSlot));
    }
    if (offer.highest_epoch() > kHighestEpoch) {
      return absl::InvalidArgumentError(
          absl::StrCat("agent ", hello.agent_id(), " reports that slot ", offer.slot(),
                       " has accepted epoch ", offer.highest_epoch(), ", more than any tracker gives (",
                       kHighestEpoch, "): start the agent with another --id and an empty --state-dir"));
    }
    device.slots.push_back({offer.slot(), static_cast<uint32_t>(offer.cpus_size()), offer.highest_epoch()});
  }
  return absl::OkStatus();
}

// The same bytes for the same message.
std::string bytes_of(const pb::AgentHello& hello) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);  // labels are a map
  hello.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

// What is the same as long as the agent's process is: a reconnection then changes nothing.
std::string lasting_bytes(pb::AgentHello hello) {
  hello.clear_agent_run();
  for (auto& slot : *hello.mutable_slots()) slot.clear_highest_epoch();
  return bytes_of(hello);
}

// What is the same as long as the device is: a restart of the agent then writes nothing.
std::string durable_bytes(const std::string& bytes) {
  pb::AgentHello hello;
  if (!hello.ParseFromString(bytes)) return bytes;
  hello.clear_direct_endpoint();
  hello.mutable_facts()->clear_peak_gflops();
  return bytes_of(hello);
}

}  // namespace

bool offers_the_same(const DeviceInfo& one, const DeviceInfo& other) {
  return one.hello == other.hello || durable_bytes(one.hello) == durable_bytes(other.hello);
}

absl::StatusOr<DeviceInfo> device_from_proto(const pb::AgentHello& hello) {
  TF_RETURN_IF_ERROR(check_device_id(hello.agent_id()));
  TF_RETURN_IF_ERROR(
      check_key(absl::StrCat("the --key of agent ", hello.agent_id(), ","), hello.device_key()));
  if (hello.ByteSizeLong() > kMostHelloBytes) {
    return absl::InvalidArgumentError(absl::StrCat("agent ", hello.agent_id(), " says ", hello.ByteSizeLong(),
                                                   " bytes about its device, but at most ", kMostHelloBytes,
                                                   " are accepted; give it fewer labels"));
  }
  const pb::DeviceFacts& facts = hello.facts();
  DeviceInfo device{.id = hello.agent_id(),
                    .key = hello.device_key(),
                    .arch = facts.arch(),
                    .fingerprint = facts.fingerprint(),
                    .cpu_features = {facts.cpu_features().begin(), facts.cpu_features().end()},
                    .memory_bytes = facts.memory_bytes()};
  std::ranges::sort(device.cpu_features);
  for (const int capability : facts.capabilities()) device.capabilities.insert(name_of(capability));
  device.capabilities.erase("");  // a newer agent's
  device.listens = !hello.direct_endpoint().empty();
  for (const pb::Gpu& gpu : facts.gpus()) device.gpus.push_back({gpu.back_end(), gpu.memory_bytes()});
  device.labels.insert(hello.labels().begin(), hello.labels().end());
  TF_RETURN_IF_ERROR(check_labels(device.labels));
  TF_RETURN_IF_ERROR(add_slots(hello, device));
  device.hello = lasting_bytes(hello);
  return device;
}

absl::StatusOr<DeviceInfo> device_from_bytes(const std::string& hello) {
  pb::AgentHello message;
  if (!message.ParseFromString(hello)) return absl::DataLossError("a stored device is not an AgentHello");
  return device_from_proto(message);
}

absl::StatusOr<Requirements> requirements_from_proto(const pb::Requirements& message) {
  if (message.ByteSizeLong() > kMostRequirementsBytes) {
    return absl::InvalidArgumentError(absl::StrCat("requirements of ", message.ByteSizeLong(),
                                                   " bytes: ask for less than ", kMostRequirementsBytes));
  }
  TF_ASSIGN_OR_RETURN(Selector selector, Selector::parse(message.selector()));
  Requirements requirements{.arch = message.arch(),
                            .cpu_features = {message.cpu_features().begin(), message.cpu_features().end()},
                            .min_threads = message.min_threads(),
                            .min_memory_bytes = message.min_memory_bytes(),
                            .selector = std::move(selector),
                            .gpu = message.gpu(),
                            .min_gpu_memory_bytes = message.min_gpu_memory_bytes()};
  for (const int capability : message.capabilities()) {
    const std::string name = name_of(capability);
    if (name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("this tracker does not know the capability ", capability,
                                                     ": ask for others, or upgrade it"));
    }
    requirements.capabilities.insert(name);
  }
  return requirements;
}

}  // namespace tf::tracker
