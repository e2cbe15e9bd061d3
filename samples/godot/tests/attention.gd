# Attention on Godot's buffers, compared with plain loops in GDScript's doubles, in the order of frames; on arrays, on threads, on a local
# RenderingDevice, and with weights of files.
#   godot --path samples/godot --script tests/attention.gd -- FOLDER [cpu]
# FOLDER: an output folder; cpu: this Godot has no RenderingDevice for heed, so that the CPU computes
extends SceneTree

const HEADS := 4
const WIDTH := 20
const QUERIES := 37
const KEYS := 53
# The error of sums over 20 and 53 products in floats, for values near 1.
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
		attention.compute(1, 1)  # the next call notices ended runs
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
	await process_frame
	var wanted := expected(x, context)
	compare(device.read_buffer(y_buffer).slice(0, wanted.size()), wanted, "on Godot's buffers")
	compare(attention.run(x, context), wanted, "on arrays, by the GPU")
	# heed reads in the next frame what Godot writes in one.
	for frame in 4:
		x = drawn(QUERIES * WIDTH, 50 + frame)
		RenderingServer.call_on_render_thread(func() -> void:
			RenderingServer.get_rendering_device().buffer_update(x_buffer, 0, x.size() * 4, x.to_byte_array()))
		await process_frame
		await process_frame
		check(attention.compute(QUERIES, KEYS - frame) == OK, "compute in frame %d" % frame)
		wanted = expected(x, context.slice(0, (KEYS - frame) * WIDTH))
		compare(device.read_buffer(y_buffer).slice(0, wanted.size()), wanted, "frame %d" % frame)
	check(await until_runs(attention, 5), "runs are counted")
	check(attention.get_msec() > 0.0, "runs are timed")
	for buffer: RID in [x_buffer, context_buffer, y_buffer]:
		device.free_buffer(buffer)

# A buffer made by Godot, whose contents Godot would hold back.
func on_late_buffers(device: HeedDevice) -> void:
	var attention := layer()
	check(attention.open_by_rule(device, 1) == OK, "open")
	var x := drawn(QUERIES * WIDTH, 7)
	var context := drawn(KEYS * WIDTH, 8)
	var late: Array[RID] = []
	RenderingServer.call_on_render_thread(func() -> void:
		var rendering := RenderingServer.get_rendering_device()
		late.append(rendering.storage_buffer_create(x.size() * 4, x.to_byte_array()))
		late.append(rendering.storage_buffer_create(context.size() * 4, context.to_byte_array())))
	RenderingServer.force_sync()
	var y_buffer := attention.make_buffer("y")
	check(attention.bind_buffer("x", late[0]) == OK and attention.bind_buffer("context", late[1]) == OK, "bind")
	check(attention.compute(QUERIES, KEYS) == OK, "compute")
	var wanted := expected(x, context)
	compare(device.read_buffer(y_buffer).slice(0, wanted.size()), wanted, "buffers whose contents are late")
	for buffer: RID in late + [y_buffer]:
		device.free_buffer(buffer)

func on_a_thread(device: HeedDevice) -> void:
	var attention := layer()
	var thread := Thread.new()
	thread.start(func() -> Error: return attention.open_by_rule(device, 1))
	while thread.is_alive():
		await process_frame
	check(thread.wait_to_finish() == OK, "open on a thread that loads")
	var x := drawn(QUERIES * WIDTH, 5)
	var context := drawn(KEYS * WIDTH, 6)
	compare(attention.run(x, context), expected(x, context), "opened on a thread")

func on_a_local_device() -> void:
	var local := RenderingServer.create_local_rendering_device()
	var device := HeedDevice.new()
	check(device.open_on(local) == OK and device.is_gpu(), "a local RenderingDevice")
	var attention := layer()
	check(attention.open_by_rule(device, 1) == OK, "open on a local RenderingDevice")
	var x := drawn(QUERIES * WIDTH, 5)
	var context := drawn(KEYS * WIDTH, 6)
	attention.bind_buffer("x", device.create_buffer_from(x))
	attention.bind_buffer("context", device.create_buffer_from(context))
	var y_buffer := attention.make_buffer("y")
	check(attention.compute(QUERIES, KEYS) == OK and attention.get_runs() == 1, "compute waits on a local RenderingDevice")
	var wanted := expected(x, context)
	compare(device.read_buffer(y_buffer).slice(0, wanted.size()), wanted, "on a local RenderingDevice")
	attention.close()
	device.close()
	local.free()

