// Lists what the program can answer with: exit statuses, errors, verdicts, classes of failures and findings,
// each with the page of docs/ that explains it. packaging/manual.py makes docs/errors.md and manual pages of
// it.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace vernier {

// Adds `exit_statuses`, `errors`, `verdicts`, `classes` and `findings` to the description of the program.
void add_answers(nlohmann::ordered_json& program);

}  // namespace vernier
