#include "tracker/ca/member_store.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "database/sqlite/file_lock.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/transaction.h"

namespace tf::tracker {
namespace {

// Each brings a file of the version before it to the next one; the first makes an empty file one of
// version 1.
constexpr const char* kMemberMigrations[] = {
    // Certificates are kept for ever: what was issued once may be asked after.
    R"sql(
CREATE TABLE certificate (id INTEGER PRIMARY KEY, serial TEXT NOT NULL UNIQUE, role TEXT NOT NULL, name TEXT NOT NULL,
                          issued_s INTEGER NOT NULL, ends_s INTEGER NOT NULL, revoked_s INTEGER);
CREATE TABLE token (secret_sha256 TEXT PRIMARY KEY, role TEXT NOT NULL, name TEXT NOT NULL, ends_s INTEGER NOT NULL,
                    used_s INTEGER) WITHOUT ROWID;
)sql",
    // So that a certificate that its member has lost can be given to it again.
    R"sql(
ALTER TABLE certificate ADD COLUMN der BLOB;
)sql",
    // Tokens for several members, and hosts in certificates. Lists have a space between their parts.
    R"sql(
ALTER TABLE token ADD COLUMN name_pattern TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN hosts TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN uses INTEGER NOT NULL DEFAULT 1;
ALTER TABLE token ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN revoked_s INTEGER;
UPDATE token SET used = 1 WHERE used_s IS NOT NULL;
ALTER TABLE certificate ADD COLUMN hosts TEXT NOT NULL DEFAULT '';
ALTER TABLE certificate ADD COLUMN granted TEXT NOT NULL DEFAULT '';
)sql",
};
constexpr int64_t kMemberSchemaVersion = std::size(kMemberMigrations);

absl::Status prepare_member_schema(database::Connection& db) {
  TF_RETURN_IF_ERROR(db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"));
  TF_ASSIGN_OR_RETURN(const int64_t version, db.query_int("PRAGMA user_version"));
  if (version > kMemberSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(db.path(), " has version ", version,
                                                      ", but this tracker supports up to ",
                                                      kMemberSchemaVersion, ": run the newer tracker"));
  }
  for (int64_t next = version; next < kMemberSchemaVersion; ++next) {
    TF_ASSIGN_OR_RETURN(database::Transaction transaction, database::Transaction::begin(db));
    TF_RETURN_IF_ERROR(db.execute(kMemberMigrations[next]));
    TF_RETURN_IF_ERROR(db.execute(absl::StrCat("PRAGMA user_version = ", next + 1)));
    TF_RETURN_IF_ERROR(transaction.commit());
  }
  return absl::OkStatus();
}

constexpr const char* kTokenColumns = "role, name, name_pattern, hosts, ends_s, uses, used, revoked_s";
constexpr const char* kIsOpen = "WHERE ends_s > ? AND used < uses AND revoked_s IS NULL";
constexpr size_t kTokenIdLength = 12;

std::vector<std::string> list_of(const std::string& text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

// The row's first columns are kTokenColumns.
absl::StatusOr<StoredToken> token_of(database::Statement& row) {
  TF_ASSIGN_OR_RETURN(const rpc::Role role, rpc::parse_role(row.text(0)));
  return StoredToken{.role = role,
                     .name = row.text(1),
                     .name_pattern = row.text(2),
                     .hosts = list_of(row.text(3)),
                     .ends = absl::FromUnixSeconds(row.integer(4)),
                     .uses = static_cast<uint32_t>(row.integer(5)),
                     .used = static_cast<uint32_t>(row.integer(6)),
                     .revoked = !row.is_null(7)};
}

}  // namespace

std::string token_id(const Digest& secret) {
  return secret.hex().substr(0, kTokenIdLength);
}

MemberStore::MemberStore(std::unique_ptr<database::FileLock> lock, std::unique_ptr<database::Connection> db)
    : lock_(std::move(lock)), db_(std::move(db)) {}

MemberStore::~MemberStore() = default;

absl::StatusOr<std::unique_ptr<MemberStore>> MemberStore::open(const std::string& path) {
  TF_ASSIGN_OR_RETURN(
      auto lock, database::FileLock::acquire(path, "stop that tracker, or give this one a different CA"));
  TF_ASSIGN_OR_RETURN(auto db,
                      database::Connection::open(path, database::Access::kWrite, "the list of members"));
  TF_RETURN_IF_ERROR(prepare_member_schema(*db));
  return std::unique_ptr<MemberStore>(new MemberStore(std::move(lock), std::move(db)));
}

absl::Status MemberStore::add_token(const Digest& secret, const StoredToken& token) {
  TF_ASSIGN_OR_RETURN(auto add,
                      db_->prepare("INSERT INTO token (secret_sha256, role, name, name_pattern, hosts, "
                                   "ends_s, uses) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  const std::string digest = secret.hex(), hosts = absl::StrJoin(token.hosts, " ");
  add.bind_text(digest)
      .bind_text(rpc::role_name(token.role))
      .bind_text(token.name)
      .bind_text(token.name_pattern);
  add.bind_text(hosts).bind(absl::ToUnixSeconds(token.ends));
  return add.bind(int64_t{token.uses}).run();
}

absl::StatusOr<std::optional<StoredToken>> MemberStore::find_token(const Digest& secret) {
  TF_ASSIGN_OR_RETURN(
      auto find, db_->prepare(absl::StrCat("SELECT ", kTokenColumns, " FROM token WHERE secret_sha256 = ?")));
  const std::string digest = secret.hex();
  find.bind_text(digest);
  TF_ASSIGN_OR_RETURN(const bool row, find.step());
  if (!row) return std::nullopt;
  return token_of(find);
}

absl::StatusOr<std::vector<OpenToken>> MemberStore::open_tokens(absl::Time now, size_t most) {
  TF_ASSIGN_OR_RETURN(
      auto rows, db_->prepare(absl::StrCat("SELECT ", kTokenColumns, ", secret_sha256 FROM token ", kIsOpen,
                                           " ORDER BY ends_s, secret_sha256 LIMIT ?")));
  rows.bind(absl::ToUnixSeconds(now)).bind(static_cast<int64_t>(most));
  std::vector<OpenToken> tokens;
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool row, rows.step());
    if (!row) return tokens;
    TF_ASSIGN_OR_RETURN(StoredToken token, token_of(rows));
    tokens.push_back({.id = rows.text(8).substr(0, kTokenIdLength), .token = std::move(token)});
  }
}

