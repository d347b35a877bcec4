#include <map>
#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/data/labelled/label_list.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

LabelledFile labelled_file(const Json& line, const fs::path& folder) {
  if (!line.is_object() || !line.contains("file") || !line["file"].is_string())
    throw bad_input("is no object with \"file\"").advise("write {\"file\": NAME, \"label\": …} in each line");
  LabelledFile result{folder / line["file"].get<std::string>(), LabelledFile::Kind::kJson, "", {}, {}};
  if (line.contains("text") && line["text"].is_string()) {
    result.text = text_of(line["text"]);
    return result;
  }
  if (!line.contains("label")) throw bad_input("has neither \"label\" nor \"text\"");
  const Json& label = line["label"];
  const bool are_numbers =
      label.is_array() && !label.empty() &&
      std::all_of(label.begin(), label.end(), [](const Json& each) { return each.is_number(); });
  if (label.is_string() || label.is_number_integer()) {
    result.kind = LabelledFile::Kind::kClass;
    result.text = label.is_string() ? label.get<std::string>() : text_of(label);
  } else if (label.is_number() || are_numbers) {
    result.kind = LabelledFile::Kind::kNumbers;
    result.numbers =
        label.is_number() ? std::vector<double>{label.get<double>()} : label.get<std::vector<double>>();
  } else {
    result.text = text_of(label);
  }
  return result;
}

// Reads a list of COCO: images by id, with their annotations.
void add_images(LabelList& list, const Json& root, const fs::path& folder) {
  std::map<int64_t, Json> annotations;
  for (const Json& each : root.at("annotations"))
    annotations[each.at("image_id").get<int64_t>()].push_back(each);
  const Json categories = root.value("categories", Json::array());
  for (const Json& image : root.at("images")) {
    const auto id = image.at("id").get<int64_t>();
    const auto found = annotations.find(id);
    const Json label = {{"image_id", id},
                        {"image", image},
                        {"annotations", found == annotations.end() ? Json::array() : found->second},
                        {"categories", categories}};
    list.files.push_back({folder / image.at("file_name").get<std::string>(),
                          LabelledFile::Kind::kJson,
                          text_of(label),
                          {},
                          {}});
  }
}

}  // namespace

std::string json_text_of(const std::string& text) {
  return text_of(text);
}

LabelList read_jsonl(const fs::path& path, const fs::path& folder) {
  return parse_jsonl(read_file(path), path, folder);
}

LabelList parse_jsonl(std::string_view text, const fs::path& path, const fs::path& folder) {
  LabelList list{"JSON lines", path, {}, {}, hash_text(text)};
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1, ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Json parsed = Json::parse(line, nullptr, false);
    try {
      if (parsed.is_discarded()) throw bad_input("is no JSON");
      list.files.push_back(labelled_file(parsed, folder));
    } catch (const Error& error) {
      throw bad_input("line {}: {}", number, error.message())
          .in_file(path)
          .advise("write {\"file\": NAME, \"label\": …} in each line");
    }
  }
  return list;
}

LabelList read_coco(const fs::path& path, const fs::path& folder) {
  return parse_coco(read_file(path), path, folder);
}

LabelList parse_coco(std::string_view text, const fs::path& path, const fs::path& folder) {
  LabelList list{"COCO", path, {}, {}, hash_text(text), true};
  try {
    add_images(list, Json::parse(text), folder);
  } catch (const Json::exception& error) {
    throw bad_input("is not what COCO's annotations look like: {}", error.what())
        .in_file(path)
        .advise("it needs images with id and file_name, and annotations with image_id");
  }
  return list;
}

}  // namespace vernier
