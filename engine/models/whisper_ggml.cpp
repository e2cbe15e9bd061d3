// Reads Whisper from a file of whisper.cpp.
#include <cmath>
#include <set>

#include <heed/nn.hpp>

#include "base/find.hpp"
#include "base/logging.hpp"
#include "io/gguf_numbers.hpp"
#include "io/safetensors_header.hpp"
#include "models/family.hpp"
#include "models/whisper_loader.hpp"

namespace heed::models {

namespace {

constexpr PartModule kGgmlModules[] = {
    {"self_attention.layer_norm", {"attn_ln"}},
    {"self_attention.linear_0", {"attn.query", "attn.key", "attn.value"}},
    {"self_attention.linear_1", {"attn.out"}},
    {"attention.layer_norm", {"cross_attn_ln"}},
    {"attention.linear_0", {"cross_attn.query"}},
    {"attention.linear_1", {"cross_attn.key", "cross_attn.value"}},
    {"attention.linear_2", {"cross_attn.out"}},
    {"ffn.layer_norm", {"mlp_ln"}},
    {"ffn.linear_0", {"mlp.0"}},
    {"ffn.linear_1", {"mlp.2"}},
};
constexpr PartNames kGgmlNames = {.tokens = "decoder.token_embedding.weight",
                                  .positions = ".positional_embedding",
                                  .encoder_norm = "encoder.ln_post",
                                  .decoder_norm = "decoder.ln",
                                  .layers = ".blocks.",
                                  .modules = kGgmlModules};

// The languages in the order of their tokens. Files have the first 99 or all of them.
constexpr std::string_view kLanguages[] = {
    "en", "zh", "de", "es", "ru", "ko", "fr", "ja", "pt",  "tr", "pl", "ca", "nl", "ar", "sv", "it", "id",
    "hi", "fi", "vi", "he", "uk", "el", "ms", "cs", "ro",  "da", "hu", "ta", "no", "th", "ur", "hr", "bg",
    "lt", "la", "mi", "ml", "cy", "sk", "te", "fa", "lv",  "bn", "sr", "az", "sl", "kn", "et", "mk", "br",
    "eu", "is", "hy", "ne", "mn", "bs", "kk", "sq", "sw",  "gl", "mr", "pa", "si", "km", "sn", "yo", "so",
    "af", "oc", "ka", "be", "tg", "sd", "gu", "am", "yi",  "lo", "uz", "fo", "ht", "ps", "tk", "nn", "mt",
    "sa", "lb", "my", "bo", "tl", "mg", "as", "tt", "haw", "ln", "ha", "ba", "jw", "su", "yue"};

// Texts that are never drawn: the empty text, and signs that are not spoken. The last one is a prefix of all musical signs.
constexpr std::string_view kUnspoken[] = {
    "",   "\"", "#",   "(",   ")",  "*",   "+",  "/",  ":",  ";",   "<",  "=",  ">",   "@",
    "[",  "\\", "]",   "^",   "_",  "`",   "{",  "|",  "}",  "~",   "「", "」", "『",  "』",
    "<<", ">>", "<<<", ">>>", "--", "---", "-(", "-[", "('", "(\"", "((", "))", "(((", ")))",
    "[[", "]]", "{{",  "}}",  "♪♪", "♪♪♪", "♩",  "♪",  "♫",  "♬",   "♭",  "♮",  "♯",   "\xe2\x99"};
// Signs that are excluded only after a space.
constexpr std::string_view kUnspokenAtBegin[] = {"-", "'"};

class GgmlLoader : WhisperLoader {
 public:
  using WhisperLoader::WhisperLoader;

  Status run() {
    Status status = ggml_.open(path_.string(), log_);
    vocabulary_file_ = ggml_.name();
    if (status == Status::Ok) status = read_sizes();
    if (status == Status::Ok) status = check_filters();
    if (status == Status::Ok) status = find_weights();
    if (status == Status::Ok) status = read_vocabulary();
    if (status == Status::Ok) status = find_tokens();
    if (status == Status::Ok) forbid_tokens();
    return status;
  }

