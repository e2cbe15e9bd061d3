// heed from Rust without crates: opens a device, runs an attention, and compares with its own computation.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

type Handle = *mut c_void;
#[repr(C)]
struct Input { name: *const c_char, data: *const f32, bytes: usize, dtype: i32, reserved: i32 }
#[repr(C)]
struct Output { name: *const c_char, data: *mut f32, bytes: usize, dtype: i32, reserved: i32 }
#[repr(C)]
struct RunInfo {
    size: usize,
    inputs: *const Input, input_count: usize,
    outputs: *const Output, output_count: usize,
    extents: *const c_void, extent_count: usize,
    state: Handle,
    seed: u32, timeout_ms: u32,
}

extern "C" {
    fn heed_last_message() -> *const c_char;
    fn heed_device_open(options: *const c_void, device: *mut Handle) -> i32;
    fn heed_device_compile(on: Handle, graph: Handle, weights: Handle, options: *const c_void, plan: *mut Handle) -> i32;
    fn heed_device_destroy(device: Handle) -> i32;
    fn heed_graph_create(graph: *mut Handle) -> i32;
    fn heed_graph_input(graph: Handle, name: *const c_char, shape: *const i64, rank: usize, dtype: i32) -> u64;
    fn heed_graph_attention(graph: Handle, q: u64, k: u64, v: u64, options: *const c_void, result: *mut c_void) -> u64;
    fn heed_graph_output(graph: Handle, name: *const c_char, tensor: u64) -> i32;
    fn heed_graph_destroy(graph: Handle) -> i32;
    fn heed_plan_run(plan: Handle, info: *const RunInfo) -> i32;
    fn heed_plan_destroy(plan: Handle) -> i32;
}
const F32: i32 = 0; // HEED_F32
const ROWS: usize = 7;
const WIDTH: usize = 12;

fn done(what: &str, status: i32) {
    let message = unsafe { CStr::from_ptr(heed_last_message()) };
    assert!(status == 0, "{what}: {status}, {}", message.to_string_lossy());
}

// Element i of softmax(q k' / sqrt(WIDTH)) v, which is [ROWS, WIDTH]
fn attention(q: &[f32], k: &[f32], v: &[f32], i: usize) -> f32 {
    let dot = |j: usize| (0..WIDTH).map(|c| q[i / WIDTH * WIDTH + c] * k[j * WIDTH + c]).sum::<f32>();
    let weights: Vec<f32> = (0..ROWS).map(|j| (dot(j) / (WIDTH as f32).sqrt()).exp()).collect();
    (0..ROWS).map(|j| weights[j] * v[j * WIDTH + i % WIDTH]).sum::<f32>() / weights.iter().sum::<f32>()
}

fn main() {
    let drawn = |seed| (0..ROWS * WIDTH).map(|i| ((i * seed * 37) % 101) as f32 / 50.0 - 1.0).collect();
    let values: Vec<Vec<f32>> = (1..4).map(drawn).collect(); // query, key and value
    let names = ["query", "key", "value", "y"].map(|name| CString::new(name).unwrap());
    let (shape, bytes) = ([1, 1, ROWS as i64, WIDTH as i64], ROWS * WIDTH * 4);
    let input = |i: usize| Input { name: names[i].as_ptr(), data: values[i].as_ptr(), bytes, dtype: F32, reserved: 0 };
    let inputs = [input(0), input(1), input(2)];
    let mut y = vec![0.0f32; ROWS * WIDTH];
    let output = Output { name: names[3].as_ptr(), data: y.as_mut_ptr(), bytes, dtype: F32, reserved: 0 };
    let info = RunInfo { size: std::mem::size_of::<RunInfo>(), inputs: inputs.as_ptr(), input_count: 3, outputs: &output,
        output_count: 1, extents: null(), extent_count: 0, state: null_mut(), seed: 0, timeout_ms: 0 };
    let (mut device, mut graph, mut plan) = (null_mut(), null_mut(), null_mut());
    unsafe {
        done("open", heed_device_open(null(), &mut device));
        done("create", heed_graph_create(&mut graph));
        let at = |i: usize| heed_graph_input(graph, names[i].as_ptr(), shape.as_ptr(), shape.len(), F32);
        let made = heed_graph_attention(graph, at(0), at(1), at(2), null(), null_mut());
        done("output", heed_graph_output(graph, names[3].as_ptr(), made));
        done("compile", heed_device_compile(device, graph, null_mut(), null(), &mut plan));
        done("run", heed_plan_run(plan, &info));
        for status in [heed_device_destroy(device), heed_graph_destroy(graph), heed_plan_destroy(plan)] {
            done("destroy", status);
        }
        assert!(heed_plan_run(plan, &info) == 1, "a plan that was destroyed runs");
    }
    let off = |i: usize| (y[i] - attention(&values[0], &values[1], &values[2], i)).abs();
    assert!((0..y.len()).all(|i| off(i) < 1e-5), "other numbers than attention's: {y:?}");
    println!("ok attention in Rust, within {:.1e}", (0..y.len()).map(off).fold(0.0, f32::max));
}
