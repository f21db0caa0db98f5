#pragma once
// Owns: how devices, who waits for them and reservations look to people and to scripts.

#include <cstddef>
#include <string>

namespace tunefarm::farm::v1 {
class ListDevicesReply;
class ListReservationsReply;
class ListWaitingReply;
class Reservation;
}  // namespace tunefarm::farm::v1

namespace tf::tracker {

// Tables have a line each under a heading and are for lines of `width` characters (base/cli/text_table.h);
// JSON is an array of objects.

// A line a slot.
std::string devices_table(const tunefarm::farm::v1::ListDevicesReply& devices, size_t width = 0);
std::string devices_json(const tunefarm::farm::v1::ListDevicesReply& devices);
// Requests in the order in which they would be served, then users. JSON: an object of both.
std::string waiting_table(const tunefarm::farm::v1::ListWaitingReply& waiting, size_t width = 0);
std::string waiting_json(const tunefarm::farm::v1::ListWaitingReply& waiting);
std::string reservations_table(const tunefarm::farm::v1::ListReservationsReply& reservations,
                               size_t width = 0);
std::string reservations_json(const tunefarm::farm::v1::ListReservationsReply& reservations);
// An object, as they are in the array.
std::string reservation_json(const tunefarm::farm::v1::Reservation& reservation);

}  // namespace tf::tracker
