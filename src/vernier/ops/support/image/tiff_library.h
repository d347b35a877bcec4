// libtiff, which is opened when a TIFF is read. Nothing is linked with it: it brings libjbig along, whose
// licence (GPL) would become that of every program that is.
#pragma once

#include <tiffio.h>

#include <string>

namespace vernier::ops {

// Its functions, each of the type that its header declares.
struct TiffLibrary {
  decltype(&TIFFOpenOptionsAlloc) new_options = nullptr;
  decltype(&TIFFOpenOptionsFree) free_options = nullptr;
  decltype(&TIFFOpenOptionsSetErrorHandlerExtR) set_error_handler = nullptr;
  decltype(&TIFFOpenOptionsSetWarningHandlerExtR) set_warning_handler = nullptr;
  decltype(&TIFFClientOpenExt) open = nullptr;
  decltype(&TIFFClose) close = nullptr;
  decltype(&TIFFGetFieldDefaulted) get_field_or_default = nullptr;
  decltype(&TIFFGetField) get_field = nullptr;
  decltype(&TIFFRGBAImageOK) is_rgba = nullptr;
  decltype(&TIFFReadRGBAImageOriented) read_rgba = nullptr;
};

// Opens the library by the name of its file, and never closes it. Throws kUnsupported, with what to install,
// where it is not there or lacks a function.
TiffLibrary open_tiff_library(const std::string& name = "libtiff.so.6");

}  // namespace vernier::ops
