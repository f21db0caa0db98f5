#include "database/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <span>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/files/file.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/testing/failpoint.h"
#include "database/memory_store.h"
#include "database/sqlite/commit_queue.h"
#include "database/sqlite/file_lock.h"
#include "database/sqlite/migrations.h"
#include "database/sqlite/point_rows.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_rows.h"
#include "database/sqlite/transaction.h"
#include "database/sqlite/writable_file.h"
#include "database/store_errors.h"

namespace tf::database {
namespace {

// Rows a scan fetches at once. It visits them without holding the connection, so that a long export does not
// stop other readers and a visitor may ask questions; measurements only grow, so that pages fit together.
constexpr size_t kPage = 256;
// The same of points, which are small.
constexpr size_t kPointsPage = 4096;

// Of a new file; another's stay as they are. A commit writes every page that it has changed wholly, and most
// of a row's are of indices, each another one.
constexpr int kPageBytes = 1024;
// The writer's: room for the pages of indices, which it reads at random.
constexpr int kCacheKib = 32 << 10;

// One read-only connection, used by one thread at a time.
class SqliteReader {
 public:
  explicit SqliteReader(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

  template <typename Read>
  auto read(const Read& read) {
    std::lock_guard lock(mutex_);
    return read(*connection_);
  }

  void close() {
    std::lock_guard lock(mutex_);
    connection_.reset();
  }

  absl::Status scan(const Filter& filter, const Visitor& visit) {
    if (filter.problem || filter.workload) return scan_problems(filter, visit);
    int64_t last = 0;
    for (;;) {
      TF_ASSIGN_OR_RETURN(std::vector<Measurement> page,
                          read([&](Connection& db) { return rows::page(db, filter, last, kPage); }));
      for (const Measurement& measurement : page) TF_RETURN_IF_ERROR(visit(measurement));
      if (page.size() < kPage) return absl::OkStatus();
      last = page.back().id;
    }
  }

  absl::Status points(int64_t after_row, const PointVisitor& visit) {
    rows::PointNames names;
    for (std::vector<Point> page;; after_row = page.back().row) {
      TF_ASSIGN_OR_RETURN(
          page, read([&](Connection& db) { return rows::points(db, after_row, kPointsPage, names); }));
      for (const Point& point : page) TF_RETURN_IF_ERROR(visit(point));
      if (page.size() < kPointsPage) return absl::OkStatus();
    }
  }

 private:
  // No index has a problem's rows in order, which would cost every insert a page. Their ids are few bytes.
  absl::Status scan_problems(const Filter& filter, const Visitor& visit) {
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> ids,
                        read([&](Connection& db) { return rows::ids_of_problems(db, filter); }));
    for (size_t i = 0; i < ids.size(); i += kPage) {
      const std::span<const int64_t> some = std::span(ids).subspan(i, std::min(kPage, ids.size() - i));
      TF_ASSIGN_OR_RETURN(const std::vector<Measurement> page,
                          read([&](Connection& db) { return rows::matching(db, filter, some); }));
      for (const Measurement& measurement : page) TF_RETURN_IF_ERROR(visit(measurement));
    }
    return absl::OkStatus();
  }

  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;
};

// The questions of Records, asked of a SqliteReader; `Base` is Records or Store.
template <typename Base>
class SqliteView : public Base {
 public:
  explicit SqliteView(std::unique_ptr<Connection> connection) : reader_(std::move(connection)) {}

