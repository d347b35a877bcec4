// The files whose bytes an engine computes with.
#pragma once

#include "vernier/base/file.h"
#include "vernier/ir/graph.h"

namespace vernier {

class SourceFiles {
 public:
  SourceFiles() = default;
  // Finds the files that constants of the graph are mapped from.
  explicit SourceFiles(const Graph& graph);
  void add(std::shared_ptr<const MappedFile> file);

  // Throws bad_input, naming the file, if one was changed since it was opened
  // (MappedFile::require_unchanged).
  void require_unchanged() const;
  // Calls `use`, which reads from them. Whatever it makes, or throws, counts for nothing if a file was
  // changed.
  template <class Use>
  void guard(const Use& use) const {
    try {
      use();
    } catch (...) {
      require_unchanged();
      throw;
    }
    require_unchanged();
  }

 private:
  std::vector<std::shared_ptr<const MappedFile>> files_;
};

}  // namespace vernier
