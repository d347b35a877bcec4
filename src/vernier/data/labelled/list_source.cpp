#include <algorithm>

#include "vernier/base/file.h"
#include "vernier/data/data_set.h"
#include "vernier/data/formats/images.h"
#include "vernier/data/labelled/label_list.h"

namespace vernier {

namespace {

class ListSource : public LabelledSource {
 public:
  ListSource(const Model& model, LabelList list, const LabelledDataOptions& options)
      : model_(model), list_(std::move(list)), options_(options) {}

  std::optional<LabelledSample> next() override {
    if (at_ == list_.files.size()) return std::nullopt;
    const LabelledFile& file = list_.files[at_];
    auto sample = open_data(model_, {file.file.string()}, options_.shapes, options_.preprocess)->next();
    if (!sample) throw bad_input("holds no sample").in_file(file.file);
    Label label = label_of(file);
    if (list_.has_boxes) label.json.insert(label.json.size() - 1, size_text(sample->inputs));
    label.first_row = at_++;
    return LabelledSample{std::move(*sample), std::move(label)};
  }

  bool skip() override {
    if (at_ == list_.files.size()) return false;
    ++at_;
    return true;
  }

  std::optional<size_t> size() const override { return list_.files.size(); }
  uint64_t hash() const override { return list_.hash; }
  std::string format() const override { return list_.format; }
  std::vector<std::string> classes() const override { return list_.classes; }

 private:
  Label label_of(const LabelledFile& file) const {
    using enum LabelledFile::Kind;
    Label label;
    label.file = (file.label_file.empty() ? list_.file : file.label_file).string();
    switch (file.kind) {
      case kClass:
        label.values =
            Tensor::from_ints(ElementType::kInt64, {1}, std::vector<int64_t>{std::stoll(file.text)});
        break;
      case kNumbers:
        label.values = Tensor::from_doubles(ElementType::kDouble,
                                            {1, static_cast<int64_t>(file.numbers.size())}, file.numbers);
        break;
      case kJson: label.json = file.text; break;
      case kXml: label.json = xml_label(file); break;
      case kMask:
        label.values = read_mask(file.label_file, image_input(model_), options_.preprocess, symbols());
        break;
      case kTarget: label.values = target(file.label_file); break;
    }
    return label;
  }

  // Boxes of labels are in pixels of the file, those of models in pixels of the input.
  std::string size_text(const NamedData& inputs) const {
    if (options_.preprocess.crop)
      throw usage_error("--preprocess crops images, and labels have boxes of whole ones")
          .advise("resize without 'crop'");
    const Dims dims = inputs.at(image_input(model_).name).as_tensor().dims();
    const size_t last = dims.size() - 1;
    const bool channels_first = dims[last - 2] == 1 || dims[last - 2] == 3;
    return fmt::format(R"(,"input_size":[{},{}])", dims[channels_first ? last - 1 : last - 2],
                       dims[channels_first ? last : last - 1]);
  }

  SymbolValues symbols() const { return symbols_of(model_, options_.shapes); }

  std::string xml_label(const LabelledFile& file) const {
    std::string classes;
    for (const std::string& name : list_.classes)
      classes += (classes.empty() ? "" : ",") + json_text_of(name);
    return fmt::format(R"({{"classes":[{}],"xml":{}}})", classes, json_text_of(read_file(file.label_file)));
  }

  Tensor target(const std::filesystem::path& file) const {
    const auto& outputs = model_.graph->outputs;
    const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const Value* value) {
      return value->name == options_.target_output;
    });
    if (found == outputs.end()) throw usage_error("'{}' is no output", options_.target_output);
    Preprocess how = options_.target_preprocess;
    how.resize = Preprocess::Resize::kNone;
    how.crop.reset();
    return read_image(file, **found, how, {}).tensor;
  }

  const Model& model_;
  LabelList list_;
  LabelledDataOptions options_;
  size_t at_ = 0;
};

}  // namespace

std::unique_ptr<LabelledSource> open_list(const Model& model, LabelList list,
                                          const LabelledDataOptions& options) {
  if (list.files.empty())
    throw bad_input("holds no labelled data")
        .in_file(list.file)
        .advise("docs/evaluate.md lists the forms of data and labels");
  const std::vector<std::string> wanted =
      options.classes.empty() ? std::vector<std::string>{} : read_class_names(options.classes);
  number_classes(list, wanted);
  return std::make_unique<ListSource>(model, std::move(list), options);
}

}  // namespace vernier
