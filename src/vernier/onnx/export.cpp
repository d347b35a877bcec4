#include "vernier/onnx/export.h"

#include "vernier/base/file_writer.h"
#include "vernier/onnx/tensor_proto.h"
#include "vernier/tensor/packing.h"

namespace vernier {

namespace {

constexpr size_t kLargestFile = 1'900'000'000;
constexpr size_t kSmallTensor = 1024;
constexpr size_t kAlignment = 4096;  // so that the data can be mapped

class Exporter {
 public:
  Exporter(const Model& model, const std::filesystem::path& path) : model_(model), path_(path) {
    size_t total = 0;
    for_each_graph(*model.graph, [&](const Graph& graph) {
      for (const auto& value : graph.values())
        total += value->is_constant() ? value->constant->byte_size() : 0;
    });
    if (total > kLargestFile) {
      data_name_ = path.filename().string() + ".data";
      const auto data = path.parent_path() / data_name_;
      if (MappedFile::is_mapped(data))
        throw usage_error("weights of the model are read from where they would be written").in_file(data);
      data_.emplace(data);
    }
  }

  void run() {
    onnx::ModelProto proto;
    proto.set_ir_version(model_.ir_version);
    for (const auto& [domain, version] : model_.opsets) {
      auto* entry = proto.add_opset_import();
      entry->set_domain(domain);
      entry->set_version(version);
    }
    proto.set_producer_name(model_.producer);
    proto.set_producer_version(model_.producer_version);
    proto.set_domain(model_.domain);
    proto.set_model_version(model_.model_version);
    proto.set_doc_string(model_.doc);
    for (const auto& [key, value] : model_.metadata) {
      auto* entry = proto.add_metadata_props();
      entry->set_key(key);
      entry->set_value(value);
    }
    write_graph(*model_.graph, *proto.mutable_graph());
    std::string bytes;
    if (!proto.SerializeToString(&bytes))
      throw unsupported("the model is too large for one protobuf file").in_file(path_.string());
    MappedFile::require_all_unchanged();  // weights may have been read from files
    if (data_) data_->commit();
    write_file(path_, bytes);
  }

 private:
  void write_graph(const Graph& graph, onnx::GraphProto& proto) {
    proto.set_name(graph.name.empty() ? "graph" : graph.name);
    for (const Value* input : graph.inputs) write_info(*input, *proto.add_input());
    for (const Value* output : graph.outputs) write_info(*output, *proto.add_output());
    std::set<const Value*> stated(graph.inputs.begin(), graph.inputs.end());
    stated.insert(graph.outputs.begin(), graph.outputs.end());
    for (const auto& value : graph.values()) {
      if (value->declared && !stated.contains(value.get())) write_info(*value, *proto.add_value_info());
      if (!value->is_constant()) continue;
      auto* tensor = proto.add_initializer();
      tensor->set_name(value->name);
      write_constant(*value->constant, *tensor);
    }
    for (const auto& node : graph.nodes()) write_node(*node, *proto.add_node());
  }

  static void write_info(const Value& value, onnx::ValueInfoProto& proto) {
    proto.set_name(value.name);
    // A branch that never runs is not inferred; its values go without a type, as ONNX allows.
    const ValueType& type = value.declared ? *value.declared : value.type;
    if (type.is_tensor() && type.tensor.element == ElementType::kUndefined) return;
    write_type(type, *proto.mutable_type());
  }

  void write_constant(const Tensor& tensor, onnx::TensorProto& proto) {
    if (!data_ || tensor.byte_size() < kSmallTensor || tensor.type() == ElementType::kString)
      return write_tensor(tensor, proto);
    proto.set_data_type(static_cast<int32_t>(tensor.type()));
    for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    const std::string bytes = pack(tensor);
    data_->write(std::string((kAlignment - data_->size() % kAlignment) % kAlignment, '\0'));
    const size_t offset = data_->size();
    data_->write(bytes);
    const auto add = [&](const char* key, const std::string& value) {
      auto* entry = proto.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", data_name_);
    add("offset", std::to_string(offset));
    add("length", std::to_string(bytes.size()));
  }

  void write_node(const Node& node, onnx::NodeProto& proto) {
    if (model_.opset(node.domain) != node.version) {
      throw unsupported("the node has the meaning of opset {} of '{}', but the model imports {}",
                        node.version, node.domain, model_.opset(node.domain))
          .at_node(node.name);
    }
    proto.set_name(node.name);
    proto.set_op_type(node.op);
    proto.set_domain(node.domain);
    for (const Value* input : node.inputs) proto.add_input(input == nullptr ? "" : input->name);
    for (const Value* output : node.outputs) proto.add_output(output == nullptr ? "" : output->name);
    for (const auto& [name, attribute] : node.attributes) {
      auto* entry = proto.add_attribute();
      entry->set_name(name);
      write_attribute(attribute, *entry);
    }
    for (const auto& [name, region] : node.regions) {
      auto* entry = proto.add_attribute();
      entry->set_name(name);
      entry->set_type(onnx::AttributeProto::GRAPH);
      write_graph(*region, *entry->mutable_g());
    }
  }

  void write_attribute(const Attribute& attribute, onnx::AttributeProto& proto) {
    using Kind = onnx::AttributeProto;
    struct Writer {
      Kind& proto;
      void operator()(int64_t value) { proto.set_type(Kind::INT), proto.set_i(value); }
      void operator()(float value) { proto.set_type(Kind::FLOAT), proto.set_f(value); }
      void operator()(const std::string& value) { proto.set_type(Kind::STRING), proto.set_s(value); }
      void operator()(const Tensor& value) {
        proto.set_type(Kind::TENSOR), write_tensor(value, *proto.mutable_t());
      }
      void operator()(const ValueType& value) {
        proto.set_type(Kind::TYPE_PROTO), write_type(value, *proto.mutable_tp());
      }
      void operator()(const std::vector<int64_t>& values) {
        proto.set_type(Kind::INTS);
        for (const int64_t value : values) proto.add_ints(value);
      }
      void operator()(const std::vector<float>& values) {
        proto.set_type(Kind::FLOATS);
        for (const float value : values) proto.add_floats(value);
      }
      void operator()(const std::vector<std::string>& values) {
        proto.set_type(Kind::STRINGS);
        for (const auto& value : values) proto.add_strings(value);
      }
      void operator()(const std::vector<Tensor>& values) {
        proto.set_type(Kind::TENSORS);
        for (const auto& value : values) write_tensor(value, *proto.add_tensors());
      }
      void operator()(const std::vector<ValueType>& values) {
        proto.set_type(Kind::TYPE_PROTOS);
        for (const auto& value : values) write_type(value, *proto.add_type_protos());
      }
    };
    std::visit(Writer{proto}, attribute.value());
  }

  const Model& model_;
  std::filesystem::path path_;
  std::string data_name_;
  std::optional<FileWriter> data_;
};

}  // namespace

void export_model(const Model& model, const std::filesystem::path& path) {
  Exporter(model, path).run();
}

}  // namespace vernier
