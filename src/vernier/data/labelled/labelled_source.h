// Samples with what is known of them, one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/data/data_source.h"
#include "vernier/data/input_shapes.h"
#include "vernier/data/preprocess.h"

namespace vernier {

// Holds what is known of the rows of a sample.
struct Label {
  // Classes [rows], classes of elements [rows, …], or values; undefined where there are none.
  Tensor values;
  // Only metrics in Python read this JSON: the annotations of an image, a transcript, the name of a file.
  std::string json;
  std::string file;      // that it comes from
  size_t first_row = 0;  // of all labels of the file

  bool is_known() const { return values.is_defined() || !json.empty(); }
};

struct LabelledSample {
  Sample sample;
  Label label;
};

class LabelledSource {
 public:
  virtual ~LabelledSource() = default;
  // The next sample; nothing behind the last. Throws bad_input, naming the file, for damaged data.
  virtual std::optional<LabelledSample> next() = 0;
  // Leaves the next one out; false behind the last.
  virtual bool skip() = 0;
  // The number of samples, where it is known before the end.
  virtual std::optional<size_t> size() const = 0;
  // Covers the list of samples and their labels, not the content of their files.
  virtual uint64_t hash() const = 0;
  virtual bool has_labels() const { return true; }
  // "class folders", "CSV", …: how files were understood.
  virtual std::string format() const = 0;
  // The names of classes in their order, where labels were names.
  virtual std::vector<std::string> classes() const { return {}; }
};

struct LabelledDataOptions {
  std::vector<std::string> data;  // as open_data takes it, or see open_labelled_data
  std::string labels;             // file or folder; empty: with the data, or none
  std::string classes;            // file with the name of a class in each line; empty: sorted names
  int64_t batch = 1;              // rows of arrays that make a sample, where the model leaves that open
  InputShapes shapes;
  Preprocess preprocess;
  // Images beside images are what this output should be, prepared so; empty: they are masks.
  std::string target_output;
  Preprocess target_preprocess;
};

// Rows of the first dimension, `count` from `first` on. They share the memory.
Tensor rows_of(const Tensor& tensor, int64_t first, int64_t count);

// Opens data for `model`, which must outlive the source; docs/evaluate.md lists the forms. Throws usage_error
// and bad_input for what is none of them.
std::unique_ptr<LabelledSource> open_labelled_data(const Model& model, const LabelledDataOptions& options);

}  // namespace vernier