  absl::StatusOr<std::vector<Measurement>> top(const BestQuery& query, size_t limit) override {
    return reader_.read([&](Connection& db) { return rows::top(db, query, limit); });
  }
  absl::StatusOr<Workload> find_workload(const std::string& key_or_prefix) override {
    return reader_.read([&](Connection& db) { return rows::find_workload(db, key_or_prefix); });
  }
  absl::StatusOr<std::vector<Workload>> workloads() override { return reader_.read(rows::workloads); }
  absl::StatusOr<std::vector<tensor::KernelKey>> problems() override { return reader_.read(rows::problems); }
  absl::Status scan(const Filter& filter, const Visitor& visit) override {
    return reader_.scan(filter, visit);
  }
  absl::StatusOr<Measurement> find_record(const Digest& digest) override {
    return reader_.read([&](Connection& db) { return rows::find_record(db, digest); });
  }
  absl::StatusOr<bool> is_measured(const tensor::KernelKey& problem, const std::string& schedule) override {
    return reader_.read([&](Connection& db) { return rows::is_measured(db, problem, schedule); });
  }
  absl::StatusOr<std::vector<NetworkVerdict>> verdicts() override { return reader_.read(rows::verdicts); }
  absl::Status points(int64_t after_row, const PointVisitor& visit) override {
    return reader_.points(after_row, visit);
  }
  absl::StatusOr<Measurement> find_row(int64_t row) override {
    return reader_.read([&](Connection& db) { return rows::find_row(db, row); });
  }
  absl::StatusOr<Job> find_job(int64_t id) override {
    TF_ASSIGN_OR_RETURN(std::vector<Job> found,
                        reader_.read([&](Connection& db) { return rows::jobs(db, id); }));
    if (found.empty()) return unknown_job(id);
    return std::move(found.front());
  }
  absl::StatusOr<std::vector<Job>> jobs() override {
    return reader_.read([&](Connection& db) { return rows::jobs(db, std::nullopt); });
  }
  absl::StatusOr<std::vector<JobTask>> job_tasks(int64_t job_id) override {
    return reader_.read([&](Connection& db) { return rows::job_tasks(db, job_id); });
  }
  absl::StatusOr<std::string> job_network(int64_t job_id) override {
    return reader_.read([&](Connection& db) { return rows::job_network(db, job_id); });
  }

 protected:
  SqliteReader reader_;
};

// What a Store writes, as operations on a connection; which connection, and when, is for FileStore and
// MemoryStore to say.
class SqliteStore : public SqliteView<Store> {
 public:
  using SqliteView::SqliteView;

  absl::Status add_workload(const Workload& workload) override {
    return run([&](Connection& db) { return rows::add_workload(db, workload); });
  }
  absl::StatusOr<InsertResult> insert(const Measurement& measurement, Origin origin) override {
    return write<InsertResult>([&](Connection& db) { return rows::insert(db, measurement, origin); });
  }
  void insert_async(const Measurement& measurement, Origin origin, InsertDone done) override {
    auto result = std::make_shared<InsertResult>();
    submit(
        [measurement, origin, result](Connection& db) -> absl::Status {
          TF_ASSIGN_OR_RETURN(*result, rows::insert(db, measurement, origin));
          return absl::OkStatus();
        },
        [result, done = std::move(done)](absl::Status status) {
          status.ok() ? done(*result) : done(std::move(status));
        });
  }
  absl::Status save_verdict(const NetworkVerdict& verdict, Origin origin) override {
    return run([&](Connection& db) { return rows::save_verdict(db, verdict, origin); });
  }
  absl::Status add_attempt(const Attempt& attempt) override {
    return run([&](Connection& db) { return rows::add_attempt(db, attempt); });
  }
  absl::StatusOr<int64_t> count_attempts(int64_t job_id) override {
    return reader_.read([&](Connection& db) { return rows::count_attempts(db, job_id); });
  }
  absl::StatusOr<int64_t> count_trials(int64_t job_id) override {
    return reader_.read([&](Connection& db) { return rows::count_trials(db, job_id); });
  }
  absl::StatusOr<int64_t> add_job(const Job& job) override {
    return write<int64_t>([&](Connection& db) { return rows::add_job(db, job); });
  }
  absl::Status update_job(const Job& job) override {
    return run([&](Connection& db) { return rows::update_job(db, job); });
  }
  absl::Status save_job_tasks(const std::vector<JobTask>& tasks) override {
    return run([&](Connection& db) { return rows::save_job_tasks(db, tasks); });
  }
  absl::Status save_job_network(int64_t job_id, const std::string& network) override {
    return run([&](Connection& db) { return rows::save_job_network(db, job_id, network); });
  }

