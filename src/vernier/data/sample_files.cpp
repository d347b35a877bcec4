#include "vernier/data/sample_files.h"

#include <algorithm>

#include "vernier/base/file.h"
#include "vernier/data/formats/images.h"
#include "vernier/data/formats/npy.h"
#include "vernier/onnx/data_file.h"
#include "vernier/tensor/packing.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

const Value* find_named(const std::vector<Value*>& values, const std::string& name) {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](const Value* value) { return value->name == name; });
  return found == values.end() ? nullptr : *found;
}

// Finds a value that a node of the main graph makes; null for others.
const Value* find_made(const Model& model, const std::string& name) {
  for (const auto& node : model.graph->nodes()) {
    for (const Value* output : node->outputs) {
      if (output != nullptr && output->name == name) return output;
    }
  }
  return nullptr;
}

// input_0.pb, input_1.pb, … up to the first that is missing. Throws bad_input if there are others.
std::vector<fs::path> numbered_files(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> files;
  for (;; files.push_back(folder / fmt::format("{}{}.pb", prefix, files.size()))) {
    if (!fs::exists(folder / fmt::format("{}{}.pb", prefix, files.size()))) break;
  }
  for (const fs::path& entry : list_folder(folder)) {
    const std::string name = entry.filename();
    const bool counts = name.starts_with(prefix) && entry.extension() == ".pb";
    if (counts && std::find(files.begin(), files.end(), entry) == files.end()) {
      throw bad_input("'{}' is there, but {}{}.pb is not", name, prefix, files.size()).in_file(folder);
    }
  }
  return files;
}

NamedData read_numbered(const std::vector<fs::path>& files, const std::vector<const Value*>& values) {
  NamedData data;
  for (size_t i = 0; i < files.size(); ++i)
    data[values[i]->name] = read_pb_file(files[i], values[i]->type.kind);
  return data;
}

// Turns a name into one that all file systems take.
std::string file_stem(const std::string& name) {
  std::string stem = name;
  for (char& c : stem) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return stem;
}

bool in_natural_order(const fs::path& a, const fs::path& b) {
  const auto key = [](const fs::path& path) {
    const std::string name = path.filename();
    const size_t digits = name.find_last_not_of("0123456789") + 1;
    const std::string number = name.substr(std::min(name.find_first_not_of('0', digits), name.size()));
    return std::tuple(name.substr(0, digits), number.size(), number, name);
  };
  return key(a) < key(b);
}

}  // namespace

std::vector<fs::path> list_folder(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  if (error) throw bad_input("cannot be read: {}", error.message()).in_file(folder);
  std::sort(entries.begin(), entries.end(), in_natural_order);
  return entries;
}

ElementTypes declared_types(const Model& model) {
  ElementTypes types;
  for (const auto& node : model.graph->nodes()) {
    for (const Value* output : node->outputs) {
      if (output != nullptr && output->type.is_tensor()) types[output->name] = output->type.tensor.element;
    }
  }
  for (const auto* values : {&model.graph->outputs, &model.graph->inputs}) {
    for (const Value* value : *values) types[value->name] = value->type.tensor.element;
  }
  return types;
}

bool is_expected(const Model& model, const std::string& name) {
  return find_named(model.graph->inputs, name) == nullptr &&
         (find_named(model.graph->outputs, name) != nullptr || find_made(model, name) != nullptr);
}

Sample make_sample(const Model& model, std::string origin, NamedData data) {
  Sample sample;
  sample.origin = std::move(origin);
  for (auto& [name, datum] : data) {
    const bool expected = is_expected(model, name);
    if (expected && !sample.expected) sample.expected.emplace();
    (expected ? *sample.expected : sample.inputs)[name] = std::move(datum);
  }
  try {
    sample.notes = fit_inputs(model, sample.inputs);
  } catch (Error& error) {
    throw error.in_file(sample.origin);
  }
  return sample;
}