absl::StatusOr<bool> MemberStore::revoke_token(const std::string& id, absl::Time now) {
  TF_ASSIGN_OR_RETURN(const std::vector<OpenToken> open,
                      open_tokens(now, std::numeric_limits<int32_t>::max()));
  if (std::ranges::find(open, id, &OpenToken::id) == open.end()) return false;
  TF_ASSIGN_OR_RETURN(auto revoke,
                      db_->prepare("UPDATE token SET revoked_s = ? WHERE substr(secret_sha256, 1, ?) = ?"));
  revoke.bind(absl::ToUnixSeconds(now)).bind(static_cast<int64_t>(kTokenIdLength));
  TF_RETURN_IF_ERROR(revoke.bind_text(id).run());
  return true;
}

absl::Status MemberStore::apply(const Change& change, absl::Time now) {
  TF_ASSIGN_OR_RETURN(database::Transaction transaction, database::Transaction::begin(*db_));
  TF_RETURN_IF_ERROR(write(change, now));
  return transaction.commit();
}

absl::Status MemberStore::write(const Change& change, absl::Time now) {
  if (change.used_token) {
    TF_ASSIGN_OR_RETURN(auto use,
                        db_->prepare("UPDATE token SET used_s = ?, used = used + 1 WHERE secret_sha256 = ?"));
    const std::string digest = change.used_token->hex();
    TF_RETURN_IF_ERROR(use.bind(absl::ToUnixSeconds(now)).bind_text(digest).run());
  }
  for (const std::string& serial : change.revoked) {
    TF_ASSIGN_OR_RETURN(
        auto revoke,
        db_->prepare("UPDATE certificate SET revoked_s = ? WHERE serial = ? AND revoked_s IS NULL"));
    TF_RETURN_IF_ERROR(revoke.bind(absl::ToUnixSeconds(now)).bind_text(serial).run());
  }
  if (change.issued) {
    const IssuedCertificate& issued = *change.issued;
    TF_ASSIGN_OR_RETURN(auto add,
                        db_->prepare("INSERT INTO certificate (serial, role, name, issued_s, ends_s, der, "
                                     "hosts, granted) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
    const std::string hosts = absl::StrJoin(issued.hosts, " "), granted = absl::StrJoin(issued.granted, " ");
    add.bind_text(issued.serial)
        .bind_text(rpc::role_name(issued.identity.role))
        .bind_text(issued.identity.name);
    add.bind(absl::ToUnixSeconds(issued.issued)).bind(absl::ToUnixSeconds(issued.ends));
    add.bind_blob(issued.der).bind_text(hosts).bind_text(granted);
    TF_RETURN_IF_ERROR(add.run());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemberStore::newest(const rpc::Identity& member) {
  TF_ASSIGN_OR_RETURN(auto rows, db_->prepare("SELECT der FROM certificate WHERE role = ? AND name = ? AND "
                                              "revoked_s IS NULL ORDER BY id DESC LIMIT 1"));
  rows.bind_text(rpc::role_name(member.role)).bind_text(member.name);
  TF_ASSIGN_OR_RETURN(const bool row, rows.step());
  return row ? rows.blob(0) : "";
}

absl::StatusOr<std::vector<std::string>> MemberStore::granted_hosts(const std::string& serial) {
  TF_ASSIGN_OR_RETURN(auto rows, db_->prepare("SELECT granted FROM certificate WHERE serial = ?"));
  rows.bind_text(serial);
  TF_ASSIGN_OR_RETURN(const bool row, rows.step());
  return row ? list_of(rows.text(0)) : std::vector<std::string>();
}

absl::StatusOr<CertificatePage> MemberStore::certificates(int64_t after, size_t most) {
  TF_ASSIGN_OR_RETURN(auto rows, db_->prepare("SELECT serial, role, name, issued_s, ends_s, revoked_s, id, "
                                              "hosts FROM certificate WHERE id > ? ORDER BY id LIMIT ?"));
  rows.bind(after).bind(static_cast<int64_t>(most) + 1);  // one more, to know whether there is one
  CertificatePage page;
  int64_t last = 0;
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool row, rows.step());
    if (!row) return page;
    if (page.certificates.size() == most) {
      page.end = last;
      return page;
    }
    TF_ASSIGN_OR_RETURN(const rpc::Role role, rpc::parse_role(rows.text(1)));
    page.certificates.push_back({.serial = rows.text(0),
                                 .identity = {role, rows.text(2)},
                                 .issued = absl::FromUnixSeconds(rows.integer(3)),
                                 .ends = absl::FromUnixSeconds(rows.integer(4)),
                                 .hosts = list_of(rows.text(7))});
    if (!rows.is_null(5)) page.certificates.back().revoked = absl::FromUnixSeconds(rows.integer(5));
    last = rows.integer(6);
  }
}

}  // namespace tf::tracker
