#include <heed/status.hpp>
#include <heed/types.hpp>

namespace heed {

const char* to_string(Status status) {
  switch (status) {
    case Status::Ok: return "Ok";
    case Status::InvalidArgument: return "InvalidArgument";
    case Status::InvalidGraph: return "InvalidGraph";
    case Status::ShapeMismatch: return "ShapeMismatch";
    case Status::DTypeMismatch: return "DTypeMismatch";
    case Status::MissingWeight: return "MissingWeight";
    case Status::MissingBuffer: return "MissingBuffer";
    case Status::ExtentOutOfRange: return "ExtentOutOfRange";
    case Status::BufferTooSmall: return "BufferTooSmall";
    case Status::IndexOutOfRange: return "IndexOutOfRange";
    case Status::NotFound: return "NotFound";
    case Status::Unsupported: return "Unsupported";
    case Status::OutOfMemory: return "OutOfMemory";
    case Status::OutOfDeviceMemory: return "OutOfDeviceMemory";
    case Status::DeviceLost: return "DeviceLost";
    case Status::InvalidFile: return "InvalidFile";
    case Status::DriverError: return "DriverError";
    case Status::NotReady: return "NotReady";
    case Status::FileError: return "FileError";
  }
  return "unknown";
}

const char* to_string(DType dtype) {
  switch (dtype) {
    case DType::F32: return "f32";
    case DType::F16: return "f16";
    case DType::BF16: return "bf16";
    case DType::I32: return "i32";
    case DType::U8: return "u8";
    case DType::Q8_0: return "q8_0";
    case DType::Q4_0: return "q4_0";
    case DType::Q4_1: return "q4_1";
    case DType::Q5_0: return "q5_0";
    case DType::Q5_1: return "q5_1";
    case DType::Q4_K: return "q4_k";
    case DType::Q5_K: return "q5_k";
    case DType::Q6_K: return "q6_k";
  }
  return "unknown";
}

}  // namespace heed