 private:
  // As CommitQueue's.
  virtual absl::Status run(const CommitQueue::Apply& apply) = 0;
  virtual void submit(CommitQueue::Apply apply, CommitQueue::Done done) = 0;

  // Runs a write that yields a value.
  template <typename T, typename Write>
  absl::StatusOr<T> write(const Write& write) {
    T value;
    TF_RETURN_IF_ERROR(run([&](Connection& db) -> absl::Status {
      TF_ASSIGN_OR_RETURN(value, write(db));
      return absl::OkStatus();
    }));
    return value;
  }
};

class FileStore final : public SqliteStore {
 public:
  FileStore(std::unique_ptr<FileLock> lock, std::unique_ptr<Connection> writer,
            std::unique_ptr<Connection> reader, const SqliteOptions& options)
      : SqliteStore(std::move(reader)),
        lock_(std::move(lock)),
        queue_(std::move(writer), {.window = options.commit_window,
                                   .log_bytes = options.log_bytes,
                                   .checkpoint_interval = options.checkpoint_interval,
                                   .keep_trying = options.write.keep_trying}) {}

  // The writer closes last: the last connection of a file is the one that empties the log, and a reader must
  // not.
  ~FileStore() override { reader_.close(); }

 private:
  absl::Status run(const CommitQueue::Apply& apply) override { return queue_.run(apply); }
  void submit(CommitQueue::Apply apply, CommitQueue::Done done) override {
    queue_.submit(std::move(apply), std::move(done));
  }

  std::unique_ptr<FileLock> lock_;  // released last
  CommitQueue queue_;
};

// Has one connection, since nobody else sees its database.
class MemoryStore final : public SqliteStore {
 public:
  using SqliteStore::SqliteStore;

 private:
  absl::Status run(const CommitQueue::Apply& apply) override {
    return reader_.read([&](Connection& db) -> absl::Status {
      TF_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db));
      TF_RETURN_IF_ERROR(apply(db));
      return transaction.commit();
    });
  }
  void submit(CommitQueue::Apply apply, CommitQueue::Done done) override { done(run(apply)); }
};

absl::StatusOr<std::unique_ptr<Store>> open_memory() {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<Connection> db, Connection::open_in_memory());
  TF_RETURN_IF_ERROR(migrate(*db));
  TF_RETURN_IF_ERROR(db->execute("PRAGMA foreign_keys = ON"));  // migrate turned them off
  return std::make_unique<MemoryStore>(std::move(db));
}

// Makes an empty file or an older schema current, and refuses what is damaged before anything is written to
// it.
absl::Status prepare_for_writing(Connection& db, SchemaState state) {
  if (state != SchemaState::kEmpty) {
    TF_ASSIGN_OR_RETURN(std::string verdict, db.query_text("PRAGMA quick_check(1)"));
    if (verdict != "ok") return damaged_file(db.path(), verdict);
  }
  if (state == SchemaState::kEmpty)
    TF_RETURN_IF_ERROR(db.execute(absl::StrCat("PRAGMA page_size = ", kPageBytes)));
  TF_ASSIGN_OR_RETURN(std::string mode, db.query_text("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return with_remedy(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat("cannot use ", db.path(),
                     " as a tuning database: its file system has no shared memory for the log"),
        "use a local disk", Between::kSemicolon);
  }
  TF_RETURN_IF_ERROR(db.execute(absl::StrCat("PRAGMA synchronous = FULL; PRAGMA cache_size = -", kCacheKib)));
  if (state != SchemaState::kCurrent) TF_RETURN_IF_ERROR(migrate(db));
  return db.execute("PRAGMA foreign_keys = ON");  // migrate turned them off
}

// Refuses what is none of ours while nothing is made beside it yet: a lock file cannot be taken away again,
// since another process may have opened it by then. With a log beside it, which is there as long as somebody
// writes, only who has the lock can tell.
absl::Status check_ours(const std::string& path) {
  if (is_missing(path)) return absl::OkStatus();
  for (const char* log : {"-wal", "-journal"})
    if (!is_missing(companion_of(path, log))) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> file, Connection::open(path, Access::kFileAlone));
  return schema_state(*file).status();
}

