# Attention on buffers that Godot made, beside plain loops in GDScript's doubles, in the order of frames and without a stall; what is
# wrong is an error, and the game goes on.
#   godot --path samples/godot --script tests/attention.gd -- FOLDER [cpu]
# FOLDER: has layer.safetensors; cpu: this Godot has no RenderingDevice for heed, so that the CPU computes
extends SceneTree

const HEADS := 4
const WIDTH := 20
const QUERIES := 37
const KEYS := 53
# Products of 20 and sums over 53 keys in floats, of values near 1.
const BOUND := 2e-6

var failures := 0

func check(is_right: bool, what: String) -> void:
	if not is_right:
		failures += 1
		printerr("FAILED: " + what)

func drawn(count: int, seed: int) -> PackedFloat32Array:
	var random := RandomNumberGenerator.new()
	random.seed = seed
	var values := PackedFloat32Array()
	values.resize(count)
	for i in count:
		values[i] = random.randf_range(-1.0, 1.0)
	return values

# rows x width -> rows x out, with weight [out, width] and bias [out].
func linear(x: PackedFloat32Array, width: int, weight: PackedFloat32Array, bias: PackedFloat32Array) -> PackedFloat64Array:
	var y := PackedFloat64Array()
	for row in x.size() / width:
		for o in bias.size():
			var sum := float(bias[o])
			for c in width:
				sum += float(x[row * width + c]) * float(weight[o * width + c])
			y.append(sum)
	return y

func layer() -> HeedAttention:
	var attention := HeedAttention.new()
	attention.width = WIDTH
	attention.context_width = WIDTH
	attention.heads = HEADS
	attention.fused = false
	attention.out_projection = false
	attention.max_queries = 64
	attention.max_keys = 64
	var d := WIDTH * WIDTH
	for name: String in ["q", "k", "v"]:
		check(attention.set_weight(name + ".weight", drawn(d, name.hash())) == OK, "weight " + name)
		check(attention.set_weight(name + ".bias", drawn(WIDTH, name.hash() + 1)) == OK, "bias " + name)
	return attention

func expected(x: PackedFloat32Array, context: PackedFloat32Array) -> PackedFloat64Array:
	var rows := {}
	for name: String in ["q", "k", "v"]:
		rows[name] = linear(x if name == "q" else context, WIDTH, drawn(WIDTH * WIDTH, name.hash()), drawn(WIDTH, name.hash() + 1))
	var head := WIDTH / HEADS
	var result := PackedFloat64Array()
	result.resize(x.size())
	for i in x.size() / WIDTH:
		for h in HEADS:
			var weights := PackedFloat64Array()
			var largest := -INF
			for j in context.size() / WIDTH:
				var logit := 0.0
				for c in head:
					logit += rows.q[i * WIDTH + h * head + c] * rows.k[j * WIDTH + h * head + c]
				weights.append(logit / sqrt(head))
				largest = maxf(largest, weights[j])
			var sum := 0.0
			for j in weights.size():
				weights[j] = exp(weights[j] - largest)
				sum += weights[j]
			for c in head:
				var value := 0.0
				for j in weights.size():
					value += weights[j] / sum * rows.v[j * WIDTH + h * head + c]
				result[i * WIDTH + h * head + c] = value
	return result

func compare(got: PackedFloat32Array, wanted: PackedFloat64Array, what: String) -> void:
	check(got.size() >= wanted.size(), what + ": as many values")
	var worst := 0.0
	for i in mini(got.size(), wanted.size()):
		worst = maxf(worst, absf(got[i] - wanted[i]))
	print("%s: largest difference %s" % [what, worst])
	check(worst <= BOUND, what)

# Waits for frames until the layer has ended so many runs.
func until_runs(attention: HeedAttention, count: int) -> bool:
	for frame in 300:
		if attention.get_runs() >= count:
			return true
		await process_frame
		attention.compute(1, 1)  # what ended is seen by the next call
	return false

func on_buffers(device: HeedDevice) -> void:
	var attention := layer()
	check(attention.open_by_rule(device, 1) == OK, "open on the GPU")
	var x := drawn(QUERIES * WIDTH, 5)
	var context := drawn(KEYS * WIDTH, 6)
	var x_buffer := device.create_buffer_from(x)
	var context_buffer := device.create_buffer_from(context)
	var y_buffer := attention.make_buffer("y")
	check(y_buffer.is_valid(), "a buffer for y")
	check(attention.bind_buffer("x", x_buffer) == OK and attention.bind_buffer("context", context_buffer) == OK, "bind")
	check(attention.compute(QUERIES, KEYS) == OK, "compute")
	for frame in 3:
		await process_frame
	var wanted := expected(x, context)
	compare(device.read_buffer(y_buffer).slice(0, wanted.size()), wanted, "on Godot's buffers")
	compare(attention.run(x, context), wanted, "on arrays, by the GPU")
	for buffer: RID in [x_buffer, context_buffer, y_buffer]:
		device.free_buffer(buffer)

func run(_folder: String, wants_cpu: bool) -> void:
	var device := HeedDevice.new()
	check(device.open() == OK, "the device")
	print(device.describe(), " ", device.get_reason())
	check(device.is_gpu() != wants_cpu, "the GPU where there is one")
	if not wants_cpu:
		await on_buffers(device)
	var cpu := HeedDevice.new()
	check(cpu.open_cpu() == OK and not cpu.is_gpu(), "the CPU")
	var attention := layer()
	check(attention.open_by_rule(cpu, 1) == OK, "open on the CPU")
	var x := drawn(QUERIES * WIDTH, 5)
	var context := drawn(KEYS * WIDTH, 6)
	compare(attention.run(x, context), expected(x, context), "on arrays, by the CPU")
	print("passed" if failures == 0 else "failed")
	quit(0 if failures == 0 else 1)

func _initialize() -> void:
	var arguments := OS.get_cmdline_user_args()
	run(arguments[0], arguments.has("cpu"))
