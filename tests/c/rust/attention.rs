// heed from Rust without crates: opens a device, builds an attention, runs it, and computes the same by itself.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

#[repr(C)]
#[derive(Clone, Copy)]
struct Input { name: *const c_char, data: *const c_void, bytes: usize, dtype: i32, reserved: i32 }
#[repr(C)]
struct Output { name: *const c_char, data: *mut c_void, bytes: usize, dtype: i32, reserved: i32 }
#[repr(C)]
struct RunInfo {
    size: usize,
    inputs: *const Input, input_count: usize,
    outputs: *const Output, output_count: usize,
    extents: *const c_void, extent_count: usize,
    state: *mut c_void,
    seed: u32, timeout_ms: u32,
}
const F32: i32 = 1;

extern "C" {
    fn heed_last_message() -> *const c_char;
    fn heed_device_open(options: *const c_void, device: *mut *mut c_void) -> i32;
    fn heed_device_compile(device: *mut c_void, graph: *mut c_void, weights: *mut c_void, options: *const c_void,
                           plan: *mut *mut c_void) -> i32;
    fn heed_device_destroy(device: *mut c_void) -> i32;
    fn heed_graph_create(graph: *mut *mut c_void) -> i32;
    fn heed_graph_input(graph: *mut c_void, name: *const c_char, shape: *const i64, rank: usize, dtype: i32) -> u64;
    fn heed_graph_attention(graph: *mut c_void, query: u64, key: u64, value: u64, options: *const c_void,
                            result: *mut c_void) -> u64;
    fn heed_graph_output(graph: *mut c_void, name: *const c_char, tensor: u64) -> i32;
    fn heed_graph_destroy(graph: *mut c_void) -> i32;
    fn heed_plan_run(plan: *mut c_void, info: *const RunInfo) -> i32;
    fn heed_plan_destroy(plan: *mut c_void) -> i32;
}

fn done(what: &str, status: i32) {
    let message = unsafe { CStr::from_ptr(heed_last_message()) };
    assert!(status == 0, "{what}: {status}, {}", message.to_string_lossy());
}

// softmax(q k' / sqrt(width)) v
fn attention(q: &[f32], k: &[f32], v: &[f32], rows: usize, width: usize) -> Vec<f32> {
    let mut y = vec![0.0; rows * width];
    for i in 0..rows {
        let dot = |j: usize| (0..width).map(|c| q[i * width + c] * k[j * width + c]).sum::<f32>();
        let weights: Vec<f32> = (0..rows).map(|j| (dot(j) / (width as f32).sqrt()).exp()).collect();
        let sum: f32 = weights.iter().sum();
        for c in 0..width {
            y[i * width + c] = (0..rows).map(|j| weights[j] * v[j * width + c]).sum::<f32>() / sum;
        }
    }
    y
}

fn main() {
    const ROWS: usize = 7;
    const WIDTH: usize = 12;
    let values: Vec<Vec<f32>> =
        (1..4).map(|seed| (0..ROWS * WIDTH).map(|i| ((i * seed * 37) % 101) as f32 / 50.0 - 1.0).collect()).collect();
    let names: Vec<CString> = ["query", "key", "value", "y"].iter().map(|name| CString::new(*name).unwrap()).collect();
    let shape = [1, 1, ROWS as i64, WIDTH as i64];
    let mut y = vec![0.0f32; ROWS * WIDTH];
    let (mut device, mut graph, mut plan) = (null_mut(), null_mut(), null_mut());
    unsafe {
        done("open", heed_device_open(null(), &mut device));
        done("create", heed_graph_create(&mut graph));
        let at = |i: usize| heed_graph_input(graph, names[i].as_ptr(), shape.as_ptr(), shape.len(), F32);
        let made = heed_graph_attention(graph, at(0), at(1), at(2), null(), null_mut());
        done("output", heed_graph_output(graph, names[3].as_ptr(), made));
        done("compile", heed_device_compile(device, graph, null_mut(), null(), &mut plan));
        let bytes = ROWS * WIDTH * 4;
        let inputs: Vec<Input> = (0..3)
            .map(|i| Input { name: names[i].as_ptr(), data: values[i].as_ptr().cast(), bytes, dtype: F32, reserved: 0 })
            .collect();
        let output = Output { name: names[3].as_ptr(), data: y.as_mut_ptr().cast(), bytes, dtype: F32, reserved: 0 };
        let info = RunInfo {
            size: std::mem::size_of::<RunInfo>(), inputs: inputs.as_ptr(), input_count: 3, outputs: &output,
            output_count: 1, extents: null(), extent_count: 0, state: null_mut(), seed: 0, timeout_ms: 0,
        };
        done("run", heed_plan_run(plan, &info));
        for status in [heed_device_destroy(device), heed_graph_destroy(graph), heed_plan_destroy(plan)] {
            done("destroy", status);
        }
        assert!(heed_plan_run(plan, &info) == 1, "a plan that was destroyed runs");
    }
    let want = attention(&values[0], &values[1], &values[2], ROWS, WIDTH);
    let worst = y.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max);
    assert!(worst < 1e-5, "differs by {worst}");
    println!("ok attention in Rust, within {worst:.1e}");
}
