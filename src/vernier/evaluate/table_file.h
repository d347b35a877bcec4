// A table of samples with their labels (Parquet), which Python unpacks into files.
#pragma once

#include <filesystem>

#include "vernier/base/file.h"

namespace vernier {

bool is_table_file(const std::filesystem::path& file);

class TableFile {
 public:
  // Unpacks into a temporary folder, which goes with this. Columns: `label` or `text`, and `image` with
  // bytes, as in Hugging Face's data sets, or `file`. Throws unsupported where Python has no pyarrow,
  // bad_input for what is no such table.
  explicit TableFile(const std::filesystem::path& file);
  // JSON lines of the samples.
  std::filesystem::path list() const { return folder_.path() / "samples.jsonl"; }

 private:
  TemporaryFolder folder_;
};

}  // namespace vernier
