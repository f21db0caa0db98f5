// The daemons' configuration files, in protobuf's text format.
#include <memory>

#include "proto/config/v1/farm.pb.h"
#include "rpc/daemon/text_config.h"
#include "tests/fuzz/input.h"

namespace {

using google::protobuf::Message;

// A daemon logs the configuration that it has read: that line, read again, is the same configuration.
void round_trip(const Message& config) {
  const std::string line = config.ShortDebugString();
  const std::unique_ptr<Message> again(config.New());
  TF_CHECK(tf::rpc::merge_text_config(tf::fuzz::as_file("again.txtpb", line), *again).ok()) << line;
  TF_CHECK(again->ShortDebugString() == line) << line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tf;
  const std::string path = fuzz::as_file("config.txtpb", fuzz::text(data, size));
  tunefarm::config::v1::Tracker tracker;
  tunefarm::config::v1::DeviceAgent agent;
  tunefarm::config::v1::Tuner tuner;
  for (Message* config : std::initializer_list<Message*>{&tracker, &agent, &tuner}) {
    if (rpc::merge_text_config(path, *config).ok()) round_trip(*config);
  }
  return 0;
}
