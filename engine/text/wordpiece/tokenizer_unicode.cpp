#include "text/wordpiece/tokenizer_unicode.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include <utf8proc.h>

namespace heed {

namespace {

// The reference uses categories of Unicode 8 and slightly newer decompositions; utf8proc follows the current standard. These ranges contain
// the code points whose kind differs, and letters and unassigned code points for which it does not. tests/search/data/unicode_exceptions.py
// generates them.
enum class Kind : uint8_t { Plain, Punctuation, Mark };
struct Exception {
  char32_t first, last;
  Kind kind;
};
constexpr Kind kPlain = Kind::Plain, kSign = Kind::Punctuation, kMark = Kind::Mark;
constexpr Exception kExceptions[] = {
    {0x5C8, 0x5C9, kPlain},     {0x61D, 0x61D, kPlain},     {0x7FD, 0x7FD, kPlain},     {0x890, 0x8E2, kPlain},
    {0x9FD, 0x9FE, kPlain},     {0xA76, 0xA76, kPlain},     {0xAFA, 0xAFF, kPlain},     {0xB53, 0xB55, kPlain},
    {0xC04, 0xC3C, kPlain},     {0xC77, 0xC77, kPlain},     {0xC84, 0xC84, kPlain},     {0xD00, 0xD00, kPlain},
    {0xD3B, 0xD3C, kPlain},     {0xD81, 0xD81, kPlain},     {0xEBA, 0xEBA, kPlain},     {0xECE, 0xECE, kPlain},
    {0x166D, 0x166D, kSign},    {0x1734, 0x1734, kMark},    {0x180F, 0x1886, kPlain},   {0x1ABF, 0x1AF0, kPlain},
    {0x1B4E, 0x1B4F, kPlain},   {0x1B7D, 0x1B7F, kPlain},   {0x1DF6, 0x1DFB, kPlain},   {0x2E43, 0x2E63, kPlain},
    {0xA82C, 0xA82C, kPlain},   {0xA8C5, 0xA8C5, kPlain},   {0xA8FF, 0xA8FF, kPlain},   {0xA9BD, 0xA9BD, kPlain},
    {0x105C9, 0x105E4, kPlain}, {0x10D24, 0x10F89, kPlain}, {0x11070, 0x11074, kPlain}, {0x110C2, 0x110CD, kPlain},
    {0x111C9, 0x111C9, kSign},  {0x111CF, 0x111CF, kPlain}, {0x1123E, 0x11241, kPlain}, {0x1133B, 0x1133B, kPlain},
    {0x11383, 0x1145E, kPlain}, {0x11660, 0x1166C, kPlain}, {0x116B9, 0x116B9, kPlain}, {0x1171E, 0x1171E, kMark},
    {0x1182F, 0x11FFF, kPlain}, {0x12FF1, 0x1612F, kPlain}, {0x16D68, 0x16F4F, kPlain}, {0x16FE2, 0x16FE4, kPlain},
    {0x1CF00, 0x1D128, kPlain}, {0x1D25B, 0x1D25C, kPlain}, {0x1E000, 0x1E6F5, kPlain}, {0x1E944, 0x1E95F, kPlain},
};

const Exception* exception_of(char32_t c) {
  if (c < kExceptions[0].first) return nullptr;
  const auto* found = std::upper_bound(std::begin(kExceptions), std::end(kExceptions), c,
                                       [](char32_t value, const Exception& e) { return value < e.first; }) -
                      1;
  return c <= found->last ? found : nullptr;
}

utf8proc_category_t category_of(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

// Sorts each run of nonzero combining classes by class, stably (Unicode standard, section 3.11).
void order_marks(std::u32string* text) {
  const auto combining = [](char32_t c) {
    return c < 0x300 ? 0 : utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
  };
  for (size_t i = 0; i < text->size();) {
    size_t end = i;
    while (end < text->size() && combining((*text)[end]) != 0) ++end;
    const auto begin = text->begin();
    std::stable_sort(begin + static_cast<long>(i), begin + static_cast<long>(end),
                     [&](char32_t a, char32_t b) { return combining(a) < combining(b); });
    i = end + 1;
  }
}

}  // namespace

bool is_dropped(char32_t c) {
  if (c < 0x80) return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
  if (c == kReplacement) return true;
  const utf8proc_category_t category = category_of(c);
  return (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO) &&
         exception_of(c) == nullptr;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  if (const Exception* exception = exception_of(c)) return exception->kind == Kind::Punctuation;
  const utf8proc_category_t category = category_of(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_mark(char32_t c) {
  if (c < 0x300) return false;
  if (const Exception* exception = exception_of(c)) return exception->kind == Kind::Mark;
  return category_of(c) == UTF8PROC_CATEGORY_MN;
}

bool is_letter(char32_t c) {
  const utf8proc_category_t category = category_of(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_number(char32_t c) {
  const utf8proc_category_t category = category_of(c);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_cjk_ideograph(char32_t c) {
  return c >= 0x3400 && (c <= 0x4DBF || (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) ||
                         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) ||
                         (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0x2F800 && c <= 0x2FA1F));
}

void decode_utf8(std::string_view text, std::u32string* out) {
  for (size_t at = 0; at < text.size();) out->push_back(next_code_point(text, &at));
}

void compose(std::string* text) {
  utf8proc_uint8_t* composed = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text->data());
  const utf8proc_ssize_t size = utf8proc_map(bytes, static_cast<utf8proc_ssize_t>(text->size()), &composed, options);
  if (size >= 0) text->assign(reinterpret_cast<const char*>(composed), static_cast<size_t>(size));
  std::free(composed);
}

void append_utf8(char32_t c, std::string* out) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
  out->append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
}

void strip_accents(std::u32string* text) {
  if (std::all_of(text->begin(), text->end(), [](char32_t c) { return c < 0x80; })) return;
  std::u32string apart;
  apart.reserve(text->size());
  for (char32_t c : *text) {
    utf8proc_int32_t parts[8];  // the longest canonical decomposition has 4
    int boundary = 0;
    const bool kept = c < 0xC0 || exception_of(c) != nullptr;
    const utf8proc_ssize_t count =
        kept ? 0
             : utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, std::size(parts),
                                       static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary);
    if (count < 1 || count > static_cast<utf8proc_ssize_t>(std::size(parts)))
      apart.push_back(c);
    else
      for (utf8proc_ssize_t i = 0; i < count; ++i) apart.push_back(static_cast<char32_t>(parts[i]));
  }
  order_marks(&apart);
  std::erase_if(apart, is_mark);
  text->swap(apart);
}

void to_lower(std::u32string* text) {
  constexpr char32_t kCapitalIWithDot = 0x130;  // the one letter whose lower case is two code points
  std::u32string lower;
  lower.reserve(text->size());
  for (char32_t c : *text) {
    if (c < 0x80)
      lower.push_back(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    else if (c == kCapitalIWithDot)
      lower.append(U"i\u0307");
    else
      lower.push_back(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
  text->swap(lower);
}

}  // namespace heed
