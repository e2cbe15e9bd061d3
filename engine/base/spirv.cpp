#include "base/spirv.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/logging.hpp"

namespace heed {
namespace {

// Numbers of the SPIR-V specification, section 3.
constexpr uint32_t kSpirvMagic = 0x07230203, kVersion13 = 0x00010300, kHeaderWords = 5;
enum Opcode : uint32_t {
  kEntryPoint = 15,
  kExecutionMode = 16,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypeVector = 23,
  kTypeMatrix = 24,
  kTypeArray = 28,
  kTypeStruct = 30,
  kTypePointer = 32,
  kConstant = 43,
  kConstantComposite = 44,
  kSpecConstant = 50,
  kSpecConstantComposite = 51,
  kVariable = 59,
  kFunction = 54,
  kFunctionEnd = 56,
  kDecorate = 71,
  kMemberDecorate = 72,
  kExecutionModeId = 331,
};
enum Decoration : uint32_t {
  kSpecId = 1,
  kBufferBlock = 3,
  kRowMajor = 4,
  kArrayStride = 6,
  kMatrixStride = 7,
  kBuiltIn = 11,
  kNonWritable = 24,
  kBindingNumber = 33,
  kDescriptorSet = 34,
  kOffset = 35,
};
constexpr uint32_t kModelCompute = 5, kModeLocalSize = 17, kModeLocalSizeId = 38, kBuiltInWorkgroupSize = 25;
constexpr uint32_t kClassUniform = 2, kClassPushConstant = 9, kClassStorageBuffer = 12;

// A member of a struct type.
struct Member {
  uint32_t offset = 0, matrix_stride = 0;
  bool row_major = false;
};

// The facts that the parser has about one result id.
struct Id {
  uint32_t binding = UINT32_MAX, set = UINT32_MAX;
  uint32_t pointee = 0;                        // the type that a pointer type points to
  uint32_t members = 0, readonly_members = 0;  // number of a struct type's members, and of those that are read-only
  uint64_t bytes = 0;                          // size of a type; at most UINT32_MAX
  uint32_t element = 0, count = 0;             // element type and count of a vector, a matrix (columns) or an array
  uint32_t array_stride = 0;                   // bytes between elements of an array
  bool matrix = false;
  uint32_t spec_id = UINT32_MAX, value = 0;  // id for specialization and value of a 32-bit constant
  bool buffer_block = false, readonly = false, workgroup_size = false;
};

class Reader {
 public:
  Reader(std::span<const uint32_t> words, std::string_view entry_point, std::span<const uint32_t> constants)
      : words_(words), entry_point_(entry_point), constants_(constants) {}

  std::string read(SpirvInfo* info) {
    if (words_.size() <= kHeaderWords) return "the SPIR-V is too short";
    if (words_[0] != kSpirvMagic)
      return words_[0] == 0x03022307 ? "the SPIR-V has the other byte order" : "this is no SPIR-V";
    if (words_[1] > kVersion13)
      return format("SPIR-V %u.%u; 1.3 is the newest that Vulkan 1.1 takes", words_[1] >> 16, words_[1] >> 8 & 255u);
    // Ids are below the bound; a damaged bound must not allocate gigabytes.
    if (words_[3] > words_.size() * 4 + 1024) return "the SPIR-V is damaged: more ids than words";
    ids_.resize(words_[3]);
    info_ = info;
    for (size_t at = kHeaderWords; at < words_.size();) {
      const uint32_t length = words_[at] >> 16;
      if (length == 0 || length > words_.size() - at) return format("the SPIR-V is damaged at word %zu", at);
      if (!take(words_[at] & 0xffffu, words_.subspan(at + 1, length - 1)))
        return format("the SPIR-V is damaged at word %zu", at);
      at += length;
    }
    if (open_functions_ != 0) return "the SPIR-V is damaged: it ends within a function";
    if (entry_ == 0) return "the SPIR-V has no compute entry point '" + std::string(entry_point_) + "'";
    for (const auto& [id, storage_class, type] : variables_) add_variable(ids_[id], storage_class, type);
    // A constant decorated with WorkgroupSize overrides the entry point's size.
    for (size_t axis = 0; axis < 3 && !has_workgroup_size_; ++axis)
      if (size_ids_[axis] != 0) info->local_size[axis] = ids_[size_ids_[axis]].value;
    return "";
  }

 private:
  struct Variable {
    uint32_t id, storage_class, type;
  };

