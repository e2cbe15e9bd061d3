#include "sound.hpp"

#include <algorithm>

#include <samplerate.h>
#include <sndfile.h>
#include <heed/speech.hpp>

namespace samples {

namespace {

constexpr int kRate = heed::kSpeechRate, kLeastRate = 1000, kMostRate = 768000, kMostChannels = 256;

}  // namespace

struct Sound::Reader {
  struct CloseFile {
    void operator()(SNDFILE* file) const { sf_close(file); }
  };
  struct CloseConverter {
    void operator()(SRC_STATE* state) const { src_delete(state); }
  };
  std::string path;
  std::unique_ptr<SNDFILE, CloseFile> file;
  SF_INFO info = {};
  std::unique_ptr<SRC_STATE, CloseConverter> converter;  // none at 16 kHz
  std::vector<float> frames, mono;
  size_t used = 0;  // mono samples in the converter
  bool ended = false;

  // The next second of the file, with channels averaged.
  void read_mono() {
    const auto channels = static_cast<size_t>(info.channels);
    frames.resize(static_cast<size_t>(info.samplerate) * channels);
    const sf_count_t count = sf_readf_float(file.get(), frames.data(), info.samplerate);
    ended = count < info.samplerate;
    mono.resize(static_cast<size_t>(std::max<sf_count_t>(count, 0)));
    used = 0;
    for (size_t i = 0; i < mono.size(); ++i) {
      float sum = 0;
      for (size_t c = 0; c < channels; ++c) sum += frames[i * channels + c];
      mono[i] = sum / static_cast<float>(channels);
    }
  }
};

Sound::Sound() = default;
Sound::~Sound() = default;

bool Sound::open(const std::string& path) {
  auto reader = std::make_unique<Reader>();
  reader->path = path;
  reader->file.reset(sf_open(path.c_str(), SFM_READ, &reader->info));
  if (!reader->file) {
    error_ = path + ": " + sf_strerror(nullptr);
    return false;
  }
  const SF_INFO& info = reader->info;
  if (info.samplerate < kLeastRate || info.samplerate > kMostRate || info.channels < 1 ||
      info.channels > kMostChannels) {
    error_ = path + ": " + std::to_string(info.channels) + " channels at " + std::to_string(info.samplerate) +
             " Hz; 1 to 256 at 1,000 to 768,000 Hz are read";
    return false;
  }
  if (info.samplerate != kRate) {
    int error = 0;
    reader->converter.reset(src_new(SRC_SINC_MEDIUM_QUALITY, 1, &error));
    if (!reader->converter) {
      error_ = path + ": " + src_strerror(error);
      return false;
    }
  }
  reader_ = std::move(reader);
  return true;
}

bool Sound::read(std::vector<float>* samples) {
  Reader& r = *reader_;
  samples->clear();
  if (!r.converter) {
    if (!r.ended) r.read_mono();
    samples->swap(r.mono);
    r.mono.clear();
  }
  // The converter holds samples back until it is told that the input has ended.
  while (r.converter && samples->empty()) {
    if (r.used == r.mono.size() && !r.ended) r.read_mono();
    samples->resize(kRate);
    SRC_DATA data = {};
    data.data_in = r.mono.data() + r.used;
    data.input_frames = static_cast<long>(r.mono.size() - r.used);
    data.data_out = samples->data();
    data.output_frames = kRate;
    data.end_of_input = r.ended ? 1 : 0;
    data.src_ratio = static_cast<double>(kRate) / r.info.samplerate;
    if (const int error = src_process(r.converter.get(), &data); error != 0) {
      error_ = r.path + ": " + src_strerror(error);
      return false;
    }
    r.used += static_cast<size_t>(data.input_frames_used);
    samples->resize(static_cast<size_t>(data.output_frames_gen));
    if (r.ended && r.used == r.mono.size() && samples->empty()) break;
  }
  if (const int error = sf_error(r.file.get()); error != SF_ERR_NO_ERROR) {
    error_ = r.path + ": " + sf_error_number(error);
    return false;
  }
  return true;
}

}  // namespace samples
