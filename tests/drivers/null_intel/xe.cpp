// Imitates Linux's kernel driver xe for a GPU of Intel that need not exist, so that Mesa's Vulkan driver compiles kernels for it.
// Nothing runs: submissions do nothing, and every fence is signalled. Load it before other libraries; see build.sh.
//   HEED_NULL_INTEL         the GPU: "DEVICE REVISION GRAPHICS CORES EUS VRAM", numbers as strtoull reads them:
//                           PCI ids; the version of its graphics as 256 major + minor; a bit for each core (Mesa's dual
//                           subslice), and for each EU of one; GiB of its own memory
//   HEED_NULL_INTEL_FOLDER  replaces / where programs look for devices: has dev/dri/renderD128 and sys/dev/char/226:128
#include <dirent.h>
#include <dlfcn.h>
#include <drm/drm.h>
#include <drm/xe_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace {

constexpr char kNode[] = "/dev/dri/renderD128", kDevices[] = "/sys/dev/char/226:128", kFolder[] = "/dev/dri";
constexpr uint64_t kPage = 4096, kPageOfVram = 65536, kGiB = 1u << 30;

struct Gpu {
  unsigned device, revision, version;
  uint64_t cores, eus, vram;
};

Gpu read_gpu() {
  const char* text = getenv("HEED_NULL_INTEL");
  uint64_t numbers[6] = {};
  for (uint64_t& number : numbers) {
    char* end = nullptr;
    number = text == nullptr ? 0 : strtoull(text, &end, 0);
    text = end;
  }
  return {unsigned(numbers[0]), unsigned(numbers[1]), unsigned(numbers[2]), numbers[3], numbers[4], numbers[5] * kGiB};
}

const Gpu& gpu() {
  static const Gpu one = read_gpu();
  return one;
}

// The C library's function that this one replaces.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// --- Files ----------------------------------------------------------------------------------------------------------------

struct Path {
  explicit Path(const char* asked) : name(asked) {
    const char* folder = getenv("HEED_NULL_INTEL_FOLDER");
    if (asked == nullptr || folder == nullptr) return;
    if (strncmp(asked, kFolder, sizeof kFolder - 1) != 0 && strncmp(asked, kDevices, sizeof kDevices - 1) != 0) return;
    if (snprintf(text, sizeof text, "%s%s", folder, asked) < int(sizeof text)) name = text;
  }
  bool is_node() const { return name == text && strcmp(name + strlen(name) - (sizeof kNode - 1), kNode) == 0; }

  const char* name;
  char text[4096];
};

void become_node(struct stat64* status) {
  status->st_mode = S_IFCHR | 0666;
  status->st_rdev = makedev(226, 128);
}

// An open device is an anonymous memory file. Its buffers are consecutive, and are mapped from there.
bool is_device(int file) {
  char link[64], target[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, target, sizeof target);
  constexpr char kName[] = "/memfd:heed_null_intel";
  return length >= ssize_t(sizeof kName - 1) && memcmp(target, kName, sizeof kName - 1) == 0;
}

int open_device() { return memfd_create("heed_null_intel", MFD_CLOEXEC); }

// --- Requests -------------------------------------------------------------------------------------------------------------

int refuse(int error) {
  errno = error;
  return -1;
}

