// Reading one sample from one file or folder. Internal to the room.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "vernier/data/data_source.h"
#include "vernier/data/formats/npy.h"
#include "vernier/data/input_shapes.h"
#include "vernier/data/preprocess.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

using NamedFiles =
    std::vector<std::pair<std::string, std::filesystem::path>>;  // name of an input or output, file

// Lists a folder in natural order: test_data_set_2 before test_data_set_10. Throws bad_input if it cannot be
// read.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

// Element types of all inputs and outputs, and of what nodes make.
ElementTypes declared_types(const Model& model);
// Whether values of that name are expected ones: an output's, or those of another value that a node makes.
bool is_expected(const Model& model, const std::string& name);
// Sorts tensors into inputs and expected values, and checks the inputs.
Sample make_sample(const Model& model, std::string origin, NamedData data);

// A folder with input_N.pb and output_N.pb, N being the place among the model's inputs and outputs.
Sample read_test_data_set(const Model& model, const std::filesystem::path& folder);
Sample read_named_files(const Model& model, const std::string& origin, const NamedFiles& files,
                        const InputShapes& shapes, const Preprocess& preprocess);
// The files of a folder, by the input or output that each is named after. Throws bad_input for a file without
// one.
NamedFiles match_files(const Model& model, const std::vector<std::filesystem::path>& files);

// True for the extensions that read_named_files takes, images aside.
bool holds_one_tensor(const std::filesystem::path& path);

// Raw element data without any header, e.g. what trtexec's --loadInputs takes.

// The file must have exactly the bytes of `type` and `dims`, packed where elements are narrower than a byte.
// Throws bad_input naming file, input, expected and actual size: a raw file cannot say what it holds, so its
// size is the only thing that can tell a wrong type or batch.
Tensor read_raw_file(const std::filesystem::path& path, const std::string& input, ElementType type,
                     const Dims& dims);

}  // namespace vernier