absl::Status missing(const std::string& path) {
  return with_remedy(
      absl::StatusCode::kNotFound, absl::StrCat("there is no database ", path),
      absl::StrCat("check the path, or make it with `tuner tune --db ", path, "` or `tuner import`"),
      Between::kSemicolon);
}

}  // namespace

const StoreScheme kSqlite = {
    .name = "sqlite",
    .form = "FILE or sqlite:FILE",
    .suffix = "",
    .open_records = [](const std::string& path, const ReadOptions&) { return open_sqlite_records(path); },
    .open_store = [](const std::string& path,
                     const WriteOptions& write) { return open_sqlite_store(path, {.write = write}); }};

absl::StatusOr<WritableFile> open_writable_file(const std::string& path, const std::string& locked_remedy) {
  // SQLite takes it for a database that nobody keeps.
  if (path.empty()) return absl::InvalidArgumentError("the path of the database is empty: give --db FILE");
  TF_RETURN_IF_ERROR(check_local_file_system(path));
  TF_RETURN_IF_ERROR(check_ours(path));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, FileLock::acquire(path, locked_remedy));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<Connection> writer, Connection::open(path, Access::kWrite));
  TF_ASSIGN_OR_RETURN(SchemaState state, schema_state(*writer));
  TF_RETURN_IF_ERROR(failpoint("database.opened"));
  TF_RETURN_IF_ERROR(prepare_for_writing(*writer, state));
  TF_RETURN_IF_ERROR(failpoint("database.prepared"));
  return WritableFile{std::move(lock), std::move(writer)};
}

absl::StatusOr<std::unique_ptr<Store>> open_sqlite_store(const std::string& path,
                                                         const SqliteOptions& options) {
  TF_ASSIGN_OR_RETURN(WritableFile file, open_writable_file(path, options.write.locked_remedy));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<Connection> reader, Connection::open(path, Access::kReadOnly));
  return std::make_unique<FileStore>(std::move(file.lock), std::move(file.connection), std::move(reader),
                                     options);
}

std::unique_ptr<Store> make_memory_store() {
  absl::StatusOr<std::unique_ptr<Store>> store = open_memory();
  TF_CHECK(store.ok()) << store.status();
  return *std::move(store);
}

absl::Status check_makeable(const std::string& path) {
  TF_RETURN_IF_ERROR(check_local_file_system(path));
  const std::string folder = folder_of(path);
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return absl::OkStatus();
  const int reason = errno;
  return with_remedy(absl::ErrnoToStatusCode(reason),
                     absl::StrCat("cannot make the database ", path, ": folder ", folder,
                                  " cannot be written (", std::generic_category().message(reason), ")"),
                     "allow it or give another path", Between::kSemicolon);
}

bool is_missing(const std::string& path) {
  return ::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

absl::StatusOr<std::unique_ptr<Records>> open_sqlite_records(const std::string& path) {
  if (is_missing(path)) return missing(path);
  TF_RETURN_IF_ERROR(check_local_file_system(path));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Connection::open(path, Access::kReadOnly));
  TF_ASSIGN_OR_RETURN(SchemaState state, schema_state(*connection));
  if (state == SchemaState::kEmpty) {
    return with_remedy(absl::StatusCode::kFailedPrecondition,
                       absl::StrCat("cannot read ", path, ": it is empty, not a tuning database"),
                       "give another path", Between::kSemicolon);
  }
  if (state == SchemaState::kOlder) {
    return with_remedy(absl::StatusCode::kFailedPrecondition,
                       absl::StrCat("cannot read ", path, ": its schema is older than this program's"),
                       "any writing command, such as `tuner import`, brings it up to date",
                       Between::kSemicolon);
  }
  return std::make_unique<SqliteView<Records>>(std::move(connection));
}

}  // namespace tf::database
