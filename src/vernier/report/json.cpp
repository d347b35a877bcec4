#include <nlohmann/json.hpp>

#include "vernier/report/json_number.h"
#include "vernier/report/report.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json number(double value) {
  return json_number<Json>(value);
}

Json scalar(const Scalar& value) {
  return std::visit(
      []<class T>(const T& element) -> Json {
        if constexpr (std::is_same_v<T, double>)
          return number(element);
        else if constexpr (std::is_same_v<T, std::complex<double>>)
          return Json{{"real", number(element.real())}, {"imag", number(element.imag())}};
        else
          return element;
      },
      value);
}

Json histogram(const ErrorHistogram& counts) {
  Json decades = Json::object();
  for (size_t i = 0; i < counts.decades.size(); ++i) {
    const int decade = ErrorHistogram::kFirstDecade + static_cast<int>(i);
    if (counts.decades[i] > 0) decades[std::to_string(decade)] = counts.decades[i];
  }
  return {{"exact", counts.exact}, {"not_finite", counts.not_finite}, {"decades", decades}};
}

Json metrics(const Metrics& from) {
  Json result{{"elements", from.elements},
              {"mismatching", from.mismatching},
              {"nan_mismatches", from.nan_mismatches},
              {"inf_mismatches", from.inf_mismatches},
              {"nan_in_both", from.nan_in_both},
              {"inf_in_both", from.inf_in_both}};
  if (from.distances) {
    const Distances& distances = *from.distances;
    result["max_abs"] = number(distances.max_abs);
    result["mean_abs"] = number(distances.mean_abs);
    result["rmse"] = number(distances.rmse);
    result["relative_l2"] = number(distances.relative_l2);
    result["cosine"] = number(distances.cosine);
    result["sqnr_db"] = number(distances.sqnr_db);
    if (distances.max_ulp) result["max_ulp"] = number(*distances.max_ulp);
    result["required_atol"] = number(distances.required_atol);
    result["required_rtol"] = number(distances.required_rtol);
  }
  if (from.argmax_agreement) result["argmax_agreement"] = number(*from.argmax_agreement);
  if (from.top_k_agreement) result["top_k_agreement"] = number(*from.top_k_agreement);
  if (from.histogram) result["histogram"] = histogram(*from.histogram);
  return result;
}

Json tensor(const TensorComparison& from) {
  Json result{
      {"value", from.value},
      {"output", from.is_output},
      {"verdict", verdict_name(from.verdict)},
      {"reasons", from.reasons},
      {"type", element_type_name(from.type)},
      {"dims", from.dims},
      {"samples", from.samples},
      {"failed_samples", from.failed_samples},
      {"nodes", from.nodes},
      {"tolerance",
       {{"atol", from.tolerance.atol}, {"rtol", from.tolerance.rtol}, {"source", from.tolerance.source}}},
      {"metrics", metrics(from.metrics)}};
  if (from.worst) {
    result["worst"] = {{"sample", from.worst->sample},
                       {"part", from.worst->part},
                       {"index", from.worst->index},
                       {"expected", scalar(from.worst->expected)},
                       {"actual", scalar(from.worst->actual)}};
  }
  for (const Decision& each : from.decisions) {
    result["decisions"].push_back({{"node", each.node},
                                   {"op", each.op},
                                   {"chosen", number(each.chosen)},
                                   {"other", number(each.other)},
                                   {"margin", number(each.margin)},
                                   {"error", number(each.error)},
                                   {"rows_swapped", each.rows_swapped}});
  }
  return result;
}

Json comparison(const ComparisonResult& from) {
  Json result{{"reference", from.reference},
              {"actual", from.actual},
              {"verdict", verdict_name(from.verdict)},
              {"reasons", from.reasons},
              {"notes", from.notes},
              {"samples", from.samples},
              {"random_data_only", from.random_data}};
  if (from.first_difference) {
    const TensorComparison& first = from.tensors[*from.first_difference];
    result["first_difference"] = {{"value", first.value}, {"nodes", first.nodes}};
  }
  result["tensors"] = Json::array();
  for (const TensorComparison& each : from.tensors) result["tensors"].push_back(tensor(each));
  return result;
}

}  // namespace

std::string report_json(const Report& report) {
  Json result{{"schema", "vernier-report"},  {"version", kSchemaVersion},
              {"command", report.command},   {"verdict", verdict_name(report.verdict())},
              {"options", report.options},   {"environment", report.environment},
              {"comparisons", Json::array()}};
  for (const ComparisonResult& each : report.comparisons) result["comparisons"].push_back(comparison(each));
  result["samples"] = report.samples;
  result["drawn"] = report.drawn;
  result["notes"] = report.notes;
  result["withdrawn"] = report.withdrawn;
  result["failures"] = report.failures;
  result["noise"] = Json::object();
  for (const auto& [value, floor] : report.noise) result["noise"][value] = number(floor);
  result["accuracies"] = Json::array();
  for (const AccuracyLine& each : report.accuracies)
    result["accuracies"].push_back({{"runner", each.runner}, {"right", each.right}, {"rows", each.rows}});
  // Names come from the model and need not be UTF-8.
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vernier
