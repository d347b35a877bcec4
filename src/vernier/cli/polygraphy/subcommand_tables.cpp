// Which options each subcommand of Polygraphy has.
#include "vernier/cli/polygraphy/polygraphy_command.h"

namespace vernier {

namespace {

using enum OptionValues;
using Table = std::vector<ForeignOption>;

void append(Table& to, Table rows) {
  for (ForeignOption& row : rows) to.push_back(std::move(row));
}

// Rows of another subcommand, of which this one does nothing: what asks for nothing here is said to.
Table unused(Table rows, const char* reason) {
  for (ForeignOption& row : rows) {
    if (row.fate != OptionFate::kMapped) continue;
    row.fate = OptionFate::kIgnored;
    row.meaning = reason;
    row.take = {};
  }
  return rows;
}

ForeignOption output_option(PolygraphyCommand& c) {
  return mapped_value({"-o", "--output", "--json"}, "-o, or --json of `check lint`",
                      [&c](const std::string& file) { c.output = file; });
}

ForeignOption conversion_option(PolygraphyCommand& c) {
  return mapped_value({"--convert-to"}, "onnx: export; trt: build",
                      [&c](const std::string& kind) { c.convert_to = kind; });
}

Table inspecting(const std::string& name, PolygraphyCommand& c) {
  Table table = polygraphy_inspect_options(c);
  if (name == "inspect data") return table;
  constexpr const char* kShown = "the ONNX model is shown as its file has it, whatever an engine makes of it";
  if (name == "inspect capability")
    table.push_back(refused({"-o", "--output"}, kOne,
                            "no parts of the model are written; the nodes that no kernel takes are listed"));
  append(table, unused({conversion_option(c)}, kShown));
  append(table, unused(polygraphy_model_options(c), kShown));
  append(table, unused(polygraphy_build_options(c), kShown));
  return table;
}

Table linting(PolygraphyCommand& c) {
  Table table = {output_option(c)};
  append(table, unused(polygraphy_model_options(c), "the model is checked as its file has it"));
  append(table, polygraphy_data_options(c));
  append(table, unused(polygraphy_runner_options(c),
                       "no runtime is asked, unless `-- --onnxruntime` is added to Vernier's command"));
  return table;
}

Table converting(PolygraphyCommand& c) {
  Table table = {output_option(c), conversion_option(c)};
  table.push_back(refused(
      {"--onnx-outputs", "--trt-outputs", "--onnx-outputs-by-type", "--trt-outputs-by-type"}, kSeveral,
      "the outputs of an engine are those of its model; `vernier run --layers` shows inner "
      "values"));
  append(table, polygraphy_model_options(c));
  append(table, polygraphy_data_options(c));
  append(table, polygraphy_build_options(c));
  return table;
}

}  // namespace

std::vector<ForeignOption> polygraphy_options(const std::string& subcommand, PolygraphyCommand& command) {
  Table table = polygraphy_log_options();
  if (subcommand.starts_with("inspect")) {
    append(table, inspecting(subcommand, command));
  } else if (subcommand == "check lint") {
    append(table, linting(command));
  } else if (subcommand == "convert") {
    append(table, converting(command));
  } else {
    if (subcommand.starts_with("debug")) append(table, polygraphy_debug_options(command));
    if (subcommand == "debug reduce") table.push_back(output_option(command));
    append(table, polygraphy_model_options(command));
    append(table, polygraphy_data_options(command));
    append(table, polygraphy_build_options(command));
    append(table, polygraphy_runner_options(command));
    append(table, polygraphy_compare_options(command));
  }
  return table;
}

}  // namespace vernier
