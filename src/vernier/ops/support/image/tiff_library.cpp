#include "vernier/ops/support/image/tiff_library.h"

#include "vernier/base/dynamic_library.h"
#include "vernier/base/error.h"

namespace vernier::ops {

namespace {

Error not_usable(const std::string& reason) {
  return unsupported("a TIFF is decoded by libtiff 4.5 or newer, which cannot be used: {}", reason)
      .advise("install it (libtiff6 of Debian and Ubuntu), or give the image as a PNG");
}

template <class Function>
void find(const DynamicLibrary& library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(library.find(symbol));
  if (function == nullptr) throw not_usable(fmt::format("'{}' lacks {}", library.path().string(), symbol));
}

}  // namespace

TiffLibrary open_tiff_library(const std::string& name) {
  std::string reason;
  const auto library = DynamicLibrary::open(name, DynamicLibrary::Symbols::kPrivate, reason);
  if (!library) throw not_usable(reason);
  TiffLibrary functions;
  find(*library, "TIFFOpenOptionsAlloc", functions.new_options);
  find(*library, "TIFFOpenOptionsFree", functions.free_options);
  find(*library, "TIFFOpenOptionsSetErrorHandlerExtR", functions.set_error_handler);
  find(*library, "TIFFOpenOptionsSetWarningHandlerExtR", functions.set_warning_handler);
  find(*library, "TIFFClientOpenExt", functions.open);
  find(*library, "TIFFClose", functions.close);
  find(*library, "TIFFGetFieldDefaulted", functions.get_field_or_default);
  find(*library, "TIFFGetField", functions.get_field);
  find(*library, "TIFFRGBAImageOK", functions.is_rgba);
  find(*library, "TIFFReadRGBAImageOriented", functions.read_rgba);
  return functions;
}

}  // namespace vernier::ops
