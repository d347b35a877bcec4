// Where a verb writes its report for people who look: as a page, and for other viewers.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace vernier {

struct PageOptions {
  std::string html, node_data, trace;  // files; empty: none

  void declare_html(CLI::App& app);
  // `what`: the figures that nodes get.
  void declare_node_data(CLI::App& app, const std::string& what);
  void declare_trace(CLI::App& app);
  // Throws unsupported, before any work, where a page is asked for that this build has not.
  void require() const;
};

// The command that runs, verb first; of one that runs inside another command, its own.
void remember_command(const std::vector<std::string>& words);
// As a shell reads it.
std::string command_text();

}  // namespace vernier
