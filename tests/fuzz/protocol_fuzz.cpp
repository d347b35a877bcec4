#include <nlohmann/json.hpp>

#include "target.h"
#include "vernier/backends/process/runner_answers.h"

// Each kind of answer, as errors of one must not hide those of another.
VERNIER_FUZZ_TARGET([](auto, std::string_view text) {
  const nlohmann::json answer = vernier::parse_answer(text, 1);
  vernier::error_in(answer, "");
  for (const auto& parse : {+[](const nlohmann::json& a) { vernier::hello_answer(a); },
                            +[](const nlohmann::json& a) { vernier::load_answer(a); },
                            +[](const nlohmann::json& a) { vernier::run_answer(a); }}) {
    try {
      parse(answer);
    } catch (const vernier::Error& error) {
      if (error.code() == vernier::ErrorCode::kInternal) throw;
    }
  }
})