uint32_t new_id() {
  static uint32_t last = 0;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

// A buffer's handle is the number of its first page, counted from 1.
int create_buffer(int device, drm_xe_gem_create* buffer) {
  static char lock = 0;
  while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {
  }
  const off64_t begin = lseek64(device, 0, SEEK_END);
  const int result = begin < 0 ? -1 : ftruncate64(device, off64_t(begin + (buffer->size + kPage - 1) / kPage * kPage));
  __atomic_clear(&lock, __ATOMIC_RELEASE);
  buffer->handle = uint32_t(begin / kPage + 1);
  return result;
}

// The bytes of an answer, many of which end with an array after the number of its elements.
class Answer {
 public:
  template <class Part>
  void add(const Part& part) {
    memcpy(bytes_ + size_, &part, sizeof part);
    size_ += uint32_t(sizeof part);
  }
  void add_count(uint64_t count) { add(count); }  // 32 bits, and 32 of padding
  // Returns the size if the query provides no memory.
  int give(drm_xe_device_query* query) const {
    if (query->size != 0 && query->size < size_) return refuse(EINVAL);
    if (query->size != 0) memcpy(reinterpret_cast<void*>(query->data), bytes_, size_);
    query->size = size_;
    return 0;
  }

 private:
  char bytes_[512];
  uint32_t size_ = 0;
};

void tell_engines(Answer* answer) {
  answer->add_count(3);
  constexpr uint16_t kKinds[] = {DRM_XE_ENGINE_CLASS_RENDER, DRM_XE_ENGINE_CLASS_COPY, DRM_XE_ENGINE_CLASS_COMPUTE};
  for (const uint16_t kind : kKinds) {
    drm_xe_engine engine = {};
    engine.instance.engine_class = kind;
    answer->add(engine);
  }
}

void tell_memory(Answer* answer) {
  answer->add_count(gpu().vram == 0 ? 1 : 2);
  drm_xe_mem_region region = {};
  region.mem_class = DRM_XE_MEM_REGION_CLASS_SYSMEM;
  region.min_page_size = kPage;
  region.total_size = 16 * kGiB;
  answer->add(region);
  if (gpu().vram == 0) return;
  region.mem_class = DRM_XE_MEM_REGION_CLASS_VRAM;
  region.instance = 1;
  region.min_page_size = kPageOfVram;
  region.total_size = region.cpu_visible_size = gpu().vram;
  answer->add(region);
}

void tell_config(Answer* answer) {
  const bool vram = gpu().vram != 0;
  answer->add_count(5);
  answer->add(uint64_t{gpu().device | gpu().revision << 16});            // DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID
  answer->add(uint64_t{vram ? DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM : 0u});  // _FLAGS
  answer->add(vram ? kPageOfVram : kPage);                               // _MIN_ALIGNMENT
  answer->add(uint64_t{48});                                             // _VA_BITS
  answer->add(uint64_t{1});                                              // _MAX_EXEC_QUEUE_PRIORITY
}

void tell_parts(Answer* answer) {
  answer->add_count(1);
  drm_xe_gt part = {};
  part.type = DRM_XE_QUERY_GT_TYPE_MAIN;
  part.reference_clock = 19'200'000;
  part.near_mem_regions = gpu().vram == 0 ? 1 : 2;
  part.far_mem_regions = gpu().vram == 0 ? 0 : 1;
  part.ip_ver_major = uint16_t(gpu().version >> 8);
  part.ip_ver_minor = uint16_t(gpu().version & 255);
  part.ip_ver_rev = uint16_t(gpu().revision);
  answer->add(part);
}

void tell_topology(Answer* answer) {
  const auto add_mask = [&](uint16_t type, uint64_t bits) {
    answer->add(drm_xe_query_topology_mask{0, type, sizeof bits});
    answer->add(bits);
  };
  add_mask(DRM_XE_TOPO_DSS_GEOMETRY, gpu().cores);
  add_mask(DRM_XE_TOPO_DSS_COMPUTE, gpu().cores);
  // An EU has 16 lanes from Xe2 on, and 8 before.
  add_mask(gpu().version >= 0x1400 ? DRM_XE_TOPO_SIMD16_EU_PER_DSS : DRM_XE_TOPO_EU_PER_DSS, gpu().eus);
}

int answer_query(drm_xe_device_query* query) {
  Answer answer;
  switch (query->query) {
    case DRM_XE_DEVICE_QUERY_ENGINES: tell_engines(&answer); break;
    case DRM_XE_DEVICE_QUERY_MEM_REGIONS: tell_memory(&answer); break;
    case DRM_XE_DEVICE_QUERY_CONFIG: tell_config(&answer); break;
    case DRM_XE_DEVICE_QUERY_GT_LIST: tell_parts(&answer); break;
    case DRM_XE_DEVICE_QUERY_GT_TOPOLOGY: tell_topology(&answer); break;
    case DRM_XE_DEVICE_QUERY_HWCONFIG: break;  // as for GPUs that report nothing: Mesa has its own tables
    default: return refuse(EINVAL);
  }
  return answer.give(query);
}

int answer_version(drm_version* version) {
  const auto fill = [](char* to, size_t* room, const char* text) {
    if (to != nullptr) memcpy(to, text, *room < strlen(text) ? *room : strlen(text));
    *room = strlen(text);
  };
  fill(version->name, &version->name_len, "xe");
  fill(version->date, &version->date_len, "0");
  fill(version->desc, &version->desc_len, "none");
  version->version_major = 1;
  version->version_minor = version->version_patchlevel = 0;
  return 0;
}

// Sync objects are always signalled.
int answer_points(const drm_syncobj_timeline_array* array) {
  auto* const points = reinterpret_cast<uint64_t*>(array->points);
  for (uint32_t i = 0; i < array->count_handles; ++i) points[i] = INT64_MAX;
  return 0;
}

int request_of_device(int device, unsigned long request, void* data) {
  const auto give_id = [](uint32_t* id) {
    *id = new_id();
    return 0;
  };
  switch (request) {
    case DRM_IOCTL_VERSION: return answer_version(static_cast<drm_version*>(data));
    case DRM_IOCTL_GET_CAP: static_cast<drm_get_cap*>(data)->value = 1; return 0;
    case DRM_IOCTL_XE_DEVICE_QUERY: return answer_query(static_cast<drm_xe_device_query*>(data));
    case DRM_IOCTL_XE_GEM_CREATE: return create_buffer(device, static_cast<drm_xe_gem_create*>(data));
    case DRM_IOCTL_XE_GEM_MMAP_OFFSET: {
      auto* const buffer = static_cast<drm_xe_gem_mmap_offset*>(data);
      buffer->offset = (buffer->handle - 1) * kPage;
      return 0;
    }
    case DRM_IOCTL_XE_VM_CREATE: return give_id(&static_cast<drm_xe_vm_create*>(data)->vm_id);
    case DRM_IOCTL_XE_EXEC_QUEUE_CREATE: return give_id(&static_cast<drm_xe_exec_queue_create*>(data)->exec_queue_id);
    case DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY: static_cast<drm_xe_exec_queue_get_property*>(data)->value = 0; return 0;
    case DRM_IOCTL_SYNCOBJ_CREATE: return give_id(&static_cast<drm_syncobj_create*>(data)->handle);
    case DRM_IOCTL_SYNCOBJ_QUERY: return answer_points(static_cast<drm_syncobj_timeline_array*>(data));
    case DRM_IOCTL_SYNCOBJ_WAIT: static_cast<drm_syncobj_wait*>(data)->first_signaled = 0; return 0;
    case DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT: static_cast<drm_syncobj_timeline_wait*>(data)->first_signaled = 0; return 0;
    case DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD:
      static_cast<drm_syncobj_handle*>(data)->fd = memfd_create("heed_null_fence", MFD_CLOEXEC);
      return 0;
    case DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE: {
      auto* const object = static_cast<drm_syncobj_handle*>(data);
      return (object->flags & DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE) != 0 ? 0 : give_id(&object->handle);
    }
    case DRM_IOCTL_GEM_CLOSE:
    case DRM_IOCTL_SET_CLIENT_NAME:
    case DRM_IOCTL_SYNCOBJ_DESTROY:
    case DRM_IOCTL_SYNCOBJ_RESET:
    case DRM_IOCTL_SYNCOBJ_SIGNAL:
    case DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL:
    case DRM_IOCTL_SYNCOBJ_TRANSFER:
    case DRM_IOCTL_XE_VM_DESTROY:
    case DRM_IOCTL_XE_VM_BIND:
    case DRM_IOCTL_XE_EXEC_QUEUE_DESTROY:
    case DRM_IOCTL_XE_EXEC:
    case DRM_IOCTL_XE_WAIT_USER_FENCE: return 0;
    default:
      fprintf(stderr, "null_intel does not know request %lu of the GPU's driver\n", request & 255);
      return refuse(EINVAL);
  }
}

}  // namespace

