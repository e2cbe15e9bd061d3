// Streams of sound, and their text.
#include "c/generated/options.hpp"
#include "c/text/speech_objects.hpp"

namespace heed::c {
namespace {

heed_status next_piece(const char* function, heed_speech_stream* handle, heed_speech_piece* piece,
                       Status (heed::SpeechStream::*next)(SpeechPiece*)) {
  Call call(function);
  const Pin<SpeechStream> stream(call, handle);
  Wanted<heed_speech_piece> wanted(call, piece, "piece");
  if (call.failed()) return call.status();
  SpeechPiece& from = stream->piece;
  from = {};
  if (call.end((stream->it.*next)(&from), stream->host()) != HEED_OK) return call.status();
  stream->views = SegmentViews(from.segments);
  heed_speech_piece to = {};
  to.segments = stream->views.segments.data();
  to.segment_count = stream->views.segments.size();
  to.partial = from.partial.c_str();
  to.partial_bytes = from.partial.size();
  to.token = from.token;
  to.done = from.done;
  wanted.set(to);
  return call.status();
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_speech_stream_begin(heed_speech_recognizer* handle, const heed_speech_options* options,
                                     heed_speech_stream** stream) {
  Call call(__func__);
  if (!has_place(call, stream, "stream")) return call.status();
  const Pin<SpeechRecognizer> recognizer(call, handle);
  const heed::SpeechOptions wanted = read(call, options);
  if (call.failed()) return call.status();
  auto made = std::make_unique<SpeechStream>(recognizer->shared);
  call.end(recognizer->it().begin(wanted, &made->it), recognizer->host());
  return give(call, std::move(made), stream);
}

heed_status heed_speech_stream_destroy(heed_speech_stream* stream) { return destroy<SpeechStream>(__func__, stream); }

heed_status heed_speech_stream_push(heed_speech_stream* handle, const float* samples, size_t count) {
  Call call(__func__);
  const Pin<SpeechStream> stream(call, handle);
  const std::span<const float> sound = call.array(samples, count, "samples");
  return call.failed() ? call.status() : call.end(stream->it.push(sound), stream->host());
}

heed_status heed_speech_stream_finish(heed_speech_stream* handle) {
  Call call(__func__);
  const Pin<SpeechStream> stream(call, handle);
  if (!call.failed()) stream->it.finish();
  return call.status();
}

heed_status heed_speech_stream_busy(heed_speech_stream* handle, int32_t* busy) {
  Call call(__func__);
  const Pin<SpeechStream> stream(call, handle);
  if (call.has(busy, "busy") && !call.failed()) *busy = stream->it.busy();
  return call.status();
}

heed_status heed_speech_stream_seconds(heed_speech_stream* handle, double* seconds) {
  Call call(__func__);
  const Pin<SpeechStream> stream(call, handle);
  if (call.has(seconds, "seconds") && !call.failed()) *seconds = stream->it.seconds();
  return call.status();
}

heed_status heed_speech_stream_step(heed_speech_stream* stream, heed_speech_piece* piece) {
  return next_piece(__func__, stream, piece, &heed::SpeechStream::step);
}

heed_status heed_speech_stream_poll(heed_speech_stream* stream, heed_speech_piece* piece) {
  return next_piece(__func__, stream, piece, &heed::SpeechStream::poll);
}

heed_status heed_speech_stream_cancel(heed_speech_stream* handle) {
  Call call(__func__);
  const Pin<SpeechStream> stream(call, handle);
  if (!call.failed()) stream->it.cancel();
  return call.status();
}
