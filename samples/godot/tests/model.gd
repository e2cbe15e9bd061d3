# Networks of ONNX files: the demo's policy gives PyTorch's results (policy.json, which policy/policy.py wrote with the file), on arrays and
# on Godot's buffers, in one frame and over many; a mistake gives one message, one signal and a returned value.
#   godot --path samples/godot --script tests/model.gd -- FOLDER [cpu] [short]
# FOLDER: an output folder; cpu: this Godot has no RenderingDevice for heed, so that the CPU computes; short: only runs of the policy
extends SceneTree

const POLICY := "res://demo/policy.onnx"
# The error of velocities of at most 1.5 in floats, after sums over squares of positions of some metres.
const BOUND := 2e-5

var failures := 0
var device := HeedDevice.new()
var agents := PackedFloat32Array()
var velocity := PackedFloat32Array()

func check(is_right: bool, what: String) -> void:
	if not is_right:
		failures += 1
		printerr("FAILED: " + what)

func compare(got: PackedFloat32Array, what: String) -> void:
	check(got.size() == velocity.size(), "%s: %d values" % [what, got.size()])
	var worst := 0.0
	for i in mini(got.size(), velocity.size()):
		worst = maxf(worst, absf(got[i] - velocity[i]))
	print("%s: largest difference %s" % [what, worst])
	check(worst <= BOUND, what)

# Each failure must emit one signal, with a sentence that has this word.
func refuses(model: HeedModel, call: Callable, error: Error, word: String) -> void:
	var told := []
	var note := func(why: String) -> void: told.append(why)
	model.failed.connect(note)
	check(call.call() == error, "%s: %s" % [call, error_string(error)])
	model.failed.disconnect(note)
	check(told.size() == 1 and told[0].contains(word), "one sentence with \"%s\": %s" % [word, told])

# Collects the node's signals until this one or a failure, for at most 20 seconds.
func told_until(model: HeedModel, wanted: String) -> Array:
	var told := []
	var note := func(what: String) -> void: told.append(what)
	var notes := {"opened": note.bind("opened"), "finished": note.bind("finished"), "failed": note}
	for name: String in notes:
		model.connect(name, notes[name])
	var end := Time.get_ticks_msec() + 20000
	while (told.is_empty() or told.back() == "opened" and wanted != "opened") and Time.get_ticks_msec() < end:
		await process_frame
	for name: String in notes:
		model.disconnect(name, notes[name])
	return told

# Whether this signal, or a failure with these words, came.
func until(model: HeedModel, wanted: String) -> bool:
	var told := await told_until(model, wanted)
	return not told.is_empty() and told.back().contains(wanted)

func policy(largest := 64) -> HeedModel:
	var model := HeedModel.new()
	root.add_child(model)
	check(model.load(POLICY) == OK and model.set_largest("count", largest) == OK, "load")
	return model

func give(model: HeedModel) -> Error:
	return model.set_floats("agents", agents, [agents.size() / 6, 6])

func on_arrays() -> void:
	var model := policy()
	check(model.get_input_names() == PackedStringArray(["agents"]) and model.get_output_names() == PackedStringArray(["velocity"]), "names")
	check(model.get_type("agents") == "f32" and model.get_dims("agents") == PackedStringArray(["count", "6"]), "types and dims")
	check(model.get_type("none") == "" and model.get_dims("none").is_empty(), "what there is not")
	check(model.open(device) == OK, "open")
	check(give(model) == OK and model.run() == OK and model.is_running(), "run before the network is open")
	check(await told_until(model, "finished") == ["opened", "finished"] and model.is_open() and not model.is_running(), "opened, and finished")
	compare(model.get_floats("velocity"), "arrays")
	check(model.get_shape("velocity") == PackedInt32Array([agents.size() / 6, 2]), "the shape of an output")
	var at_once := model.get_frames()
	# The same bits, whatever the budget and the number of agents for which the network was opened.
	var wanted := model.get_floats("velocity")
	model.budget_msec = 0.000001
	check(model.run() == OK and await until(model, "finished"), "a run with a budget")
	check(model.get_floats("velocity") == wanted, "the same bits over %d frames" % model.get_frames())
	print("%d frames, with a budget %d; %.3f ms" % [at_once, model.get_frames(), model.get_msec()])
	check(model.get_msec() > 0.0, "a run is timed")
	if device.is_gpu():
		check(model.get_frames() > at_once + 5, "a small budget spreads a run over frames")
	check(model.run_now() == OK and model.get_floats("velocity") == wanted, "run_now")
	check(model.set_floats("agents", agents.slice(0, 6), [1, 6]) == OK and model.run_now() == OK, "one agent")
	check(model.get_floats("velocity").size() == 2, "one velocity")
	model.free()

