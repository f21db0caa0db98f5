#pragma once
// Owns: the tracker's whole state behind one lock: devices with their sessions and health, leases, who waits
// for one, reservations, and the trials under way. Makes leases durable before it grants them. Does not know:
// gRPC; streams are Links to it.

#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "rpc/clock.h"
#include "rpc/metrics/metric.h"
#include "tracker/health/blocklist.h"
#include "tracker/health/golden_trend.h"
#include "tracker/health/health.h"
#include "tracker/leases/device.h"
#include "tracker/leases/lease.h"
#include "tracker/leases/matchmaker.h"
#include "tracker/leases/relay.h"
#include "tracker/leases/reservations.h"
#include "tracker/state_store.h"

namespace tf::tracker {

// The tracker's end of a stream. Called without the farm's lock; late calls after the stream's end must do
// nothing.
class Link {
 public:
  virtual ~Link() = default;
  // There is something to take (take_desired, take_replies). Calls may be merged.
  virtual void wake() = 0;
  virtual void close(const absl::Status& status) = 0;
};

struct Grant {
  Lease lease;
  std::shared_ptr<const DeviceInfo> device;
  uint32_t threads = 0;
  bool is_away = false;  // the device's agent
};

// Someone who waits for a lease. Answered exactly once unless cancelled, without the farm's lock.
class Requester {
 public:
  virtual ~Requester() = default;
  virtual void answer(absl::StatusOr<Grant> grant) = 0;
};

struct AcquireRequest {
  std::string key;
  Requirements requirements;
  absl::Duration wait;
  absl::Duration term;  // zero: the farm's choice
  std::string holder;
  std::string holder_run;
  uint64_t run_number = 0;  // a newer run of the same holder has a higher one; 0: not known
  std::string user;
  std::string purpose;  // for people; empty: none
  int priority = 0;
  std::string certificate;  // the serial of its holder's; empty: plain text
};

struct AgentReply {
  SlotKey slot;
  LeaseId lease;
  uint64_t epoch = 0;
  uint64_t sequence = 0;
  std::string reply;                // serialized farm.v1.MeasureReply
  TrialEnd end = TrialEnd::kOther;  // what it says, as in TrialOutcome
  int signal = 0;
  std::string detail;
};

struct LeaseOutcome {  // of a trial that went straight to its agent
  LeaseId lease;
  TrialOutcome outcome;
};

// Of a lease whose trials go straight to its agent, as the agent counts them.
struct DirectWork {
  SlotKey slot;
  LeaseId lease;
  uint64_t epoch = 0;
  uint64_t queued = 0;
  uint64_t unacknowledged = 0;
  uint64_t acknowledged = 0;  // since this run of the agent has served it
  uint64_t number = 0;        // from 1; of two reports of a slot by one run of the agent the higher is newer
};

// What the agent should do with one slot.
struct DesiredSlot {
  uint32_t slot = 0;
  std::optional<Lease> lease;
  absl::Duration remaining;
  std::vector<QueuedTrial> window;
  std::vector<uint64_t> acknowledged;
  bool golden_wanted = false;
};

struct SlotStatus {
  uint32_t slot = 0;
  uint64_t epoch = 0;
  std::optional<Lease> lease;
  absl::Duration held;
  absl::Duration remaining;
  // Those that go straight to the agent among them, as far as it has told.
  uint64_t unanswered = 0;
  uint64_t unacknowledged = 0;
  uint64_t answered = 0;
  GoldenTrend golden;
};

struct DeviceStatus {
  std::shared_ptr<const DeviceInfo> info;
  std::string address;  // of its agent, as of the last session; empty: it has had none since the start
  bool online = false;
  bool stopping = false;
  Admission admission = Admission::kOpen;
  Health health = Health::kHealthy;
  std::string health_reason;
  std::optional<absl::Duration> health_for;  // absent: healthy, or not known
  std::string reserved_for;
  absl::Duration since;
  std::optional<absl::Duration> leases_end_in;  // unless its agent comes back, which is away
  std::vector<SlotStatus> slots;
};

// Some of the devices, in the order of their ids.
struct DeviceQuery {
  std::string key;  // empty: any
  Selector selector;
  std::optional<Requirements> requirements;  // at least one slot meets them; nothing: any device
  std::string after;                         // the ids above this one
  size_t most = std::numeric_limits<size_t>::max();
  bool all_samples = true;  // of the golden kernel; else those that its drift is of
};

struct DevicePage {
  std::vector<DeviceStatus> devices;
  std::string next;  // the rest is what comes after this id; empty: there is none
};

struct ReservationRequest {
  std::string user;
  std::string device_key;
  Selector selector;
  absl::Time from;
  absl::Time until;
};

struct ReservationStatus {
  Reservation reservation;
  absl::Time from;
  absl::Time until;
  bool in_force = false;
  size_t devices = 0;
};

// Of one who waits, in the order in which a slot that all could use would be given.
struct WaitingPlace {
  uint64_t number = 0;  // from 1
  RequestId id = 0;
};

struct WaitingStatus {
  WaitingRequest request;
  std::string key;
  Requirements requirements;
  absl::Duration waited;
  WaitingPlace place;
};

struct UserStatus {
  std::string user;
  double share = 1;
  uint32_t slots = 0;
  size_t waiting = 0;
  double slot_seconds = 0;
};

// For the operators' graphs. Counters begin with the process; all else is as it is now.
struct FarmCounts {
  uint64_t leases_granted = 0;
  uint64_t replies_relayed = 0;
  rpc::DurationCounts grant_time =
      rpc::DurationCounts({0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 300, 600});
  rpc::DurationCounts saving_time = grant_time;  // of a transaction, until it is on the disk; the same bounds
  std::map<std::string, uint64_t> devices;       // by state, each device in one
  uint64_t ready_slots = 0;                      // of devices that may be leased
  uint64_t leases = 0;
  uint64_t waiting = 0;
  uint64_t unanswered_trials = 0;
};

struct FarmOptions {
  absl::Duration default_term = absl::Seconds(60);
  absl::Duration longest_term = absl::Minutes(10);
  absl::Duration longest_wait = absl::Minutes(10);
  absl::Duration agent_grace = absl::Seconds(30);  // an agent that is away longer loses its leases
  // For the answer of an agent whose id another one asks for.
  absl::Duration ping_grace_period = absl::Seconds(5);
  // A device that is away longer, and on which no operator or quarantine has its hand, is forgotten; 0: none.
  absl::Duration forget_after = absl::Hours(30 * 24);
  size_t most_devices = 100'000;
  size_t most_devices_of_a_board = 32;  // board_of
  size_t most_reservations = 1000;      // each is looked at with each device
  // One that was lost alone while it measured, and is away longer, needs help from outside: a line that was
  // cut is usually whole again by then.
  absl::Duration missing_after = absl::Minutes(5);
  size_t window = 4;     // trials that an agent has ahead
  rpc::FlowLimits flow;  // of a lease, before its stream is no longer read
  MatchOptions match;
  UserPolicies policies;
  HealthOptions health;
  absl::Time (*wall_now)() = absl::Now;  // for what outlives this run: reservations, absences
};

// Thread-safe.
class Farm {
 public:
  using SessionId = uint64_t;

