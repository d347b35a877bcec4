#include "vernier/cli/options/page_options.h"

#include "vernier/cli/checks.h"
#include "vernier/cli/foreign/equivalent.h"
#include "vernier/page/page.h"

namespace vernier {

namespace {

void declare_file(CLI::App& app, const char* option, std::string& file, const std::string& help) {
  app.add_option(option, file, help)->type_name("FILE")->check(must_not_be_empty);
}

std::vector<std::string>& words_of_command() {
  static std::vector<std::string> words;
  return words;
}

}  // namespace

void PageOptions::declare_html(CLI::App& app) {
  declare_file(app, "--html", html, "write the report as a page that any browser opens from disk");
}

void PageOptions::declare_node_data(CLI::App& app, const std::string& what) {
  declare_file(app, "--node-data", node_data, "write " + what + " as node data of Model Explorer");
}

void PageOptions::declare_trace(CLI::App& app) {
  declare_file(app, "--trace", trace,
               "write the steps of --profile in Chrome's trace format, which ui.perfetto.dev opens");
}

void PageOptions::require() const {
  if (!html.empty()) require_page();
}

void remember_command(const std::vector<std::string>& words) {
  words_of_command() = words;
}

std::string command_text() {
  return shell_text({words_of_command()});
}

}  // namespace vernier
