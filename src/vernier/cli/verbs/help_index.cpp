#include "vernier/cli/verbs/help_index.h"

#include <nlohmann/json.hpp>

#include "vernier/check/finding_codes.h"
#include "vernier/compare/verdict.h"
#include "vernier/diagnose/failure_class.h"
#include "vernier/report/events.h"
#include "vernier/vernier_c.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

Json exit_statuses() {
  const auto status = [](int number, const char* name, const char* meaning) {
    return Json{
        {"status", number}, {"name", name}, {"meaning", meaning}, {"page", "docs/report.md#verdicts"}};
  };
  const auto error = [](ErrorCode code, const char* meaning) {
    return Json{{"status", static_cast<int>(code)},
                {"name", error_code_name(code)},
                {"meaning", meaning},
                {"page", "docs/api.md#what-goes-wrong"}};
  };
  return {status(0, "pass", "every verdict is a pass, or there was nothing to judge"),
          status(1, "fail", "a comparison, gate or lint failed, or its evidence is worth nothing"),
          error(ErrorCode::kUsage, "the command line is wrong"),
          error(ErrorCode::kBadInput, "a model, engine or data are damaged or inconsistent"),
          error(ErrorCode::kUnsupported, "this build or machine lacks an operator, a type or a device"),
          error(ErrorCode::kInternal, "a defect of Vernier")};
}

// Lists the errors of the libraries and of the Python package; the first four are exit statuses, too.
Json errors() {
  const auto error = [](vernier_status status, const char* name, const char* python, const char* meaning) {
    return Json{{"code", name},
                {"status", static_cast<int>(status)},
                {"python", python},
                {"meaning", meaning},
                {"page", "docs/api.md#what-goes-wrong"}};
  };
  return {
      error(VERNIER_ERROR_USAGE, "usage", "Usage", "the interface is used in a way that it does not offer"),
      error(VERNIER_ERROR_BAD_INPUT, "bad_input", "BadInput",
            "a model, engine, plan or tensor is damaged or inconsistent"),
      error(VERNIER_ERROR_UNSUPPORTED, "unsupported", "Unsupported",
            "it is valid, but this build or machine cannot do it"),
      error(VERNIER_ERROR_INTERNAL, "internal", "VernierError", "a defect of Vernier"),
      error(VERNIER_ERROR_OUT_OF_MEMORY, "out_of_memory", "OutOfMemory", "there is no memory"),
      error(VERNIER_ERROR_CANCELLED, "cancelled", "Cancelled", "a run was ended by cancel()"),
      error(VERNIER_ERROR_BUSY, "busy", "Busy", "the session has a run under way"),
      error(VERNIER_ERROR_NOT_READY, "not_ready", "NotReady", "outputs are read before they are there")};
}

Json verdicts() {
  const auto verdict = [](Verdict which, const char* meaning) {
    return Json{{"name", verdict_name(which)}, {"meaning", meaning}, {"page", "docs/report.md#verdicts"}};
  };
  return {verdict(Verdict::kPass, "every element was compared and is within its tolerance"),
          verdict(Verdict::kMistrusted, "nothing differs, but the evidence is worth nothing"),
          verdict(Verdict::kNotCompared, "there was nothing to compare"),
          verdict(Verdict::kFail, "something is outside of its tolerance, or is missing")};
}

Json classes() {
  Json all = Json::array();
  for (int number = 1; number <= FailureClass::kClasses; ++number) {
    const FailureClass each(number);
    all.push_back({{"code", each.code()}, {"title", each.title()}, {"page", "docs/diagnosis.md#classes"}});
  }
  return all;
}

const char* page_of(FoundBy found_by) {
  switch (found_by) {
    case FoundBy::kEngine: return "docs/hazards.md#what-an-engine-shows-of-itself";
    case FoundBy::kTarget: return "docs/hazards.md#for-another-runtime";
    default: return "docs/hazards.md";
  }
}

Json findings() {
  Json all = Json::array();
  for (const FindingCode& each : finding_codes())
    all.push_back({{"code", each.code},
                   {"title", each.title},
                   {"found_by", found_by_name(each.found_by)},
                   {"page", page_of(each.found_by)}});
  return all;
}

}  // namespace

void add_answers(Json& program) {
  program["exit_statuses"] = exit_statuses();
  program["errors"] = errors();
  program["verdicts"] = verdicts();
  program["classes"] = classes();
  program["findings"] = findings();
}

}  // namespace vernier
