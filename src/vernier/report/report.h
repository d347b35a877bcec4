// The report on comparisons, as text for a terminal and as JSON for programs (docs/report.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/compare/compare.h"

namespace vernier {

// How often the largest element of a row was its label.
struct AccuracyLine {
  std::string runner;
  int64_t right = 0, rows = 0;
};

struct Report {
  std::string command;                             // the verb: "run", "build"
  std::map<std::string, std::string> options;      // effective ones, defaults included
  std::map<std::string, std::string> environment;  // CPU, GPU, driver, library versions, model hash
  std::vector<ComparisonResult> comparisons;
  std::vector<std::string> samples = {};          // where each came from
  std::map<std::string, std::string> drawn = {};  // of random inputs: from which values, and why
  std::vector<std::string> notes = {};            // what is odd in the model or the data, and was run around
  std::vector<std::string> withdrawn = {};    // samples of automatic sizes that the model refuses, and why
  std::vector<std::string> failures = {};     // runs that ended in an error
  std::map<std::string, double> noise = {};   // relative L2 of an output under rounding noise, where measured
  std::vector<AccuracyLine> accuracies = {};  // where labels were given

  // The worst of all comparisons; without any, nothing was compared.
  Verdict verdict() const;
};

struct ReportTextOptions {
  size_t max_rows = 20;    // of each table; the worst come first, and what is left out is counted
  size_t max_details = 5;  // values explained below each table
  bool colour = false;     // ANSI colours for verdicts
  bool preamble = true;    // options and environment
};

// Control characters and damaged UTF-8 in names are escaped: they come from the model.
std::string report_text(const Report& report, const ReportTextOptions& options = {});

// One JSON document that follows docs/report.schema.json. NaN and Inf are the strings "nan", "inf" and
// "-inf".
std::string report_json(const Report& report);

}  // namespace vernier