// --- The replaced functions of the C library -------------------------------------------------------------------------------

extern "C" {

int ioctl(int file, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* const data = va_arg(list, void*);
  va_end(list);
  if (_IOC_TYPE(request) == DRM_IOCTL_BASE && is_device(file)) return request_of_device(file, request, data);
  static auto* const real = next<int(int, unsigned long, void*)>("ioctl");
  return real(file, request, data);
}

int open64(const char* asked, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  const Path path(asked);
  static auto* const real = next<int(const char*, int, mode_t)>("open64");
  return path.is_node() ? open_device() : real(path.name, flags, mode);
}

int open(const char* asked, int flags, ...) __attribute__((alias("open64")));

FILE* fopen64(const char* asked, const char* mode) {
  static auto* const real = next<FILE*(const char*, const char*)>("fopen64");
  return real(Path(asked).name, mode);
}

FILE* fopen(const char* asked, const char* mode) __attribute__((alias("fopen64")));

DIR* opendir(const char* asked) {
  static auto* const real = next<DIR*(const char*)>("opendir");
  return real(Path(asked).name);
}

ssize_t readlink(const char* asked, char* to, size_t size) noexcept {
  static auto* const real = next<ssize_t(const char*, char*, size_t)>("readlink");
  return real(Path(asked).name, to, size);
}

int access(const char* asked, int mode) noexcept {
  static auto* const real = next<int(const char*, int)>("access");
  return real(Path(asked).name, mode);
}

char* realpath(const char* asked, char* to) noexcept {
  static auto* const real = next<char*(const char*, char*)>("realpath");
  return real(Path(asked).name, to);
}

int stat64(const char* asked, struct stat64* status) noexcept {
  static auto* const real = next<int(const char*, struct stat64*)>("stat64");
  const Path path(asked);
  const int result = real(path.name, status);
  if (result == 0 && path.is_node()) become_node(status);
  return result;
}

int fstat64(int file, struct stat64* status) noexcept {
  static auto* const real = next<int(int, struct stat64*)>("fstat64");
  const int result = real(file, status);
  if (result == 0 && is_device(file)) become_node(status);
  return result;
}

}  // extern "C"
