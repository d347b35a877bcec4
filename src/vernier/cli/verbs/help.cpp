// `vernier help`: what verbs and options there are, for people and, as JSON, for what makes manual pages,
// completion of shells and the reference of them (packaging/manual.py).
#include <nlohmann/json.hpp>

#include "vernier/cli/checks.h"
#include "vernier/cli/verb.h"
#include "vernier/cli/verbs/help_index.h"
#include "vernier/page/page.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

Json option_as_json(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  const bool is_flag = option.get_type_size() == 0;
  return {{"names", names},
          {"argument", option.get_positional() ? option.get_single_name() : ""},
          {"value", is_flag ? "" : option.get_type_name()},
          {"default", is_flag || option.get_default_str() == "[]" ? "" : option.get_default_str()},
          {"required", option.get_required()},
          {"repeats", option.get_expected_max() > 1},
          {"description", option.get_description()}};
}

Json verb_as_json(const CLI::App& verb) {
  Json options = Json::array();
  for (const CLI::Option* option : verb.get_options()) options.push_back(option_as_json(*option));
  return {{"name", verb.get_name()},
          {"summary", verb.get_description()},
          {"options", options},
          {"footer", verb.get_footer()}};
}

// In the order of the list that --help prints.
Json program_as_json(const CLI::App& program) {
  Json verbs = Json::array();
  for (const CLI::App* verb : program.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(verb_as_json(*verb));
  Json described = {{"name", program.get_name()},
                    {"version", VERNIER_VERSION},
                    {"summary", program.get_description()},
                    {"page", has_page()},
                    {"verbs", verbs}};
  add_answers(described);
  return described;
}

const CLI::App& named(const CLI::App& program, const std::string& verb) {
  if (verb.empty()) return program;
  for (const CLI::App* each : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name() == verb) return *each;
  }
  throw usage_error("there is no verb '{}'", verb).advise("`vernier help` lists all");
}

}  // namespace

std::function<int()> declare_help(CLI::App& app, CommonOptions& common) {
  struct Options {
    std::string verb, format = "text";
  };
  auto options = std::make_shared<Options>();
  app.add_option("VERB", options->verb, "of which the options are told; none: the verbs");
  app.add_option("--format", options->format,
                 "text, or json: all verbs with all their options, and every code that is reported")
      ->check(CLI::IsMember({"text", "json"}));
  return [options, &app, &common] {
    const CLI::App& program = *app.get_parent();
    const CLI::App& told = named(program, options->verb);
    if (options->format == "text")
      say(common, told.help());
    else
      say(common, (&told == &program ? program_as_json(program) : verb_as_json(told)).dump(1) + "\n");
    return 0;
  };
}

}  // namespace vernier
