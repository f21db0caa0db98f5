#pragma once
// Owns: which slots meet which kinds of requests, and which of them are free, so that neither a new request
// nor a freed slot looks at the whole farm. Does not know: who waits, leases, time.

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tracker/leases/device.h"

namespace tf::tracker {

// How many known keys a message names: all of a large farm's would not fit into a status.
inline constexpr size_t kKeysNamed = 10;

// What a request asks for. Requests that ask for the same share one.
struct RequestKind {
  std::string key;
  Requirements requirements;
  auto operator<=>(const RequestKind&) const = default;
};

using RequestKindId = uint64_t;

// How a free slot may be used.
struct Terms {
  std::string reserved_for;  // a user; empty: anybody
  int standing = 0;          // lower is taken first
  bool operator==(const Terms&) const = default;
};

// Not thread-safe. With K kinds of requests for a device's key: a slot is freed and taken in O(K log slots),
// a device described in O(K) comparisons. A kind not asked for lately costs a look at all devices with its
// key once.
class SlotIndex {
 public:
  // Kinds kept though nobody waits with them.
  explicit SlotIndex(size_t idle_kinds = 256) : idle_kinds_(idle_kinds) {}

  // What is known of the device, replacing what was; none of its slots is free afterwards.
  void describe(const std::shared_ptr<const DeviceInfo>& device);
  // What was described is gone.
  void forget(const std::string& device_id);
  // The slot must be described. Replaces its terms.
  void set_free(const SlotKey& slot, const Terms& terms);
  void set_taken(const SlotKey& slot);
  // Its terms if it is free.
  const Terms* free(const SlotKey& slot) const;

  // The kind's id, the same while it is used.
  RequestKindId intern(const RequestKind& kind);
  // Nothing: it would have to be looked into first.
  std::optional<RequestKindId> find(const RequestKind& kind) const;
  const RequestKind& kind(RequestKindId kind) const { return kinds_.at(kind).kind; }
  // Somebody waits with it (use) or does no more (unuse); it is kept in between.
  void use(RequestKindId kind);
  void unuse(RequestKindId kind);
  // Whether any slot of the farm, free or not, online or away, meets it.
  bool satisfiable(RequestKindId kind) const { return kinds_.at(kind).capable > 0; }
  // The free slot that a user's request of this kind should take.
  std::optional<SlotKey> pick(RequestKindId kind, const std::string& user) const;
  // The kinds that the slot meets.
  const std::set<RequestKindId>& met_by(const SlotKey& slot) const;

  // NOT_FOUND, with what is missing: why no slot meets the kind.
  absl::Status why_unsatisfiable(const RequestKind& kind) const;
  // At most so many of the keys that there are, those first that begin most like this one.
  std::vector<std::string> keys_like(const std::string& key, size_t most) const;
  size_t keys() const { return by_key_.size(); }
  // The ids of the devices with this key.
  const std::set<std::string>& devices_with(const std::string& key) const;

 private:
  struct Slot {
    SlotOffer offer;
    std::optional<Terms> terms;  // absent: not free
    std::set<RequestKindId> meets;
  };
  struct Device {
    std::shared_ptr<const DeviceInfo> info;
    std::map<uint32_t, Slot> slots;
  };
  struct Preference {
    int standing = 0;
    SlotKey slot;
    auto operator<=>(const Preference&) const = default;
  };
  struct Class {
    RequestKind kind;
    size_t capable = 0;  // slots that meet it
    size_t uses = 0;
    uint64_t idle_since = 0;
    std::map<std::string, std::set<Preference>> free;  // by the user they are reserved for
  };

  Slot& at(const SlotKey& slot);
  void clear(Device& device);
  void connect(const DeviceInfo& info, Slot& slot, RequestKindId id, Class& kind);
  void enter(const SlotKey& key, const Slot& slot, Class& kind);
  void leave(const SlotKey& key, const Slot& slot, Class& kind);
  void evict_idle();

  const size_t idle_kinds_;
  std::map<std::string, Device> devices_;
  std::map<std::string, std::set<std::string>> by_key_;
  std::map<RequestKindId, Class> kinds_;
  std::map<RequestKind, RequestKindId> ids_;
  std::map<std::string, std::set<RequestKindId>> kinds_of_key_;
  std::map<uint64_t, RequestKindId> idle_;  // by idle_since
  uint64_t last_id_ = 0;
  uint64_t last_idle_ = 0;
};

}  // namespace tf::tracker
