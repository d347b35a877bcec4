#include "vernier/data/data_set.h"

#include <algorithm>
#include <filesystem>

#include "vernier/data/formats/images.h"
#include "vernier/data/formats/polygraphy_json.h"
#include "vernier/data/formats/safetensors.h"
#include "vernier/data/sample_files.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

// A file or folder that is read when its turn comes.
struct Part {
  enum class Kind { kTestDataSet, kNpz, kSafetensors, kPolygraphy, kNamedFiles };
  Kind kind;
  fs::path path;
  NamedFiles files = {};        // kNamedFiles
  fs::path expected_file = {};  // of expected values alone, which complete the sample
};

NamedData read_whole_sample(const Part::Kind kind, const fs::path& path, const ElementTypes& types) {
  return kind == Part::Kind::kNpz ? read_npz_file(path, types) : SafetensorsFile::open(path).read_all();
}

std::optional<Part::Kind> kind_of(const fs::path& file) {
  const std::string extension = file.extension();
  if (extension == ".npz") return Part::Kind::kNpz;
  if (extension == ".safetensors") return Part::Kind::kSafetensors;
  if (extension == ".json") return Part::Kind::kPolygraphy;
  return std::nullopt;
}

class DataSet : public DataSource {
 public:
  DataSet(const Model& model, std::vector<Part> parts, InputShapes shapes, const Preprocess& preprocess)
      : model_(model),
        types_(declared_types(model)),
        parts_(std::move(parts)),
        shapes_(std::move(shapes)),
        preprocess_(preprocess) {}

  std::optional<size_t> size() const override {
    const bool open = std::any_of(parts_.begin(), parts_.end(),
                                  [](const Part& part) { return part.kind == Part::Kind::kPolygraphy; });
    return open ? std::nullopt : std::optional(parts_.size());
  }

  std::optional<Sample> next() override {
    if (several_) {
      if (within_ < several_->size()) return next_of_several();
      several_.reset();
    }
    if (part_ == parts_.size()) return std::nullopt;
    const Part& part = parts_[part_++];
    const std::string name = part.path.string();
    switch (part.kind) {
      case Part::Kind::kTestDataSet: return read_test_data_set(model_, part.path);
      case Part::Kind::kNpz:
      case Part::Kind::kSafetensors: {
        NamedData data = read_whole_sample(part.kind, part.path, types_);
        if (!part.expected_file.empty())
          data.merge(read_whole_sample(*kind_of(part.expected_file), part.expected_file, types_));
        return make_sample(model_, name, std::move(data));
      }
      case Part::Kind::kNamedFiles: return read_named_files(model_, name, part.files, shapes_, preprocess_);
      case Part::Kind::kPolygraphy: break;
    }
    several_.emplace(part.path);
    within_ = 0;
    if (several_->size() == 0) throw bad_input("holds no samples").in_file(name);
    return next_of_several();
  }

 private:
  Sample next_of_several() {
    const std::string name = parts_[part_ - 1].path.string();
    Sample sample = make_sample(model_, name, several_->sample(within_, types_));
    sample.origin += fmt::format(", sample {}", within_++);
    return sample;
  }

  const Model& model_;
  ElementTypes types_;
  std::vector<Part> parts_;
  InputShapes shapes_;
  Preprocess preprocess_;
  size_t part_ = 0;                          // the next one
  std::optional<PolygraphyInputs> several_;  // the current part, if it holds more than one sample
  size_t within_ = 0;
};

std::vector<fs::path> images_of(const fs::path& folder) {
  std::vector<fs::path> images = list_folder(folder);
  std::erase_if(images, [](const fs::path& entry) { return !is_image_file(entry); });
  return images;
}

std::vector<Part> parts_of_folder(const Model& model, const fs::path& folder) {
  if (fs::exists(folder / "input_0.pb")) return {{Part::Kind::kTestDataSet, folder}};
  std::vector<Part> parts;
  std::vector<fs::path> tensors;
  const auto refuse_mixture = [&](const fs::path& single) {
    return bad_input("holds both whole samples ('{}') and single tensors ('{}')",
                     parts[0].path.filename().string(), single.filename().string())
        .in_file(folder);
  };
  for (const fs::path& entry : list_folder(folder)) {
    const auto kind = kind_of(entry);
    if (fs::is_directory(entry)) {
      if (entry.filename().string().starts_with("test_data_set"))
        parts.push_back({Part::Kind::kTestDataSet, entry});
    } else if (kind) {
      parts.push_back({*kind, entry});
    } else if (is_image_file(entry)) {
      parts.push_back({Part::Kind::kNamedFiles, entry, {{image_input(model).name, entry}}});
    } else if (holds_one_tensor(entry)) {
      tensors.push_back(entry);
    }
  }
  if (!parts.empty() && !tensors.empty()) throw refuse_mixture(tensors[0]);
  if (!tensors.empty()) parts.push_back({Part::Kind::kNamedFiles, folder, match_files(model, tensors)});
  if (parts.empty()) {
    throw bad_input("holds no data")
        .in_file(folder)
        .advise(
            "it needs test_data_set_* folders, .npz, .safetensors, .json, images, or one .npy or .bin per "
            "input");
  }
  return parts;
}

// NAME=FILE, where NAME is an input and may hold '=' itself.
std::optional<std::pair<std::string, fs::path>> split_named(const Model& model, const std::string& argument) {
  for (size_t at = argument.find('='); at != std::string::npos; at = argument.find('=', at + 1)) {
    const std::string name = argument.substr(0, at);
    const auto has_name = [&](const Value* value) { return value->name == name; };
    const Graph& graph = *model.graph;
    if (std::any_of(graph.inputs.begin(), graph.inputs.end(), has_name) ||
        std::any_of(graph.outputs.begin(), graph.outputs.end(), has_name)) {
      return std::pair(name, fs::path(argument.substr(at + 1)));
    }
  }
  return std::nullopt;
}

