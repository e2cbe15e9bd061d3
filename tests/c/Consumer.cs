// C# calls the C interface by the declarations that interface.py writes: a linear layer on the CPU, and a wrong call.
using System;
using System.Runtime.InteropServices;
using static Heed;

public static class Consumer {
  static IntPtr Text(string text) { return Marshal.StringToHGlobalAnsi(text); }

  static IntPtr Copy(Array values, int bytes) {
    IntPtr memory = Marshal.AllocHGlobal(bytes);
    byte[] raw = new byte[bytes];
    Buffer.BlockCopy(values, 0, raw, 0, bytes);
    Marshal.Copy(raw, 0, memory, bytes);
    return memory;
  }

  static IntPtr Struct<T>(T value) {
    IntPtr memory = Marshal.AllocHGlobal(Marshal.SizeOf(typeof(T)));
    Marshal.StructureToPtr(value, memory, false);
    return memory;
  }

  static void Check(int status) {
    if (status != HEED_OK) throw new Exception(Marshal.PtrToStringAnsi(heed_last_message()));
  }

  static IntPtr Made(Func<IntPtr, int> make) {
    IntPtr place = Marshal.AllocHGlobal(IntPtr.Size);
    Check(make(place));
    return Marshal.ReadIntPtr(place);
  }

  public static void Main() {
    var options = new heed_device_options();
    options.size = (UIntPtr)Marshal.SizeOf(options);
    options.select = Text("cpu");
    IntPtr device = Made(place => heed_device_open(Struct(options), place));
    IntPtr graph = Made(place => heed_graph_create(place));
    ulong x = heed_graph_input(graph, Text("x"), Copy(new long[] {1, 3}, 16), (UIntPtr)2, HEED_F32);
    Check(heed_graph_output(graph, Text("y"), heed_nn_linear(graph, x, Text("fc"), 2, 1, HEED_DTYPE_DEFAULT)));
    var tensor = new heed_host_tensor();
    tensor.name = Text("fc.weight");
    tensor.shape = Copy(new long[] {2, 3}, 16);
    tensor.rank = (UIntPtr)2;
    tensor.data = Copy(new float[] {1, 0, 0, 0, 2, 0.5f}, 24);
    tensor.bytes = (UIntPtr)24;
    tensor.dtype = HEED_F32;
    IntPtr weights = Made(place => heed_device_upload(device, Struct(tensor), (UIntPtr)1, IntPtr.Zero, place));
    IntPtr plan = Made(place => heed_device_compile(device, graph, weights, IntPtr.Zero, place));
    var input = new heed_input { name = Text("x"), data = Copy(new float[] {1, 2, 3}, 12), bytes = (UIntPtr)12 };
    var output = new heed_output { name = Text("y"), data = Marshal.AllocHGlobal(8), bytes = (UIntPtr)8 };
    var run = new heed_run_info();
    run.size = (UIntPtr)Marshal.SizeOf(run);
    run.inputs = Struct(input);
    run.input_count = (UIntPtr)1;
    run.outputs = Struct(output);
    run.output_count = (UIntPtr)1;
    Check(heed_plan_run(plan, Struct(run)));
    float[] y = new float[2];
    Marshal.Copy(output.data, y, 0, 2);
    if (heed_plan_run(graph, Struct(run)) != HEED_INVALID_ARGUMENT) throw new Exception("a graph was run");
    Console.WriteLine("[" + y[0] + ", " + y[1] + "]: " + Marshal.PtrToStringAnsi(heed_last_message()));
    Check(heed_plan_destroy(plan));
    Check(heed_weights_destroy(weights));
    Check(heed_graph_destroy(graph));
    Check(heed_device_destroy(device));
  }
}
