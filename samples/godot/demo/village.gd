# A village at dusk. Its birds steer by heed's attention on Godot's own buffers, and its people answer typed or spoken text by speech and
# language models that heed runs. options.gd has the command line.
extends Node3D

const Options := preload("res://demo/options.gd")
const Scenery := preload("res://demo/scenery.gd")
const Flock := preload("res://demo/flock.gd")
const Character := preload("res://demo/character.gd")
const Panel_ := preload("res://demo/panel.gd")
const Ears := preload("res://demo/ears.gd")
const Show := preload("res://demo/show.gd")

# A line of text means one of these, or addresses the last character spoken to.
const INTENTS: Dictionary[String, String] = {
	"Talk to the blacksmith Bram about swords, iron and tools": "smith",
	"Ask the innkeeper Marta for a room, food or gossip": "inn",
	"Speak to the dragon about gold, fire and kingdoms": "dragon",
	"Frighten the birds so that they fly away": "scatter",
	"Let the birds come down and rest": "settle",
}

var options := Options.new()
var flock_device := HeedDevice.new()
var speech_device := HeedDevice.new()
var flock: Flock
var people: Array[Character] = []
var panel := Panel_.new()
var encoder: Node
var ears: Ears  # null: nobody listens
var _line := LineEdit.new()
var _buttons: Array[Button] = []
var _to := 0
var _calm_wanted := 0.0
var _frightened := 0.0
var _meter := HeedSpeaker.new()
var _tokens := 0
var _tokens_since := 0
var _said := ""

func _ready() -> void:
	var problem := options.read(OS.get_cmdline_user_args())
	if problem != "":
		printerr("village: " + problem)
		get_tree().quit(2)
		return
	flock_device.open()
	# On a software driver a language model is slower than on the CPU.
	if options.speech == "cpu" or (options.speech == "auto" and flock_device.is_software()):
		speech_device.open_cpu()
	else:
		speech_device.open()
	var scenery := Scenery.new()
	if options.detail == "plain":
		scenery.is_plain = true
		get_viewport().msaa_3d = Viewport.MSAA_DISABLED
	add_child(scenery)
	var camera := Camera3D.new()
	camera.position = Vector3(-0.4, 4.0, 10.5)
	camera.rotation_degrees = Vector3(-3, 0, 0)
	camera.fov = 56
	add_child(camera)
	flock = Flock.new(flock_device, options.birds)
	add_child(flock)
	_people(scenery)
	_controls()
	if options.bench > 0.0 or options.png != "":
		add_child(Show.new(self))

func _people(scenery: Scenery) -> void:
	var smith := Character.new("Bram", Color(0.98, 0.62, 0.32), options.speaker)
	smith.position = Vector3(-5.2, 0, -0.2)
	smith.rotation_degrees.y = 14
	smith.be_human(scenery, Color(0.24, 0.17, 0.13), Color(0.76, 0.55, 0.43), Color(0.34, 0.33, 0.33), 1.25)
	var inn := Character.new("Marta", Color(0.55, 0.85, 0.60), options.speaker)
	inn.position = Vector3(2.9, 0, 0.2)
	inn.rotation_degrees.y = -12
	inn.shift = Vector2(10, 0)
	inn.be_human(scenery, Color(0.22, 0.36, 0.28), Color(0.85, 0.66, 0.54), Color(0.42, 0.20, 0.10), 1.05)
	var dragon := Character.new("Vermathrax", Color(1.0, 0.42, 0.38), options.speaker)
	dragon.position = Vector3(8.7, 1.0, -2.0)
	dragon.shift = Vector2(-20, 0)
	dragon.be_dragon(scenery)
	people = [smith, inn, dragon]
	var files := ["blacksmith.txt", "innkeeper.txt", "dragon.txt"]
	var layer := CanvasLayer.new()
	add_child(layer)
	for i in people.size():
		add_child(people[i])
		layer.add_child(people[i].bubble)
		if options.model != "":
			people[i].open(speech_device, options.model, options.personas.path_join(files[i]), options.budget)
	layer.add_child(panel)

