# Mistakes give an error in Godot's console and in the returned value, and the game continues: buffers that are too small, freed or unknown,
# wrong threads, a RenderingDevice that is freed first, a lost GPU, and objects that scripts free in any order.
#   godot --path samples/godot --script tests/faults.gd -- MODEL
extends SceneTree

const ROWS := 8
const WIDTH := 8

var failures := 0
var device := HeedDevice.new()

func check(is_right: bool, what: String) -> void:
	if not is_right:
		failures += 1
		printerr("FAILED: " + what)

func layer(on: HeedDevice) -> HeedAttention:
	var attention := HeedAttention.new()
	attention.width = WIDTH
	attention.heads = 2
	attention.max_queries = ROWS
	check(attention.open_by_rule(on, 1) == OK, "open")
	return attention

func ones(count: int) -> PackedFloat32Array:
	var values := PackedFloat32Array()
	values.resize(count)
	values.fill(1.0)
	return values

func texture() -> RID:
	var made: Array[RID] = []
	RenderingServer.call_on_render_thread(func() -> void:
		var format := RDTextureFormat.new()
		format.width = 8
		format.height = 8
		format.format = RenderingDevice.DATA_FORMAT_R32_SFLOAT
		format.usage_bits = RenderingDevice.TEXTURE_USAGE_STORAGE_BIT
		made.append(RenderingServer.get_rendering_device().texture_create(format, RDTextureView.new())))
	RenderingServer.force_sync()
	return made[0]

# Some systems grant any amount of memory, and kill the program that uses it.
func promises_all_memory() -> bool:
	var setting := FileAccess.open("/proc/sys/vm/overcommit_memory", FileAccess.READ)
	return setting == null or setting.get_line() == "1"

# Frames continue, and the number of ended runs is known afterwards.
func runs_after_frames(attention: HeedAttention) -> int:
	for frame in 4:
		await process_frame
		attention.compute(ROWS, 0)
	return attention.get_runs()

func properties() -> void:
	var attention := HeedAttention.new()
	attention.width = 0
	attention.heads = -1
	attention.max_queries = 1 << 40
	attention.scale = -1.0
	check(attention.width == 64 and attention.heads == 4 and attention.max_queries == 1024 and attention.scale == 0.0, "properties keep their values")
	check(attention.compute(1, 1) == ERR_UNCONFIGURED, "compute without a layer")
	check(attention.bind_buffer("x", RID()) == ERR_UNCONFIGURED, "bind without a layer")
	check(attention.run(ones(8), PackedFloat32Array()).is_empty(), "run without a layer")
	check(not attention.make_buffer("y").is_valid(), "make_buffer without a layer")
	check(attention.open_by_rule(null, 1) == ERR_INVALID_PARAMETER, "open without a device")
	check(attention.open_by_rule(HeedDevice.new(), 1) == ERR_INVALID_PARAMETER, "open on a device that is not open")
	attention.heads = 3
	check(attention.open_by_rule(device, 1) == ERR_INVALID_PARAMETER, "64 wide for three heads")
	check(attention.set_weight("in_proj_bias", ones(3)) == ERR_INVALID_PARAMETER, "a weight of another size")
	check(attention.set_weight("none", ones(3)) == ERR_INVALID_PARAMETER, "a weight that is not there")
	attention.heads = 1024
	attention.key_width = 1024
	attention.width = 65536
	if not promises_all_memory():
		check(attention.open_by_rule(device, 1) == ERR_OUT_OF_MEMORY, "weights of a terabyte")
	check(not HeedDevice.new().create_buffer(16).is_valid(), "a buffer of a device that is not open")