  // Takes over what the store holds. Clock and store must outlive the farm.
  static absl::StatusOr<std::unique_ptr<Farm>> open(const rpc::Clock& clock, StateStore& store,
                                                    FarmOptions options = {});
  ~Farm();

  // Agents. (farm_sessions.cpp)
  // Begins a session; an older one of the same run of the agent ends. `run` names the agent's process,
  // `address` where it calls from. If another run has the device, the session has to wait (is_attached) until
  // that is known to be gone: it is pinged. When it answers, the new link is closed with ALREADY_EXISTS; when
  // its session ends or it is silent for `ping_grace_period`, the new one takes over. UNAVAILABLE: another
  // agent waits so already. RESOURCE_EXHAUSTED: there are as many devices as there may be, or as one board
  // may have.
  absl::StatusOr<SessionId> attach(const DeviceInfo& device, const std::string& run,
                                   std::shared_ptr<Link> link, const std::string& address = "");
  // Whether the session serves its device. The link is woken when it does.
  bool is_attached(SessionId session);
  // The ping that this session is to be sent now, once.
  std::optional<uint64_t> take_ping(SessionId session);
  void pong(SessionId session, uint64_t number);
  void detach(SessionId session);
  void report(SessionId session, const std::vector<AgentReply>& replies, bool stopping);
  // Of trials whose replies take another way; whose they were the farm knows by their leases. One counts only
  // if its lease is one of this device, which listens, and its candidate is a digest; of a lease's failures
  // the first kMostFailuresTold do.
  void report_outcomes(SessionId session, const std::vector<LeaseOutcome>& outcomes);
  static constexpr uint32_t kMostFailuresTold = 1000;
  // What is shown of trials that take another way; counts only under a lease of this device, which listens,
  // and only if it is newer than what was reported of it.
  void report_direct(SessionId session, const std::vector<DirectWork>& work);
  void report_golden(SessionId session, const std::vector<GoldenSample>& samples);
  // What is desired of all its slots is due again.
  void tell_again(SessionId session);
  // What changed since the last call, as far as it fits into a message (about 1 MiB; each slot in its turn);
  // empty: nothing.
  std::vector<DesiredSlot> take_desired(SessionId session);

