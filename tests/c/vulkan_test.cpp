// The C interface inside a host that owns the device records what C++ records.
#include "c/host_in_c.hpp"
#include "c/speaker.hpp"
#include "speech/support.hpp"
#include "talk/support.hpp"

namespace heed::test {
namespace {

// Frames in which a host records steps of a model, with memory for them.
template <class Model>
class Frames {
 public:
  using Record = heed_status (*)(Model*, void*, const heed_buffer_range*, void*, double, heed_text_part*);
  Frames(HostVulkan& host, Model* model, heed_plan* plan, heed_status (*memory_bytes)(Model*, uint64_t*), Record record,
         heed_status (*finish)(Model*))
      : host_(host), model_(model), record_(record), finish_(finish) {
    done(memory_bytes(model, &bytes_));
    memory_ = host.allocate(bytes_);
    done(heed_plan_sync_needs(plan, &needs_));
  }
  ~Frames() { host_.free(memory_); }

  // Whether a step is over; the model has its result then.
  bool next() {
    REQUIRE(++count_ < 10'000);
    const heed_buffer_range range = {number_of(memory_.buffer), 0, bytes_};
    const VkCommandBuffer commands = host_.begin();
    auto part = sized<heed_text_part>();
    done(record_(model_, commands, &range, memory_.mapped, 1.0, &part));
    CHECK(part.recorded == 1);
    const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, needs_.after_src_accesses,
                                     VK_ACCESS_HOST_READ_BIT};
    host_.vk().CmdPipelineBarrier(commands, needs_.after_src_stages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                                  nullptr, 0, nullptr);
    host_.end(commands);
    host_.submit_and_wait(commands);
    if (part.complete != 0) done(finish_(model_));
    return part.complete != 0;
  }