 private:
  Status wrong(Status status, const std::string& what) const { return fail(log_, status, ggml_.name() + ": " + what); }

  // --- The configuration

  Status read_sizes() {
    const GgmlWhisper::Sizes& s = ggml_.sizes();
    struct Size {
      const char* name;
      uint32_t value;
      int64_t most;
    };
    const Size all[] = {{"words", s.vocabulary, kMaxDecoderSize},
                        {"mel bands", s.bands, kMaxDecoderSize},
                        {"positions of the encoder", s.encoder.positions, kMostPositions},
                        {"width of the encoder", s.encoder.width, kMaxDecoderSize},
                        {"heads of the encoder", s.encoder.heads, kMaxDecoderSize},
                        {"layers of the encoder", s.encoder.layers, nn::kMaxLayers},
                        {"positions of the decoder", s.decoder.positions, kMostPositions},
                        {"width of the decoder", s.decoder.width, kMaxDecoderSize},
                        {"heads of the decoder", s.decoder.heads, kMaxDecoderSize},
                        {"layers of the decoder", s.decoder.layers, nn::kMaxLayers}};
    for (const Size& size : all)
      if (size.value < 1 || size.value > size.most)
        return wrong(Status::InvalidFile, format("the number of %s is %u; 1 to %lld are read", size.name, size.value,
                                                 static_cast<long long>(size.most)));
    if (s.encoder.width != s.decoder.width || s.encoder.width % s.encoder.heads != 0 ||
        s.decoder.width % s.decoder.heads != 0)
      return wrong(Status::InvalidFile, format("rows of %u and %u must be of one width, which %u and %u heads divide",
                                               s.encoder.width, s.decoder.width, s.encoder.heads, s.decoder.heads));
    config_.vocabulary = s.vocabulary;
    config_.width = s.encoder.width;
    config_.bands = s.bands;
    read_side(s.encoder, "encoder", &config_.encoder);
    read_side(s.decoder, "decoder", &config_.decoder);
    return Status::Ok;
  }

  // Reads the width of the feed-forward from its weights. If they are missing, the finder reports that.
  void read_side(const GgmlWhisper::Side& from, const std::string& name, WhisperSide* to) const {
    to->layers = static_cast<int>(from.layers);
    to->heads = from.heads;
    to->positions = from.positions;
    const std::string hidden = name + ".blocks.0.mlp.0.weight";
    to->hidden = 4 * config_.width;
    const GgmlWhisper::Entry* first = find_by_name(ggml_.entries(), hidden);
    if (first != nullptr && first->shape[0] <= kMaxDecoderSize) to->hidden = first->shape[0];
  }

  Status check_filters() const {
    constexpr int64_t kBins = WhisperConfig::kFrame / 2 + 1;
    const GgmlWhisper::Filters& filters = ggml_.filters();
    bool same = filters.bands == config_.bands && filters.bins == kBins;
    if (same) {
      const std::vector<double> triangles = mel_triangles(config_.bands);
      for (size_t i = 0; i < triangles.size(); ++i) {
        const auto value = static_cast<double>(load_number<float>(&filters.values[i * sizeof(float)]));
        same = same && std::fabs(value - triangles[i]) < 1e-5;
      }
    }
    return same ? Status::Ok
                : wrong(Status::Unsupported,
                        format("its mel filters are not the %lld of Whisper with %lld bins",
                               static_cast<long long>(config_.bands), static_cast<long long>(kBins)));
  }

  // --- Weights

  Status find_weights() {
    std::vector<Stored> stored;
    for (const GgmlWhisper::Entry& entry : ggml_.entries()) {
      Stored tensor = {entry.name, entry.type->name, entry.type->storage, entry.shape, entry.data};
      // Biases of convolutions have an additional axis of size 1.
      const bool is_column = entry.name.ends_with(".bias") && entry.shape.size() == 2 && entry.shape[1] == 1;
      if (is_column) tensor.shape = tensor.shape.first(1);
      stored.push_back(tensor);
    }
    return find_parts(stored, ggml_.name(), kGgmlNames, "", [](std::string_view) { return false; });
  }