  bool known(uint32_t id) const { return id < ids_.size(); }

  // Returns false if the instruction is too short or has an id beyond the bound.
  bool take(uint32_t opcode, std::span<const uint32_t> o) {
    const auto needs = [&](size_t count, std::initializer_list<size_t> ids) {
      return o.size() >= count &&
             std::all_of(ids.begin(), ids.end(), [&](size_t position) { return known(o[position]); });
    };
    switch (opcode) {
      case kEntryPoint: return needs(3, {1}) && take_entry_point(o);
      case kExecutionMode:
        if (!needs(2, {0})) return false;
        if (o[1] != kModeLocalSize || o[0] != entry_) return true;
        if (o.size() < 5) return false;
        std::copy_n(o.begin() + 2, 3, info_->local_size.begin());
        return true;
      case kExecutionModeId:
        if (!needs(2, {0})) return false;
        if (o[1] != kModeLocalSizeId || o[0] != entry_) return true;
        if (!needs(5, {2, 3, 4})) return false;
        std::copy_n(o.begin() + 2, 3, size_ids_.begin());
        info_->local_size_id = true;
        return true;
      case kTypeStruct:
        if (!needs(1, {0})) return false;
        ids_[o[0]].members = static_cast<uint32_t>(o.size() - 1);
        return take_struct(o);
      case kTypeInt:
      case kTypeFloat:
        if (!needs(2, {0})) return false;
        ids_[o[0]].bytes = o[1] / 8;
        return true;
      case kTypeVector:
      case kTypeMatrix:
        if (!needs(3, {0, 1})) return false;
        take_row(o[0], o[1], o[2]);
        ids_[o[0]].matrix = opcode == kTypeMatrix;
        return true;
      case kTypeArray:
        if (!needs(3, {0, 1, 2})) return false;
        take_row(o[0], o[1], ids_[o[2]].value);
        return true;
      case kTypePointer:
        if (!needs(3, {0, 2})) return false;
        ids_[o[0]].pointee = o[2];
        ids_[o[0]].bytes = sizeof(uint64_t);
        return true;
      case kConstant:
      case kSpecConstant: return needs(3, {1}) && take_constant(o);
      case kConstantComposite:
      case kSpecConstantComposite: return needs(2, {1}) && take_composite(o);
      case kVariable:
        if (!needs(3, {0, 1})) return false;
        variables_.push_back({o[1], o[2], o[0]});
        return true;
      case kFunction: ++open_functions_; return true;
      case kFunctionEnd: --open_functions_; return true;
      case kDecorate: return needs(2, {0}) && take_decoration(o);
      case kMemberDecorate: return needs(3, {0}) && take_member_decoration(o);
      default: return true;
    }
  }

  bool take_entry_point(std::span<const uint32_t> o) {
    const char* name = reinterpret_cast<const char*>(o.data() + 2);
    const size_t room = (o.size() - 2) * sizeof(uint32_t);
    const void* end = std::memchr(name, 0, room);
    if (end == nullptr) return false;
    const std::string_view found(name, static_cast<size_t>(static_cast<const char*>(end) - name));
    if (o[0] == kModelCompute && found == entry_point_) entry_ = o[1];
    return true;
  }

  void take_row(uint32_t id, uint32_t element, uint32_t count) {
    ids_[id].element = element;
    ids_[id].count = std::max(count, 1u);
    ids_[id].bytes = most(ids_[element].bytes * ids_[id].count);
  }

  static uint64_t most(uint64_t bytes) { return std::min<uint64_t>(bytes, UINT32_MAX); }

  // Decorations come before types, and a type comes after its member types.
  bool take_struct(std::span<const uint32_t> o) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i + 1 < o.size(); ++i) {
      if (!known(o[i + 1])) return false;
      const auto found = members_.find({o[0], i});
      const Member member = found == members_.end() ? Member{} : found->second;
      bytes = std::max(bytes, member.offset + bytes_of(o[i + 1], member, 0));
    }
    ids_[o[0]].bytes = most(bytes);
    return true;
  }