 private:
  HostVulkan& host_;
  Model* model_;
  Record record_;
  heed_status (*finish_)(Model*);
  uint64_t bytes_ = 0;
  HostVulkan::Memory memory_;
  heed_sync_needs needs_ = sized<heed_sync_needs>();
  int count_ = 0;
};

}  // namespace

TEST_CASE("C: what a host records gives the bits of C++", "[c][vulkan][record]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Places places(*host);
  Device plain = host->adopt();
  Plan wanted_plan = compiled(plain, small_graph(), uploaded(plain, small_weights().list()));
  const vulkan::Buffer buffers[] = {{"ids", places.memory.buffer, 0, 12}, {"y", places.memory.buffer, 256, 48}};
  host->record_and_wait(wanted_plan, {.buffers = buffers});
  const std::vector<float> wanted = places.y();
  REQUIRE(wanted[0] != 0);

  HostInC in_c(*host);
  KeptDevice device(heed_device_adopt, &in_c.given);
  KeptPlan plan = small_in_c(device);
  places.forget();
  VkCommandBuffer commands = host->begin();
  done(heed_plan_record(plan, commands, &places.info));
  host->end(commands);
  host->submit_and_wait(commands);
  CHECK(places.y() == wanted);
  done(heed_plan_take_faults(plan, 0));

  auto needs = sized<heed_sync_needs>();
  done(heed_plan_sync_needs(plan, &needs));
  const vulkan::SyncNeeds plain_needs = vulkan::sync_needs(wanted_plan);
  CHECK(needs.before_dst_stages2 == plain_needs.before.dstStageMask);
  CHECK(needs.before_dst_accesses2 == plain_needs.before.dstAccessMask);
  CHECK(needs.after_src_stages2 == plain_needs.after.srcStageMask);
  CHECK(needs.after_src_accesses2 == plain_needs.after.srcAccessMask);
  CHECK(needs.before_dst_stages == plain_needs.before_dst_stages);
  CHECK(needs.before_dst_accesses == plain_needs.before_dst_accesses);
  CHECK(needs.after_src_stages == plain_needs.after_src_stages);
  CHECK(needs.after_src_accesses == plain_needs.after_src_accesses);

  // In parts, as small as can be.
  places.forget();
  auto estimate = sized<heed_estimate>();
  done(heed_plan_estimate(plan, nullptr, 0, nullptr, &estimate));
  CHECK(estimate.milliseconds > 0);
  heed_cursor cursor = {};
  uint32_t parts = 0;
  while (cursor.done == 0) {
    commands = host->begin();
    done(heed_plan_record_some(plan, commands, &places.info, 0, &cursor));
    host->end(commands);
    host->submit_and_wait(commands);
    REQUIRE(++parts <= estimate.dispatches);
  }
  CHECK(parts == estimate.dispatches);
  CHECK(places.y() == wanted);
  commands = host->begin();
  refused(heed_plan_record_some(plan, commands, &places.info, 0, &cursor), HEED_INVALID_ARGUMENT, "done");
  host->end(commands);

  // An id behind the table's end.
  const int32_t far = 5;
  std::memcpy(places.memory.mapped, &far, 4);
  commands = host->begin();
  done(heed_plan_record(plan, commands, &places.info));
  host->end(commands);
  host->submit_and_wait(commands);
  CHECK(heed_plan_take_faults(plan, 0) == HEED_INDEX_OUT_OF_RANGE);
  CHECK(heed_plan_take_faults(plan, 0) == HEED_OK);
  CHECK(host->take_validation() == "");
  (void)host->take_log();
}

TEST_CASE("C: a host's memory, queue and budgets", "[c][vulkan]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  struct Counts {
    const HostVulkan* host;
    int blocks = 0, allocations = 0, submits = 0;
  } counts = {host.get()};
  const heed_memory_allocator allocator = {
      [](void* user, const heed_memory_request* request, heed_memory_block* block) {
        auto& to = *static_cast<Counts*>(user);
        ++to.blocks;
        ++to.allocations;
        CHECK(request->size == sizeof(heed_memory_request));
        CHECK(request->bytes > 0);
        CHECK(request->name != nullptr);
        CHECK(request->buffer != 0);
        VkPhysicalDeviceMemoryProperties memory = {};
        to.host->vk().GetPhysicalDeviceMemoryProperties(to.host->host_device().physical_device, &memory);
        auto info = vulkan::structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
        info.allocationSize = request->bytes;
        while ((request->memory_type_bits >> info.memoryTypeIndex & 1u) == 0 ||
               (memory.memoryTypes[info.memoryTypeIndex].propertyFlags & request->required) != request->required)
          ++info.memoryTypeIndex;
        VkDeviceMemory made = VK_NULL_HANDLE;
        const VkResult result = to.host->vk().AllocateMemory(to.host->device(), &info, nullptr, &made);
        if (result != VK_SUCCESS) return static_cast<int32_t>(result);
        *block = {number_of(made), 0, nullptr, &to, info.memoryTypeIndex, 0};
        if ((request->required & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0)
          to.host->vk().MapMemory(to.host->device(), made, 0, VK_WHOLE_SIZE, 0, &block->mapped);
        return int32_t{0};
      },
      [](void* user, const heed_memory_block* block) {
        auto& to = *static_cast<Counts*>(user);
        --to.blocks;
        CHECK(block->token == user);
        to.host->vk().FreeMemory(to.host->device(), handle_of<VkDeviceMemory>(block->memory), nullptr);
      },
      &counts};
  const heed_queue_access access = {
      nullptr, nullptr,
      [](void* user, void* queue, const void* info, uint64_t fence) {
        auto& to = *static_cast<Counts*>(user);
        ++to.submits;
        return static_cast<int32_t>(to.host->vk().QueueSubmit(
            static_cast<VkQueue>(queue), 1, static_cast<const VkSubmitInfo*>(info), handle_of<VkFence>(fence)));
      },
      &counts};
  HostInC in_c(*host);
  in_c.given.memory = &allocator;
  in_c.given.queue_access = &access;
  KeptDevice device(heed_device_adopt, &in_c.given);
  auto compile = sized<heed_compile_options>();
  compile.host_scratch = 1;
  KeptPlan plan = small_in_c(device, &compile);
  CHECK(counts.allocations > 0);
  CHECK(counts.submits > 0);  // the upload

  // Scratch in the host's buffer.
  Places places(*host);
  auto needs = sized<heed_buffer_needs>();
  done(heed_plan_scratch_needs(plan, &needs));
  VkCommandBuffer commands = host->begin();
  if (needs.bytes > 0) {
    refused(heed_plan_record(plan, commands, &places.info), HEED_MISSING_BUFFER, "scratch");
    const HostVulkan::Memory scratch = host->allocate(needs.bytes, needs.usage);
    heed_buffer_range range = {number_of(scratch.buffer), 0, needs.bytes - 1};
    refused(heed_plan_bind_scratch(plan, &range), HEED_BUFFER_TOO_SMALL, "");
    range.bytes = HEED_WHOLE_SIZE;
    done(heed_plan_bind_scratch(plan, &range));
  }
  done(heed_plan_record(plan, commands, &places.info));
  host->end(commands);
  host->submit_and_wait(commands);
  const std::vector<float> wanted = places.y();

  // Weights in the host's buffer, which heed's queue copies to.
  const std::vector<float> table = pattern(20, 1);
  const int64_t sizes[] = {5, 4};
  const heed_host_tensor tensor = {"table", sizes, 2, table.data(), 80, HEED_F32, 0};
  done(heed_device_upload_needs(device, &tensor, 1, nullptr, &needs));
  CHECK(needs.bytes >= 80);
  const HostVulkan::Memory own = host->allocate(needs.bytes, needs.usage);
  const heed_buffer_range range = {number_of(own.buffer), 0, needs.bytes};
  KeptWeights weights(heed_device_upload_at, device, &tensor, 1, nullptr, &range, nullptr);
  uint64_t bytes = 0;
  done(heed_weights_bytes(weights, &bytes));
  CHECK(bytes >= 80);

  // A helper that submits gives the same.
  auto options = sized<heed_submitter_options>();
  options.slots = 1;
  options.stages_before = VK_PIPELINE_STAGE_HOST_BIT;
  options.accesses_before = VK_ACCESS_HOST_WRITE_BIT;
  options.stages_after = VK_PIPELINE_STAGE_HOST_BIT;
  options.accesses_after = VK_ACCESS_HOST_READ_BIT;
  KeptSubmitter submitter(heed_submitter_create, device, &options);
  places.forget();
  uint32_t slot = 9;
  done(heed_submitter_submit(submitter, plan, &places.info, &slot));
  CHECK(slot == 0);
  done(heed_submitter_wait(submitter, slot));
  done(heed_submitter_poll(submitter, slot));
  CHECK(places.y() == wanted);
  const uint32_t pretended = 7;
  refused(heed_submitter_wait(submitter, pretended), HEED_INVALID_ARGUMENT, "");

  size_t count = 0;
  const heed_status budget = heed_device_memory_budget(device, nullptr, 0, &count);
  CHECK(budget == HEED_UNSUPPORTED);  // the host lists no extension
  (void)submitter.gone();
  (void)weights.gone();
  (void)plan.gone();
  (void)device.gone();
  CHECK(counts.blocks == 0);
  (void)host->take_log();
}

TEST_CASE("C: states that a host records, in its memory", "[c][vulkan][state]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  HostInC in_c(*host);
  KeptDevice device(heed_device_adopt, &in_c.given);
  KeptGraph graph(heed_graph_create);
  const heed_dim shape[] = {1, 6}, rows[] = {1, 6};
  const heed_tensor x = heed_graph_input(graph, "x", rows, 2, HEED_F32);
  const heed_tensor kept = heed_graph_state(graph, "kept", shape, 2, HEED_F32);
  const heed_tensor sum = heed_graph_add(graph, kept, x);
  heed_graph_output(graph, "y", heed_graph_scale(graph, sum, 1));
  heed_graph_append(graph, kept, x, 0, 0);
  KeptPlan plan(heed_device_compile, device, graph, nullptr, nullptr);
  auto needs = sized<heed_buffer_needs>();
  done(heed_plan_state_needs(plan, &needs));
  REQUIRE(needs.bytes >= 24);
  const HostVulkan::Memory memory = host->allocate(needs.bytes, needs.usage);
  const heed_buffer_range range = {number_of(memory.buffer), 0, needs.bytes};
  KeptState state(heed_plan_make_state_at, plan, &range);
  KeptState other(heed_plan_make_state, plan);
  const VkCommandBuffer commands = host->begin();
  done(heed_state_record_clear(state, commands));
  done(heed_state_record_copy(other, state, commands));
  host->end(commands);
  const float ones[6] = {1, 1, 1, 1, 1, 1};
  float read[6] = {};
  done(heed_state_write(other, "kept", nullptr, ones, sizeof(ones)));
  host->submit_and_wait(commands);
  done(heed_state_read(other, "kept", nullptr, read, sizeof(read)));
  for (const float value : read) CHECK(value == 0);
  refused(heed_state_record_copy(other, nullptr, commands), HEED_INVALID_ARGUMENT, "is NULL");
  refused(heed_state_record_clear(other, nullptr), HEED_INVALID_ARGUMENT, "command_buffer is NULL");
  (void)host->take_log();
}

TEST_CASE("C: steps of a language model that a host records", "[c][vulkan][talk]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Device plain_device = host->adopt();
  TextConversation plain = prompted(tiny_speaker(plain_device), drawn(3, 6), "The dragon sleeps.");
  const std::string wanted = tell(plain).text();

  HostInC in_c(*host);
  KeptDevice device(heed_device_adopt, &in_c.given);
  auto options = sized<heed_text_generator_options>();
  options.context = 128;
  KeptGenerator generator(heed_text_generator_open, device, kTinySpeaker.c_str(), &options);
  auto begin = sized<heed_conversation_options>();
  begin.sampling = drawn_in_c(3);
  begin.most_tokens = 6;
  KeptConversation conversation(heed_conversation_begin, generator, &begin);
  done(heed_conversation_prompt(conversation, "The dragon sleeps.", 1));
  KeptPlan plan(heed_text_generator_plan, generator);
  refused(heed_text_generator_finish_step(generator), HEED_INVALID_ARGUMENT, "no complete step");
  Frames<heed_text_generator> frames(*host, generator, plan, heed_text_generator_memory_bytes,
                                     heed_text_generator_record_step, heed_text_generator_finish_step);
  std::string said;
  while (answers(conversation)) {
    if (!frames.next()) continue;
    auto piece = sized<heed_text_piece>();
    done(heed_conversation_poll(conversation, &piece));
    said.append(piece.text, piece.text_bytes);
  }
  CHECK(said == wanted);
  CHECK(host->take_validation() == "");
  (void)host->take_log();
}

TEST_CASE("C: steps of a speech recognizer that a host records", "[c][vulkan][speech]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  const TinyWhisper tiny("english");
  HostInC in_c(*host);
  KeptDevice device(heed_device_adopt, &in_c.given);
  KeptRecognizer recognizer(heed_speech_recognizer_open, device, tiny.path.c_str(), nullptr);
  auto options = sized<heed_speech_options>();
  options.timestamps = 0;
  options.temperature_step = 0;
  options.most_no_speech = HUGE_VALF;
  KeptStream stream(heed_speech_stream_begin, recognizer, &options);
  done(heed_speech_stream_push(stream, tiny.sound.data(), tiny.sound.size()));
  done(heed_speech_stream_finish(stream));
  KeptPlan plan(heed_speech_recognizer_decoder, recognizer);
  refused(heed_speech_recognizer_finish_step(recognizer), HEED_INVALID_ARGUMENT, "no complete step");
  Frames<heed_speech_recognizer> frames(*host, recognizer, plan, heed_speech_recognizer_memory_bytes,
                                        heed_speech_recognizer_record_step, heed_speech_recognizer_finish_step);
  std::vector<std::vector<int32_t>> ids;
  for (int32_t busy = 1; busy != 0;) {
    if (frames.next()) {
      auto piece = sized<heed_speech_piece>();
      done(heed_speech_stream_poll(stream, &piece));
      for (size_t i = 0; i < piece.segment_count; ++i)
        ids.emplace_back(piece.segments[i].ids, piece.segments[i].ids + piece.segments[i].id_count);
    }
    done(heed_speech_stream_busy(stream, &busy));
  }
  CHECK(ids == tiny.lists("plain"));
  CHECK(host->take_validation() == "");
  (void)host->take_log();
}

}  // namespace heed::test
