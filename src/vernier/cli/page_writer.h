// The page of a verb: what it draws, and the file.
#pragma once

#include <memory>
#include <vector>

#include "vernier/cli/options/page_options.h"
#include "vernier/compare/verdict.h"
#include "vernier/engine/engine.h"
#include "vernier/exec/runner.h"
#include "vernier/page/page.h"

namespace vernier {

// The model, with the steps and the precision of an engine that runs it, if there is one; as JSON.
std::string drawn_model(const std::string& path, const Graph& graph, const Plan* plan = nullptr,
                        const Engine* engine = nullptr);
// With those of the first engine of Vernier among the runners, as it was built for their first sample.
std::string drawn_model(const std::string& path, const Graph& graph, const std::vector<Runner*>& runners);

// Completes the content by the command, and writes the page.
void write_page(const PageOptions& options, PageContent content);

}  // namespace vernier
