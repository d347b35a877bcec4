#include "vernier/cli/verbs/evaluation_outcome.h"
#include "vernier/evaluate/part_file.h"

namespace vernier {

std::function<int()> declare_merge(CLI::App& app, CommonOptions& common) {
  struct Options {
    std::vector<std::string> parts;
    EvaluationFiles files;
  };
  auto options = std::make_shared<Options>();
  app.add_option("PART", options->parts, "what `evaluate --shard I/N --json PART` wrote, all N of them")
      ->required();
  options->files.declare(app);
  return [options, &common] {
    options->files.page.require();
    std::vector<NamedPart> parts;
    for (const std::string& file : options->parts) parts.push_back({file, read_part(file)});
    const EvaluationPart whole = merge_parts(std::move(parts));
    const OwnedMetrics metrics(whole.subject.metrics);
    return finish_evaluation(whole, metrics, options->files, common, "");
  };
}

}  // namespace vernier
