# Hears the player while a key is down: the microphone plays on a separate, muted bus, and a HeedListener reads what the bus captures.
extends Node

signal speaking(text: String)  # provisional text of the present utterance; "": none yet
signal said(text: String)

const KEY := KEY_TAB
const Recording := preload("res://demo/recording.gd")

var listener := HeedListener.new()
var _words := PackedStringArray()
var _waits := false  # receives the final text

func _init() -> void:
	listener.listening = false
	listener.pause_sec = 0.6
	listener.partial.connect(func(text: String) -> void: speaking.emit(" ".join(_words + PackedStringArray([text]))))
	listener.heard.connect(_on_heard)
	listener.failed.connect(func(why: String) -> void: speaking.emit(why))
	add_child(listener)

func open(device: HeedDevice, model: String, budget: float) -> bool:
	listener.budget_msec = budget
	return listener.open(device, model) == OK

# Starts the microphone when the player speaks for the first time.
func _open_microphone() -> void:
	var bus := AudioServer.bus_count
	AudioServer.add_bus(bus)
	AudioServer.set_bus_name(bus, "Microphone")
	AudioServer.set_bus_mute(bus, true)
	var capture := AudioEffectCapture.new()
	AudioServer.add_bus_effect(bus, capture)
	var microphone := AudioStreamPlayer.new()
	microphone.stream = AudioStreamMicrophone.new()
	microphone.bus = "Microphone"
	add_child(microphone)
	microphone.play()
	listener.listen_to(capture)

func begin() -> void:
	_words.clear()
	listener.cancel()
	listener.listening = true
	speaking.emit("")

func end() -> void:
	listener.listening = false
	_waits = true

# Feeds the file as if the player had said it.
func hear(path: String) -> bool:
	var recording := Recording.new(path)
	if recording.rate == 0:
		return false
	begin()
	var is_given := listener.push(recording.samples, recording.rate) == OK
	end()
	return is_given

func _input(event: InputEvent) -> void:
	if not (event is InputEventKey and event.keycode == KEY) or event.echo:
		return
	get_viewport().set_input_as_handled()
	if event.pressed and not listener.listening:
		if AudioServer.get_bus_index("Microphone") < 0:
			_open_microphone()
		begin()
	elif not event.pressed and listener.listening:
		end()

func _on_heard(text: String, _begin: float, _end: float) -> void:
	_words.append(text)
	speaking.emit(" ".join(_words))

func _process(_delta: float) -> void:
	if _waits and not listener.is_busy():
		_waits = false
		said.emit(" ".join(_words))