func on_buffers() -> void:
	var model := policy()
	check(model.open(device) == OK and await until(model, "opened"), "open")
	var seen := device.create_buffer_from(agents)
	var chosen := device.create_buffer(4 * velocity.size())
	check(model.bind_buffer("agents", seen, [agents.size() / 6, 6]) == OK and model.bind_buffer("velocity", chosen, []) == OK, "bind")
	for budget: float in [0.0, 0.000001]:
		model.budget_msec = budget
		check(model.run() == OK and await until(model, "finished"), "a run on buffers")
		compare(device.read_buffer(chosen), "buffers, in %d frames" % model.get_frames())
	# The network reads in the next frame what Godot writes in one; an array and a buffer may be mixed.
	var only := agents.slice(0, 6)
	RenderingServer.call_on_render_thread(func() -> void:
		RenderingServer.get_rendering_device().buffer_update(seen, 0, 24, only.to_byte_array()))
	await process_frame
	check(model.bind_buffer("agents", seen, [1, 6]) == OK and model.run_now() == OK, "run_now on buffers")
	var alone := device.read_buffer(chosen).slice(0, 2)
	check(model.set_floats("agents", only, [1, 6]) == OK and model.run_now() == OK, "an array beside a buffer")
	check(device.read_buffer(chosen).slice(0, 2) == alone, "the same of an array")
	check(give(model) == OK, "all of them again")
	var small := device.create_buffer(8)
	model.bind_buffer("velocity", small, [])
	check(model.run() == OK and await until(model, "velocity"), "a buffer that is too small")
	device.free_buffer(small)
	check(model.run() == OK and await until(model, "is gone"), "a buffer that is gone")
	refuses(model, func() -> Error: return model.bind_buffer("velocity", RID(), []), ERR_INVALID_PARAMETER, "RID")
	model.bind_buffer("velocity", chosen, [])
	check(model.run() == OK and await until(model, "finished"), "and it goes on")
	check(model.get_floats("velocity").is_empty(), "an output in a buffer is no array")
	model.free()
	for buffer: RID in [seen, chosen]:
		device.free_buffer(buffer)

