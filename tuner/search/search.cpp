#include "tuner/search/search.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tuner/search/annealing.h"
#include "tuner/search/evolutionary.h"
#include "tuner/search/grid.h"
#include "tuner/search/random.h"

namespace tf::search {

absl::StatusOr<Kind> kind_from_name(std::string_view name) {
  if (name == "random") return Kind::kRandom;
  if (name == "grid") return Kind::kGrid;
  if (name == "annealing") return Kind::kAnnealing;
  if (name == "evolutionary") return Kind::kEvolutionary;
  return absl::InvalidArgumentError(absl::StrCat("no search strategy is called '", std::string(name),
                                                 "': use random, grid, annealing or evolutionary"));
}

std::unique_ptr<Search> make_search(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                    const Options& options) {
  switch (options.kind) {
    case Kind::kRandom:
      return std::make_unique<RandomSearch>(space, evaluator, options.seed);
    case Kind::kGrid:
      return std::make_unique<GridSearch>(space, evaluator);
    case Kind::kAnnealing:
      return std::make_unique<AnnealingSearch>(space, evaluator, options.seed);
    case Kind::kEvolutionary:
      return std::make_unique<EvolutionarySearch>(space, evaluator, options.model, options.seed);
  }
  TF_UNREACHABLE();
  return nullptr;
}

}  // namespace tf::search
