#pragma once
// Owns: what a tuner says on its stream of trials and results. Does not know: the stream, when it says it.

#include <cstdint>
#include <set>

#include "proto/farm/v1/farm.pb.h"
#include "rpc/identity/artifact_signature.h"
#include "rpc/protocol.h"
#include "tuner/measure/farm_runner.h"

namespace tf::measure {

// The first message.
inline tunefarm::farm::v1::MeasureRequest hello(const LeasedDevice& device) {
  tunefarm::farm::v1::MeasureRequest message;
  message.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
  message.mutable_hello()->mutable_lease()->set_lease_id(device.lease_id);
  message.mutable_hello()->mutable_lease()->set_epoch(device.epoch);
  return message;
}

inline tunefarm::farm::v1::MeasureRequest assignment(uint64_t sequence,
                                                     const tunefarm::farm::v1::Trial& trial) {
  tunefarm::farm::v1::MeasureRequest message;
  message.mutable_assignment()->set_sequence(sequence);
  *message.mutable_assignment()->mutable_trial() = trial;
  return message;
}

inline tunefarm::farm::v1::MeasureRequest acknowledgement(const std::set<uint64_t>& sequences) {
  tunefarm::farm::v1::MeasureRequest message;
  message.mutable_acknowledgement()->mutable_sequences()->Add(sequences.begin(), sequences.end());
  return message;
}

// The device of a secured farm loads only what somebody whom it trusts stands for.
inline void sign(rpc::ArtifactSigner& signer, tunefarm::farm::v1::Trial& trial) {
  tunefarm::farm::v1::Signatures& signatures = *trial.mutable_signatures();
  signatures.set_certificate(signer.certificate());
  signatures.set_artifact(signer.sign(trial.artifact_digest()));
  if (!trial.reference_digest().empty()) signatures.set_reference(signer.sign(trial.reference_digest()));
}

}  // namespace tf::measure