func buffers() -> void:
	var attention := layer(device)
	attention.width = 16
	check(attention.width == WIDTH, "properties of an open layer")
	for bytes: int in [-1, 0, 3, 6, 1 << 40]:
		check(not device.create_buffer(bytes).is_valid(), "a buffer of %d bytes" % bytes)
	var x := device.create_buffer_from(ones(ROWS * WIDTH))
	check(attention.compute(ROWS, 0) == ERR_UNCONFIGURED, "compute without buffers")
	check(attention.bind_buffer("z", x) == ERR_DOES_NOT_EXIST, "a name that is not there")
	check(attention.bind_buffer("x", RID()) == ERR_INVALID_PARAMETER, "no buffer")
	check(attention.bind_buffer("x", x) == OK, "bind")
	var small := device.create_buffer(64)
	check(attention.bind_buffer("y", small) == OK, "bind a small buffer")
	check(attention.compute(0, 0) == ERR_INVALID_PARAMETER and attention.compute(ROWS + 1, 0) == ERR_INVALID_PARAMETER, "rows outside")
	check(await runs_after_frames(attention) == 0, "nothing is computed into a buffer that is too small")
	var y := attention.make_buffer("y")
	check(await runs_after_frames(attention) > 0, "it computes when the buffer is right")
	device.free_buffer(y)
	var before := attention.get_runs()
	await runs_after_frames(attention)
	check(attention.get_runs() - before <= 3, "nothing is computed into a buffer that is gone")
	check(attention.bind_buffer("y", x) == OK, "one buffer for input and output")
	before = attention.get_runs()
	check(await runs_after_frames(attention) == before, "nothing is computed in place")
	var image := texture()
	check(attention.bind_buffer("y", image) == OK, "bind")
	check(await runs_after_frames(attention) == before, "nothing is computed into a texture")
	check(attention.run(ones(3), PackedFloat32Array()).is_empty(), "no whole row")
	check(attention.run(ones(ROWS * WIDTH), ones(8)).is_empty(), "a context that the layer has not")
	check(attention.run(ones(ROWS * WIDTH), PackedFloat32Array()).size() == ROWS * WIDTH, "and it goes on")
	for buffer: RID in [x, small, image, RID()]:
		device.free_buffer(buffer)

func threads() -> void:
	var local := RenderingServer.create_local_rendering_device()
	var own := HeedDevice.new()
	check(own.open_on(local) == OK, "a local RenderingDevice")
	check(own.open_on(local) == ERR_BUSY, "open twice")
	var attention := layer(own)
	attention.bind_buffer("x", own.create_buffer_from(ones(ROWS * WIDTH)))
	attention.make_buffer("y")
	var thread := Thread.new()
	thread.start(func() -> Array: return [attention.compute(ROWS, 0), attention.run(ones(WIDTH), PackedFloat32Array()), own.create_buffer(16)])
	var told: Array = thread.wait_to_finish()
	check(told[0] == ERR_UNAVAILABLE and told[1].is_empty() and not told[2].is_valid(), "a local RenderingDevice on another thread")
	var speaker := HeedSpeaker.new()
	check(speaker.open(own, "/model.gguf") == ERR_UNAVAILABLE, "a speaker on a local RenderingDevice")
	speaker.free()
	check(attention.compute(ROWS, 0) == OK and attention.get_runs() == 1, "its own thread goes on")
	attention.close()
	own.close()
	local.free()

# The worst order: the RenderingDevice is freed first, while heed's objects still exist on it.
func freed_first() -> void:
	var local := RenderingServer.create_local_rendering_device()
	var own := HeedDevice.new()
	own.open_on(local)
	var attention := layer(own)
	var second := layer(own)
	attention.bind_buffer("x", own.create_buffer_from(ones(ROWS * WIDTH)))
	attention.make_buffer("y")
	check(attention.compute(ROWS, 0) == OK, "compute")
	local.free()
	check(own.is_lost(), "the device knows")
	check(attention.compute(ROWS, 0) == ERR_UNAVAILABLE, "compute on what is gone")
	check(attention.run(ones(WIDTH), PackedFloat32Array()).is_empty(), "run on what is gone")
	check(not own.create_buffer(16).is_valid(), "a buffer on what is gone")
	check(HeedAttention.new().open_by_rule(own, 1) == ERR_UNAVAILABLE, "open on what is gone")
	own = null
	attention = null
	second = null
	check(HeedDevice.new().open_on(null) == ERR_UNAVAILABLE, "no RenderingDevice")

