// Samples from files, as `--data` names them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "vernier/data/data_source.h"
#include "vernier/data/input_shapes.h"
#include "vernier/data/preprocess.h"

namespace vernier {

// Opens data files for `model`, which must outlive the source. An argument is
//  - NAME=FILE, with FILE .npy, .pb, raw (.bin, .raw) or an image: all of these together are one sample;
//    FILE alone will do for a model of one input, an image for a model of one input that an image can be;
//  - NAME=FOLDER of images: one sample of each image, together with the other NAME=FILE;
//  - FILE.npz or FILE.safetensors: one sample, by names;
//  - FILE.json of Polygraphy: its samples;
//  - a folder: test_data_set_* folders of ONNX (or one itself), files of the three formats above, images, or
//    one sample of <input>.npy, .pb and .bin (characters that file names cannot have as '_').
// Tensors that bear the name of an output of the model, or of another value that a node makes, are expected
// values. Files that hold nothing else belong to those with inputs, in their order. `shapes` give the sizes
// of raw inputs and images whose dimensions are symbolic. Throws usage_error or bad_input for arguments that
// are none of these and for empty folders.
std::unique_ptr<DataSource> open_data(const Model& model, const std::vector<std::string>& arguments,
                                      const InputShapes& shapes = {}, const Preprocess& preprocess = {});

// Whether open_data takes this file for data where it is given the folder that holds it.
bool is_data_of_folder(const std::filesystem::path& file);

}  // namespace vernier
