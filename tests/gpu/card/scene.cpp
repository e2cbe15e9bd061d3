#include "gpu/card/scene.hpp"

#include "base/logging.hpp"
#include "gpu_scene.hpp"

namespace heed::gpu_tests {

using vulkan::structure;

namespace {

constexpr VkFormat kFormat = VK_FORMAT_R8G8B8A8_UNORM;

}  // namespace

Scene::~Scene() {
  const VkDevice device = context_.device;
  const vulkan::Functions& vk = context_.vk;
  if (pipeline_ != VK_NULL_HANDLE) vk.DestroyPipeline(device, pipeline_, nullptr);
  if (layout_ != VK_NULL_HANDLE) vk.DestroyPipelineLayout(device, layout_, nullptr);
  if (framebuffer_ != VK_NULL_HANDLE) vk_.DestroyFramebuffer(device, framebuffer_, nullptr);
  if (pass_ != VK_NULL_HANDLE) vk_.DestroyRenderPass(device, pass_, nullptr);
  if (view_ != VK_NULL_HANDLE) vk_.DestroyImageView(device, view_, nullptr);
  if (image_ != VK_NULL_HANDLE) vk_.DestroyImage(device, image_, nullptr);
  if (memory_ != VK_NULL_HANDLE) vk.FreeMemory(device, memory_, nullptr);
}

bool Scene::load() {
  bool all = true;
#define HEED_LOAD(name)                                                                                  \
  vk_.name = reinterpret_cast<PFN_vk##name>(context_.vk.GetDeviceProcAddr(context_.device, "vk" #name)); \
  all = all && vk_.name != nullptr;
  HEED_DRAWING(HEED_LOAD)
#undef HEED_LOAD
  return all;
}

Status Scene::create(VkExtent2D size) {
  size_ = size;
  if ((context_.physical.queue_families[context_.queue_family].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) {
    log(context_.log, LogLevel::Error, context_.info.name + ": the queue family that heed takes cannot draw");
    return Status::Unsupported;
  }
  if (!load()) return Status::Unsupported;
  Status status = create_image();
  if (status == Status::Ok) status = create_pass();
  return status == Status::Ok ? create_pipeline() : status;
}

Status Scene::create_image() {
  auto info = structure<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = kFormat;
  info.extent = {size_.width, size_.height, 1};
  info.mipLevels = info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
  Status status = context_.check("vkCreateImage", vk_.CreateImage(context_.device, &info, nullptr, &image_));
  if (status != Status::Ok) return status;
  VkMemoryRequirements needs;
  vk_.GetImageMemoryRequirements(context_.device, image_, &needs);
  auto allocate = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocate.allocationSize = needs.size;
  while ((needs.memoryTypeBits >> allocate.memoryTypeIndex & 1) == 0) ++allocate.memoryTypeIndex;
  status =
      context_.check("vkAllocateMemory", context_.vk.AllocateMemory(context_.device, &allocate, nullptr, &memory_));
  if (status == Status::Ok)
    status = context_.check("vkBindImageMemory", vk_.BindImageMemory(context_.device, image_, memory_, 0));
  auto view = structure<VkImageViewCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO);
  view.image = image_;
  view.viewType = VK_IMAGE_VIEW_TYPE_2D;
  view.format = kFormat;
  view.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  return status == Status::Ok
             ? context_.check("vkCreateImageView", vk_.CreateImageView(context_.device, &view, nullptr, &view_))
             : status;
}

Status Scene::create_pass() {
  VkAttachmentDescription color = {};
  color.format = kFormat;
  color.samples = VK_SAMPLE_COUNT_1_BIT;
  color.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  color.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
  color.stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
  color.stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
  color.finalLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
  const VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
  VkSubpassDescription subpass = {};
  subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
  subpass.colorAttachmentCount = 1;
  subpass.pColorAttachments = &reference;
  // Both frames in flight draw into one image.
  VkSubpassDependency order = {VK_SUBPASS_EXTERNAL,
                               0,
                               VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                               VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                               VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                               VK_ACCESS_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                               0};
  auto info = structure<VkRenderPassCreateInfo>(VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO);
  info.attachmentCount = info.subpassCount = info.dependencyCount = 1;
  info.pAttachments = &color;
  info.pSubpasses = &subpass;
  info.pDependencies = &order;
  const Status status =
      context_.check("vkCreateRenderPass", vk_.CreateRenderPass(context_.device, &info, nullptr, &pass_));
  if (status != Status::Ok) return status;
  auto frame = structure<VkFramebufferCreateInfo>(VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO);
  frame.renderPass = pass_;
  frame.attachmentCount = frame.layers = 1;
  frame.pAttachments = &view_;
  frame.width = size_.width;
  frame.height = size_.height;
  return context_.check("vkCreateFramebuffer", vk_.CreateFramebuffer(context_.device, &frame, nullptr, &framebuffer_));
}

Status Scene::create_pipeline() {
  const vulkan::Functions& vk = context_.vk;
  const auto layouts = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  Status status =
      context_.check("vkCreatePipelineLayout", vk.CreatePipelineLayout(context_.device, &layouts, nullptr, &layout_));
  VkShaderModule modules[2] = {};
  const auto make = [&](std::span<const uint32_t> words, VkShaderModule* module) {
    auto code = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    code.codeSize = words.size_bytes();
    code.pCode = words.data();
    if (status == Status::Ok)
      status = context_.check("vkCreateShaderModule", vk.CreateShaderModule(context_.device, &code, nullptr, module));
  };
  make(scene::kVertex, &modules[0]);
  make(scene::kFragment, &modules[1]);
  VkPipelineShaderStageCreateInfo stages[2] = {};
  for (int i = 0; i < 2; ++i) {
    stages[i] = structure<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
    stages[i].stage = i == 0 ? VK_SHADER_STAGE_VERTEX_BIT : VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[i].module = modules[i];
    stages[i].pName = "main";
  }
  const auto vertices =
      structure<VkPipelineVertexInputStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO);
  auto assembly =
      structure<VkPipelineInputAssemblyStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO);
  assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
  const VkViewport port = {0, 0, static_cast<float>(size_.width), static_cast<float>(size_.height), 0, 1};
  const VkRect2D scissor = {{0, 0}, size_};
  auto view = structure<VkPipelineViewportStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO);
  view.viewportCount = view.scissorCount = 1;
  view.pViewports = &port;
  view.pScissors = &scissor;
  auto raster =
      structure<VkPipelineRasterizationStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO);
  raster.lineWidth = 1;
  auto samples =
      structure<VkPipelineMultisampleStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO);
  samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  VkPipelineColorBlendAttachmentState add = {};
  add.blendEnable = VK_TRUE;
  add.srcColorBlendFactor = add.dstColorBlendFactor = VK_BLEND_FACTOR_ONE;
  add.srcAlphaBlendFactor = add.dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
  add.colorWriteMask =
      VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT;
  auto blend = structure<VkPipelineColorBlendStateCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO);
  blend.attachmentCount = 1;
  blend.pAttachments = &add;
  auto info = structure<VkGraphicsPipelineCreateInfo>(VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO);
  info.stageCount = 2;
  info.pStages = stages;
  info.pVertexInputState = &vertices;
  info.pInputAssemblyState = &assembly;
  info.pViewportState = &view;
  info.pRasterizationState = &raster;
  info.pMultisampleState = &samples;
  info.pColorBlendState = &blend;
  info.layout = layout_;
  info.renderPass = pass_;
  if (status == Status::Ok)
    status = context_.check("vkCreateGraphicsPipelines", vk_.CreateGraphicsPipelines(context_.device, VK_NULL_HANDLE, 1,
                                                                                     &info, nullptr, &pipeline_));
  for (const VkShaderModule module : modules)
    if (module != VK_NULL_HANDLE) vk.DestroyShaderModule(context_.device, module, nullptr);
  return status;
}

void Scene::draw(VkCommandBuffer commands, uint32_t layers) const {
  const VkClearValue black = {};
  auto info = structure<VkRenderPassBeginInfo>(VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO);
  info.renderPass = pass_;
  info.framebuffer = framebuffer_;
  info.renderArea = {{0, 0}, size_};
  info.clearValueCount = 1;
  info.pClearValues = &black;
  vk_.CmdBeginRenderPass(commands, &info, VK_SUBPASS_CONTENTS_INLINE);
  context_.vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_);
  vk_.CmdDraw(commands, 3, layers, 0, 0);
  vk_.CmdEndRenderPass(commands);
}

}  // namespace heed::gpu_tests
