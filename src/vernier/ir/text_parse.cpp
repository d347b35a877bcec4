#include <map>

#include "vernier/ir/lexer.h"
#include "vernier/ir/text.h"
#include "vernier/ir/verify.h"
#include "vernier/tensor/packing.h"

namespace vernier {

namespace {

ValueType parse_type(std::string_view text, int depth) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto inside = [&](std::string_view prefix) -> std::optional<std::string_view> {
    if (!text.starts_with(prefix) || !text.ends_with(')')) return std::nullopt;
    return text.substr(prefix.size(), text.size() - prefix.size() - 1);
  };
  if (depth > 20) throw bad_input("a type is nested too deep");
  if (const auto element = inside("seq(")) return ValueType::sequence(parse_type(*element, depth + 1));
  if (const auto element = inside("optional(")) return ValueType::optional(parse_type(*element, depth + 1));
  if (const auto map = inside("map(")) {
    const size_t comma = map->find(", ");
    const auto key = parse_element_type(map->substr(0, comma));
    if (comma == std::string_view::npos || !key) throw bad_input("'{}' is no type of a map", text);
    const ValueType value = parse_type(map->substr(comma + 2), depth + 1);
    if (!value.is_tensor()) throw bad_input("the values of a map must be tensors, not {}", value.text());
    return ValueType::map(*key, value);
  }
  const size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || !text.ends_with(']')) throw bad_input("'{}' is no type", text);
  const std::string_view name = text.substr(0, bracket);
  const auto element = name == "?" ? ElementType::kUndefined : parse_element_type(name);
  if (!element) throw bad_input("'{}' is no element type", name);
  const std::string_view sizes = text.substr(bracket + 1, text.size() - bracket - 2);
  if (sizes == "*") return ValueType::of(*element);
  Shape shape;
  Lexer lexer(sizes);
  while (!lexer.at_end()) {
    shape.push_back(Dim::parse(lexer.until_any(",")));
    if (!lexer.accept(",") && !lexer.at_end()) throw lexer.fault("expected ','");
  }
  return ValueType::of(*element, std::move(shape));
}

class Parser {
 public:
  Parser(std::string_view text, const OutsideTensors* outside) : lexer_(text), outside_(outside) {}

  Model model() {
    Model model;
    lexer_.expect("model");
    lexer_.expect("ir");
    lexer_.expect("=");
    model.ir_version = lexer_.integer();
    while (lexer_.accept("opset")) {
      std::string domain = lexer_.quoted();
      model.opsets.emplace_back(std::move(domain), lexer_.integer());
    }
    lexer_.expect("{");
    model.graph = graph(nullptr);
    lexer_.expect("}");
    if (!lexer_.at_end()) throw lexer_.fault("unexpected text after the model");
    return model;
  }

 private:
  struct Scope {
    Scope* outer;
    Graph* graph;
    std::map<std::string, Value*> values;
  };

  std::unique_ptr<Graph> graph(Scope* outer) {
    lexer_.enter();
    lexer_.expect("graph");
    auto made = std::make_unique<Graph>(outer == nullptr ? nullptr : outer->graph);
    Scope scope{outer, made.get(), {}};
    made->name = lexer_.quoted();
    lexer_.expect("(");
    while (!lexer_.accept(")")) {
      const std::string name = value_name();
      lexer_.expect(":");
      made->inputs.push_back(define(scope, name, type(",)")));
      lexer_.accept(",");
    }
    lexer_.expect("->");
    lexer_.expect("(");
    std::vector<std::string> outputs;
    while (!lexer_.accept(")")) {
      outputs.push_back(value_name());
      lexer_.accept(",");
    }
    lexer_.expect("{");
    while (lexer_.accept("const")) constant(scope);
    while (!lexer_.accept("}")) node(scope);
    for (const auto& name : outputs) made->outputs.push_back(find(scope, name));
    lexer_.leave();
    return made;
  }

  void constant(Scope& scope) {
    const std::string name = value_name();
    lexer_.expect("=");
    Tensor value = tensor();
    const auto input = scope.values.find(name);  // an input with a default
    Value* made = input != scope.values.end()
                      ? input->second
                      : define(scope, name, ValueType::of(value.type(), to_shape(value.dims())));
    if (made->is_constant()) throw lexer_.fault("the constant is there twice");
    made->constant = std::move(value);
  }

  void node(Scope& scope) {
    auto made = std::make_unique<Node>();
    while (!lexer_.accept("=")) {
      if (lexer_.accept("_")) {
        made->outputs.push_back(nullptr);
      } else {
        const std::string name = value_name();
        lexer_.expect(":");
        made->outputs.push_back(define(scope, name, type(",=")));
      }
      lexer_.accept(",");
    }
    const std::string op = lexer_.word();
    const size_t colons = op.rfind("::");
    made->op = colons == std::string::npos ? op : op.substr(colons + 2);
    made->domain = colons == std::string::npos ? "" : op.substr(0, colons);
    lexer_.expect("(");
    while (!lexer_.accept(")")) {
      made->inputs.push_back(lexer_.accept("_") ? nullptr : find(scope, value_name()));
      lexer_.accept(",");
    }
    if (lexer_.accept("{")) {
      while (!lexer_.accept("}")) {
        const std::string name = lexer_.word();
        lexer_.expect("=");
        if (!made->attributes.emplace(name, attribute()).second)
          throw lexer_.fault("the attribute is there twice");
        lexer_.accept(",");
      }
    }
    lexer_.expect("version");
    made->version = lexer_.integer();
    lexer_.expect("@");
    made->name = lexer_.quoted();
    lexer_.expect("from");
    for (auto& name : list<std::string>([&] { return lexer_.quoted(); })) made->provenance.insert(name);
    if (lexer_.accept("regions")) {
      lexer_.expect("{");
      while (!lexer_.accept("}")) {
        std::string name = lexer_.word();
        lexer_.expect("=");
        made->regions.emplace_back(std::move(name), graph(&scope));
      }
    }
    scope.graph->add_node(std::move(made));
  }

