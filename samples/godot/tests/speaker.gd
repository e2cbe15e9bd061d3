# Two characters answer at once, headless, while frames go on; wrong calls end in an error each.
#   godot --headless --path samples/godot --script tests/speaker.gd -- MODEL
extends SceneTree

var failures := 0
var tokens := 0
var finished := {}
var refusals := 0
var worst_ms := 0.0
var last_us := 0
var started_us := 0

func check(is_right: bool, what: String) -> void:
	if not is_right:
		failures += 1
		printerr("FAILED: " + what)

func speaker(device: HeedDevice, model: String, persona: String, question: String) -> HeedSpeaker:
	var node := HeedSpeaker.new()
	root.add_child(node)
	check(node.open(device, model) == OK, "open")
	check(node.set_persona(persona) == OK, "set_persona")
	node.token.connect(func(_text: String) -> void: tokens += 1)
	node.finished.connect(func(answer: String) -> void: finished[node] = answer)
	node.failed.connect(func(_why: String) -> void: refusals += 1)
	check(node.say(question) == OK, "say")
	return node

func _initialize() -> void:
	var arguments := OS.get_cmdline_user_args()
	if arguments.is_empty():
		printerr("FAILED: no model was given")
		quit(2)
		return
	var model := arguments[0]
	Engine.max_fps = 60

	var early := HeedSpeaker.new()
	check(early.say("Hello?") == ERR_UNCONFIGURED, "say without a model")
	check(early.open(null, model) == ERR_INVALID_PARAMETER, "open without a device")
	check(early.open(HeedDevice.new(), model) == ERR_INVALID_PARAMETER, "open on a device that is not open")
	early.free()

	var device := HeedDevice.new()
	check(device.open() == OK, "the device")
	check(device.describe().begins_with("cpu"), "the device's name")
	var smith := speaker(device, model, "You are Bram, a grumpy blacksmith. Answer in one short sentence.", "Do you sell swords?")
	speaker(device, model, "You are Mara, a cheerful innkeeper. Answer in one short sentence.", "Do you have a room?")
	check(smith.say("And axes?") == ERR_BUSY, "say while speaking")
	check(smith.set_persona("Somebody else.") == ERR_BUSY, "set_persona while speaking")
	var from_thread := Thread.new()
	from_thread.start(func() -> int: return smith.say("From a thread"))
	check(from_thread.wait_to_finish() == ERR_UNAVAILABLE, "say on another thread")
	# One that is freed while its model is still being opened, and one whose file is missing.
	speaker(device, model, "", "Are you there?").queue_free()
	speaker(device, "/there/is/no/model.gguf", "", "Are you there?")
	device = null
	started_us = Time.get_ticks_usec()

func _process(_delta: float) -> bool:
	if started_us == 0:
		return false
	var now := Time.get_ticks_usec()
	if last_us != 0:
		worst_ms = maxf(worst_ms, (now - last_us) / 1000.0)
	last_us = now
	if now - started_us > 120000000:
		check(false, "the answers took longer than two minutes")
	elif finished.size() < 2 or refusals < 1:
		return false
	for node: HeedSpeaker in finished:
		check(finished[node] == node.get_answer() and not node.is_speaking(), "the whole answer")
		check(finished[node].length() > 0, "an answer that is not empty")
		print("said: ", finished[node])
	check(refusals == 1, "one model that cannot be opened")
	print("%d pieces in %.1f s, longest time between frames %.1f ms" % [tokens, (now - started_us) / 1e6, worst_ms])
	print("passed" if failures == 0 else "failed")
	quit(0 if failures == 0 else 1)
	return true
