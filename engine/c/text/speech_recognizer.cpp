// Speech recognizers, and the text of complete sounds.
#include "c/generated/options.hpp"
#include "c/text/speech_objects.hpp"
#include "c/text/text_objects.hpp"

namespace heed::c {

SegmentViews::SegmentViews(std::span<const SpeechSegment> of) {
  size_t count = 0;
  for (const SpeechSegment& from : of) count += from.words.size();
  words.reserve(count);  // segments point into it, so it must not reallocate
  for (const SpeechSegment& from : of) {
    heed_speech_segment& to = segments.emplace_back();
    to.begin = from.begin;
    to.end = from.end;
    to.text = from.text.c_str();
    to.text_bytes = from.text.size();
    to.ids = from.ids.data();
    to.id_count = from.ids.size();
    to.language = from.language.c_str();
    to.log_probability = from.log_probability;
    to.no_speech = from.no_speech;
    to.temperature = from.temperature;
    to.window_begin = from.window_begin;
    to.words = words.data() + words.size();
    to.word_count = from.words.size();
    for (const SpeechWord& word : from.words) {
      heed_speech_word& made = words.emplace_back();
      made.text = word.text.c_str();
      made.text_bytes = word.text.size();
      made.begin = word.begin;
      made.end = word.end;
      made.attention = word.attention.data();
      made.attention_count = word.attention.size();
      made.probability = word.probability;
    }
  }
}

}  // namespace heed::c

using namespace heed::c;

heed_status heed_speech_recognizer_open(heed_device* device_handle, const char* path,
                                        const heed_speech_recognizer_options* options,
                                        heed_speech_recognizer** recognizer) {
  Call call(__func__);
  if (!has_place(call, recognizer, "recognizer")) return call.status();
  const Pin<Device> device(call, device_handle);
  const std::string_view from = call.text(path, "path");
  auto made = std::make_unique<SpeechRecognizer>();
  Listener& listener = *made->shared;
  listener.host = std::make_shared<Host>(log_of(options));
  heed::SpeechRecognizerOptions wanted = read(call, options);
  wanted.log = listener.host->log();
  if (call.failed()) return call.status();
  listener.device_host = device->host;
  heed::Device on = device->get();
  if (call.end(heed::SpeechRecognizer::open(on, from, wanted, &listener.it), listener.host.get()) == HEED_OK) {
    made->languages = listener.it.languages();
    for (const std::string& language : made->languages) made->language_pointers.push_back(language.c_str());
  }
  return give(call, std::move(made), recognizer);
}

heed_status heed_speech_recognizer_destroy(heed_speech_recognizer* recognizer) {
  return destroy<SpeechRecognizer>(__func__, recognizer);
}

heed_status heed_speech_recognizer_get_info(heed_speech_recognizer* handle, heed_speech_recognizer_info* info) {
  Call call(__func__);
  const Pin<SpeechRecognizer> recognizer(call, handle);
  Wanted<heed_speech_recognizer_info> wanted(call, info, "info");
  if (call.failed()) return call.status();
  heed_speech_recognizer_info to = {};
  to.window_samples = recognizer->it().window_samples();
  to.stream_bytes = recognizer->it().stream_bytes();
  to.languages = recognizer->language_pointers.data();
  to.language_count = recognizer->language_pointers.size();
  wanted.set(to);
  return call.status();
}

heed_status heed_speech_recognizer_tokenizer(heed_speech_recognizer* handle, heed_tokenizer** tokenizer) {
  Call call(__func__);
  const Pin<SpeechRecognizer> recognizer(call, handle);
  if (!has_place(call, tokenizer, "tokenizer") || call.failed()) return call.status();
  auto made = std::make_unique<Tokenizer>();
  made->it = recognizer->it().tokenizer();
  return give(call, std::move(made), tokenizer);
}

heed_status heed_speech_recognizer_encoder(heed_speech_recognizer* handle, heed_plan** plan) {
  Call call(__func__);
  const Pin<SpeechRecognizer> recognizer(call, handle);
  if (!has_place(call, plan, "plan") || call.failed()) return call.status();
  return give_part<Plan>(call, *recognizer->shared, recognizer->it().encoder(), plan);
}

heed_status heed_speech_recognizer_decoder(heed_speech_recognizer* handle, heed_plan** plan) {
  Call call(__func__);
  const Pin<SpeechRecognizer> recognizer(call, handle);
  if (!has_place(call, plan, "plan") || call.failed()) return call.status();
  return give_part<Plan>(call, *recognizer->shared, recognizer->it().decoder(), plan);
}

heed_status heed_speech_recognizer_weights(heed_speech_recognizer* handle, heed_weights** weights) {
  Call call(__func__);
  const Pin<SpeechRecognizer> recognizer(call, handle);
  if (!has_place(call, weights, "weights") || call.failed()) return call.status();
  return give_part<Weights>(call, *recognizer->shared, recognizer->it().weights(), weights);
}

heed_status heed_speech_recognizer_recognize(heed_speech_recognizer* handle, const float* samples, size_t count,
                                             const heed_speech_options* options, heed_speech_text** text) {
  Call call(__func__);
  if (!has_place(call, text, "text")) return call.status();
  const Pin<SpeechRecognizer> recognizer(call, handle);
  const std::span<const float> sound = call.array(samples, count, "samples");
  const heed::SpeechOptions wanted = read(call, options);
  if (call.failed()) return call.status();
  heed::SpeechText heard;
  call.end(recognizer->it().recognize(sound, wanted, &heard), recognizer->host());
  return give(call, std::make_unique<SpeechText>(std::move(heard)), text);
}

heed_status heed_speech_text_destroy(heed_speech_text* text) { return destroy<SpeechText>(__func__, text); }

heed_status heed_speech_text_get_info(heed_speech_text* handle, heed_speech_text_info* info) {
  Call call(__func__);
  const Pin<SpeechText> text(call, handle);
  Wanted<heed_speech_text_info> wanted(call, info, "info");
  if (call.failed()) return call.status();
  heed_speech_text_info to = {};
  to.segments = text->views.segments.data();
  to.segment_count = text->views.segments.size();
  to.text = text->whole.c_str();
  to.text_bytes = text->whole.size();
  wanted.set(to);
  return call.status();
}
