#include "vernier/cli/page_writer.h"

#include <filesystem>

#include "vernier/base/file.h"
#include "vernier/engine/engine_runner.h"

namespace vernier {

std::string drawn_model(const std::string& path, const Graph& graph, const Plan* plan, const Engine* engine) {
  PageGraph drawn{.name = std::filesystem::path(path).filename().string(), .graph = &graph};
  if (plan != nullptr) drawn.steps = describe_steps(*plan);
  if (plan != nullptr && engine != nullptr) drawn.audit = engine->audit(*plan);
  return page_graph_json(drawn);
}

std::string drawn_model(const std::string& path, const Graph& graph, const std::vector<Runner*>& runners) {
  for (Runner* runner : runners) {
    const auto* made = dynamic_cast<EngineRunner*>(&runner->original());
    if (made == nullptr) continue;
    const auto& engine = made->engine();
    const auto& prepared = engine->prepared();
    if (!prepared.empty()) return drawn_model(path, graph, prepared.front().plan.get(), engine.get());
  }
  return drawn_model(path, graph);
}

void write_page(const PageOptions& options, PageContent content) {
  content.command = command_text();
  write_file(options.html, page_html(content));
}

}  // namespace vernier
