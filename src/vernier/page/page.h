// A report as one page of HTML, which opens from disk and calls nobody (docs/page.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/engine/describe.h"
#include "vernier/precision/audit.h"

namespace vernier {

// The network that a page draws.
struct PageGraph {
  std::string name;
  const Graph* graph = nullptr;
  std::vector<StepDescription> steps = {};  // of an engine that runs it, if any
  PrecisionAudit audit = {};                // of that engine
  PrecisionPlan plan = {};                  // where there is no engine: what is asked for
};

// As JSON; see docs/page.md.
std::string page_graph_json(const PageGraph& from);

struct PageContent {
  std::string command = {};   // as it was typed
  std::string verdict = {};   // by its name; "" for a verb that judges nothing
  std::string sentence = {};  // what the reader needs to know
  std::string report = {};    // the document that --json writes
  std::string layers = {};    // a report on inner values that goes with it; "": none
  std::string graph = {};     // of page_graph_json; "": none
  std::map<std::string, std::vector<double>> runs_ms = {};  // of each run, by runner
  std::vector<std::string> left_out = {};                   // what is not on the page, and why
};

// False in a build without the page, which takes Node.js.
bool has_page();
// Throws unsupported where there is none: to be called before the work that the page would show.
void require_page();
// At most 5 MB: what is left out so that it stays as small is said on the page. Throws unsupported where a
// report is larger even so.
std::string page_html(const PageContent& content);

}  // namespace vernier
