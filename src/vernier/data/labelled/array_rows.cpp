#include <algorithm>

#include "vernier/base/hash.h"
#include "vernier/data/formats/images.h"
#include "vernier/data/labelled/label_list.h"
#include "vernier/data/sample_files.h"

namespace vernier {

Tensor rows_of(const Tensor& tensor, int64_t first, int64_t count) {
  Dims dims = tensor.dims();
  const size_t row = dims[0] == 0 ? 0 : tensor.byte_size() / static_cast<size_t>(dims[0]);
  dims[0] = count;
  const auto* from = static_cast<const std::byte*>(tensor.raw()) + static_cast<size_t>(first) * row;
  return Tensor::borrow(tensor.type(), std::move(dims), from, std::make_shared<Tensor>(tensor));
}

namespace {

class RowSource : public LabelledSource {
 public:
  RowSource(const Model& model, ArrayRows rows, const LabelledDataOptions& options)
      : model_(model), rows_(std::move(rows)), options_(options), count_(rows_.labels.dims()[0]) {
    const auto inputs = required_inputs(model);
    batch_ = options.batch;
    bool is_fixed = false;
    for (const Value* input : inputs) {
      if (!input->type.is_tensor() || !input->type.tensor.shape) continue;
      const Shape& shape = *input->type.tensor.shape;
      const auto given = rows_.inputs.find(input->name);
      const bool lacks_rows = given != rows_.inputs.end() &&
                              static_cast<int64_t>(shape.size()) + 1 == given->second.as_tensor().rank();
      if (lacks_rows) {
        bare_.push_back(input->name);
        batch_ = 1;
        is_fixed = true;
      } else if (const auto fixed = shape.empty() ? std::nullopt : shape[0].constant()) {
        batch_ = *fixed;
        is_fixed = true;
      }
    }
    if (rows_.pixels.is_defined()) batch_ = 1;
    if (batch_ < 1 || (is_fixed && count_ % batch_ != 0))
      throw bad_input("has {} rows, and the model takes {} at once", count_, batch_)
          .in_file(rows_.file)
          .advise("give a number of rows that is a multiple");
  }

  std::optional<LabelledSample> next() override {
    if (at_ == count_) return std::nullopt;
    LabelledSample result;
    const int64_t rows = rows_at();
    const std::string origin =
        rows == 1 ? fmt::format("{}, row {}", rows_.file.string(), at_)
                  : fmt::format("{}, rows {} to {}", rows_.file.string(), at_, at_ + rows - 1);
    result.sample = make_sample(model_, origin, rows_.pixels.is_defined() ? image() : arrays());
    result.label.values = rows_of(rows_.labels, at_, rows);
    result.label.file = rows_.label_file.string();
    result.label.first_row = static_cast<size_t>(at_);
    at_ += rows;
    return result;
  }

  bool skip() override {
    if (at_ == count_) return false;
    at_ += rows_at();
    return true;
  }

  std::optional<size_t> size() const override { return static_cast<size_t>((count_ + batch_ - 1) / batch_); }
  uint64_t hash() const override { return rows_.hash; }
  std::string format() const override { return rows_.format; }

 private:
  // How many rows the next sample has: the last may have fewer.
  int64_t rows_at() const { return std::min(batch_, count_ - at_); }

  NamedData arrays() const {
    NamedData inputs;
    for (const auto& [name, datum] : rows_.inputs) {
      Tensor part = rows_of(datum.as_tensor(), at_, rows_at());
      if (std::find(bare_.begin(), bare_.end(), name) != bare_.end())
        part = part.reshaped({part.dims().begin() + 1, part.dims().end()});
      inputs[name] = std::move(part);
    }
    return inputs;
  }

  // The grey pixels of a row, as an image file has them.
  NamedData image() const {
    const Dims& dims = rows_.pixels.dims();
    const Value& input = image_input(model_);
    Tensor rgb(ElementType::kUint8, {dims[1], dims[2], 3});
    const auto to = rgb.mutable_values<uint8_t>();
    const auto from = rows_.pixels.values<uint8_t>().subspan(static_cast<size_t>(at_) * to.size() / 3);
    for (size_t i = 0; i < to.size(); ++i) to[i] = from[i / 3];
    return {
        {input.name, prepared_image(rgb, input, options_.preprocess, symbols_of(model_, options_.shapes))}};
  }

  const Model& model_;
  ArrayRows rows_;
  LabelledDataOptions options_;
  int64_t count_, batch_ = 1, at_ = 0;
  std::vector<std::string> bare_;  // inputs that have no dimension for rows
};

}  // namespace

std::unique_ptr<LabelledSource> open_rows(const Model& model, ArrayRows rows,
                                          const LabelledDataOptions& options) {
  return std::make_unique<RowSource>(model, std::move(rows), options);
}

}  // namespace vernier
