#pragma once
// Owns: how devices look to people and to scripts.

#include <string>

namespace tunefarm::farm::v1 {
class ListDevicesReply;
}

namespace tf::tracker {

// One line a slot under a heading; columns are as wide as they need to be. (devices_text_proto.cpp)
std::string devices_table(const tunefarm::farm::v1::ListDevicesReply& devices);
// One JSON array of devices, each with its slots.
std::string devices_json(const tunefarm::farm::v1::ListDevicesReply& devices);

}  // namespace tf::tracker