  // The bytes of a member, up to its last used byte.
  uint64_t bytes_of(uint32_t type, const Member& member, int depth) const {
    constexpr int kDeepest = 16;  // in a damaged file, arrays of arrays may be nested without end
    const Id& id = ids_[type];
    if (depth == kDeepest) return UINT32_MAX;
    if (id.matrix) {
      const Id& column = ids_[id.element];
      const uint32_t lines = member.row_major ? column.count : id.count;
      const uint64_t line = member.row_major ? most(ids_[column.element].bytes * id.count) : column.bytes;
      return most(uint64_t{member.matrix_stride} * (std::max(lines, 1u) - 1) + line);
    }
    if (id.array_stride != 0 && id.count != 0)
      return most(uint64_t{id.array_stride} * (id.count - 1) + bytes_of(id.element, member, depth + 1));
    return id.bytes != 0 ? id.bytes : sizeof(uint32_t);
  }

  bool take_constant(std::span<const uint32_t> o) {
    Id& id = ids_[o[1]];
    id.value = id.spec_id < constants_.size() ? constants_[id.spec_id] : o[2];
    return true;
  }

  bool take_composite(std::span<const uint32_t> o) {
    if (!ids_[o[1]].workgroup_size) return true;
    if (o.size() != 5) return false;
    for (size_t axis = 0; axis < 3; ++axis) {
      if (!known(o[2 + axis])) return false;
      info_->local_size[axis] = ids_[o[2 + axis]].value;
    }
    has_workgroup_size_ = true;
    return true;
  }

  bool take_decoration(std::span<const uint32_t> o) {
    Id& id = ids_[o[0]];
    const bool has_value = o.size() > 2;
    switch (o[1]) {
      case kBufferBlock: id.buffer_block = true; return true;
      case kNonWritable: id.readonly = true; return true;
      case kSpecId: id.spec_id = has_value ? o[2] : UINT32_MAX; return has_value;
      case kBindingNumber: id.binding = has_value ? o[2] : UINT32_MAX; return has_value;
      case kDescriptorSet: id.set = has_value ? o[2] : UINT32_MAX; return has_value;
      case kArrayStride: id.array_stride = has_value ? o[2] : 0; return has_value;
      case kBuiltIn: id.workgroup_size = has_value && o[2] == kBuiltInWorkgroupSize; return has_value;
      default: return true;
    }
  }

  bool take_member_decoration(std::span<const uint32_t> o) {
    if (o[2] == kNonWritable) ++ids_[o[0]].readonly_members;
    if (o[2] != kRowMajor && o[2] != kOffset && o[2] != kMatrixStride) return true;
    Member& member = members_[{o[0], o[1]}];
    member.row_major |= o[2] == kRowMajor;
    if (o[2] == kRowMajor) return true;
    if (o.size() < 4) return false;
    (o[2] == kOffset ? member.offset : member.matrix_stride) = o[3];
    return true;
  }

  void add_variable(const Id& variable, uint32_t storage_class, uint32_t type) {
    const Id& block = ids_[ids_[type].pointee];
    if (storage_class == kClassPushConstant) info_->push_bytes = static_cast<uint32_t>(block.bytes);
    if (variable.binding == UINT32_MAX && variable.set == UINT32_MAX) return;
    SpirvInfo::Binding binding;
    binding.set = variable.set;
    binding.storage_buffer =
        storage_class == kClassStorageBuffer || (storage_class == kClassUniform && block.buffer_block);
    binding.readonly = variable.readonly || (block.members > 0 && block.readonly_members >= block.members);
    if (info_->bindings.emplace(variable.binding, binding).second) return;
    // Two variables with the same binding: it is writable if one of them is.
    SpirvInfo::Binding& known = info_->bindings[variable.binding];
    known.readonly = known.readonly && binding.readonly;
    known.storage_buffer = known.storage_buffer && binding.storage_buffer;
  }

  std::span<const uint32_t> words_;
  std::string_view entry_point_;
  std::span<const uint32_t> constants_;
  SpirvInfo* info_ = nullptr;
  uint32_t entry_ = 0;
  std::array<uint32_t, 3> size_ids_{};  // ids of the constants that define the entry point's size, if LocalSizeId is
                                        // used
  bool has_workgroup_size_ = false;
  int64_t open_functions_ = 0;
  std::vector<Id> ids_;
  std::map<std::pair<uint32_t, uint32_t>, Member> members_;
  std::vector<Variable> variables_;
};

}  // namespace

std::string read_spirv(std::span<const uint32_t> words, std::string_view entry_point,
                       std::span<const uint32_t> constants, SpirvInfo* info) {
  *info = {};
  return Reader(words, entry_point, constants).read(info);
}

}  // namespace heed
