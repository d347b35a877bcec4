#include "vernier/diagnose/under_test/recording_under_test.h"

#include <algorithm>

#include "vernier/diagnose/under_test/unshown_regions.h"

namespace vernier {

NamedData RecordingUnderTest::run(const NamedData& inputs) {
  NamedData outputs;
  for (TraceEntry& entry : find_(inputs).entries) {
    if (entry.is_output) outputs[entry.value] = std::move(entry.datum);
  }
  return outputs;
}

ShownRun RecordingUnderTest::show(const NamedData& inputs, const ShowOptions& options) {
  ShownRun shown;
  shown.defaults = default_inputs(*model_.graph);
  std::set<std::string> names;
  for (TraceEntry& entry : find_(inputs).entries) {
    if (!entry.is_output && options.values &&
        std::find(options.values->begin(), options.values->end(), entry.value) == options.values->end())
      continue;
    names.insert(entry.value);
    shown.values[entry.value] = std::move(entry.datum);
  }
  shown.notes.emplace_back("the run was recorded: nothing more can be asked of it");
  shown.graph = group_unshown(*model_.graph, names);
  return shown;
}

NumericsContract RecordingUnderTest::assumed_contract(const Node& node) const {
  return contract_of_black_box(node);
}

}  // namespace vernier
