// Reading ONNX models.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"
#include "vernier/ir/import_note.h"

namespace vernier {

struct ImportedModel {
  Model model;
  uint64_t hash = 0;  // of the bytes of the model file, external data not included
  size_t file_bytes = 0;
  // Holds the calls of local functions: the name of the call, before which '/' the nodes of the body have
  // theirs, and the operator that it was, "domain::name".
  std::map<std::string, std::string> calls;
  std::vector<ImportNote> notes;  // what was wrong in the file and was not trusted, e.g. declared shapes
};

// Says what to do about operators that are not known: throw unsupported, or keep them for who looks at the
// rest of the model, with a note on each.
enum class UnknownOperators : uint8_t { kRefuse, kKeep };

// The messages of the notes.
std::vector<std::string> messages_of(const std::vector<ImportNote>& notes);

// The newest opset of ai.onnx and the newest IR version that import understands.
inline constexpr int64_t kNewestOpset = 28;
inline constexpr int64_t kNewestIrVersion = 14;

// Local functions are inlined, external data is mapped, types and shapes are inferred. Throws bad_input for
// damaged or inconsistent files and unsupported for operators and versions that are not known; both name file
// and node.
ImportedModel import_model(const std::filesystem::path& path,
                           UnknownOperators unknown = UnknownOperators::kRefuse);
// The same from memory; external data is looked for in `folder`, whose links may lead to `linked`, too.
ImportedModel import_model(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                           const std::filesystem::path& linked = {},
                           UnknownOperators unknown = UnknownOperators::kRefuse);

}  // namespace vernier
