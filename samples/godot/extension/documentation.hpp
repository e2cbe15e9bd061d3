// The files of doc_classes, for the editor's help.
#pragma once

#include <span>

// Each is a whole XML file. The build generates them.
std::span<const char* const> documentation();
