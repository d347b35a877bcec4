#include "vernier/onnx/import.h"

#include <google/protobuf/io/coded_stream.h>

#include <limits>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/onnx/dimension_expressions.h"
#include "vernier/onnx/graph_import.h"
#include "vernier/ops/infer_known.h"

namespace vernier {

namespace {

void parse(std::span<const std::byte> bytes, onnx::ModelProto& proto) {
  if (bytes.empty()) throw bad_input("is empty");
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    throw bad_input("is larger than 2 GB, which protobuf cannot hold")
        .advise("store the weights as external data");
  }
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(200);
  if (!proto.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    throw bad_input("is not an ONNX model, or is damaged")
        .advise("check the file, e.g. its size and how it was copied");
  }
  if (!proto.has_graph()) throw bad_input("has no graph").advise("the file may be another kind of protobuf");
}

void check_versions(const onnx::ModelProto& proto) {
  if (proto.ir_version() < 1) throw bad_input("has the IR version {}", proto.ir_version());
  if (proto.ir_version() > kNewestIrVersion)
    throw unsupported("IR version {} is newer than {}", proto.ir_version(), kNewestIrVersion);
  for (const auto& entry : proto.opset_import()) {
    const std::string domain = canonical_domain(entry.domain());
    const auto newest = newest_opset(domain);
    if (entry.version() < 1) throw bad_input("imports opset {} of '{}'", entry.version(), entry.domain());
    if (newest && entry.version() > *newest) {
      throw unsupported("opset {} of {} is newer than {}", entry.version(),
                        domain.empty() ? "ai.onnx" : domain, *newest)
          .advise("export the model for an older opset");
    }
  }
}

Model model_of(const onnx::ModelProto& proto, ExternalData& external, ImportedModel& imported) {
  Model model;
  model.ir_version = proto.ir_version();
  for (const auto& entry : proto.opset_import())
    model.opsets.emplace_back(canonical_domain(entry.domain()), entry.version());
  // Functions may import domains that the model itself does not.
  for (const auto& function : proto.functions()) {
    for (const auto& entry : function.opset_import()) {
      if (model.opset(canonical_domain(entry.domain())) == 0)
        model.opsets.emplace_back(canonical_domain(entry.domain()), entry.version());
    }
  }
  model.producer = proto.producer_name();
  model.producer_version = proto.producer_version();
  model.domain = proto.domain();
  model.doc = proto.doc_string();
  model.model_version = proto.model_version();
  for (const auto& entry : proto.metadata_props()) model.metadata.emplace_back(entry.key(), entry.value());
  GraphImporter importer(proto, external, imported.notes);
  model.graph = importer.import();
  imported.calls = importer.calls();
  read_dimension_expressions(*model.graph);
  for (const auto& assumed : importer.assumed_opsets()) {
    if (model.opset(assumed.first) == 0) model.opsets.push_back(assumed);
  }
  return model;
}

}  // namespace

std::vector<std::string> messages_of(const std::vector<ImportNote>& notes) {
  std::vector<std::string> messages;
  messages.reserve(notes.size());
  for (const ImportNote& note : notes) messages.push_back(note.message);
  return messages;
}

ImportedModel import_model(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                           const std::filesystem::path& linked, UnknownOperators unknown) {
  ImportedModel imported;
  imported.hash = hash_bytes(bytes.data(), bytes.size());
  imported.file_bytes = bytes.size();
  onnx::ModelProto proto;
  parse(bytes, proto);
  check_versions(proto);
  ExternalData external(folder, linked);
  imported.model = model_of(proto, external, imported);
  proto.Clear();
  for (const Value* input : imported.model.graph->inputs) {
    if (input->type.is_tensor() && input->type.tensor.element == ElementType::kUndefined)
      throw bad_input("input '{}' has no element type", input->name);
  }
  const auto [report, unknown_nodes] =
      unknown == UnknownOperators::kKeep ? ops::infer_known_types(*imported.model.graph)
                                         : ops::PartialInference{ops::infer_types(*imported.model.graph), {}};
  for (const Node* node : unknown_nodes) {
    imported.notes.push_back(
        {"S11-unknown-operator", node->name,
         fmt::format("operator {} of domain '{}' is not known: the model does not run here, and what follows "
                     "from the node is judged as far as types are declared",
                     node->op, node->domain.empty() ? "ai.onnx" : node->domain),
         "replace it, or give the model a local function of that name"});
  }
  for (const auto& conflict : report.conflicts) {
    imported.notes.push_back({"S1-declared-type", "",
                              fmt::format("value '{}' is declared {} but is {}; the declaration is not used",
                                          conflict.value, conflict.declared, conflict.inferred),
                              "run shape inference over the model again, or drop its value_info"});
  }
  return imported;
}

ImportedModel import_model(const std::filesystem::path& path, UnknownOperators unknown) {
  try {
    return read_mapped(path, [&](auto bytes) {
      return import_model(bytes, path.parent_path(), linked_folder(path), unknown);
    });
  } catch (Error& error) {
    throw error.in_file(path.string());
  }
}

}  // namespace vernier