  // Tuners.
  void acquire(AcquireRequest request, std::shared_ptr<Requester> requester);
  // True: it waited and will not be answered. False: it has been answered or is about to be.
  bool cancel(const Requester* requester);
  // NOT_FOUND: the lease has ended. ABORTED: it must make room, and goes on until its term ends.
  // UNAUTHENTICATED: the certificate is revoked.
  absl::StatusOr<Grant> renew(const LeaseId& id, uint64_t epoch, const std::string& certificate = "");
  void release(const LeaseId& id, uint64_t epoch);
  // PERMISSION_DENIED: another member holds the lease. Nobody holds a lease that is over.
  absl::Status check_member(const LeaseId& id, uint64_t epoch, const std::string& member);
  // Serials of certificates that are good no more, all of them: what was last asked for by one of them ends,
  // and none is granted to it. Of a lease that its holder has not renewed since a restart nobody knows by
  // which it is held: that one is not renewed either, so that it ends with its term.
  void set_revoked(std::set<std::string> serials);
  // Begins a measure stream, ending an older one of the same lease. All is told again: replies to the holder,
  // trials to the agent. NOT_FOUND: the lease has ended.
  absl::StatusOr<SessionId> open_stream(const LeaseId& id, uint64_t epoch, std::shared_ptr<Link> link);
  void close_stream(SessionId stream);
  // False: enough is under way, read no more from the stream until the next wake(). A holder that has sent as
  // many trials as may be unanswered and acknowledged none of as many results could never go on: its lease
  // ends.
  // A candidate that is known to be bad is answered at once.
  bool submit(SessionId stream, uint64_t sequence, std::string trial, TrialFacts facts = {});
  bool has_room(SessionId stream);
  // A holder whose sequences have too many gaps (Relay::kMostRuns) has its lease ended.
  void acknowledge(SessionId stream, const std::vector<uint64_t>& sequences);
  std::vector<std::string> take_replies(SessionId stream);

