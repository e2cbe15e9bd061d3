// Checkpoints: one safetensors file, or several with an index.
#include <heed/checkpoint.hpp>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/find.hpp"
#include "base/logging.hpp"
#include "io/json_file.hpp"
#include "io/model_folder.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace fs = std::filesystem;

struct Checkpoint::Contents {
  std::vector<SafeTensors> files;
  std::vector<SafeTensors::Entry> entries;  // entries of all files, sorted by name
  uint64_t bytes = 0;
};

namespace {

using Entry = SafeTensors::Entry;
// Maps a tensor's name to the index of its file in `names`.
struct Index {
  std::vector<std::string> names;
  std::map<std::string, size_t, std::less<>> tensors;
};

Status add_tensor(const std::string& path, const std::string& tensor, Json value, const Log& log,
                  std::map<std::string, size_t>* numbers, Index* index) {
  const std::string* file = value.text();
  if (file == nullptr || !is_plain_name(*file))
    return fail(log, Status::InvalidFile,
                format("%s: the file of tensor '%s' is %s; it must be the name of a file beside the index",
                       path.c_str(), printable(tensor).c_str(), value.shown().c_str()));
  const auto [found, added] = numbers->emplace(*file, index->names.size());
  if (added) index->names.push_back(*file);
  if (index->names.size() > Checkpoint::kMaxShards)
    return fail(log, Status::InvalidFile,
                format("%s: names more than the %zu files allowed", path.c_str(), Checkpoint::kMaxShards));
  index->tensors.emplace(tensor, found->second);
  return Status::Ok;
}

Status read_index(const std::string& path, const Log& log, Index* index) {
  JsonFile object;
  Status status = read_object(path, Checkpoint::kMaxIndexBytes, log, &object);
  if (status != Status::Ok) return status;
  Fields fields(object.root(), path, log);
  std::map<std::string, size_t> numbers;
  fields.object("weight_map").each([&](const std::string& tensor, Json file) {
    status = add_tensor(path, tensor, file, log, &numbers, index);
    return status == Status::Ok;
  });
  if (fields.status() != Status::Ok) return fields.status();
  return status;
}

// Adds all tensors of one file, which must be exactly those that the index lists.
Status take_file(const SafeTensors& file, size_t number, const std::string& path, const Index& index, const Log& log,
                 std::vector<Entry>* entries) {
  for (const Entry& entry : file.entries()) {
    const auto found = index.tensors.find(entry.name);
    if (found == index.tensors.end())
      return fail(log, Status::InvalidFile,
                  format("%s: the index does not know its tensor '%s'", path.c_str(), printable(entry.name).c_str()));
    if (found->second != number)
      return fail(log, Status::InvalidFile,
                  format("%s: holds tensor '%s', which the index places in %s", path.c_str(),
                         printable(entry.name).c_str(), printable(index.names[found->second]).c_str()));
    entries->push_back(entry);
  }
  return Status::Ok;
}

Status find_absent(const Index& index, const std::string& path, const std::vector<Entry>& entries, const Log& log) {
  auto at = entries.begin();
  for (const auto& [name, number] : index.tensors) {
    if (at != entries.end() && at->name == name) {
      ++at;
      continue;
    }
    return fail(log, Status::InvalidFile,
                format("%s: tensor '%s' is not in %s", path.c_str(), printable(name).c_str(),
                       printable(index.names[number]).c_str()));
  }
  return Status::Ok;
}

Status open_shards(const fs::path& path, const Log& log, std::vector<SafeTensors>* files, std::vector<Entry>* entries) {
  Index index;
  Status status = read_index(path.string(), log, &index);
  for (size_t i = 0; i < index.names.size() && status == Status::Ok; ++i) {
    const std::string shard = (path.parent_path() / index.names[i]).string();
    SafeTensors file;
    status = SafeTensors::open(shard, log, &file);
    if (status == Status::Ok) status = take_file(file, i, shard, index, log, entries);
    if (status == Status::Ok) files->push_back(std::move(file));
  }
  if (status != Status::Ok) return status;
  std::sort(entries->begin(), entries->end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return find_absent(index, path.string(), *entries, log);
}

Status open_one(const fs::path& path, const Log& log, std::vector<SafeTensors>* files, std::vector<Entry>* entries) {
  SafeTensors file;
  const Status status = SafeTensors::open(path.string(), log, &file);
  if (status != Status::Ok) return status;
  entries->assign(file.entries().begin(), file.entries().end());
  files->push_back(std::move(file));
  return Status::Ok;
}

// The file to read: `path` itself unless it is a directory.
fs::path choose(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  const fs::path whole = path / "model.safetensors", index = path / "model.safetensors.index.json";
  return !is_there(whole) && is_there(index) ? index : whole;
}

}  // namespace

Checkpoint::Checkpoint() = default;
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

Status Checkpoint::open(std::string_view path, const Log& log, Checkpoint* checkpoint) {
  if (checkpoint == nullptr) return refuse("Checkpoint::open: checkpoint is null");
  auto contents = std::make_unique<Contents>();
  const fs::path file = choose(fs::path(path));
  const Status status = file.extension() == ".json" ? open_shards(file, log, &contents->files, &contents->entries)
                                                    : open_one(file, log, &contents->files, &contents->entries);
  if (status != Status::Ok) return status;
  for (const Entry& entry : contents->entries) contents->bytes += entry.data.size();
  checkpoint->contents_ = std::move(contents);
  return Status::Ok;
}

std::span<const SafeTensors::Entry> Checkpoint::entries() const {
  if (!contents_) return {};
  return contents_->entries;
}

const Entry* Checkpoint::find(std::string_view name) const { return find_by_name(entries(), name); }

uint64_t Checkpoint::bytes() const { return contents_ ? contents_->bytes : 0; }

std::vector<HostTensor> Checkpoint::host_tensors() const { return host_tensors_of(entries()); }

}  // namespace heed
