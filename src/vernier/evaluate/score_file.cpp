#include "vernier/evaluate/score_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/data/formats/npy.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

// Calls visit(sample, row).
template <class Visit>
void for_each_row(const EvaluationPart& whole, const Visit& visit) {
  for (const SampleScores& sample : whole.scores) {
    size_t rows = 0;
    for (const auto& of_metric : sample.scores)
      rows = std::max(rows, of_metric[whole.subject.against].size());
    for (size_t row = 0; row < rows; ++row) visit(sample, row);
  }
}

// Null where a runner failed, or where the metric has a score for the whole sample alone.
const RowScore* score_of(const SampleScores& sample, size_t metric, size_t runner, size_t row) {
  const RowScores& rows = sample.scores[metric][runner];
  return row < rows.size() ? &rows[row] : nullptr;
}

std::string lines_of(const EvaluationPart& whole) {
  const auto& runners = whole.subject.runners;
  const auto& metrics = whole.subject.metrics;
  std::string text;
  for_each_row(whole, [&](const SampleScores& sample, size_t row) {
    for (size_t r = 0; r < runners.size(); ++r) {
      Json line = {
          {"sample", sample.index}, {"row", row}, {"origin", sample.origin}, {"runner", runners[r].name}};
      for (size_t m = 0; m < metrics.size(); ++m) {
        const RowScore* score = score_of(sample, m, r, row);
        if (score == nullptr) continue;
        line[metrics[m].name] = score->value;
        if (!std::isnan(score->margin)) line[metrics[m].name + "/margin"] = score->margin;
      }
      text += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }
  });
  return text;
}

std::string arrays_of(const EvaluationPart& whole) {
  std::vector<int64_t> samples, rows;
  std::map<std::string, std::vector<double>> columns;
  for_each_row(whole, [&](const SampleScores& sample, size_t row) {
    samples.push_back(static_cast<int64_t>(sample.index));
    rows.push_back(static_cast<int64_t>(row));
    for (size_t m = 0; m < whole.subject.metrics.size(); ++m) {
      for (size_t r = 0; r < whole.subject.runners.size(); ++r) {
        const RowScore* score = score_of(sample, m, r, row);
        const std::string name = whole.subject.runners[r].name + "/" + whole.subject.metrics[m].name;
        columns[name].push_back(score == nullptr ? std::nan("") : score->value);
        columns[name + "/margin"].push_back(score == nullptr ? std::nan("") : score->margin);
      }
    }
  });
  const Dims dims{static_cast<int64_t>(samples.size())};
  NamedData arrays{{"sample", Tensor::from_ints(ElementType::kInt64, dims, samples)},
                   {"row", Tensor::from_ints(ElementType::kInt64, dims, rows)}};
  for (const auto& [name, values] : columns)
    arrays[name] = Tensor::from_doubles(ElementType::kDouble, dims, values);
  return write_npz(arrays);
}

}  // namespace

void write_scores(const std::filesystem::path& file, const EvaluationPart& whole) {
  write_file(file, file.extension() == ".npz" ? arrays_of(whole) : lines_of(whole));
}

}  // namespace vernier
