// Options of an engine that keep it from doing what it does wrong.
#include <set>

#include "vernier/diagnose/repairs/candidate.h"

namespace vernier {

void change_options(const RepairContext& context, std::vector<RepairCandidate>& candidates) {
  struct Choice {
    const char *option, *value, *sentence;
    std::set<std::string> classes;
  };
  static const Choice choices[] = {
      {"no-tf32", "", "switch TF32 off", {"B9", "B15"}},
      {"runner-option",
       "session.x64quantprecision=1",
       "multiply unsigned bytes, whose sums it keeps in 32 bits",
       {"B29"}},
      {"deterministic", "", "compute the same bits in every run", {"B42", "B44", "B46"}},
      {"optimization",
       "basic",
       "leave out the optimisations of whole patterns",
       {"B31", "B32", "B35", "B12"}},
      {"optimization",
       "disable",
       "leave out all optimisations of the graph",
       {"B14", "B31", "B32", "B35", "B12"}},
  };
  for (const Choice& choice : choices) {
    if (!choice.classes.contains(context.failure.code()) || !context.repair_builder.takes(choice.option))
      continue;
    RepairCandidate candidate{Repair::Kind::kOption, choice.option,
                              fmt::format("{} (--{}{}{})", choice.sentence, choice.option,
                                          *choice.value == '\0' ? "" : " ", choice.value)};
    candidate.options = {{choice.option, choice.value}};
    candidates.push_back(std::move(candidate));
  }
}

}  // namespace vernier