// The samples that NAME=PATH arguments make together: one, or one for each image of a folder.
std::vector<Part> parts_of_named(const NamedFiles& named) {
  NamedFiles files;
  const std::pair<std::string, fs::path>* folder = nullptr;
  for (const auto& each : named) {
    if (fs::is_directory(each.second)) {
      if (folder != nullptr) throw usage_error("a second folder of images").in_file(each.second);
      folder = &each;
    } else if (holds_one_tensor(each.second) || is_image_file(each.second) ||
               each.second.extension() == ".dat") {  // raw, as others write it; too common a name in folders
      files.push_back(each);
    } else {
      throw usage_error("holds no single tensor")
          .in_file(each.second)
          .advise("give .npy, .pb, .bin or an image for one input");
    }
  }
  if (folder == nullptr) return {{Part::Kind::kNamedFiles, files[0].second, files}};
  std::vector<Part> parts;
  for (const fs::path& image : images_of(folder->second)) {
    NamedFiles with_image = files;
    with_image.emplace_back(folder->first, image);
    parts.push_back({Part::Kind::kNamedFiles, image, std::move(with_image)});
  }
  if (parts.empty()) throw bad_input("holds no images").in_file(folder->second);
  return parts;
}

// A file that is one tensor of the one input it can be.
Part part_of_tensor(const Model& model, const fs::path& path) {
  if (is_image_file(path)) return {Part::Kind::kNamedFiles, path, {{image_input(model).name, path}}};
  if (!holds_one_tensor(path)) {
    throw usage_error("is no data file of a known format")
        .in_file(path)
        .advise("formats are told by extension: .npz, .npy, .safetensors, .json, .pb, .bin, .png, .jpg, …");
  }
  const auto inputs = required_inputs(model);
  if (inputs.size() != 1) {
    throw usage_error("the model has {} inputs", inputs.size())
        .in_file(path)
        .advise(fmt::format("say which one it is: NAME={}", path.string()));
  }
  return {Part::Kind::kNamedFiles, path, {{inputs[0]->name, path}}};
}

// Whether the file holds values that the model makes, and none that it reads. One that is damaged says so
// when its turn comes.
bool is_expected_alone(const Model& model, const Part& part) {
  if (part.kind != Part::Kind::kNpz && part.kind != Part::Kind::kSafetensors) return false;
  std::vector<std::string> names;
  try {
    names = part.kind == Part::Kind::kNpz ? npz_names(part.path) : SafetensorsFile::open(part.path).names();
  } catch (const Error&) {
    return false;
  }
  return !names.empty() && std::all_of(names.begin(), names.end(),
                                       [&](const std::string& name) { return is_expected(model, name); });
}

// Gives files of expected values to the files of inputs, in order.
void join_expected(const Model& model, std::vector<Part>& parts) {
  if (required_inputs(model).empty() || parts.size() < 2) return;  // a sample may hold outputs alone
  const auto middle = std::stable_partition(
      parts.begin(), parts.end(), [&](const Part& part) { return !is_expected_alone(model, part); });
  const auto samples = middle - parts.begin(), expected = parts.end() - middle;
  if (expected == 0) return;
  const auto takes = [](const Part& part) {
    return part.kind == Part::Kind::kNpz || part.kind == Part::Kind::kSafetensors;
  };
  if (samples != expected || !std::all_of(parts.begin(), middle, takes))
    throw bad_input(
        "holds no inputs, and of {} such files and {} samples nobody can tell which belong "
        "together",
        expected, samples)
        .in_file(middle->path)
        .advise("give one file of expected values for each file of inputs, or put both into one");
  for (auto part = parts.begin(); part != middle; ++part)
    part->expected_file = (middle + (part - parts.begin()))->path;
  parts.erase(middle, parts.end());
}

}  // namespace

std::unique_ptr<DataSource> open_data(const Model& model, const std::vector<std::string>& arguments,
                                      const InputShapes& shapes, const Preprocess& preprocess) {
  std::vector<Part> parts;
  NamedFiles named;
  for (const std::string& argument : arguments) {
    const fs::path path(argument);
    std::error_code ignored;
    if (auto split = split_named(model, argument); split && !fs::exists(path, ignored)) {
      named.push_back(std::move(*split));
    } else if (fs::is_directory(path, ignored)) {
      for (Part& part : parts_of_folder(model, path)) parts.push_back(std::move(part));
    } else if (!fs::exists(path, ignored)) {
      if (const size_t sign = argument.find('='); sign != std::string::npos)
        find_input(model, argument.substr(0, sign));
      throw bad_input("does not exist").in_file(argument);
    } else if (const auto kind = kind_of(path)) {
      parts.push_back({*kind, path});
    } else {
      parts.push_back(part_of_tensor(model, path));
    }
  }
  if (!named.empty()) {
    for (Part& part : parts_of_named(named)) parts.push_back(std::move(part));
  }
  if (parts.empty()) throw usage_error("no data are given");
  join_expected(model, parts);
  return std::make_unique<DataSet>(model, std::move(parts), shapes, preprocess);
}

bool is_data_of_folder(const fs::path& file) {
  return kind_of(file) || is_image_file(file) || holds_one_tensor(file);
}

}  // namespace vernier