  // --- Tokens

  // The file contains only texts; files of English models may include the end token. The other tokens follow in a fixed order, the last
  // ones being times up to the end of a window.
  Status read_vocabulary() {
    constexpr std::string_view kEnd = "<|endoftext|>";
    constexpr std::string_view kOthers[] = {"<|translate|>",   "<|transcribe|>", "<|startoflm|>",
                                            "<|startofprev|>", "<|nospeech|>",   "<|notimestamps|>"};
    std::span<const std::string_view> texts = ggml_.words();
    if (!texts.empty() && texts.back() == kEnd) texts = texts.first(texts.size() - 1);
    const int64_t times = config_.encoder.positions + 1,
                  known = static_cast<int64_t>(texts.size() + std::size(kOthers)) + 2;
    const int64_t languages = config_.vocabulary - times - known;
    if (texts.empty() || languages < 1 || languages > static_cast<int64_t>(std::size(kLanguages)))
      return wrong(Status::InvalidFile, format("%lld words and %zu texts leave %lld languages; 1 to %zu are known",
                                               static_cast<long long>(config_.vocabulary), texts.size(),
                                               static_cast<long long>(languages), std::size(kLanguages)));
    vocabulary_.reserve(static_cast<size_t>(config_.vocabulary));
    for (const std::string_view text : texts) vocabulary_.push_back(letters_of(text));
    vocabulary_.emplace_back(kEnd);
    vocabulary_.emplace_back("<|startoftranscript|>");
    for (int64_t i = 0; i < languages; ++i)
      vocabulary_.push_back("<|" + std::string(kLanguages[static_cast<size_t>(i)]) + "|>");
    for (const std::string_view other : kOthers) vocabulary_.emplace_back(other);
    vocabulary_.resize(static_cast<size_t>(config_.vocabulary));
    name_times();
    // In multilingual models the last text is empty.
    tokens_.multilingual = seems_multilingual() || texts.back().empty();
    return Status::Ok;
  }

  // GPT-2's letters: bytes that are not printable become the letters from U+0100 on, in order.
  static std::string letters_of(std::string_view bytes) {
    const auto is_letter = [](unsigned byte) { return (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad); };
    std::string letters;
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      unsigned letter = byte;
      if (!is_letter(byte)) {
        letter = 0x100;
        for (unsigned before = 0; before < byte; ++before) letter += is_letter(before) ? 0 : 1;
      }
      if (letter < 0x80) {
        letters += static_cast<char>(letter);
      } else {
        letters += static_cast<char>(0xc0 | letter >> 6);
        letters += static_cast<char>(0x80 | (letter & 0x3f));
      }
    }
    return letters;
  }

  // Forbids the ids that other formats list: signs that are not spoken, and special tokens. A window must not begin with a space or be
  // empty.
  void forbid_tokens() {
    std::set<std::string> unspoken;
    for (const std::string_view sign : kUnspoken) {
      unspoken.emplace(sign);
      if (!sign.empty()) unspoken.insert(" " + std::string(sign));
    }
    for (const std::string_view sign : kUnspokenAtBegin) unspoken.insert(" " + std::string(sign));
    const WhisperTokens& t = tokens_;
    for (int32_t id = 0; id < t.end; ++id) {
      const std::string text(ggml_.words()[static_cast<size_t>(id)]);
      if (unspoken.contains(text)) tokens_.suppressed.push_back(id);
      if (text == " ") tokens_.at_first.push_back(id);
    }
    tokens_.at_first.push_back(t.end);
    tokens_.suppressed.push_back(t.start);
    for (int32_t id = t.translate; id < t.no_times; ++id) tokens_.suppressed.push_back(id);
  }
};

}  // namespace

Status load_ggml(const std::string& path, const Log& log, WhisperModel* model) {
  return GgmlLoader(path, log, model).run();
}

}  // namespace heed::models
