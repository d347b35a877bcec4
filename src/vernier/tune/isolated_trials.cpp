#include "vernier/tune/isolated_trials.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "vernier/base/error.h"
#include "vernier/base/forked_work.h"
#include "vernier/base/thread_limit.h"
#include "vernier/base/threads.h"
#include "vernier/tune/timing_cache.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNoMemory = "ran out of memory";

Json json_of(const TimingCache::Verdicts& verdicts) {
  Json json = Json::object();
  for (const auto& [tactic, verdict] : verdicts) json[tactic] = json_of(verdict);
  return json;
}

TimingCache::Verdicts verdicts_of(const Json& json) {
  TimingCache::Verdicts verdicts;
  for (const auto& [tactic, verdict] : json.items()) verdicts[tactic] = verdict_of(verdict);
  return verdicts;
}

Json json_of(const TacticFindings& findings) {
  return {{"verdicts", json_of(findings.verdicts)},
          {"special", json_of(findings.special)},
          {"times", findings.times}};
}

Json json_of(const Error& error) {
  return {{"code", static_cast<int>(error.code())},
          {"message", error.message()},
          {"file", error.file()},
          {"node", error.node()}};
}

[[noreturn]] void throw_error(const Json& json) {
  throw Error(static_cast<ErrorCode>(json.at("code").get<int>()), json.at("message"))
      .in_file(json.at("file"))
      .at_node(json.at("node"));
}

}  // namespace

// Computes the reference before the fork, because children inherit it and need not compute it each.
void IsolatedTrials::prepare_reference(const TacticFindings& findings) {
  const bool special = std::any_of(tactics_.begin(), tactics_.end(), [&](const std::string& tactic) {
    return !findings.special.contains(tactic);
  });
  const auto start = std::chrono::steady_clock::now();
  try {
    candidates_.trial().prepare_reference(special);
  } catch (const Error&) {
    // It counts only if there is a kernel to be judged: then the child throws it again.
  }
  const std::chrono::duration<double> reference = std::chrono::steady_clock::now() - start;
  step_seconds_ = std::max(hooks_.step_seconds, kTimesReference * reference.count());
}

std::string IsolatedTrials::tactic_of(uint64_t task, const std::string& failure) const {
  if (task == 0) throw internal_error("before a trial began, its child process {}", failure);
  return tactics_.at(task - 1);
}

// The answer of a child: JSON.
std::string IsolatedTrials::work_in_child(const Work& work, const TacticFindings& known) const {
  Json answer;
  try {
    TacticFindings found = known;
    work(found);
    candidates_.forget_kernels();  // what a kernel did to memory may show only when it is destroyed
    answer["found"] = json_of(found);
  } catch (const ChoicesMissing&) {
    answer["choices"] = "missing";
  } catch (const std::bad_alloc&) {
    answer["failure"] = kNoMemory;
  } catch (const Error& error) {
    answer["error"] = json_of(error);
  } catch (const std::exception& error) {
    answer["error"] = json_of(internal_error("{}", error.what()));
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

IsolatedTrials::Outcome IsolatedTrials::run(const Work& work, TacticFindings& findings) {
  const int threads = thread_count();
  const auto task_of = [&](const std::string& tactic) {
    return static_cast<uint64_t>(std::find(tactics_.begin(), tactics_.end(), tactic) - tactics_.begin()) + 1;
  };
  const auto in_child = [&](ForkedProgress& progress) {
    progress.begin(0);
    const ThreadLimit limit(threads);
    hooks_.enter_child();
    candidates_.set_before_step([&](const std::string& tactic) { progress.begin(task_of(tactic)); });
    return work_in_child(work, findings);
  };
  for (;;) {
    const ForkedResult result = run_forked(in_child, step_seconds_);
    if (!result.failure.empty()) return {result.failure, tactic_of(result.task, result.failure)};
    const Json answer = Json::parse(result.answer);
    if (answer.contains("choices")) {
      hooks_.make_choices();
      continue;
    }
    if (answer.contains("error")) throw_error(answer.at("error"));
    if (answer.contains("failure")) {
      const std::string failure = answer.at("failure");
      return {failure, tactic_of(result.task, failure)};
    }
    const Json& found = answer.at("found");
    findings = {verdicts_of(found.at("verdicts")), verdicts_of(found.at("special")),
                found.at("times").get<TimingCache::Times>()};
    return {};
  }
}

void IsolatedTrials::examine(const TimingOptions& how, TacticFindings& findings) {
  prepare_reference(findings);
  const auto all = [&](TacticFindings& found) { candidates_.examine(tactics_, how, found); };
  if (run(all, findings).failure.empty()) return;
  for (const std::string& tactic : tactics_) {
    if (findings.verdicts.contains(tactic)) continue;
    const Outcome alone = run([&](TacticFindings& found) { candidates_.verify({tactic}, found); }, findings);
    if (!alone.failure.empty()) findings.verdicts[tactic] = {.fault = alone.failure + ", in its trial"};
  }
  if (how.budget == 0 || findings.suffice(tactics_)) return;
  for (const std::string& tactic : findings.usable(tactics_)) {
    const Outcome alone =
        run([&](TacticFindings& found) { candidates_.time({tactic}, how, found); }, findings);
    if (!alone.failure.empty()) findings.verdicts[tactic].fault = alone.failure + ", while it was timed";
  }
}

}  // namespace vernier
