#pragma once
// Owns: the interface of search strategies: propose candidates, learn from what they gave. Strategies are
// pure and seeded: the same seed and the same observations in the same order give the same proposals, bit for
// bit. Does not know: I/O, clocks, threads, how a candidate is measured.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tuner/model/evaluator.h"
#include "tuner/model/learned/cost_model.h"
#include "tuner/model/learned/xgboost_model.h"
#include "tuner/space/space.h"

namespace tf::search {

// What came of a candidate. Failures of every kind have no time.
struct Observation {
  space::Candidate candidate;
  std::optional<double> seconds;  // median of one run; unset if it failed, was wrong, or was stopped early
};

// One strategy's search in one design space. Not thread-safe.
class Search {
 public:
  virtual ~Search() = default;

  // Up to `count` legal candidates that were never proposed before, best first; fewer, or none, when the
  // space is used up.
  virtual std::vector<space::Candidate> propose(int count) = 0;

  // Takes results, in any order and number; candidates that this search did not propose (from a database) are
  // welcome.
  virtual void update(std::span<const Observation> observations) = 0;

  // Proposals that were dropped and not measured: as if they had not been proposed. For strategies whose
  // order follows the model; others' proposals are never dropped.
  virtual void take_back(std::span<const space::Candidate> /*proposals*/) {}
};

enum class Kind { kRandom, kGrid, kAnnealing, kEvolutionary, kAnsorLike };
// "random", "grid", "annealing", "evolutionary", "ansor"; INVALID_ARGUMENT lists them.
absl::StatusOr<Kind> kind_from_name(std::string_view name);
std::string_view kind_name(Kind kind);

// Whether it stays as published, for comparison, in all that whoever drives it decides, too: its trees, how a
// candidate is sampled, how a search ends, and that it starts from nothing: no seeds of the space are measured before.
bool is_baseline(Kind kind);

// How the trees of a strategy that learns are grown. The baseline's have the depth and the rate of Ansor's,
// which stops adding them early; here there are always as many.
model::XGBoostOptions booster_options(Kind kind, uint64_t seed);

struct Options {
  Kind kind = Kind::kEvolutionary;
  uint64_t seed = 1;
  model::CostModel* model =
      nullptr;  // of those that learn; not owned; may be shared by the searches of one thread
};

// `space` and `evaluator` must outlive the search.
std::unique_ptr<Search> make_search(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                    const Options& options);

}  // namespace tf::search
