#include <algorithm>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/data/data_set.h"
#include "vernier/data/formats/images.h"
#include "vernier/data/labelled/label_list.h"
#include "vernier/data/sample_files.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

uint64_t hash_of(const Tensor& tensor) {
  return hash_bytes(tensor.raw(), tensor.byte_size(), hash_text(dims_text(tensor.dims())));
}

Tensor read_labels(const fs::path& file) {
  if (is_idx_file(file)) return read_idx(file);
  try {
    return read_npy_file(file);
  } catch (Error& error) {
    throw error.in_file(file);
  }
}

// Other data: samples as open_data gives them, and labels for all of their rows.
class Sequence : public LabelledSource {
 public:
  Sequence(const Model& model, const LabelledDataOptions& options)
      : source_(open_data(model, options.data, options.shapes, options.preprocess)), file_(options.labels) {
    for (const std::string& each : options.data) hash_ = hash_text(each, hash_);
    if (file_.empty()) return;
    labels_ = read_labels(file_);
    if (labels_->rank() == 0)
      throw bad_input("labels need a row for each row of the data, and this is one number").in_file(file_);
    hash_ = hash_combine(hash_, hash_of(*labels_));
  }

  std::optional<LabelledSample> next() override {
    auto sample = source_->next();
    if (!sample) {
      if (labels_ && at_ != labels_->dims()[0]) throw misfit();
      return std::nullopt;
    }
    LabelledSample result;
    const int64_t rows = row_count(sample->inputs);
    if (labels_) {
      if (at_ + rows > labels_->dims()[0]) throw misfit();
      result.label.values = rows_of(*labels_, at_, rows);
      result.label.file = file_;
      result.label.first_row = static_cast<size_t>(at_);
    }
    at_ += rows;
    result.sample = std::move(*sample);
    return result;
  }

  bool skip() override { return next().has_value(); }
  std::optional<size_t> size() const override { return source_->size(); }
  uint64_t hash() const override { return hash_; }
  bool has_labels() const override { return labels_.has_value(); }
  std::string format() const override {
    return labels_ ? "samples with an array of labels" : "samples without labels";
  }

 private:
  // A sample is one row where there are as many labels as samples.
  int64_t row_count(const NamedData& inputs) const {
    const auto samples = source_->size();
    if (labels_ && samples && static_cast<int64_t>(*samples) == labels_->dims()[0]) return 1;
    for (const auto& [name, datum] : inputs) {
      if (datum.is_tensor() && datum.tensor.rank() > 0) return datum.tensor.dims()[0];
    }
    return 1;
  }

  Error misfit() const {
    return bad_input("there are {} labels, and the data have other rows", labels_->dims()[0])
        .in_file(file_)
        .advise("give one label for each row of the data, in their order");
  }

  std::unique_ptr<DataSource> source_;
  std::string file_;
  std::optional<Tensor> labels_;
  uint64_t hash_ = 0;
  int64_t at_ = 0;
};

// Arrays whose rows are samples; nothing where the file is a sample as a whole.
std::optional<ArrayRows> read_rows(const Model& model, const fs::path& data, const fs::path& label_file) {
  ArrayRows rows{"arrays", data, label_file, {}, {}, {}, 0};
  const auto inputs = required_inputs(model);
  if (is_idx_file(data)) {
    rows.format = "IDX";
    rows.pixels = read_idx(data);
    if (rows.pixels.rank() != 3)
      throw bad_input("holds {}, which are no images", dims_text(rows.pixels.dims())).in_file(data);
    rows.hash = hash_of(rows.pixels);
  } else if (data.extension() == ".npz") {
    rows.inputs = read_npz_file(data, declared_types(model));
  } else if (data.extension() == ".npy" && inputs.size() == 1) {
    rows.inputs[inputs[0]->name] = read_npy_file(data, inputs[0]->type.tensor.element);
  } else {
    return std::nullopt;
  }
  rows.labels = read_labels(label_file);
  if (rows.labels.rank() == 0) return std::nullopt;
  const int64_t count = rows.labels.dims()[0];
  if (rows.pixels.is_defined() && rows.pixels.dims()[0] != count)
    throw bad_input("there are {} labels, and {} images", count, rows.pixels.dims()[0]).in_file(label_file);
  for (const auto& [name, datum] : rows.inputs) {
    if (!datum.is_tensor() || datum.tensor.rank() == 0 || datum.tensor.type() == ElementType::kString)
      return std::nullopt;
    if (datum.tensor.dims()[0] != count)
      throw bad_input("there are {} labels, and '{}' has {} rows", count, name, datum.tensor.dims()[0])
          .in_file(label_file)
          .advise("give one label for each row of the data, in their order");
    rows.hash = hash_combine(rows.hash, hash_of(datum.tensor));
  }
  rows.hash = hash_combine(rows.hash, hash_of(rows.labels));
  return rows;
}

// A list of files, or a folder that is one; nothing for other data.
std::optional<LabelList> read_list(const fs::path& data, const fs::path& labels,
                                   const LabelledDataOptions& options) {
  const fs::path list = labels.empty() ? data : labels;
  const fs::path folder = labels.empty() || !fs::is_directory(data) ? list.parent_path() : data;
  const std::string extension = list.extension();
  if (extension == ".csv") return read_csv(list, folder);
  if (extension == ".jsonl") return read_jsonl(list, folder);
  if (!fs::is_directory(data)) return std::nullopt;
  if (extension == ".json") return read_coco(list, folder);
  if (!labels.empty() && fs::is_directory(labels))
    return read_beside(data, labels, !options.target_output.empty());
  if (!labels.empty()) return std::nullopt;
  const auto entries = list_folder(data);
  const auto is_class = [](const fs::path& entry) {
    return fs::is_directory(entry) && !entry.filename().string().starts_with("test_data_set");
  };
  if (std::none_of(entries.begin(), entries.end(), is_class)) return std::nullopt;
  return read_class_folders(data);
}

}  // namespace

std::unique_ptr<LabelledSource> open_sequence(const Model& model, const LabelledDataOptions& options) {
  return std::make_unique<Sequence>(model, options);
}

std::unique_ptr<LabelledSource> open_labelled_data(const Model& model, const LabelledDataOptions& options) {
  if (options.data.empty())
    throw usage_error("no data are given").advise("give --data: docs/evaluate.md lists the forms");
  const fs::path data = options.data.front(), labels = options.labels;
  if (options.data.size() == 1) {
    std::error_code ignored;
    if (!labels.empty() && !fs::exists(labels, ignored)) throw bad_input("does not exist").in_file(labels);
    if (auto list = read_list(data, labels, options)) return open_list(model, std::move(*list), options);
    if (!labels.empty() && fs::is_regular_file(data, ignored)) {
      if (auto rows = read_rows(model, data, labels)) return open_rows(model, std::move(*rows), options);
    }
  }
  return open_sequence(model, options);
}

}  // namespace vernier
