// Command lines of other tools: the options that they have, and what each becomes here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// Words of a command line, without the program.
using CommandWords = std::vector<std::string>;

// The values of an option.
enum class OptionValues : uint8_t {
  kNone,
  kOne,      // behind '=', or the next word where the tool takes values so
  kSeveral,  // behind '=', or all words up to the next option
};

enum class OptionFate : uint8_t {
  kMapped,   // becomes something of Vernier
  kIgnored,  // makes no difference to what is computed or measured
  kRefused,  // has no counterpart; what it asks for would silently not be done
};

struct ForeignOption {
  std::vector<std::string> names;  // all spellings; messages use the first
  OptionValues values = OptionValues::kNone;
  OptionFate fate = OptionFate::kMapped;
  std::string meaning;  // what it becomes; else why it is ignored or refused
  std::function<void(const CommandWords& values)> take = {};  // null unless mapped
};

// Rows of a table.
ForeignOption mapped_flag(std::vector<std::string> names, std::string meaning, std::function<void()> take);
ForeignOption mapped_value(std::vector<std::string> names, std::string meaning,
                           std::function<void(const std::string& value)> take);
ForeignOption mapped_list(std::vector<std::string> names, std::string meaning,
                          std::function<void(const CommandWords& values)> take);
ForeignOption ignored(std::vector<std::string> names, OptionValues values, std::string reason);
ForeignOption refused(std::vector<std::string> names, OptionValues values, std::string reason);

// This is said where int8 is asked for without ranges. The tools make them up of random data.
inline constexpr const char* kNoRanges =
    "without ranges nothing is quantized that the model does not quantize itself: `vernier calibrate` finds "
    "them in data";

// How a tool writes its options.
struct ForeignTool {
  std::string name;            // "trtexec"
  bool values_follow = false;  // "--option VALUE" besides "--option=VALUE"; else only the latter
  bool abbreviates = false;    // the beginning of a name stands for it, where it is unique
};

// Holds what a command line says besides the options of the table. Every tool has --help, -h and Vernier's
// own --print-only; what follows "--" is for Vernier's command.
struct ForeignArguments {
  CommandWords positional, own;
  std::vector<std::string> notes;  // options that are ignored, with the reason
  bool help = false, print_only = false;
};

// Has each option of the command line taken by its row. Throws usage_error for an option that the tool does
// not have, naming the nearest that it has, and for values that are missing or too many; unsupported, with
// the reasons, if any option is refused.
ForeignArguments take_foreign_options(const ForeignTool& tool, const CommandWords& words,
                                      const std::vector<ForeignOption>& options);

// The table, for --help.
std::string foreign_help(const std::vector<ForeignOption>& options);

// The value of an option. Throw usage_error, naming the option.
double option_number(const std::string& option, const std::string& text, double least);
uint64_t option_count(const std::string& option, const std::string& text, uint64_t least);

// The name among `names` that differs from `name` in the fewest characters; "" if none is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& names);

}  // namespace vernier