func _controls() -> void:
	var layer := CanvasLayer.new()
	add_child(layer)
	var row := HBoxContainer.new()
	row.set_anchors_and_offsets_preset(Control.PRESET_BOTTOM_WIDE)
	row.offset_left = 14
	row.offset_right = -14
	row.offset_top = -50
	row.offset_bottom = -14
	layer.add_child(row)
	var group := ButtonGroup.new()
	for i in people.size():
		var button := Button.new()
		button.text = people[i].title
		button.toggle_mode = true
		button.button_group = group
		button.button_pressed = i == 0
		button.focus_mode = Control.FOCUS_NONE
		button.pressed.connect(func() -> void: _to = i)
		row.add_child(button)
		_buttons.append(button)
	_line.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_line.placeholder_text = "Say something, or frighten the birds (click the sky), or let them rest …"
	_line.text_submitted.connect(say)
	row.add_child(_line)
	_line.grab_focus()
	if options.ears != "":
		ears = Ears.new()
		add_child(ears)
		ears.speaking.connect(_on_speaking)
		ears.said.connect(_on_said)
		ears.open(speech_device, options.ears, options.budget)
		_line.placeholder_text = "Type, or hold Tab, look at somebody with the mouse, and speak …"
	if options.encoder != "":
		encoder = ClassDB.instantiate("HeedTextEncoder")
		add_child(encoder)
		encoder.connect("answered", _on_meaning)
		encoder.call("open", speech_device, options.encoder)
		encoder.call("set_intents", PackedStringArray(INTENTS.keys()))

# Handles the player's text. With a sentence model, its meaning selects the character, or what the birds do.
func say(text: String) -> void:
	_line.clear()
	if text.strip_edges() == "":
		return
	_said = text
	if encoder != null and encoder.call("ask", text) == OK:
		return
	_answer(_to)

# The character nearest to the mouse, if one is near.
func looked_at() -> int:
	const NEAR := 140.0
	var camera := get_viewport().get_camera_3d()
	var mouse := get_viewport().get_mouse_position()
	var nearest := -1
	var least := NEAR
	for i in people.size():
		var away := camera.unproject_position(people[i].global_position + Vector3(0, 1, 0)).distance_to(mouse)
		if away < least:
			least = away
			nearest = i
	return nearest

func speak_to(who: int) -> void:
	if who >= 0:
		_to = who
		_buttons[who].button_pressed = true

func _on_speaking(text: String) -> void:
	if ears.listener.listening:
		speak_to(looked_at())
	_line.text = text if text != "" else "…"

# What was heard is addressed to the character under the mouse.
func _on_said(text: String) -> void:
	_line.clear()
	_said = text
	if text.strip_edges() != "":
		_answer(_to)

func _answer(who: int) -> void:
	_to = who
	if people[who].speaker.is_speaking():
		people[who].speaker.cancel()
	people[who].ask(_said)

func _on_meaning(_text: String, intents: PackedStringArray, scores: PackedFloat32Array) -> void:
	const SURE := 0.35
	match INTENTS[intents[0]] if scores[0] >= SURE else "":
		"scatter": scatter()
		"settle": settle()
		"smith": _answer(0)
		"inn": _answer(1)
		"dragon": _answer(2)
		_: _answer(_to)

func settle() -> void:
	_calm_wanted = 1.0

func scatter(place := Vector3(0, 4.5, -4)) -> void:
	_calm_wanted = 0.0
	flock.calm = 0.0
	flock.threat = place
	_frightened = 1.2

func _unhandled_input(event: InputEvent) -> void:
	if event is InputEventMouseButton and event.pressed:
		var camera := get_viewport().get_camera_3d()
		scatter(camera.project_position(event.position, 14.0))

func _process(delta: float) -> void:
	if flock == null:
		return
	flock.calm = move_toward(flock.calm, _calm_wanted, 0.6 * delta)
	_frightened -= delta
	if _frightened < 0.0:
		flock.threat = Vector3(0, -100, 0)
	_tell(delta)

func _tell(delta: float) -> void:
	panel.frame_ms = lerpf(panel.frame_ms, delta * 1000.0, 0.1)
	panel.attention_ms = lerpf(panel.attention_ms, flock.attention.get_msec(), 0.1)
	panel.calls_ms = lerpf(panel.calls_ms, (flock.spent_usec + _meter.take_spent_usec()) / 1000.0, 0.1)
	flock.spent_usec = 0
	var speaking := 0
	var tokens := 0
	for person in people:
		speaking += 1 if person.speaker.is_speaking() else 0
		tokens += person.speaker.get_tokens()
	if Time.get_ticks_msec() > _tokens_since + 2000:
		panel.tokens_per_second = (tokens - _tokens) * 1000.0 / (Time.get_ticks_msec() - _tokens_since)
		_tokens = tokens
		_tokens_since = Time.get_ticks_msec()
	panel.tell(flock_device, speech_device, flock.birds, options.budget, speaking)

func _exit_tree() -> void:
	_meter.free()
