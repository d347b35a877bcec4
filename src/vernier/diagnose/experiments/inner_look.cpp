#include "vernier/diagnose/experiments/inner_look.h"

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/experiments/failing_node.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

constexpr size_t kMostAlone = 32;  // nodes of a group that are run by themselves

class Look {
 public:
  Look(const InnerLookJob& job, Stopwatch& watch) : job_(job), watch_(watch) {}

  InnerLook run() && {
    // State is what is left of the run before, so there is none in between.
    if (job_.tested->can_run()) show_before();
    result_.shown = show({});
    if (const double changed = change(); !(changed <= allowed())) {
      if (!job_.fails) return nothing_seen();
      look_unchanged();
    } else {
      look_closer(std::move(result_.shown));
    }
    run_nodes_alone();
    result_.notes.insert(result_.notes.end(), result_.shown.notes.begin(), result_.shown.notes.end());
    return std::move(result_);
  }

 private:
  ShownRun show(std::optional<std::vector<std::string>> values) {
    ShowOptions options;
    options.values = std::move(values);
    options.most_bytes = job_.most_bytes;
    job_.tested->limit_time(watch_.left());
    return watch_.time("inner values", 1, [&] { return job_.tested->show(*job_.inputs, options); });
  }

  void show_before() {
    ShowOptions options;
    options.most_bytes = job_.most_bytes;
    options.in_batches = false;  // they would have to be kept beside those of the other run
    job_.tested->limit_time(watch_.left());
    try {
      result_.before = watch_.time("inner values", 1, [&] { return job_.tested->show(job_.other, options); });
    } catch (const Error& error) {
      result_.notes.push_back(fmt::format("a run on other inputs fails: {}", error.message()));
      return;
    }
    if (result_.before->graph == nullptr || !result_.before->batches.empty()) result_.before.reset();
    result_.inputs_before = job_.other;
  }

  // Measures how much showing inner values changes the outputs.
  double change() const {
    return job_.is_repeatable ? bounded_distance(result_.shown.values, *job_.plain, *job_.right) : 0;
  }

  double allowed() const {
    const double error = bounded_distance(*job_.plain, *job_.right, *job_.right);
    constexpr double kPart = 0.1, kRounding = 1e-6;
    // An answer that is right may be rounded otherwise.
    if (job_.fails) return kPart * (std::isfinite(error) ? error : 1);  // 1: all elements are wrong
    return std::max(10 * error, kRounding);
  }

  // The engine is right as long as nobody looks.
  InnerLook nothing_seen() {
    result_.notes.push_back("showing inner values makes another answer of a right one: they tell nothing");
    result_.before.reset();
    ShowOptions options;
    options.values.emplace();
    result_.shown = job_.tested->show(*job_.inputs, options);
    return std::move(result_);
  }

  NarrowingJob narrowing() const {
    return {job_.tested, job_.model, job_.inputs, job_.plain,
            job_.right,  job_.fails, allowed(),   job_.most_bytes};
  }

  // Showing everything makes another answer than the one to be explained.
  void look_unchanged() {
    result_.notes.push_back("with all inner values shown the answer is another one; few are shown at once");
    result_.before.reset();
    const std::vector<std::string> none;
    look_closer(show(none));
  }

  void look_closer(ShownRun start) {
    View view = narrow(narrowing(), std::move(start), watch_);
    result_.shown = std::move(view.shown);
    result_.check = std::move(view.check);
    result_.changing = std::move(view.changing);
    if (!result_.check.is_whole)
      result_.notes.push_back(
          fmt::format("the time was over when {} nodes were checked", result_.check.nodes));
    if (result_.check.not_kept > 0)
      result_.notes.push_back(
          fmt::format("{} more nodes differ on what they read: there is no memory to look into them, which "
                      "--inner-memory gives",
                      result_.check.not_kept));
  }

  // Runs alone the nodes that are seen from outside only.
  void run_nodes_alone() {
    std::vector<FlaggedNode> flagged_nodes;
    for (FlaggedNode& flagged : result_.check.flagged_nodes) {
      const bool is_unseen = ops::is_group(*flagged.node) && result_.changing.empty();
      const size_t nodes = is_unseen ? ops::body(*flagged.node).nodes().size() : 0;
      LoneNodes found;
      if (is_unseen && nodes <= kMostAlone) found = run_alone(*job_.tested, *job_.model, flagged, watch_);
      if (found.is_whole && found.right == nodes && nodes > 0)
        result_.notes.push_back(
            fmt::format("each of the {} nodes around '{}' is right by itself", nodes, flagged.node->name));
      if (found.flagged_nodes.empty()) {
        flagged_nodes.push_back(std::move(flagged));
        continue;
      }
      result_.notes.push_back(fmt::format(
          "{} of {} nodes around '{}' are wrong as models of their own, on values of the reference",
          found.flagged_nodes.size(), nodes, flagged.node->name));
      for (FlaggedNode& each : found.flagged_nodes) flagged_nodes.push_back(std::move(each));
    }
    result_.check.flagged_nodes = std::move(flagged_nodes);
  }

  const InnerLookJob& job_;
  Stopwatch& watch_;
  InnerLook result_;
};

}  // namespace

InnerLook look_inside(const InnerLookJob& job, Stopwatch& watch) {
  return Look(job, watch).run();
}

}  // namespace vernier
