#include "tuner/search/search.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tuner/search/strategies.h"

namespace tf::search {

absl::StatusOr<Kind> kind_from_name(std::string_view name) {
  for (const Kind kind :
       {Kind::kRandom, Kind::kGrid, Kind::kAnnealing, Kind::kEvolutionary, Kind::kAnsorLike}) {
    if (name == kind_name(kind)) return kind;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no search strategy '", std::string(name),
                                                 "': use random, grid, annealing, evolutionary or ansor"));
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kRandom:
      return "random";
    case Kind::kGrid:
      return "grid";
    case Kind::kAnnealing:
      return "annealing";
    case Kind::kEvolutionary:
      return "evolutionary";
    case Kind::kAnsorLike:
      return "ansor";
  }
  TF_UNREACHABLE();
  return "";
}

bool is_baseline(Kind kind) {
  return kind == Kind::kAnsorLike;
}

model::XGBoostOptions booster_options(Kind kind, uint64_t seed) {
  if (!is_baseline(kind)) return {.seed = seed};
  // As published, its trees say how fast a candidate is, not by how much an estimate is wrong.
  return {
      .lesson = model::Lesson::kSpeed, .rounds = 300, .max_depth = 10, .learning_rate = 0.2, .seed = seed};
}

std::unique_ptr<Search> make_search(const space::DesignSpace& space, const model::Evaluator& evaluator,
                                    const Options& options) {
  switch (options.kind) {
    case Kind::kRandom:
      return make_random(space, evaluator, options.seed);
    case Kind::kGrid:
      return make_grid(space, evaluator);
    case Kind::kAnnealing:
      return make_annealing(space, evaluator, options.seed);
    case Kind::kEvolutionary:
      return make_evolutionary(space, evaluator, options.model, options.seed);
    case Kind::kAnsorLike:
      return make_ansor_like(space, evaluator, options.model, options.seed);
  }
  TF_UNREACHABLE();
  return nullptr;
}

}  // namespace tf::search
