# The text of a recording, headless: in pieces as frames would bring them, at other rates, by two listeners at once, through an audio bus;
# and wrong calls, missing models, and nodes that are freed while they listen.
#   godot --headless --path samples/godot --script tests/listener.gd -- WHISPER RECORDING TEXT
extends SceneTree

const Recording := preload("res://demo/recording.gd")

var failures := 0
var device := HeedDevice.new()
var model := ""
var recording: Recording
var text := ""

func check(is_right: bool, what: String) -> void:
	if not is_right:
		failures += 1
		printerr("FAILED: " + what)

func until(what: Callable) -> bool:
	var end := Time.get_ticks_msec() + 30000
	while not what.call():
		if Time.get_ticks_msec() > end:
			return false
		await process_frame
	return true

# A listener's signals: "heard", "partial" and "failed", each a list.
func listener(path: String, told: Dictionary) -> HeedListener:
	var node := HeedListener.new()
	root.add_child(node)
	told.merge({"heard": [], "partial": [], "failed": [], "times": []}, true)
	node.heard.connect(func(what: String, begin: float, end: float) -> void: told.heard.append(what); told.times.append_array([begin, end]))
	node.partial.connect(func(what: String) -> void: told.partial.append(what))
	node.failed.connect(func(why: String) -> void: told.failed.append(why))
	check(node.open(device, path) == OK, "open")
	return node

func wrong_calls() -> void:
	var early := HeedListener.new()
	check(early.push(PackedFloat32Array([0.0]), 16000) == ERR_UNCONFIGURED, "push without a model")
	check(early.open(null, model) == ERR_INVALID_PARAMETER and early.open(HeedDevice.new(), model) == ERR_INVALID_PARAMETER, "open without a device")
	check(early.listening and early.language == "" and early.pause_sec == 0.6 and early.partial_sec == 1.0 and early.budget_msec == 0.0, "defaults")
	early.pause_sec = -1.0
	early.partial_sec = INF
	early.budget_msec = -1.0
	check(early.pause_sec == 0.6 and early.partial_sec == 1.0 and early.budget_msec == 0.0, "properties keep their values")
	early.cancel()
	check(not early.is_busy() and early.listen_to(null) == OK, "nothing is heard")
	early.free()
	check(device.open_cpu() == OK, "the device")
	var told := {}
	var node := listener(model, told)
	check(node.push(recording.samples, 0) == ERR_INVALID_PARAMETER and node.push(recording.samples, -16000) == ERR_INVALID_PARAMETER, "no rate")
	node.listening = false
	check(node.push(recording.samples, 16000) == ERR_UNAVAILABLE, "push while not listening")
	var thread := Thread.new()
	thread.start(func() -> int: return node.push(recording.samples, 16000))
	check(thread.wait_to_finish() == ERR_UNAVAILABLE, "push on another thread")
	node.listening = true
	check(node.push(PackedFloat32Array([0.0, NAN]), 16000) == OK, "push what is no number")
	check(await until(func() -> bool: return told.failed.size() == 1), "samples that are no numbers are told")
	node.listening = false
	node.language = "xx"
	node.listening = true
	check(node.push(recording.samples, 16000) == OK, "push")
	check(await until(func() -> bool: return told.failed.size() == 2), "a language that the model has not is told")
	node.free()
	var missing := listener("/there/is/no/model", told)
	check(missing.push(recording.samples, 16000) == OK and missing.push(recording.samples, 16000) == OK, "push")
	check(await until(func() -> bool: return not missing.is_busy()) and told.failed.size() == 1 and told.failed[0].contains("nothing is at"), "a model that is missing is told once")
	missing.free()

func same(words: Array) -> bool:
	return " ".join(PackedStringArray(words)) == text

func hears() -> void:
	var told := {}
	var told_by_other := {}
	var node := listener(model, told)
	var other := listener(model, told_by_other)
	node.partial_sec = 0.5
	other.partial_sec = 0.0
	# One listener gets it in pieces, the other as stereo at three times the rate.
	var frames := PackedVector2Array()
	for sample in recording.samples:
		for i in 3:
			frames.append(Vector2(sample, sample))
	check(other.push_stereo(frames, 48000) == OK, "push_stereo")
	for at in range(0, recording.samples.size(), 1600):
		check(node.push(recording.samples.slice(at, at + 1600), 16000) == OK, "push a piece")
		await process_frame
	node.listening = false
	other.listening = false
	check(await until(func() -> bool: return not node.is_busy() and not other.is_busy()), "all is heard")
	check(same(told.heard), "heard %s" % [told.heard])
	check(same(told_by_other.heard) and told_by_other.partial.is_empty(), "the other heard %s" % [told_by_other.heard])
	check(not told.partial.is_empty() and told.failed.is_empty() and told_by_other.failed.is_empty(), "partial text %s" % [told])
	var seconds := recording.samples.size() / 16000.0
	check(told.times[0] >= 0.0 and told.times[-1] <= seconds + 0.01 and told.times[-1] > 0.6 * seconds, "times %s" % [told.times])
	# Another sentence, whose times continue; within a budget.
	told.heard.clear()
	told.times.clear()
	node.budget_msec = 8.0
	node.listening = true
	check(node.push(recording.samples, 16000) == OK, "push again")
	node.listening = false
	check(await until(func() -> bool: return not node.is_busy()), "it is heard")
	check(same(told.heard) and told.times[0] >= seconds, "heard again %s" % [told])
	# Discarded sound gives no text, also if the node is freed.
	told.heard.clear()
	node.listening = true
	node.push(recording.samples, 16000)
	node.cancel()
	check(await until(func() -> bool: return not node.is_busy()) and told.heard.is_empty(), "cancelled")
	node.push(recording.samples, 16000)
	node.free()
	other.free()

# The path of a microphone, with the recording in its place.
func through_a_bus() -> void:
	AudioServer.add_bus(1)
	AudioServer.set_bus_name(1, "Microphone")
	var capture := AudioEffectCapture.new()
	capture.buffer_length = 2.0
	AudioServer.add_bus_effect(1, capture)
	var stream := AudioStreamWAV.new()
	stream.format = AudioStreamWAV.FORMAT_16_BITS
	stream.mix_rate = 16000
	stream.data = FileAccess.get_file_as_bytes(OS.get_cmdline_user_args()[1]).slice(44)
	var player := AudioStreamPlayer.new()
	player.stream = stream
	player.bus = "Microphone"
	root.add_child(player)
	var told := {}
	var node := listener(model, told)
	check(node.listen_to(capture) == OK, "listen_to")
	player.play()
	check(await until(func() -> bool: return not player.playing), "the recording is played")
	for i in 30:
		await process_frame
	node.listening = false
	check(await until(func() -> bool: return not node.is_busy()), "the bus is heard")
	check(same(told.heard), "heard through a bus %s" % [told])
	node.free()
	player.free()

func _initialize() -> void:
	var arguments := OS.get_cmdline_user_args()
	model = arguments[0]
	recording = Recording.new(arguments[1])
	text = arguments[2]
	Engine.max_fps = 60
	run()

func run() -> void:
	check(recording.rate == 16000, "the recording")
	await wrong_calls()
	await hears()
	await through_a_bus()
	var last := {}
	listener(model, last).push(recording.samples, 16000)  # when the program ends
	print("passed" if failures == 0 else "failed")
	device = null
	quit(0 if failures == 0 else 1)
