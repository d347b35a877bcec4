#include "vernier/backends/cpu/pointwise/program_builder.h"

namespace vernier::cpu {

size_t ProgramBuilder::add(Place place) {
  program_.places.push_back(place);
  return program_.places.size() - 1;
}

ProgramBuilder::Register ProgramBuilder::load(size_t input, const Dims& aligned) {
  std::string reason;
  const auto access = make_access(request_, input, aligned, reason);
  if (!access) throw Refused{reason};
  const ElementType type = register_type(access->element);
  auto& known = program_.accesses;
  const auto found = std::find(known.begin(), known.end(), *access);
  const auto index = static_cast<size_t>(found - known.begin());
  if (found == known.end()) {
    known.push_back(*access);
    const size_t raw = add({Place::Kind::kRows, index, element_size(access->element)});
    program_.instructions.push_back({nullptr, raw});
    loads_.push_back({raw, raw});
    if (type != access->element) {
      const Loop upcast = cast_loop(access->element, type);
      if (upcast == nullptr) throw Refused{"no loops on its type"};
      loads_.back().value = add({Place::Kind::kRegister, 0, element_size(type)});
      program_.instructions.push_back({upcast, loads_.back().value, {raw, raw, raw}});
    }
  }
  return {loads_[index].value, type};
}

ProgramBuilder::Register ProgramBuilder::immediate(ElementType type, double value) {
  const auto [found, is_new] = immediates_.try_emplace({type, value}, 0);
  if (is_new) {
    program_.prepared.push_back({PointwiseProgram::kNoAccess, value, type});
    found->second = add({Place::Kind::kPrepared, program_.prepared.size() - 1, element_size(type)});
  }
  return {found->second, type};
}

ProgramBuilder::Register ProgramBuilder::emit(Loop loop, ElementType type,
                                              const std::vector<Register>& operands, std::string_view what,
                                              double alpha, double beta) {
  if (loop == nullptr) throw Refused{fmt::format("{} has no loop on its types", what)};
  Instruction instruction{loop, add({Place::Kind::kRegister, 0, element_size(type)}), {}, alpha, beta};
  for (size_t i = 0; i < instruction.from.size(); ++i)
    instruction.from[i] = operands[i < operands.size() ? i : 0].id;
  program_.instructions.push_back(instruction);
  program_.cost += 1;
  return {instruction.to, type};
}

ProgramBuilder::Register ProgramBuilder::cast(Register value, ElementType to) {
  const ElementType type = register_type(to);
  if (value.type == to) return value;
  if (value.type == type) return round(value, to);
  value = emit(cast_loop(value.type, to), to, {value}, "Cast");
  return type == to ? value : emit(cast_loop(to, type), type, {value}, "Cast");
}

ProgramBuilder::Register ProgramBuilder::round(Register value, ElementType type) {
  if (value.type == type) return value;
  return emit(round_loop(type), value.type, {value}, "rounding");
}

void ProgramBuilder::store(Register value, size_t output, ElementType type) {
  Place& place = program_.places[value.id];
  if (value.type == type && place.kind == Place::Kind::kRegister) {
    place.kind = Place::Kind::kOutput;
    place.index = output;
    return;
  }
  const Register stored = emit(cast_loop(value.type, type), type, {value}, "storing");
  program_.places[stored.id].kind = Place::Kind::kOutput;
  program_.places[stored.id].index = output;
}

// Says where each operand is read. What is spread out once is converted then, too.
void ProgramBuilder::settle_loads() {
  program_.walk = settle(program_.accesses, request_.out());
  std::set<size_t> needless;  // results of instructions that are not needed
  std::map<size_t, size_t> instead;
  for (size_t i = 0; i < loads_.size(); ++i) {
    const Access& access = program_.accesses[i];
    Place& raw = program_.places[loads_[i].raw];
    if (access.kind == Access::Kind::kRows) continue;
    needless.insert(loads_[i].raw);
    if (access.kind == Access::Kind::kDirect) {
      raw.kind = Place::Kind::kInput;
      continue;
    }
    const ElementType type = register_type(access.element);
    program_.prepared.push_back({i, 0, type});
    raw = {Place::Kind::kPrepared, program_.prepared.size() - 1, element_size(type)};
    if (loads_[i].value == loads_[i].raw) continue;
    if (program_.places[loads_[i].value].kind == Place::Kind::kOutput) {
      const auto upcast =
          std::find_if(program_.instructions.begin(), program_.instructions.end(),
                       [&](const Instruction& instruction) { return instruction.to == loads_[i].value; });
      upcast->loop = cast_loop(type, type);
      continue;
    }
    needless.insert(loads_[i].value);
    instead[loads_[i].value] = loads_[i].raw;
  }
  std::erase_if(program_.instructions,
                [&](const Instruction& instruction) { return needless.contains(instruction.to); });
  for (Instruction& instruction : program_.instructions) {
    for (size_t& from : instruction.from) {
      if (const auto found = instead.find(from); found != instead.end()) from = found->second;
    }
  }
}

ProgramBuilder::Lives ProgramBuilder::lives() const {
  const size_t count = program_.places.size();
  Lives result{std::vector<size_t>(count, kNever), std::vector<size_t>(count, kNever)};
  for (size_t at = 0; at < program_.instructions.size(); ++at) {
    const Instruction& instruction = program_.instructions[at];
    result.made[instruction.to] = at;
    if (instruction.loop == nullptr) continue;
    for (const size_t from : instruction.from) result.last_read[from] = at;
  }
  return result;
}

// A result never takes the register of an operand of its own instruction: their elements may differ in size.
void ProgramBuilder::assign_registers(const Lives& lives) {
  std::vector<size_t> free;
  const auto has_register = [&](size_t id) {
    const auto kind = program_.places[id].kind;
    return kind == Place::Kind::kRegister || kind == Place::Kind::kRows;
  };
  for (size_t at = 0; at < program_.instructions.size(); ++at) {
    const Instruction& instruction = program_.instructions[at];
    if (has_register(instruction.to)) {
      if (free.empty()) free.push_back(program_.registers++);
      program_.places[instruction.to].slot = free.back();
      free.pop_back();
      program_.register_bytes = std::max(program_.register_bytes, program_.places[instruction.to].bytes);
    }
    std::set<size_t> ending;
    if (instruction.loop != nullptr) ending.insert(instruction.from.begin(), instruction.from.end());
    for (const size_t id : ending) {
      if (has_register(id) && lives.last_read[id] == at) free.push_back(program_.places[id].slot);
    }
  }
}

// The operand whose elements are all read when the first output's are written.
int ProgramBuilder::find_in_place(const Lives& lives) const {
  const auto& places = program_.places;
  const auto output = std::find_if(places.begin(), places.end(), [](const Place& place) {
    return place.kind == Place::Kind::kOutput && place.index == 0;
  });
  if (output == places.end()) return -1;
  const size_t written = lives.made[static_cast<size_t>(output - places.begin())];
  for (size_t i = 0; i < loads_.size(); ++i) {
    const Access& access = program_.accesses[i];
    const auto readings = std::count_if(program_.accesses.begin(), program_.accesses.end(),
                                        [&](const Access& other) { return other.input == access.input; });
    if (access.kind == Access::Kind::kDirect && !access.own && readings == 1 &&
        request_.in(access.input).constant == nullptr && places[loads_[i].raw].bytes == output->bytes &&
        lives.last_read[loads_[i].raw] <= written)
      return static_cast<int>(access.input);
  }
  return -1;
}

PointwiseProgram ProgramBuilder::finish() {
  settle_loads();
  const Lives all = lives();
  assign_registers(all);
  program_.in_place = find_in_place(all);
  return std::move(program_);
}

}  // namespace vernier::cpu
