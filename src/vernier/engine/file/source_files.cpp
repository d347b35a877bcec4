#include "vernier/engine/file/source_files.h"

namespace vernier {

SourceFiles::SourceFiles(const Graph& graph) {
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& value : inner.values()) {
      const bool in_memory = value->is_constant() && !value->constant->is_deferred();
      if (!in_memory) continue;
      if (auto file = MappedFile::containing(value->constant->identity())) add(std::move(file));
    }
  });
}

void SourceFiles::add(std::shared_ptr<const MappedFile> file) {
  if (file && std::find(files_.begin(), files_.end(), file) == files_.end())
    files_.push_back(std::move(file));
}

void SourceFiles::require_unchanged() const {
  for (const auto& file : files_) file->require_unchanged();
}

}  // namespace vernier
