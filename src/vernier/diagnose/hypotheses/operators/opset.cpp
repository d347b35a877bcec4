// B36: an operator is read as another opset defines it.
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kClass = 36;
constexpr int64_t kOneAxis = 13;  // the opset from which on Softmax is about one axis

void propose_softmax(const Variations& variations) {
  const Node& node = variations.member().node();
  const bool flattens = ops::softmax_flattens(node);
  const int64_t axis = ops::softmax_axis(node);
  const std::string as =
      flattens ? "as of opset 13, along one axis" : "as before opset 13, over all axes from there on";
  const auto read_otherwise = [flattens](Node& changed) {
    changed.version = flattens ? kOneAxis : kOneAxis - 2;
  };
  variations.add_node(fmt::format("axis {} is read {}", axis, as), [=](Node& changed) {
    read_otherwise(changed);
    changed.attributes["axis"] = axis;
  });
  if (node.find_attribute("axis") == nullptr)
    variations.add_node(fmt::format("its axis, which is not given, is read {}", as), read_otherwise);
  else
    variations.add_node("its axis is not read: it is that which holds where none is given",
                        [](Node& changed) { changed.attributes.erase("axis"); });
}

// Training, which an attribute asked for before it was an operand.
void propose_dropout(const Variations& variations) {
  variations.add("it scales as in training, and drops nothing", [&member = variations.member()] {
    double ratio = 0.5;
    if (member.has(1))
      ratio = member.in(1).to_doubles().at(0);
    else if (member.node().version < 12)
      ratio = static_cast<double>(ops::real_attribute(member.node(), "ratio"));
    Tensors results = member.outputs();
    results.at(0) = mapped(member.in(0), [ratio](double value) { return value / (1 - ratio); });
    return results;
  });
  variations.add(
      "it scales by what is kept, as a Dropout that is not inverted does", [&member = variations.member()] {
        const double ratio = member.has(1) ? member.in(1).to_doubles().at(0)
                                           : static_cast<double>(ops::real_attribute(member.node(), "ratio"));
        Tensors results = member.outputs();
        results.at(0) = mapped(member.in(0), [ratio](double value) { return value * (1 - ratio); });
        return results;
      });
}

// Axes that one opset has as attribute and another one as operand are not found: all of them are meant.
void propose_reduction(const Variations& variations) {
  const Member& member = variations.member();
  if (!member.has(1) && member.node().find_attribute("axes") == nullptr) return;
  variations.add("its axes are not read: it reduces all", [&member] {
    Tensors inputs = member.inputs();
    if (member.has(1)) inputs[1] = {};
    return member.changed([](Node& node) { node.attributes.erase("axes"); }, std::move(inputs));
  });
}

void propose_cast(const Variations& variations) {
  const Node& node = variations.member().node();
  if (node.version >= 19) {
    variations.add_node("what is too large becomes what saturate = 0 says",
                        [](Node& changed) { changed.attributes["saturate"] = int64_t{0}; });
  }
}

// Which axes of the second operand meet which ones of the first, before opset 7.
void propose_legacy_broadcast(const Variations& variations) {
  const Member& member = variations.member();
  if (member.node().version >= 7 || member.node().find_attribute("broadcast") == nullptr) return;
  variations.add_node("its operands meet at their last axes, as since opset 7",
                      [](Node& changed) { changed.attributes.erase("axis"); });
}

bool starts_with(const std::string& text, std::string_view beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

}  // namespace

void propose_opset(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                   std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  if (member.is("Softmax") || member.is("LogSoftmax") || member.is("Hardmax")) propose_softmax(variations);
  if (member.is("Dropout")) propose_dropout(variations);
  if (starts_with(member.op(), "Reduce") && member.node().domain.empty()) propose_reduction(variations);
  if (member.is("Cast")) propose_cast(variations);
  if (member.is("Add") || member.is("Sub") || member.is("Mul") || member.is("Div"))
    propose_legacy_broadcast(variations);
}

}  // namespace vernier
