// Data for models found in the wild; skipped where the collection is not at hand or an operator is still
// missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "source_dir.h"
#include "vernier/base/file.h"
#include "vernier/data/data_set.h"
#include "vernier/data/random/random_inputs.h"
#include "vernier/data/random/shape_choices.h"
#include "vernier/onnx/import.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> shared_folder(const std::string& name) {
  for (const char* up : {"../shared", "../../shared"}) {
    const fs::path folder = test::source_dir() / up / name;
    if (fs::is_directory(folder)) return folder;
  }
  return std::nullopt;
}

std::vector<fs::path> model_folders(const std::string& collection) {
  std::vector<fs::path> folders;
  if (const auto shared = shared_folder(collection)) {
    for (const auto& entry : fs::directory_iterator(*shared)) {
      if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// The skeletons come without their weights: zeros in a sparse file serve as well here.
ImportedModel import_skeleton(const fs::path& folder) {
  const TemporaryFolder temporary;
  fs::copy_file(folder / "model.onnx", temporary.path() / "model.onnx");
  write_file(temporary.path() / "weights.bin", "");
  fs::resize_file(temporary.path() / "weights.bin", uint64_t{4} << 30);
  return import_model(temporary.path() / "model.onnx");
}

std::optional<ImportedModel> import_or_skip(const fs::path& folder, size_t& skipped) {
  try {
    return fs::exists(folder / "weights.json") ? import_skeleton(folder)
                                               : import_model(folder / "model.onnx");
  } catch (const Error& error) {
    ++skipped;
    fmt::print("{}: {}\n", folder.filename().string(), error.what());
    return std::nullopt;
  }
}

TEST(RealModels, TestDataSetsFitTheirModels) {
  size_t skipped = 0, samples = 0;
  const auto folders = model_folders("models");
  for (const fs::path& folder : folders) {
    const auto imported = import_or_skip(folder, skipped);
    if (!imported) continue;
    const auto source = open_data(imported->model, {folder});
    while (const auto sample = source->next()) {
      EXPECT_TRUE(sample->expected) << folder;
      ++samples;
    }
  }
  fmt::print("{} of {} models, {} samples\n", folders.size() - skipped, folders.size(), samples);
  if (folders.size() == skipped) GTEST_SKIP() << "no models";
}

TEST(RealModels, RandomInputsFitEveryModel) {
  size_t skipped = 0;
  auto folders = model_folders("models");
  const auto skeletons = model_folders("skeletons");
  folders.insert(folders.end(), skeletons.begin(), skeletons.end());
  for (const fs::path& folder : folders) {
    const auto imported = import_or_skip(folder, skipped);
    if (!imported) continue;
    RandomInputs source(imported->model, {});
    bool first = true;
    while (const auto sample = source.next()) {
      fmt::print("{}: {}\n", folder.filename().string(), sample->origin);
      if (!std::exchange(first, false)) continue;
      for (const auto& [name, text] : sample->drawn) fmt::print("  {}: {}\n", name, text);
    }
  }
  if (folders.size() == skipped) GTEST_SKIP() << "no models";
}

struct Expectation {
  std::string model, input;
  double low, high;  // no value may lie outside, and both ends must be near
};

class RealModelValues : public testing::TestWithParam<Expectation> {};

TEST_P(RealModelValues, LieWhereTheGraphNeedsThem) {
  const Expectation& expected = GetParam();
  std::optional<fs::path> folder;
  for (const char* collection : {"models", "skeletons"}) {
    const auto found = shared_folder(collection);
    if (found && fs::exists(*found / expected.model)) folder = *found / expected.model;
  }
  if (!folder) GTEST_SKIP() << "no models";
  size_t skipped = 0;
  const auto imported = import_or_skip(*folder, skipped);
  if (!imported) GTEST_SKIP() << "an operator is missing";
  RandomOptions options;
  options.samples = 20;
  RandomInputs source(imported->model, options);
  double low = INFINITY, high = -INFINITY;
  while (const auto sample = source.next()) {
    for (const double value : sample->inputs.at(expected.input).tensor.to_doubles())
      low = std::min(low, value), high = std::max(high, value);
  }
  const double slack = (expected.high - expected.low) / 50;
  EXPECT_GE(low, expected.low);
  EXPECT_LE(high, expected.high);
  EXPECT_LE(low, expected.low + slack);
  EXPECT_GE(high, expected.high - slack);
}

INSTANTIATE_TEST_SUITE_P(All, RealModelValues,
                         testing::Values(Expectation{"seq2seq-encoder", "input_ids", 0, 59},
                                         Expectation{"tashkeel-fp32", "char_inputs", 0, 51},
                                         Expectation{"tashkeel-fp32", "input_lengths", 1, 128},
                                         Expectation{"bert_base.ts", "input0", 0, 30521},
                                         Expectation{"bert_base.ts", "input1", 0, 1},
                                         Expectation{"bert_base.dyn", "a_0", 0, 30521},
                                         Expectation{"bert_base.dyn", "a_1", 0, 1},
                                         Expectation{"gpt2_6layers.dyn", "a_0", 0, 50256},
                                         Expectation{"llama_4layers.dyn", "a_0", 0, 31999},
                                         Expectation{"clip_text_b32.ts", "input", 0, 49407},
                                         Expectation{"particlenet-ak4", "pf_mask", 0, 1},
                                         Expectation{"magika-v3-3", "bytes", 0, 256},
                                         Expectation{"crnn-lstm-text", "seq_lengths", 32, 32},
                                         Expectation{"silero-vad-v5", "sr", 16000, 16000}),
                         [](const auto& info) {
                           std::string name = info.param.model + "_" + info.param.input;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace vernier
