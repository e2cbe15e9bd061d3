// Rust without crates calls the C interface: an attention layer on the CPU, and what a wrong call answers.
use std::ffi::{c_char, c_void, CStr};
use std::ptr::{null, null_mut};

type Handle = *mut c_void;

#[repr(C)]
struct DeviceOptions {
    size: usize,
    select: *const c_char, // this program knows the first members only: the others keep their defaults
}
#[repr(C)]
struct HostTensor {
    name: *const c_char,
    shape: *const i64,
    rank: usize,
    data: *const c_void,
    bytes: usize,
    dtype: i32,
    reserved: i32,
}
#[repr(C)]
struct Buffer {
    name: *const c_char,
    data: *mut c_void,
    bytes: usize,
    dtype: i32,
    reserved: i32,
}
#[repr(C)]
struct RunInfo {
    size: usize,
    inputs: *const Buffer,
    input_count: usize,
    outputs: *const Buffer,
    output_count: usize,
}

#[link(name = "heed")]
extern "C" {
    fn heed_last_message() -> *const c_char;
    fn heed_device_open(options: *const DeviceOptions, device: *mut Handle) -> i32;
    fn heed_device_upload(device: Handle, tensors: *const HostTensor, count: usize, options: *const c_void,
                          weights: *mut Handle) -> i32;
    fn heed_device_compile(device: Handle, graph: Handle, weights: Handle, options: *const c_void, plan: *mut Handle) -> i32;
    fn heed_graph_create(graph: *mut Handle) -> i32;
    fn heed_graph_input(graph: Handle, name: *const c_char, shape: *const i64, rank: usize, dtype: i32) -> u64;
    fn heed_graph_output(graph: Handle, name: *const c_char, x: u64) -> i32;
    fn heed_nn_linear(graph: Handle, x: u64, prefix: *const c_char, out: i64, no_bias: i32, weight_dtype: i32) -> u64;
    fn heed_plan_run(plan: Handle, info: *const RunInfo) -> i32;
    fn heed_plan_destroy(plan: Handle) -> i32;
    fn heed_weights_destroy(weights: Handle) -> i32;
    fn heed_graph_destroy(graph: Handle) -> i32;
    fn heed_device_destroy(device: Handle) -> i32;
}

fn text(bytes: &'static [u8]) -> *const c_char {
    bytes.as_ptr().cast()
}

fn check(status: i32) {
    assert_eq!(status, 0, "{}", unsafe { CStr::from_ptr(heed_last_message()) }.to_string_lossy());
}

fn main() {
    let (mut x, w, mut y) = ([1f32, 2.0, 3.0], [1f32, 0.0, 0.0, 0.0, 2.0, 0.5], [0f32; 2]);
    let (mut device, mut graph, mut weights, mut plan): (Handle, Handle, Handle, Handle) =
        (null_mut(), null_mut(), null_mut(), null_mut());
    unsafe {
        let options = DeviceOptions { size: std::mem::size_of::<DeviceOptions>(), select: text(b"cpu\0") };
        check(heed_device_open(&options, &mut device));
        check(heed_graph_create(&mut graph));
        let input = heed_graph_input(graph, text(b"x\0"), [1i64, 3].as_ptr(), 2, 1);
        check(heed_graph_output(graph, text(b"y\0"), heed_nn_linear(graph, input, text(b"fc\0"), 2, 1, 0)));
        let tensor = HostTensor { name: text(b"fc.weight\0"), shape: [2i64, 3].as_ptr(), rank: 2, data: w.as_ptr().cast(),
                                  bytes: 24, dtype: 1, reserved: 0 };
        check(heed_device_upload(device, &tensor, 1, null(), &mut weights));
        check(heed_device_compile(device, graph, weights, null(), &mut plan));
        let inputs = Buffer { name: text(b"x\0"), data: x.as_mut_ptr().cast(), bytes: 12, dtype: 1, reserved: 0 };
        let outputs = Buffer { name: text(b"y\0"), data: y.as_mut_ptr().cast(), bytes: 8, dtype: 1, reserved: 0 };
        let run = RunInfo { size: std::mem::size_of::<RunInfo>(), inputs: &inputs, input_count: 1, outputs: &outputs,
                            output_count: 1 };
        check(heed_plan_run(plan, &run));
        assert_eq!(heed_plan_run(graph, &run), 1); // a handle of another kind
        println!("{:?}: {}", y, CStr::from_ptr(heed_last_message()).to_string_lossy());
        for status in [heed_plan_destroy(plan), heed_weights_destroy(weights), heed_graph_destroy(graph), heed_device_destroy(device)] {
            check(status);
        }
    }
}