# A file with PyTorch's names.
func write_layer(path: String) -> void:
	var header := {}
	var data := PackedByteArray()
	for name: String in ["q", "k", "v"]:
		for part: String in ["weight", "bias"]:
			var count := WIDTH * WIDTH if part == "weight" else WIDTH
			var values := drawn(count, name.hash() + (0 if part == "weight" else 1)).to_byte_array()
			header["birds." + name + "." + part] = {dtype = "F32", shape = [WIDTH, WIDTH] if part == "weight" else [WIDTH],
				data_offsets = [data.size(), data.size() + values.size()]}
			data.append_array(values)
	var text := JSON.stringify(header).to_utf8_buffer()
	var file := FileAccess.open(path, FileAccess.WRITE)
	file.store_64(text.size())
	file.store_buffer(text)
	file.store_buffer(data)
	file.close()

func from_file(device: HeedDevice, folder: String) -> void:
	var path := folder.path_join("layer.safetensors")
	write_layer(path)
	var attention := layer()
	check(attention.open(device, path, "birds") == OK, "open a file")
	var x := drawn(QUERIES * WIDTH, 5)
	var context := drawn(KEYS * WIDTH, 6)
	compare(attention.run(x, context), expected(x, context), "weights of a file")
	write_layer("user://layer.safetensors")
	check(layer().open(device, "user://layer.safetensors", "birds") == OK, "open a file of user://")
	check(layer().open(device, path, "fishes") == ERR_FILE_CANT_READ, "a prefix that is not there")
	var other := layer()
	other.heads = 5
	other.width = 10
	check(other.open(device, path, "birds") == ERR_FILE_CANT_READ, "weights of another shape")
	var bytes := FileAccess.get_file_as_bytes(path)
	for size: int in [0, 7, 40, bytes.size() - 1]:
		var cut := folder.path_join("cut.safetensors")
		FileAccess.open(cut, FileAccess.WRITE).store_buffer(bytes.slice(0, size))
		check(layer().open(device, cut, "birds") == ERR_FILE_CANT_READ, "a file of %d bytes" % size)
	for wrong: String in ["/there/is/none.safetensors", folder, "", "res://layer.safetensors"]:
		check(layer().open(device, wrong, "birds") == ERR_FILE_CANT_READ, "no file at " + wrong)

# Weights by rule alone: the same values on every machine, so that all players see the same.
func by_rule(device: HeedDevice) -> void:
	var attention := HeedAttention.new()
	attention.width = 16
	attention.heads = 2
	attention.encoder_layers = 2
	check(attention.get_weight_names().has("1.self_attn.in_proj_weight"), "names of PyTorch")
	check(attention.get_weight_size("0.linear1.weight") == 64 * 16, "sizes of weights")
	check(attention.open_by_rule(device, 42) == OK, "encoder layers by rule")
	var y := attention.run(drawn(3 * 16, 1), PackedFloat32Array())
	check(y.size() == 48, "as many rows")
	for row in 3:  # ends in a norm whose scales are 1
		var sum := 0.0
		for c in 16:
			sum += y[row * 16 + c]
		check(absf(sum) < 1e-4, "a row's mean is 0")
	var again := HeedAttention.new()
	again.width = 16
	again.heads = 2
	again.encoder_layers = 2
	again.open_by_rule(device, 42)
	check(again.run(drawn(3 * 16, 1), PackedFloat32Array()) == y, "the same seed gives the same")
	again.close()
	again.open_by_rule(device, 43)
	check(again.run(drawn(3 * 16, 1), PackedFloat32Array()) != y, "another seed gives something else")

func run(folder: String, wants_cpu: bool) -> void:
	var device := HeedDevice.new()
	check(device.open() == OK, "the device")
	print(device.describe(), " ", device.get_reason())
	check(device.is_gpu() != wants_cpu, "the GPU where there is one")
	if not wants_cpu:
		await on_buffers(device)
		on_late_buffers(device)
		await on_a_thread(device)
		on_a_local_device()
	var cpu := HeedDevice.new()
	check(cpu.open_cpu() == OK and not cpu.is_gpu(), "the CPU")
	var attention := layer()
	check(attention.open_by_rule(cpu, 1) == OK, "open on the CPU")
	var x := drawn(QUERIES * WIDTH, 5)
	var context := drawn(KEYS * WIDTH, 6)
	compare(attention.run(x, context), expected(x, context), "on arrays, by the CPU")
	from_file(device, folder)
	by_rule(device)
	print("passed" if failures == 0 else "failed")
	quit(0 if failures == 0 else 1)

func _initialize() -> void:
	var arguments := OS.get_cmdline_user_args()
	run(arguments[0], arguments.has("cpu"))
