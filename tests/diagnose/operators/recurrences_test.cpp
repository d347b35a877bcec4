// LSTM, GRU and RNN with other gates, activations, states and directions.
#include <numeric>

#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

std::string lstm(const std::string& attributes) {
  return "graph \"g\" (%x: f32[5, 2, 3], %w: f32[2, 16, 3], %r: f32[2, 16, 4], %b: f32[2, 32], %h: f32[2, 2, "
         "4], "
         "%c: f32[2, 2, 4], %p: f32[2, 12]) -> (%y, %last, %cell) {\n"
         "%y: f32[*], %last: f32[*], %cell: f32[*] = LSTM(%x, %w, %r, %b, _, %h, %c, %p) {hidden_size = 4, "
         "direction = \"bidirectional\"" +
         attributes + "} version 14 @\"n\" from [\"n\"]\n}";
}

std::string gru(const std::string& attributes) {
  return "graph \"g\" (%x: f32[5, 2, 3], %w: f32[1, 12, 3], %r: f32[1, 12, 4], %b: f32[1, 24]) -> (%y) {\n"
         "%y: f32[*] = GRU(%x, %w, %r, %b) {hidden_size = 4" +
         attributes + "} version 14 @\"n\" from [\"n\"]\n}";
}

std::string rnn(const std::string& attributes) {
  return of_floats("%x: f32[5, 2, 3], %w: f32[1, 4, 3], %r: f32[1, 4, 4], %b: f32[1, 8]",
                   "RNN(%x, %w, %r, %b) {hidden_size = 4" + attributes + "} version 14");
}

Tensor first_of_both(const Tensor& each) {
  return taken(each, 0, {0, 0});
}

FaultyEngine with_weights_of_first() {
  return [](const Model& model, const NamedData& data) {
    NamedData other = data;
    for (const char* name : {"w", "r", "b", "p"}) other[name] = first_of_both(data.at(name).tensor);
    return outputs_of(model, other);
  };
}

FaultyEngine with_states_exchanged() {
  return [](const Model& model, const NamedData& data) {
    NamedData other = data;
    std::swap(other["h"], other["c"]);
    return outputs_of(model, other);
  };
}

// The gates in blocks along axis 1, each transposed.
Tensor transposed_gates(const Tensor& weights) {
  const auto from = weights.to_doubles();
  std::vector<double> to(from.size());
  const size_t block = 4;
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t gate = i / (block * block), row = i / block % block, column = i % block;
    to[gate * block * block + column * block + row] = from[i];
  }
  return floats(weights.dims(), to);
}

const std::string kRelu = ", activations = strings[\"Relu\"]";

const std::vector<PlantedFault> kFaults = {
    {"CandidateBySigmoid", "B31", gru(""), runs(gru(", activations = strings[\"Sigmoid\", \"Sigmoid\"]"))},
    {"ReluForTanh", "B31", rnn(""), runs(rnn(kRelu))},
    {"TanhForRelu", "B31", rnn(kRelu), runs(rnn(""))},
    {"OneDirectionsWeights", "B31", lstm(""), with_weights_of_first()},
    {"StatesExchanged", "B31", lstm(""), with_states_exchanged()},
    {"PeepholesLost", "B31", lstm(""),
     reads("p", [](const Tensor& p) { return mapped(p, [](double) { return 0; }); })},
    {"DirectionsExchanged", "B31", lstm(""), writes([](const Tensor& y) { return reversed(y, 1); })},
    {"StepsInReverse", "B31", gru(", direction = \"reverse\""),
     writes([](const Tensor& y) { return reversed(y, 0); })},
    {"RecurrentTransposed", "B31", gru(""), reads("r", transposed_gates)},
    {"NoRecurrence", "B31", rnn(""),
     reads("r", [](const Tensor& r) { return mapped(r, [](double) { return 0; }); })},
    {"ForgetsLess", "B31", lstm(""),
     reads("b",
           [](const Tensor& b) {
             auto values = b.to_doubles();
             for (size_t i = 0; i < values.size(); ++i) values[i] += i % 32 / 4 == 2 ? 1 : 0;
             return floats(b.dims(), values);
           })},
    {"BiasOfOneGateLost", "B31", gru(""),
     reads("b",
           [](const Tensor& b) {
             auto values = b.to_doubles();
             for (size_t i = 0; i < values.size(); ++i) values[i] *= i / 4 % 3 == 2 ? 0 : 1;
             return floats(b.dims(), values);
           })},
    {"UpdateGateInverted", "B31", gru(""),
     [](const Model& model, const NamedData& data) {
       NamedData other = data;
       for (const auto& [name, blocks] : {std::pair{"w", 3}, {"r", 3}, {"b", 6}}) {
         const Tensor& tensor = data.at(name).tensor;
         const auto block = static_cast<size_t>(tensor.size() / blocks);
         auto values = tensor.to_doubles();
         for (size_t i = 0; i < values.size(); ++i) values[i] *= i / block % 3 == 0 ? -1 : 1;
         other[name] = floats(tensor.dims(), values);
       }
       return outputs_of(model, other);
     }},
};

TEST(Recurrences, FaultsAreFound) {
  for (const PlantedFault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

// Every order of the gates is found, not only those of other frameworks.
TEST(Recurrences, EveryOrderOfGatesIsFound) {
  std::vector<int64_t> order{0, 1, 2};
  while (std::next_permutation(order.begin(), order.end())) {
    expect_found({"Gates", "B31", gru(""), [&](const Model& model, const NamedData& data) {
                    NamedData other = data;
                    for (const auto& [name, parts] : {std::pair{"w", 1}, {"r", 1}, {"b", 2}}) {
                      const Tensor& tensor = data.at(name).tensor;
                      std::vector<int64_t> places;
                      for (int64_t part = 0; part < parts; ++part) {
                        for (const int64_t gate : order) places.push_back(3 * part + gate);
                      }
                      const Tensor rows = tensor.reshaped({3 * parts, tensor.size() / (3 * parts)});
                      other[name] = taken(rows, 0, places).reshaped(tensor.dims());
                    }
                    return outputs_of(model, other);
                  }});
  }
}

}  // namespace
}  // namespace vernier