  template <class T, class Read>
  std::vector<T> list(Read read) {
    lexer_.expect("[");
    std::vector<T> values;
    while (!lexer_.accept("]")) {
      values.push_back(read());
      if (!lexer_.accept(",") && !lexer_.next_is(']')) throw lexer_.fault("expected ',' or ']'");
    }
    return values;
  }

  Attribute attribute() {
    if (lexer_.next_is('"')) return lexer_.quoted();
    if (lexer_.accept("float")) return lexer_.real();
    if (lexer_.accept("tensor")) return tensor();
    if (lexer_.accept("type")) return type(",}");
    if (lexer_.accept("ints")) return list<int64_t>([&] { return lexer_.integer(); });
    if (lexer_.accept("floats")) return list<float>([&] { return lexer_.real(); });
    if (lexer_.accept("strings")) return list<std::string>([&] { return lexer_.quoted(); });
    if (lexer_.accept("tensors")) return list<Tensor>([&] { return tensor(); });
    if (lexer_.accept("types")) return list<ValueType>([&] { return type(",]"); });
    return lexer_.integer();
  }

  ValueType type(std::string_view stops) {
    const std::string_view text = lexer_.until_any(stops);
    try {
      return parse_type(text, 0);
    } catch (Error& error) {
      throw lexer_.fault(error.message());
    }
  }

  Tensor tensor() {
    const std::string element = lexer_.word();
    lexer_.expect("[");
    const ValueType type = parse_value_type(element + "[" + std::string(lexer_.bracketed()) + "]");
    const auto dims = type.tensor.shape ? to_dims(*type.tensor.shape) : std::nullopt;
    if (!dims) throw lexer_.fault("a constant needs integer sizes");
    if (type.tensor.element == ElementType::kString) {
      lexer_.expect("strings");
      const auto texts = list<std::string>([&] { return lexer_.quoted(); });
      if (static_cast<int64_t>(texts.size()) != element_count(*dims))
        throw lexer_.fault("the number of strings does not fit the shape");
      return Tensor::from(ElementType::kString, *dims, texts);
    }
    if (outside_ != nullptr && lexer_.accept("outside"))
      return (*outside_)(type.tensor.element, *dims, lexer_.quoted());
    lexer_.expect("hex");
    const std::string hex = lexer_.quoted();
    if (type.tensor.element == ElementType::kUndefined || hex.size() % 2 != 0)
      throw lexer_.fault("the constant has no type or half a byte");
    std::vector<std::byte> bytes(hex.size() / 2);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto digit = [&](char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        throw lexer_.fault("not a hexadecimal digit");
      };
      bytes[i] = static_cast<std::byte>(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
    }
    return unpack(type.tensor.element, *dims, bytes);
  }

  std::string value_name() {
    lexer_.expect("%");
    return lexer_.next_is('"') ? lexer_.quoted() : plain_name();
  }

  // Unlike other words, a plain value name ends before ':'.
  std::string plain_name() {
    const std::string_view name = lexer_.until_any(" :,)=\n\"");
    if (name.empty()) throw lexer_.fault("expected the name of a value");
    return std::string(name);
  }

  Value* define(Scope& scope, const std::string& name, ValueType type) {
    Value*& slot = scope.values[name];
    if (slot != nullptr) throw lexer_.fault(fmt::format("'%{}' is made twice", name));
    return slot = scope.graph->add_value(name, std::move(type));
  }

  Value* find(Scope& scope, const std::string& name) {
    for (Scope* at = &scope; at != nullptr; at = at->outer) {
      if (const auto found = at->values.find(name); found != at->values.end()) return found->second;
    }
    throw lexer_.fault(fmt::format("'%{}' is not made before", name));
  }

  Lexer lexer_;
  const OutsideTensors* outside_;
};

}  // namespace

ValueType parse_value_type(std::string_view text) {
  return parse_type(text, 0);
}

namespace {

Model parse(std::string_view text, const OutsideTensors* outside) {
  Model model = Parser(text, outside).model();
  try {
    verify(*model.graph);
  } catch (const Error& error) {
    throw bad_input("{}", error.what());
  }
  return model;
}

}  // namespace

Model parse_model(std::string_view text) {
  return parse(text, nullptr);
}

Model parse_model(std::string_view text, const OutsideTensors& outside) {
  return parse(text, &outside);
}

}  // namespace vernier