  // Operators. NOT_FOUND: no such device, lease or reservation. What they change is durable when the call
  // returns; UNAVAILABLE: it is changed, but cannot be written down yet.
  // Looks at a bounded number of devices, of which it may return none.
  DevicePage page(const DeviceQuery& query);
  // At most so many, those first that are like `key`.
  std::vector<std::string> known_keys(const std::string& key, size_t most);
  absl::Status set_admission(const std::string& device_id, Admission admission);
  // That go on now; 0: also of a device that is not known.
  uint32_t leases_on(const std::string& device_id);
  // FAILED_PRECONDITION: its agent is here. Its slots' epochs are kept, should it come back. "BOARD/*" stands
  // for all below BOARD whose agents are not here.
  absl::Status forget(const std::string& device_id);
  // Its golden kernel's next times are the baseline.
  absl::Status readmit(const std::string& device_id);
  // A candidate that is known to be bad is run again. NOT_FOUND: it is not known to be.
  absl::Status pardon(const std::string& candidate);
  // Ends the lease with this id, or those on this device or slot (DEVICE/N): none, if it has none. NOT_FOUND
  // says what the name stands for otherwise.
  absl::StatusOr<std::vector<LeaseId>> force_release(const std::string& name);
  // INVALID_ARGUMENT: ReservationBook::check_names and check_window. RESOURCE_EXHAUSTED: there are as many as
  // there may be.
  absl::StatusOr<ReservationStatus> reserve(const ReservationRequest& request);
  absl::Status unreserve(uint64_t id);
  // With ids above this one, at most so many.
  std::vector<ReservationStatus> reservations(uint64_t after = 0,
                                              size_t most = std::numeric_limits<size_t>::max());
  // In the order of their places, at most so many behind this one; behind its number if it waits no more.
  std::vector<WaitingStatus> waiting(const WaitingPlace& after = {},
                                     size_t most = std::numeric_limits<size_t>::max());
  // In the order of their names, at most so many after this one; without it, the first.
  std::vector<UserStatus> users(const std::optional<std::string>& after = std::nullopt,
                                size_t most = std::numeric_limits<size_t>::max());
  // Looks at every device.
  FarmCounts counts();

  // Time. Ends what is over; returns when to call again, at the latest.
  std::optional<rpc::Instant> tick();
  // Called, without the lock, whenever tick()'s answer may have become earlier. Set before serving.
  void on_deadline_change(std::function<void()> callback) { deadline_changed_ = std::move(callback); }
  // What has come up is written down. Called by one thread, again and again, or by nobody: then whoever
  // brings something up saves it before its call returns.
  absl::Status save();
  // Called, without the lock, when there is something to save. Set before serving.
  void on_unsaved(std::function<void()> callback) { unsaved_callback_ = std::move(callback); }
  // Called, without the lock, when a device can only be helped from outside: it went into quarantine, or it
  // was lost while it measured, no other at the same time, and does not come back. Set before serving.
  using HelpNeeded = std::function<void(const std::string& device_id, const std::string& reason)>;
  void on_help_needed(HelpNeeded callback) { help_needed_ = std::move(callback); }

 private:
  struct Device;
  struct Contender;
  struct Stream;
  struct DirectCounts;
  struct PendingAcquire;
  class Locked;

  // What is not on the disk yet: of leases what is to be written, of the rest where to look.
  struct Unsaved {
    std::set<std::string> forgotten;
    std::set<std::string> devices;
    std::set<SlotKey> golden;
    std::vector<LeaseId> ended;
    std::vector<Lease> leases;
    std::map<uint64_t, std::optional<StoredReservation>> reservations;
    std::vector<std::promise<absl::Status>> awaited;
    bool empty() const;
  };

  Farm(const rpc::Clock& clock, StateStore& store, FarmOptions options);
  void take_over(StoredState state);
  void take_over(Lease lease);
  absl::Status take_over(StoredReservation reservation);
  Device* by_session(SessionId session);
  absl::StatusOr<Device*> by_id(const std::string& device_id);
  absl::Status nothing_called(const std::string& name, std::string_view what) const;
  std::optional<SlotKey> slot_called(const std::string& name) const;
  absl::StatusOr<std::vector<LeaseId>> leases_called(const std::string& name) const;
  void touch(Locked& lock, const SlotKey& slot);
  void end_if_stuck(Locked& lock, const LeaseId& id);
  void touch_all(Locked& lock, Device& device);
  DesiredSlot take_desired(const Device& device, uint32_t slot);
  void end_lease(Locked& lock, const LeaseId& id, const absl::Status& why);
  void end_leases(Locked& lock, const Device& device, const absl::Status& why);
  uint32_t leases_on(const Device& device) const;
  void end_orphans(Locked& lock, const Device& device, const DeviceInfo& now);
  // What is known of the device, when that has changed.
  void describe(Locked& lock, Device& device, const DeviceInfo& info);
  absl::Status check_room(const std::string& device_id) const;
  void became_away(Device& device);
  void ping_again(Locked& lock, Device& device);
  void admit(Locked& lock, Device& device, Contender agent);
  std::unique_ptr<Contender> drop_contender(Device& device);
  void count_absence(Locked& lock, Device& device);
  std::vector<std::string> forgettable(const std::string& name) const;
  void drop(Locked& lock, const std::string& device_id);
  DeviceStatus status_of(const Device& device, bool all_samples) const;