func any_order() -> void:
	for order: Array in [[0, 1, 2], [2, 1, 0], [1, 2, 0]]:
		var own := HeedDevice.new()
		check(own.open() == OK, "open")
		var x := own.create_buffer_from(ones(ROWS * WIDTH))
		var attention := layer(own)
		attention.bind_buffer("x", x)
		var y := attention.make_buffer("y")
		attention.compute(ROWS, 0)
		for step: int in order:
			match step:
				0: own = null
				1: attention = null
				2:
					device.free_buffer(x)
					device.free_buffer(y)
			if step == order[0]:
				await process_frame

# On a lost GPU every user gets an error, and opens another device.
func lost(model: String) -> void:
	var attention := layer(device)
	var x := device.create_buffer_from(ones(ROWS * WIDTH))
	attention.bind_buffer("x", x)
	attention.make_buffer("y")
	var network := HeedModel.new()
	root.add_child(network)
	var heard := []
	network.opened.connect(func() -> void: heard.append("opened"))
	network.failed.connect(func(why: String) -> void: heard.append(why))
	network.load("res://demo/policy.onnx")
	network.set_largest("count", 8)
	check(network.open(device) == OK, "a network on the GPU")
	var patience := Time.get_ticks_msec() + 30000
	while heard.is_empty() and Time.get_ticks_msec() < patience:
		await process_frame
	var speaker := HeedSpeaker.new()
	root.add_child(speaker)
	var told := {}
	speaker.failed.connect(func(why: String) -> void: told.why = why)
	speaker.finished.connect(func(answer: String) -> void: told.answer = answer)
	speaker.context_tokens = 64
	check(speaker.open(device, model) == OK and speaker.say("Hello!") == OK, "a speaker on the GPU")
	check(network.set_floats("agents", ones(6), [1, 6]) == OK and network.run() == OK, "run")
	device.simulate_loss()
	attention.compute(ROWS, 0)
	for frame in 3:
		await process_frame
	check(device.is_lost(), "the device is lost")
	check(attention.compute(ROWS, 0) == ERR_UNAVAILABLE, "compute on a lost GPU")
	check(attention.run(ones(WIDTH), PackedFloat32Array()).is_empty(), "run on a lost GPU")
	var end := Time.get_ticks_msec() + 60000
	while told.is_empty() and Time.get_ticks_msec() < end:
		await process_frame
	check(told.has("why"), "the speaker tells")
	check(heard.size() == 2 and heard[0] == "opened" and heard[1].contains("lost") and not network.is_running(), "the network tells: %s" % [heard])
	check(network.open(device) == ERR_UNAVAILABLE, "a network on a lost GPU")
	network.free()
	check(speaker.open(device, model) == ERR_UNAVAILABLE, "a speaker on a lost GPU")
	var cpu := HeedDevice.new()
	check(cpu.open_cpu() == OK and speaker.open(cpu, model) == OK, "the CPU takes over")
	speaker.answer_tokens = 2
	told.clear()
	check(speaker.say("Hello!") == OK, "say")
	while told.is_empty() and Time.get_ticks_msec() < end:
		await process_frame
	check(told.has("answer"), "the character speaks on")
	speaker.free()
	var again := HeedDevice.new()
	check(again.open() == OK and again.is_gpu() and not again.is_lost(), "the GPU again, when it is there again")
	check(layer(again).run(ones(WIDTH), PackedFloat32Array()).size() == WIDTH, "it computes")
	again.free_buffer(x)

func run(model: String) -> void:
	check(device.open() == OK and device.is_gpu(), "the GPU")
	properties()
	await buffers()
	threads()
	freed_first()
	await any_order()
	await lost(model)
	print("passed" if failures == 0 else "failed")
	device = null
	quit(0 if failures == 0 else 1)

func _initialize() -> void:
	run(OS.get_cmdline_user_args()[0])