func wrong_calls() -> void:
	var model := HeedModel.new()
	refuses(model, func() -> Error: return model.open(device), ERR_UNCONFIGURED, "load()")
	refuses(model, func() -> Error: return model.run(), ERR_UNCONFIGURED, "open")
	refuses(model, func() -> Error: return model.set_largest("count", 3), ERR_DOES_NOT_EXIST, "load()")
	check(model.load(POLICY) == OK, "load")
	refuses(model, func() -> Error: return model.open(device), ERR_INVALID_PARAMETER, "count")
	refuses(model, func() -> Error: return model.set_largest("batch", 3), ERR_DOES_NOT_EXIST, "batch")
	refuses(model, func() -> Error: return model.set_largest("count", -1), ERR_INVALID_PARAMETER, "count")
	model.set_largest("count", 8)
	refuses(model, func() -> Error: return model.run_now(), ERR_UNCONFIGURED, "opened")
	check(model.open(null) == ERR_INVALID_PARAMETER and model.open(HeedDevice.new()) == ERR_INVALID_PARAMETER, "no device")
	check(model.open(device) == OK, "open")
	refuses(model, func() -> Error: return model.run(), ERR_UNCONFIGURED, "tree")
	root.add_child(model)
	check(await until(model, "opened"), "opened")
	refuses(model, func() -> Error: return model.run(), ERR_INVALID_PARAMETER, "agents")
	refuses(model, func() -> Error: return model.set_floats("agent", agents, [1, 6]), ERR_DOES_NOT_EXIST, "agent")
	refuses(model, func() -> Error: return model.set_floats("velocity", agents, [1, 6]), ERR_DOES_NOT_EXIST, "velocity")
	refuses(model, func() -> Error: return model.set_ints("agents", [1], [1]), ERR_INVALID_PARAMETER, "f32")
	for shape: Array in [[], [2, 6], [-1, -6], [1 << 30, 1 << 30, 1 << 30]]:
		refuses(model, func() -> Error: return model.set_floats("agents", agents.slice(0, 6), shape), ERR_INVALID_PARAMETER, "6 values")
	check(model.set_floats("agents", agents.slice(0, 6), [6, 1]) == OK, "six of one")
	refuses(model, func() -> Error: return model.run(), ERR_INVALID_PARAMETER, "must be 6")
	check(model.set_floats("agents", agents.slice(0, 6), [6]) == OK, "a row")
	refuses(model, func() -> Error: return model.run_now(), ERR_INVALID_PARAMETER, "dims")
	var many := PackedFloat32Array()
	many.resize(54)
	check(model.set_floats("agents", many, [9, 6]) == OK, "nine")
	refuses(model, func() -> Error: return model.run(), ERR_INVALID_PARAMETER, "count")
	check(model.get_floats("velocity").is_empty(), "nothing before the first run")
	check(give(model) == OK and model.run() == OK, "run")
	refuses(model, func() -> Error: return model.run(), ERR_BUSY, "finished")
	refuses(model, func() -> Error: return model.load(POLICY), ERR_BUSY, "finished")
	var thread := Thread.new()
	thread.start(func() -> Error: return model.run())
	check(thread.wait_to_finish() == ERR_UNAVAILABLE, "run on another thread")
	check(await until(model, "finished"), "finished")
	check(model.get_floats("agents").is_empty() and model.get_ints("velocity").is_empty(), "other names and types")
	compare(model.get_floats("velocity"), "after all of this")
	model.budget_msec = -1.0
	check(model.budget_msec == 0.0, "a budget keeps its value")
	model.close()
	refuses(model, func() -> Error: return model.run(), ERR_UNCONFIGURED, "open")
	model.free()
	# Freed during opening, during a run, and by a handler.
	for frames: int in [0, 1, 30]:
		var short := policy()
		short.open(device)
		give(short)
		short.run()
		for frame in frames:
			await process_frame
		short.free()
	var last := policy()
	last.finished.connect(func() -> void: last.queue_free())
	last.open(device)
	give(last)
	last.run()
	for frame in 600:
		if not is_instance_valid(last):
			break
		await process_frame
	check(not is_instance_valid(last), "a handler frees its node")

func damaged_files(folder: String) -> void:
	var model := HeedModel.new()
	var bytes := FileAccess.get_file_as_bytes(POLICY)
	var path := folder.path_join("damaged.onnx")
	for size: int in [0, 1, 100, bytes.size() / 2, bytes.size() - 1]:
		FileAccess.open(path, FileAccess.WRITE).store_buffer(bytes.slice(0, size))
		refuses(model, func() -> Error: return model.load(path), ERR_FILE_CANT_READ, "damaged.onnx")
	for wrong: String in ["/there/is/none.onnx", "res://none.onnx", "", folder]:
		refuses(model, func() -> Error: return model.load(wrong), ERR_FILE_CANT_READ, "nothing is at")
	refuses(model, func() -> Error: return model.load("res://demo/village.gd"), ERR_FILE_CANT_READ, "village.gd")
	model.free()

# --- A network of integers, as ONNX's protobuf: gathers rows of a table, and doubles the indices.

func field(number: int, bytes: PackedByteArray) -> PackedByteArray:
	var size := [bytes.size()] if bytes.size() < 128 else [bytes.size() & 127 | 128, bytes.size() >> 7]
	return PackedByteArray([number << 3 | 2] + size) + bytes

func text(number: int, value: String) -> PackedByteArray:
	return field(number, value.to_utf8_buffer())

func value(name: String, type: int, dims: Array[PackedByteArray]) -> PackedByteArray:
	var shape := PackedByteArray()
	for dim in dims:
		shape += field(1, dim)
	return text(1, name) + field(2, field(1, PackedByteArray([8, type]) + field(2, shape)))

func lookup() -> PackedByteArray:
	const FLOAT := 1
	const INT64 := 7
	var n := text(2, "n")
	var table := PackedByteArray([8, 3, 8, 2, 16, FLOAT]) + text(8, "table") + field(9, PackedFloat32Array([0, 1, 10, 11, 20, 21]).to_byte_array())
	var graph := field(1, text(1, "table") + text(1, "ids") + text(2, "rows") + text(4, "Gather"))
	graph += field(1, text(1, "ids") + text(1, "ids") + text(2, "twice") + text(4, "Add"))
	graph += field(5, table) + field(11, value("ids", INT64, [n]))
	graph += field(12, value("rows", FLOAT, [n, PackedByteArray([8, 2])])) + field(12, value("twice", INT64, [n]))
	return PackedByteArray([8, 8]) + field(7, graph) + field(8, PackedByteArray([16, 17]))

