#include "target.h"
#include "vernier/data/labelled/label_list.h"

// Lists and arrays of labels: the first byte says which reader.
VERNIER_FUZZ_TARGET([](auto bytes, auto text) {
  if (bytes.empty()) return;
  if (text[0] == 'i') vernier::read_idx(bytes.subspan(1));
  if (text[0] == 'c') vernier::parse_csv(text.substr(1));
  if (text[0] == 'j') vernier::parse_jsonl(text.substr(1), "list", "");
  if (text[0] == 'o') vernier::parse_coco(text.substr(1), "list", "");
})