Sample read_test_data_set(const Model& model, const fs::path& folder) {
  const auto input_files = numbered_files(folder, "input_"), output_files = numbered_files(folder, "output_");
  // Old models list their weights among the inputs; data sets then number only those that need data, as a
  // rule.
  std::vector<const Value*> inputs = required_inputs(model);
  if (input_files.size() > inputs.size())
    inputs.assign(model.graph->inputs.begin(), model.graph->inputs.end());
  if (input_files.size() > inputs.size()) {
    throw bad_input("there are {} input files, but the model has {} inputs", input_files.size(),
                    inputs.size())
        .in_file(folder);
  }
  const std::vector<const Value*> outputs(model.graph->outputs.begin(), model.graph->outputs.end());
  if (!output_files.empty() && output_files.size() != outputs.size()) {
    throw bad_input("there are {} output files, but the model has {} outputs", output_files.size(),
                    outputs.size())
        .in_file(folder);
  }
  Sample sample = make_sample(model, folder.string(), read_numbered(input_files, inputs));
  if (!output_files.empty()) sample.expected = read_numbered(output_files, outputs);
  return sample;
}

Sample read_named_files(const Model& model, const std::string& origin, const NamedFiles& files,
                        const InputShapes& shapes, const Preprocess& preprocess) {
  const SymbolValues symbols = symbols_of(model, shapes);
  NamedData data;
  std::string notes;
  for (const auto& [name, path] : files) {
    const Value* value = find_named(model.graph->inputs, name);
    if (value == nullptr) value = find_named(model.graph->outputs, name);
    if (value == nullptr) value = find_made(model, name);
    if (value == nullptr) value = &find_input(model, name);  // throws
    const std::string extension = path.extension();
    Datum datum;
    if (extension == ".npy") {
      datum = read_npy_file(path, value->type.tensor.element);
    } else if (extension == ".pb") {
      datum = read_pb_file(path, value->type.kind);
    } else if (is_image_file(path)) {
      ImageInput image = read_image(path, *value, preprocess, symbols);
      datum = std::move(image.tensor);
      if (!image.note.empty()) notes += ", " + image.note;
    } else {
      datum = read_raw_file(path, name, value->type.tensor.element, input_dims(*value, symbols, shapes));
    }
    if (!data.emplace(name, std::move(datum)).second)
      throw bad_input("input '{}' is given twice", name).in_file(path);
  }
  Sample sample = make_sample(model, origin, std::move(data));
  sample.origin += notes;
  return sample;
}

NamedFiles match_files(const Model& model, const std::vector<fs::path>& files) {
  NamedFiles named;
  for (const fs::path& file : files) {
    const std::string stem = file.stem();
    const Value* match = nullptr;
    for (const auto* values : {&model.graph->inputs, &model.graph->outputs}) {
      for (const Value* value : *values) {
        if (match == nullptr && (value->name == stem || file_stem(value->name) == stem)) match = value;
      }
    }
    if (match == nullptr)
      throw bad_input("no input or output of the model has the name of this file").in_file(file);
    named.emplace_back(match->name, file);
  }
  return named;
}

bool holds_one_tensor(const fs::path& path) {
  const std::string extension = path.extension();
  return extension == ".npy" || extension == ".pb" || extension == ".bin" || extension == ".raw";
}

Tensor read_raw_file(const std::filesystem::path& path, const std::string& input, ElementType type,
                     const Dims& dims) {
  if (type == ElementType::kString) {
    throw unsupported("input '{}' holds strings, which a raw file cannot", input)
        .in_file(path)
        .advise("use .npy or .npz");
  }
  return read_mapped(path, [&](auto bytes) {
    const size_t expected = packed_size(type, element_count(dims));
    if (bytes.size() != expected) {
      throw bad_input("input '{}' is {}{}, which takes {} bytes, but the file has {} bytes", input,
                      element_type_short_name(type), dims_text(dims), expected, bytes.size())
          .in_file(path)
          .advise("raw data must have the element type and the sizes of the input exactly");
    }
    return unpack(type, dims, bytes);
  });
}

}  // namespace vernier
