#pragma once
// Owns: the durable part of who belongs to the farm: certificates issued, which are revoked, and join tokens
// by the digest of their secret. Every change is durable when the call returns. Does not know: keys, who may
// ask.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "rpc/identity/identity.h"

namespace tf::database {
class Connection;
class FileLock;
}  // namespace tf::database

namespace tf::tracker {

struct IssuedCertificate {
  std::string serial;
  rpc::Identity identity;
  absl::Time issued;
  absl::Time ends;
  std::optional<absl::Time> revoked;
  std::string der;                   // written only; empty when it is read (MemberStore::newest)
  std::vector<std::string> hosts;    // that it carries
  std::vector<std::string> granted;  // those of them that its member's token named: renewals keep them
};

struct CertificatePage {
  std::vector<IssuedCertificate> certificates;
  int64_t end = 0;  // the next page comes after it; 0: there is none
};

struct StoredToken {
  rpc::Role role = rpc::Role::kViewer;
  std::string name;                // empty: the joiner chooses
  std::string name_pattern;        // that the choice must match; empty: any
  std::vector<std::string> hosts;  // for the joiner's certificate
  absl::Time ends;
  uint32_t uses = 1;
  uint32_t used = 0;
  bool revoked = false;
};

struct OpenToken {
  std::string id;
  StoredToken token;
};

// By which people name a token: the beginning of the digest of its secret.
std::string token_id(const Digest& secret);

// Not thread-safe; one process a file. Times are kept in whole seconds.
class MemberStore {
 public:
  // Makes the file if there is none. FAILED_PRECONDITION: another tracker has it, or a newer one made it.
  static absl::StatusOr<std::unique_ptr<MemberStore>> open(const std::string& path);
  ~MemberStore();

  absl::Status add_token(const Digest& secret, const StoredToken& token);
  absl::StatusOr<std::optional<StoredToken>> find_token(const Digest& secret);
  // Those that can be used at `now`, the oldest first, at most so many.
  absl::StatusOr<std::vector<OpenToken>> open_tokens(absl::Time now, size_t most);
  // False: no token that can be used at `now` has this id.
  absl::StatusOr<bool> revoke_token(const std::string& id, absl::Time now);

  // What one step changes, all of it or nothing.
  struct Change {
    std::optional<Digest> used_token;  // once more
    std::vector<std::string> revoked;  // serials
    std::optional<IssuedCertificate> issued;
  };
  absl::Status apply(const Change& change, absl::Time now);

  // Of the member's certificates that are not revoked the one that was issued last, in DER; empty: there is
  // none, or it is from a tracker that did not keep them.
  absl::StatusOr<std::string> newest(const rpc::Identity& member);

  // IssuedCertificate::granted of the certificate with this serial.
  absl::StatusOr<std::vector<std::string>> granted_hosts(const std::string& serial);

  // In order of issue: at most so many, from what comes after the page that ended with `after` on.
  absl::StatusOr<CertificatePage> certificates(int64_t after = 0,
                                               size_t most = std::numeric_limits<uint32_t>::max());

 private:
  MemberStore(std::unique_ptr<database::FileLock> lock, std::unique_ptr<database::Connection> db);
  absl::Status write(const Change& change, absl::Time now);
  std::unique_ptr<database::FileLock> lock_;
  std::unique_ptr<database::Connection> db_;
};

}  // namespace tf::tracker