  // Leases.
  bool may_lease(const Device& device) const;
  // Tells the matchmaker which of the device's slots are free, after anything that may have changed that.
  void offer(const Device& device);
  // Takes up what can be granted; it is granted once it is durable.
  void match(Locked& lock);
  void finish(Locked& lock, const Lease& lease, const absl::Status& saved);
  bool still_offered(const PendingAcquire& pending, const Lease& lease) const;
  // A newer run of a holder ends what its older ones have, and want. ABORTED: it is itself an older one.
  absl::Status supersede(Locked& lock, const AcquireRequest& request);
  absl::Status may_renew(const Lease& lease);
  absl::Status check_not_revoked(const std::string& certificate) const;
  Grant grant_of(const Lease& lease) const;
  std::string busy_text(const std::string& key, const std::string& user) const;
  std::string state_of(const Device& device) const;

  // Saving.
  void saving_wanted();
  Changes changes_of(Unsaved& unsaved) const;
  void put_back(Unsaved unsaved);
  // What an operator changes: done under the lock, and written down before this returns.
  absl::Status change(absl::FunctionRef<absl::Status(Locked&)> apply);

  // Health.
  void judge(Locked& lock, Device& device, const TrialOutcome& outcome);
  bool is_believed(const Device& device, const LeaseOutcome& told);
  void lost(Locked& lock, Device& device);
  bool went_alone(const Device& device) const;
  bool was_measuring(const Device& device) const;
  void judge_golden(Locked& lock, Device& device, const GoldenSample& sample, GoldenVerdict verdict);
  void health_changed(Locked& lock, Device& device);

  void tick_contenders(Locked& lock);
  void tick_devices(Locked& lock);
  void tick_reservations(Locked& lock);
  ReservationStatus status_of(const Reservation& reservation) const;
  std::optional<rpc::Instant> next_deadline() const;

  const rpc::Clock& clock_;
  StateStore& store_;
  const FarmOptions options_;
  std::function<void()> deadline_changed_;
  HelpNeeded help_needed_;
  std::mutex mutex_;
  LeaseTable leases_;
  std::set<std::string> revoked_;
  Unsaved unsaved_;
  std::function<void()> unsaved_callback_;
  bool saving_ = false;                    // somebody is in save()
  std::map<SlotKey, RequestId> promised_;  // slots of leases that are not yet durable, and for whom
  Matchmaker matchmaker_;
  ReservationBook reservations_;
  std::optional<rpc::Instant> reservations_change_;  // when one begins or ends next
  Blocklist blocklist_;
  std::map<std::string, Device> devices_;
  std::set<std::pair<rpc::Instant, std::string>> away_;       // devices by when they lose their leases
  std::set<std::pair<rpc::Instant, std::string>> missing_;    // by when they need help from outside
  std::set<std::pair<rpc::Instant, std::string>> long_away_;  // devices by when they may be forgotten
  rpc::Instant last_lost_ = -absl::InfiniteDuration();        // when the last one that lost them went away
  std::set<std::string> quarantined_;
  std::map<LeaseId, Relay> relays_;
  std::map<LeaseId, std::map<uint64_t, TrialFacts>> unanswered_;  // of trials, by sequence
  std::map<LeaseId, uint32_t> failures_told_;                     // of trials that went straight to the agent
  std::map<LeaseId, DirectCounts> direct_;
  std::map<LeaseId, Stream> streams_;
  std::map<SessionId, std::string> device_of_;     // sessions that are current
  std::map<SessionId, std::string> contends_for_;  // sessions that wait for one of those to answer its ping
  std::set<std::pair<rpc::Instant, std::string>> contenders_;  // devices for which they wait, by deadline
  std::map<SessionId, LeaseId> lease_of_;                      // streams that are current
  std::map<RequestId, PendingAcquire> pending_;
  std::map<const Requester*, RequestId> pending_of_;
  FarmCounts counts_;  // its counters
  SessionId last_session_ = 0;
};

}  // namespace tf::tracker
