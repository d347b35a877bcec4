#include <cctype>
#include <cstring>

#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"
#include "vernier/ir/text.h"
#include "vernier/tensor/packing.h"

namespace vernier {

namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (byte < 0x20 || byte >= 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return result + "\"";
}

std::string value_text(const Value* value) {
  if (value == nullptr) return "_";
  bool plain = !value->name.empty();
  for (const char c : value->name)
    plain = plain && (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/');
  return "%" + (plain ? value->name : in_quotes(value->name));
}

template <class List, class Print>
std::string joined(const List& list, Print print) {
  std::string text;
  for (const auto& entry : list) text += (text.empty() ? "" : ", ") + print(entry);
  return text;
}

// Shortest decimal form that reads back as the same bits; what has no decimal form is given by its bits.
std::string float_text(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return std::isfinite(value) ? fmt::format("{}", value) : fmt::format("0x{:08x}", bits);
}

std::string tensor_text(const Tensor& tensor, const TextOptions& options) {
  const std::string type = ValueType::of(tensor.type(), to_shape(tensor.dims())).text();
  if (options.keep_outside) {
    if (const std::string name = options.keep_outside(tensor); !name.empty())
      return type + " outside " + in_quotes(name);
  }
  if (tensor.size() > options.elide_constants_above)
    return type + " hash " + hash_to_text(hash_tensor(tensor));
  if (tensor.type() == ElementType::kString)
    return type + " strings[" + joined(tensor.values<std::string>(), in_quotes) + "]";
  std::string hex;
  for (const char byte : pack(tensor)) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return type + " hex\"" + hex + "\"";
}

class Printer {
 public:
  explicit Printer(const TextOptions& options) : options_(options) {}

  void model(const Model& model) {
    text_ += fmt::format("model ir={}", model.ir_version);
    for (const auto& [domain, version] : model.opsets)
      text_ += fmt::format(" opset {} {}", in_quotes(domain), version);
    text_ += " {\n";
    graph(*model.graph, 1);
    text_ += "}\n";
  }

  void graph(const Graph& graph, int depth) {
    text_ += indent(depth) + "graph " + in_quotes(graph.name) + " (" +
             joined(graph.inputs,
                    [](const Value* input) { return value_text(input) + ": " + input->type.text(); }) +
             ") -> (" + joined(graph.outputs, value_text) + ") {\n";
    for (const auto& value : graph.values()) {
      if (value->is_constant())
        text_ += indent(depth + 1) + "const " + value_text(value.get()) + " = " +
                 tensor_text(*value->constant, options_) + "\n";
    }
    for (const auto& node : graph.nodes()) this->node(*node, depth + 1);
    text_ += indent(depth) + "}\n";
  }

  std::string take() { return std::move(text_); }

 private:
  static std::string indent(int depth) { return std::string(static_cast<size_t>(2 * depth), ' '); }

  void node(const Node& node, int depth) {
    text_ += indent(depth) + joined(node.outputs, [](const Value* output) {
               return output == nullptr ? std::string("_") : value_text(output) + ": " + output->type.text();
             });
    text_ += " = " + (node.domain.empty() ? "" : node.domain + "::") + node.op + "(" +
             joined(node.inputs, value_text) + ")";
    if (!node.attributes.empty()) {
      text_ += " {" +
               joined(node.attributes,
                      [&](const auto& entry) {
                        return entry.first + " = " + attribute_text(entry.second, options_);
                      }) +
               "}";
    }
    text_ += " version " + std::to_string(node.version) + " @" + in_quotes(node.name) + " from [" +
             joined(node.provenance, in_quotes) + "]";
    if (node.regions.empty()) {
      text_ += "\n";
      return;
    }
    text_ += " regions {\n";
    for (const auto& [name, region] : node.regions) {
      text_ += indent(depth + 1) + name + " =\n";
      graph(*region, depth + 1);
    }
    text_ += indent(depth) + "}\n";
  }

  const TextOptions& options_;
  std::string text_;
};

}  // namespace

std::string attribute_text(const Attribute& attribute, const TextOptions& options) {
  struct Visitor {
    const TextOptions& options;
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(float value) const { return "float " + float_text(value); }
    std::string operator()(const std::string& value) const { return in_quotes(value); }
    std::string operator()(const Tensor& value) const { return "tensor " + tensor_text(value, options); }
    std::string operator()(const ValueType& value) const { return "type " + value.text(); }
    std::string operator()(const std::vector<int64_t>& list) const {
      return "ints[" + joined(list, [](int64_t value) { return std::to_string(value); }) + "]";
    }
    std::string operator()(const std::vector<float>& list) const {
      return "floats[" + joined(list, float_text) + "]";
    }
    std::string operator()(const std::vector<std::string>& list) const {
      return "strings[" + joined(list, in_quotes) + "]";
    }
    std::string operator()(const std::vector<Tensor>& list) const {
      return "tensors[" + joined(list, [&](const Tensor& value) { return tensor_text(value, options); }) +
             "]";
    }
    std::string operator()(const std::vector<ValueType>& list) const {
      return "types[" + joined(list, [](const ValueType& value) { return value.text(); }) + "]";
    }
  };
  return std::visit(Visitor{options}, attribute.value());
}

std::string print(const Graph& graph, const TextOptions& options) {
  Printer printer(options);
  printer.graph(graph, 0);
  return printer.take();
}

std::string print(const Model& model, const TextOptions& options) {
  Printer printer(options);
  printer.model(model);
  return printer.take();
}

}  // namespace vernier
