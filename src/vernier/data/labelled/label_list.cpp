#include "vernier/data/labelled/label_list.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/data/data_set.h"
#include "vernier/data/formats/images.h"
#include "vernier/data/sample_files.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

template <class Number>
bool read_number(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// A label that is not a whole number is a value, unless it is a name.
void find_numbers(LabelList& list) {
  double number = 0;
  int64_t whole = 0;
  const auto is_class = [](const LabelledFile& file) { return file.kind == LabelledFile::Kind::kClass; };
  const auto all = [&](const auto& holds) {
    return std::all_of(list.files.begin(), list.files.end(),
                       [&](const auto& file) { return is_class(file) && holds(file.text); });
  };
  if (all([&](const std::string& text) { return read_number(text, whole); })) return;
  if (!all([&](const std::string& text) { return read_number(text, number); })) return;
  for (LabelledFile& file : list.files) {
    read_number(file.text, number);
    file.kind = LabelledFile::Kind::kNumbers;
    file.numbers = {number};
  }
}

}  // namespace

LabelList read_class_folders(const fs::path& folder) {
  LabelList list{"class folders", folder, {}, {}};
  std::vector<fs::path> folders;
  for (const fs::path& entry : list_folder(folder)) {
    if (fs::is_directory(entry)) folders.push_back(entry);
  }
  std::sort(folders.begin(), folders.end());
  for (const fs::path& each : folders) {
    const size_t before = list.files.size();
    for (const fs::path& file : list_folder(each)) {
      if (fs::is_regular_file(file) && is_data_of_folder(file))
        list.files.push_back({file, LabelledFile::Kind::kClass, each.filename().string(), {}, {}});
    }
    if (list.files.size() == before) throw bad_input("holds no data of its class").in_file(each);
    list.classes.push_back(each.filename().string());
  }
  for (const LabelledFile& file : list.files)
    list.hash = hash_text(file.text + "/" + file.file.filename().string(), list.hash);
  return list;
}

std::vector<std::vector<std::string>> parse_csv(std::string_view text) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> fields(1);
  bool quoted = false;
  const auto end_line = [&] {
    if (fields.size() > 1 || !fields[0].empty()) lines.push_back(fields);
    fields.assign(1, "");
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      fields.back() += text[++i];
    } else if (c == '"' && (quoted || fields.back().empty())) {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      fields.emplace_back();
    } else if (!quoted && c == '\n') {
      end_line();
    } else if (quoted || c != '\r') {
      fields.back() += c;
    }
  }
  if (quoted) throw bad_input("ends inside of quotes");
  end_line();
  return lines;
}

LabelList read_csv(const fs::path& path, const fs::path& folder) {
  const std::string text = read_file(path);
  LabelList list{"CSV", path, {}, {}, hash_text(text)};
  try {
    const auto lines = parse_csv(std::string_view(text).substr(text.starts_with("\xef\xbb\xbf") ? 3 : 0));
    const auto column = [&](const char* name) {
      const auto& head = lines.front();
      return static_cast<size_t>(std::find(head.begin(), head.end(), name) - head.begin());
    };
    const char* advice = "the first line is file,label or file,text";
    if (lines.size() < 2) throw bad_input("has no line behind the header").advise(advice);
    const size_t width = lines.front().size(), file = column("file"), label = column("label"),
                 words = column("text");
    if (file == width || (label == width && words == width))
      throw bad_input("has no columns 'file' and 'label' in its first line").advise(advice);
    for (size_t i = 1; i < lines.size(); ++i) {
      if (lines[i].size() != width)
        throw bad_input("row {} has {} fields and the header {}", i, lines[i].size(), width);
      if (label < width)
        list.files.push_back({folder / lines[i][file], LabelledFile::Kind::kClass, lines[i][label], {}, {}});
      else
        list.files.push_back(
            {folder / lines[i][file], LabelledFile::Kind::kJson, json_text_of(lines[i][words]), {}, {}});
    }
  } catch (Error& error) {
    throw error.in_file(path);
  }
  find_numbers(list);
  return list;
}

LabelList read_beside(const fs::path& images, const fs::path& labels, bool are_targets) {
  LabelList list{"", labels, {}, {}};
  std::error_code ignored;
  const bool is_one_folder = fs::equivalent(images, labels, ignored);
  std::map<std::string, fs::path> by_stem;
  for (const fs::path& file : list_folder(labels)) {
    std::string stem = file.stem();
    if (is_one_folder && !stem.ends_with("_mask")) continue;
    if (stem.ends_with("_mask")) stem.resize(stem.size() - 5);
    if (file.extension() == ".xml" || is_image_file(file)) by_stem[stem] = file;
  }
  for (const fs::path& file : list_folder(images)) {
    if (!fs::is_regular_file(file) || !is_data_of_folder(file)) continue;
    if (is_one_folder && file.stem().string().ends_with("_mask")) continue;
    const auto found = by_stem.find(file.stem());
    if (found == by_stem.end())
      throw bad_input("has no label of its name in {}", labels.string())
          .in_file(file)
          .advise(is_one_folder ? "NAME_mask.png belongs to NAME.png"
                                : "NAME.png, or NAME.xml of VOC, belongs to NAME.jpg");
    const bool xml = found->second.extension() == ".xml";
    const auto kind = xml           ? LabelledFile::Kind::kXml
                      : are_targets ? LabelledFile::Kind::kTarget
                                    : LabelledFile::Kind::kMask;
    list.format = xml ? "Pascal VOC" : are_targets ? "images to be made" : "masks";
    list.has_boxes = xml;
    list.files.push_back({file, kind, "", {}, found->second});
    list.hash = hash_text(read_file(found->second), hash_text(file.filename().string(), list.hash));
  }
  return list;
}

std::vector<std::string> read_class_names(const fs::path& file) {
  std::vector<std::string> names;
  std::string line;
  for (const char c : read_file(file) + "\n") {
    if (c != '\n') {
      if (c != '\r') line += c;
      continue;
    }
    if (!line.empty()) names.push_back(std::exchange(line, ""));
  }
  if (names.empty())
    throw bad_input("names no class").in_file(file).advise("write a class in each line, the first is 0");
  return names;
}

void number_classes(LabelList& list, const std::vector<std::string>& wanted) {
  const auto is_class = [](const LabelledFile& file) { return file.kind == LabelledFile::Kind::kClass; };
  int64_t whole = 0;
  const bool are_numbers = wanted.empty() && list.classes.empty() &&
                           std::all_of(list.files.begin(), list.files.end(), [&](const auto& file) {
                             return !is_class(file) || read_number(file.text, whole);
                           });
  if (are_numbers) return;
  if (!wanted.empty()) list.classes = wanted;
  if (list.classes.empty()) {
    std::set<std::string> names;
    for (const LabelledFile& file : list.files) {
      if (is_class(file)) names.insert(file.text);
    }
    list.classes.assign(names.begin(), names.end());
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < list.classes.size(); ++i) {
    places.emplace(list.classes[i], i);
    list.hash = hash_text(list.classes[i], list.hash);
  }
  for (LabelledFile& file : list.files) {
    if (!is_class(file)) continue;
    const auto found = places.find(file.text);
    if (found == places.end())
      throw bad_input("the class '{}' of {} is not named by --classes", file.text, file.file.string())
          .in_file(list.file);
    file.text = std::to_string(found->second);
  }
}

}  // namespace vernier
