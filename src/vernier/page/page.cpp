#include "vernier/page/page.h"

#include "vernier/base/error.h"
#include "vernier/page/packing.h"
#include "vernier/page/page_template.h"
#include "vernier/page/reductions.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostBytes = 5'000'000;
constexpr std::string_view kPlace = "<!--payload-->";

std::string text_of(const Json& json) {
  // Names come from the model and need not be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Documents stay the text that they are: no number is read and written again.
std::string payload(const PageContent& content) {
  const Json head = {{"schema", "vernier-page"},     {"version", 1},
                     {"command", content.command},   {"verdict", content.verdict},
                     {"sentence", content.sentence}, {"runs_ms", content.runs_ms},
                     {"dropped", content.left_out}};
  std::string text = text_of(head);
  text.pop_back();  // the closing brace
  const auto add = [&](const char* key, const std::string& document) {
    text += fmt::format(",\"{}\":{}", key, document.empty() ? "null" : document);
  };
  add("report", content.report);
  add("layers", content.layers);
  add("graph", content.graph);
  return text + "}";
}

std::string fitting(const PageContent& content, size_t room) {
  std::string packed = base64(gzip(payload(content)));
  if (packed.size() <= room) return packed;
  Json json = Json::parse(payload(content));
  for (const PageReduction& reduction : page_reductions()) {
    if (!reduction.apply(json)) continue;
    json["dropped"].push_back(reduction.what);
    packed = base64(gzip(text_of(json)));
    if (packed.size() <= room) return packed;
  }
  throw unsupported("the report does not fit into a page of {} MB", kMostBytes / 1'000'000)
      .advise("--json writes all of it");
}

}  // namespace

bool has_page() {
  return !page_template().empty();
}

void require_page() {
  if (!has_page())
    throw unsupported("this program was built without the page of --html, which takes Node.js to build")
        .advise("build Vernier again where node and npm are, or use --json");
}

std::string page_html(const PageContent& content) {
  require_page();
  const std::string_view whole = page_template();
  const size_t place = whole.find(kPlace);
  if (place == std::string_view::npos) throw internal_error("the page has no place for a report");
  constexpr std::string_view kOpening = R"(<script type="application/gzip;base64" id="payload">)";
  const std::string packed = fitting(content, kMostBytes - whole.size() - 2 * kOpening.size());
  return fmt::format("{}{}{}</script>{}", whole.substr(0, place), kOpening, packed,
                     whole.substr(place + kPlace.size()));
}

}  // namespace vernier
