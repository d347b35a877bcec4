// Lists of files with a label each. Internal to the room.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "vernier/data/labelled/labelled_source.h"

namespace vernier {

struct LabelledFile {
  enum class Kind : uint8_t { kClass, kNumbers, kJson, kMask, kTarget, kXml };

  std::filesystem::path file;
  Kind kind = Kind::kClass;
  std::string text;                  // of kClass its name or number; of kJson, and of some classes, JSON
  std::vector<double> numbers = {};  // kNumbers
  std::filesystem::path label_file;  // kMask, kTarget, kXml
};

struct LabelList {
  std::string format;
  std::filesystem::path file;  // that it was read from; for messages
  std::vector<LabelledFile> files;
  std::vector<std::string> classes;  // where labels are names
  uint64_t hash = 0;
  bool has_boxes = false;  // its JSON is about places in images
};

// DIR/CLASS/FILE. Throws bad_input for folders without classes, or without data in one.
LabelList read_class_folders(const std::filesystem::path& folder);
// CSV with a header `file,label` or `file,text`; names are relative to `folder`. Throws bad_input, naming
// file and line.
LabelList read_csv(const std::filesystem::path& list, const std::filesystem::path& folder);
// A JSON object in each line, {"file": …, "label": …} or {"file": …, "text": …}.
LabelList read_jsonl(const std::filesystem::path& list, const std::filesystem::path& folder);
// COCO's annotations of objects, with the images in `folder`.
LabelList read_coco(const std::filesystem::path& list, const std::filesystem::path& folder);
// A file of labels for each image, of the same name: XML of Pascal VOC, or an image. In one folder with the
// images, NAME_mask.png belongs to NAME.png or NAME.jpg.
LabelList read_beside(const std::filesystem::path& images, const std::filesystem::path& labels,
                      bool are_targets);

// The lines of a file with the name of a class in each.
std::vector<std::string> read_class_names(const std::filesystem::path& file);
// Gives each name its place among the classes, `wanted` or else all names in order. Whole numbers stay.
// Throws bad_input for a name that is none of them.
void number_classes(LabelList& list, const std::vector<std::string>& wanted);

// A source of the samples of a list.
std::unique_ptr<LabelledSource> open_list(const Model& model, LabelList list,
                                          const LabelledDataOptions& options);

// Arrays whose first dimension are rows.

// `pixels` are images as bytes [rows, height, width] to be prepared as images are; else `inputs` are what the
// model takes.
struct ArrayRows {
  std::string format;
  std::filesystem::path file, label_file;
  NamedData inputs;
  Tensor pixels, labels;
  uint64_t hash = 0;
};
std::unique_ptr<LabelledSource> open_rows(const Model& model, ArrayRows rows,
                                          const LabelledDataOptions& options);
// Other data, with an array of labels for all of their rows in order, or none.
std::unique_ptr<LabelledSource> open_sequence(const Model& model, const LabelledDataOptions& options);

// The IDX format of MNIST: bytes behind a header of sizes; .gz is unpacked.
bool is_idx_file(const std::filesystem::path& file);
Tensor read_idx(const std::filesystem::path& file);
Tensor read_idx(std::span<const std::byte> bytes);

// A text as a string of JSON.
std::string json_text_of(const std::string& text);
// The texts of lists: lines of CSV, in each its fields; the others as read_jsonl and read_coco have them.
std::vector<std::vector<std::string>> parse_csv(std::string_view text);
LabelList parse_jsonl(std::string_view text, const std::filesystem::path& list,
                      const std::filesystem::path& folder);
LabelList parse_coco(std::string_view text, const std::filesystem::path& list,
                     const std::filesystem::path& folder);

}  // namespace vernier
