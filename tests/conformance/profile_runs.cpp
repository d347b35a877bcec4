#include "conformance/profile_runs.h"

#include "vernier/base/threads.h"
#include "vernier/builder/builder.h"
#include "vernier/engine/describe.h"
#include "vernier/engine/session.h"

namespace fs = std::filesystem;

namespace vernier {

namespace {

std::vector<InputShapes> recorded_sizes(const Model& model, const fs::path& folder) {
  std::vector<InputShapes> recorded;
  for (const fs::path& data_set : data_sets_of(folder)) {
    recorded.emplace_back();
    for (const auto& [name, datum] : read_inputs(model, data_set)) {
      if (datum.is_tensor()) recorded.back()[name] = datum.tensor.dims();
    }
  }
  return recorded;
}

bool is_prepared(const Engine& engine, const NamedData& inputs) {
  const auto types = input_types(engine.graph(), inputs);
  return std::any_of(engine.prepared().begin(), engine.prepared().end(),
                     [&](const auto& each) { return each.inputs == types; });
}

std::string text_of(const InputShapes& shapes) {
  std::vector<std::string> texts;
  for (const auto& [name, dims] : shapes) texts.push_back(name + " " + dims_text(dims));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string ProfileRuns::run(const Model& model, const fs::path& folder, const BuildOptions& options) {
  const FreedModel freed = free_sizes(model, recorded_sizes(model, folder));
  if (!freed.why_none.empty()) {
    ++as_they_were_[freed.why_none];
    const auto source = build_on_demand(model, options);
    return run_data_sets(model, run_of(model, source), folder);
  }
  ++moving_;
  freed_ += freed.freed > 0 ? 1 : 0;
  for (const ShapeProfile* profile : {&freed.at_recorded, &freed.at_others}) {
    std::string why;
    BuildOptions with_profile = options;
    with_profile.profiles = {*profile};
    try {
      why = run_with(freed, folder, with_profile);
    } catch (const Error& error) {
      why = error.what();
    }
    if (!why.empty()) return fmt::format("with the profile {}: {}", profile->text(), why);
  }
  return "";
}

std::string ProfileRuns::run_with(const FreedModel& freed, const fs::path& folder,
                                  const BuildOptions& options) {
  const auto source = build_on_demand(freed.model, options);
  const Run run = run_of(freed.model, source);
  const Run counted = [&](const NamedData& inputs) {
    auto outputs = run(inputs);
    on_demand_ += is_prepared(*source->engine(), inputs) ? 0 : 1;
    return outputs;
  };
  auto why = run_data_sets(freed.model, counted, folder);
  return why.empty() ? run_resized(freed, source->engine(), folder) : why;
}

// By another number of threads than before, so that these sizes have no plan yet.
std::string ProfileRuns::run_resized(const FreedModel& freed, const std::shared_ptr<const Engine>& engine,
                                     const fs::path& folder) {
  for (const auto& neighbours : freed.neighbours) {
    Session session(engine, thread_count() == 1 ? 2 : 1);
    const Run run = [&](const NamedData& inputs) {
      for (const InputShapes& neighbour : neighbours) {
        NamedData others = inputs;
        for (const auto& [name, dims] : neighbour) others[name] = Tensor(inputs.at(name).tensor.type(), dims);
        session.plan(others);
      }
      auto outputs = outputs_of(freed.model, session.run(inputs));
      resized_ += session.plan(inputs)->has_graph() ? 0 : 1;
      return outputs;
    };
    if (auto why = run_data_sets(freed.model, run, folder); !why.empty())
      return fmt::format("after plans for {}: {}", text_of(neighbours.back()), why);
  }
  return "";
}

void ProfileRuns::add(const ProfileRuns& other) {
  for (const auto& [why, cases] : other.as_they_were_) as_they_were_[why] += cases;
  moving_ += other.moving_;
  freed_ += other.freed_;
  on_demand_ += other.on_demand_;
  resized_ += other.resized_;
}

void ProfileRuns::print() const {
  for (const auto& [why, cases] : as_they_were_) fmt::print("as they were: {}: {}\n", cases, why);
  fmt::print(
      "with sizes that move: {}, of which {} had some fixed; runs by plans made on demand: {}, by resized "
      "ones: {}\n",
      moving_, freed_, on_demand_, resized_);
}

}  // namespace vernier
