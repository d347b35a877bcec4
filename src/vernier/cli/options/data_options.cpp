#include "vernier/cli/options/data_options.h"

#include <fmt/ranges.h>

#include "vernier/data/data_set.h"
#include "vernier/data/random/random_inputs.h"

namespace vernier {

void DataOptions::declare(CLI::App& app) {
  app.add_option(
         "--data", files,
         "test_data_set_* folder, .npz, .safetensors, Polygraphy .json, NAME=FILE.npy|.pb|.bin, an image "
         "or a folder of images, NAME=them (default: random inputs that suit the graph)")
      ->type_name("D");
  app.add_option("--preprocess", preprocess, "what is done to images; see below")->type_name("P");
  app.add_option("--samples", samples, "random samples of each set of shapes")->check(CLI::PositiveNumber);
  app.add_option("--shapes", shapes,
                 "sizes of inputs, e.g. 'x:1x3x640x480'; naming an input again begins another set")
      ->type_name("INPUT:DIMS");
  app.add_option("--val-range", val_range, "range of random values, e.g. 'x:[-1,1]'")
      ->type_name("[INPUT:][LOW,HIGH]");
}

std::unique_ptr<DataSource> DataOptions::open(const Model& model, uint64_t seed) const {
  const auto sets = parse_shapes(shapes);
  if (!is_random())
    return open_data(model, files, sets.empty() ? InputShapes{} : sets[0], parse_preprocess(preprocess));
  return std::make_unique<RandomInputs>(model,
                                        RandomOptions{seed, samples, parse_value_ranges(val_range), sets});
}

void DataOptions::add_effective(std::map<std::string, std::string>& options) const {
  const auto add = [&](const char* name, const std::vector<std::string>& list, const char* otherwise) {
    options[name] = list.empty() ? otherwise : fmt::format("{}", fmt::join(list, " "));
  };
  add("data", files, "random");
  if (is_random())
    options["samples"] = std::to_string(samples);
  else
    options["preprocess"] = preprocess;
  add("shapes", shapes, "chosen");
  add("val-range", val_range, "chosen");
}

void ComparisonOptions::declare(CLI::App& app) {
  data.declare(app);
  app.add_option("--atol", atol,
                 "absolute tolerance, for all outputs of floats or complex numbers, or for one: 1e-3, "
                 "out:1e-3; integers obey it by name only (default: derived)")
      ->type_name("[OUT:]A");
  app.add_option("--rtol", rtol,
                 "relative tolerance, |a-b| <= atol + rtol*|ref|; given as --atol is (default: derived)")
      ->type_name("[OUT:]R");
  app.add_option("--constant-output", constant_values,
                 "a value that is constant by nature, which is no reason for mistrust")
      ->type_name("VALUE");
}

CompareOptions ComparisonOptions::compare() const {
  CompareOptions compare;
  for (const auto& text : atol) compare.tolerances.atol.parse(text);
  for (const auto& text : rtol) compare.tolerances.rtol.parse(text);
  compare.constant_values.insert(constant_values.begin(), constant_values.end());
  compare.random_data = data.is_random();
  return compare;
}

}  // namespace vernier
