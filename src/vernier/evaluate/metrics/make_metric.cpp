#include <algorithm>
#include <charconv>

#include "vernier/evaluate/metrics/metrics.h"

namespace vernier {

namespace {

// "topk:3" is "topk" of 3.
double argument_of(const std::string& name, double otherwise) {
  const size_t colon = name.find(':');
  if (colon == std::string::npos) return otherwise;
  double value = 0;
  const auto [end, error] = std::from_chars(name.data() + colon + 1, name.data() + name.size(), value);
  if (error != std::errc() || end != name.data() + name.size() || !(value > 0))
    throw usage_error("--metric '{}': what stands behind the colon is no number above 0", name);
  return value;
}

std::unique_ptr<TaskMetric> make_built_in(const MetricOptions& options) {
  const std::string& name = options.name;
  const std::string family = name.substr(0, name.find(':'));
  if (name == "top1" || name == "accuracy") return make_top_k(options, 1);
  if (name == "top5") return make_top_k(options, 5);
  if (family == "topk") {
    const double k = argument_of(name, 0);
    if (k < 1 || k != static_cast<double>(static_cast<size_t>(k)))
      throw usage_error("--metric '{}' needs a whole number: topk:3", name);
    return make_top_k(options, static_cast<size_t>(k));
  }
  if (name == "f1" || name == "f1:macro") return make_f1(options, false);
  if (name == "f1:binary") return make_f1(options, true);
  if (name == "auroc") return make_auroc(options);
  if (name == "iou" || name == "miou") return make_overlap(options, Overlap::kIou);
  if (name == "dice") return make_overlap(options, Overlap::kDice);
  if (family == "psnr") return make_psnr(options, argument_of(name, 0));
  if (family == "ssim") return make_ssim(options, argument_of(name, 0));
  if (name == "rmse") return make_rmse(options);
  if (name == "cosine") return make_cosine(options);
  if (name == "agreement") return make_agreement(options);
  if (name == "agreement:boxes") return make_box_agreement(options);
  return nullptr;
}

}  // namespace

std::string metric_names() {
  return "top1, top5, topk:K, accuracy, f1, f1:binary, auroc, iou, dice, psnr[:PEAK], ssim[:PEAK], rmse, "
         "cosine, "
         "agreement, agreement:boxes, coco-map, wer, cer";
}

std::unique_ptr<TaskMetric> make_task_metric(const MetricOptions& given) {
  MetricOptions options = given;
  if (options.output.empty() && !options.outputs.empty()) options.output = options.outputs.front();
  if (std::find(options.outputs.begin(), options.outputs.end(), options.output) == options.outputs.end())
    throw usage_error("--labels-output '{}' is no output", options.output);
  if (is_process_metric(options.name)) return make_process_metric(options);
  if (auto metric = make_built_in(options)) return metric;
  throw usage_error("--metric '{}' is none of {}, and no file of Python", options.name, metric_names())
      .advise("a file NAME.py with a function metric(outputs, labels) measures anything else");
}

const Tensor& output_of(const NamedData& outputs, const std::string& name) {
  const auto found = outputs.find(name);
  if (found == outputs.end()) throw bad_input("there is no output '{}'", name);
  return found->second.as_tensor();
}

const Tensor& wanted_of(const ScoredSample& sample, const std::string& output) {
  const Tensor& made = output_of(sample.outputs, output);
  const bool labelled = sample.label.values.is_defined();
  const Tensor& wanted = labelled ? sample.label.values : output_of(sample.reference, output);
  if (wanted.dims() == made.dims()) return wanted;
  // One number for each row may stand without further dimensions.
  if (labelled && wanted.size() == made.size() && (wanted.rank() <= 1 || made.rank() <= 1)) return wanted;
  Error error = bad_input("the output '{}' has sizes {}, and what it should be {}", output,
                          dims_text(made.dims()), dims_text(wanted.dims()));
  if (labelled) error.in_file(sample.label.file);
  throw error;
}

std::vector<int64_t> classes_of(const Label& label, size_t count, const std::string& metric) {
  const auto refuse = [&](Error error) {
    return error.in_file(label.file).advise("docs/evaluate.md lists the forms of labels");
  };
  if (!label.values.is_defined())
    throw refuse(bad_input("--metric {} needs classes as integers, and this is none", metric));
  if (!is_integer(label.values.type()) && label.values.type() != ElementType::kBool)
    throw refuse(bad_input("--metric {} needs classes as integers, and these labels are {}", metric,
                           element_type_short_name(label.values.type())));
  if (label.values.size() != static_cast<int64_t>(count))
    throw refuse(bad_input("there are {} labels for {} rows of the output", label.values.size(), count));
  return label.values.to_ints();
}

void require_class(int64_t wanted, const DecidedRows& rows, const Label& label, size_t row) {
  const bool known = wanted >= 0 && (rows.classes() == 0 || wanted < static_cast<int64_t>(rows.classes()));
  if (!known)
    throw bad_input("label {} at index {} is none of the {} classes", wanted, label.first_row + row,
                    rows.classes())
        .in_file(label.file)
        .advise("labels count from 0; a background class shifts them");
}

}  // namespace vernier
