// A page can do without these, the least important first. Internal to page.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace vernier {

struct PageReduction {
  std::string_view what;  // as the page says it
  // Takes it out of a payload; false where there is none of it.
  bool (*apply)(nlohmann::ordered_json& payload);
};

const std::vector<PageReduction>& page_reductions();

}  // namespace vernier