func whole_numbers(folder: String) -> void:
	var path := folder.path_join("lookup.onnx")
	FileAccess.open(path, FileAccess.WRITE).store_buffer(lookup())
	var model := HeedModel.new()
	root.add_child(model)
	check(model.load(path) == OK and model.set_largest("n", 4) == OK and model.open(device) == OK, "open a lookup")
	check(model.get_type("ids") == "i32" and await until(model, "opened"), "opened")
	check(model.set_ints("ids", [2, 0], [2]) == OK and model.run() == OK and await until(model, "finished"), "look up")
	check(model.get_floats("rows") == PackedFloat32Array([20, 21, 0, 1]), "rows: %s" % model.get_floats("rows"))
	check(model.get_ints("twice") == PackedInt32Array([4, 0]), "numbers: %s" % model.get_ints("twice"))
	check(model.get_bytes("twice") == PackedInt32Array([4, 0]).to_byte_array(), "bytes")
	check(model.set_bytes("ids", PackedInt32Array([1]).to_byte_array(), [1]) == OK and model.run_now() == OK, "bytes given")
	check(model.get_floats("rows") == PackedFloat32Array([10, 11]), "rows of bytes")
	check(model.set_ints("ids", [7], [1]) == OK and model.run() == OK and await until(model, "broke off"), "a number outside the table")
	model.free()

# The exports of this machine's PyTorch, if there are any.
func exported(folder: String) -> void:
	for file in DirAccess.get_files_at(folder):
		if not file.ends_with(".json"):
			continue
		var told: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(folder.path_join(file)))
		var model := HeedModel.new()
		root.add_child(model)
		check(model.load(folder.path_join(file.replace(".json", ".onnx"))) == OK, file)
		for name: String in told.inputs:
			var shape := PackedInt32Array(told.inputs[name].shape)
			for dim in model.get_dims(name):
				if not dim.is_valid_int():
					check(model.set_largest(dim, 64) == OK, "the largest " + dim)
			var values: Array = told.inputs[name].values
			match model.get_type(name):
				"f32": check(model.set_floats(name, values, shape) == OK, name)
				"i32": check(model.set_ints(name, values, shape) == OK, name)
				_: check(model.set_bytes(name, PackedByteArray(values), shape) == OK, name)
		check(model.open(device) == OK and model.run() == OK and await until(model, "finished"), "run " + file)
		var got := model.get_floats(told.output)
		var worst := 0.0 if got.size() == told.values.size() else INF
		for i in got.size():
			worst = maxf(worst, absf(got[i] - told.values[i]))
		print("%s: largest difference %s" % [file, worst])
		check(worst <= BOUND, file)
		model.free()

# The script of include/heed/guide/from_onnx.md.
func page() -> void:
	var node: Node = load("res://tests/page.gd").new()
	root.add_child(node)
	node.agents = agents
	var end := Time.get_ticks_msec() + 20000
	while node.velocity.is_empty() and Time.get_ticks_msec() < end:
		await process_frame
	compare(node.velocity, "the page's script")
	node.free()

func run(folder: String, wants_cpu: bool, is_short: bool) -> void:
	var told: Dictionary = JSON.parse_string(FileAccess.get_file_as_string("res://tests/policy.json"))
	agents = PackedFloat32Array(told.agents)
	velocity = PackedFloat32Array(told.velocity)
	check(device.open() == OK and device.is_gpu() != wants_cpu, "the device")
	print(device.describe(), " ", device.get_reason())
	await on_arrays()
	if device.is_gpu():
		await on_buffers()
	if not is_short:
		await whole_numbers(folder)
		await exported("/exported")
		await page()
		await wrong_calls()
		damaged_files(folder)
	print("passed" if failures == 0 else "failed")
	device = null
	quit(0 if failures == 0 else 1)

func _initialize() -> void:
	var arguments := OS.get_cmdline_user_args()
	Engine.max_fps = 240
	run(arguments[0], arguments.has("cpu"), arguments.has("short"))
