# A villager: a body, a HeedSpeaker, and a bubble that shows the answer word by word. Clicking a word shows the words that the character
# attended to when it said that word.
extends Node3D

const Scenery := preload("res://demo/scenery.gd")

var title := ""
var color := Color.WHITE
var speaker: Node  # a HeedSpeaker, or a node with its methods and signals
var is_open := false
var has_failed := false
var bubble := PanelContainer.new()
var above := Vector3(0, 2.1, 0)  # the point in the world that the bubble points to
var shift := Vector2.ZERO  # size of the bubble, in pixels
var shown_seconds := 20.0  # seconds that an answer stays
var _words := RichTextLabel.new()
var _asked := ""
var _picked := -1
var _looked := {}
var _hides_at := INF

func _init(name_of: String, color_of: Color, speaker_class: String) -> void:
	title = name_of
	color = color_of
	speaker = ClassDB.instantiate(speaker_class)
	add_child(speaker)
	speaker.token.connect(_on_token)
	speaker.finished.connect(_on_end)
	speaker.failed.connect(_on_failed)
	speaker.looked.connect(_on_looked)

func _ready() -> void:
	var box := StyleBoxFlat.new()
	box.bg_color = Color(0.06, 0.05, 0.09, 0.86)
	box.border_color = color
	box.set_border_width_all(2)
	box.set_corner_radius_all(10)
	box.set_content_margin_all(10)
	bubble.add_theme_stylebox_override("panel", box)
	bubble.custom_minimum_size.x = 290
	bubble.visible = false
	_words.bbcode_enabled = true
	_words.fit_content = true
	_words.scroll_active = false
	_words.meta_underlined = false
	_words.mouse_filter = Control.MOUSE_FILTER_PASS
	_words.custom_minimum_size.x = 270
	_words.add_theme_font_size_override("normal_font_size", 15)
	_words.add_theme_font_size_override("bold_font_size", 15)
	_words.meta_clicked.connect(func(word: Variant) -> void: pick(int(word)))
	bubble.add_child(_words)

func open(device: HeedDevice, model: String, persona: String, budget: float) -> bool:
	speaker.budget_msec = budget
	speaker.answer_tokens = 60
	is_open = speaker.open(device, model) == OK and speaker.set_persona_file(persona) == OK
	return is_open

func ask(text: String) -> bool:
	_picked = -1
	_looked = {}
	_asked = text
	_hides_at = INF
	bubble.visible = true
	if not is_open or speaker.say(text) != OK:
		_show("[i]… says nothing: there is no model. See samples/godot/README.md.[/i]")
		return false
	_show("[i]…[/i]")
	return true

# Asks which words the character attended to when it said this word of its last answer.
func pick(word: int) -> void:
	if speaker.look(word) == OK:
		_picked = word
		_show(_marked(speaker.get_answer()))

func _on_token(_text: String) -> void:
	_show(_marked(speaker.get_answer()))

func _on_end(_answer: String) -> void:
	_hides_at = Time.get_ticks_msec() + 1000.0 * shown_seconds
	_show(_marked(speaker.get_answer()))

func _on_failed(why: String) -> void:
	has_failed = true
	_show("[i]" + why + "[/i]")

func _on_looked(words: PackedStringArray, weights: PackedFloat32Array) -> void:
	_hides_at = INF
	# The bubble marks the words with the largest weights; a word that occurs twice counts once.
	_looked = {}
	for i in words.size():
		var word := _bare(words[i])
		if word.length() > 1:
			_looked[word] = maxf(_looked.get(word, 0.0), weights[i])
	_show(_marked(speaker.get_answer()))

static func _bare(word: String) -> String:
	return word.to_lower().lstrip("\"'(").rstrip(".,;:!?\"')")

# The words with the largest weights, except the picked one.
func looked_at_most(count: int) -> Array:
	var known := _looked.keys()
	known.sort_custom(func(a: String, b: String) -> bool: return _looked[a] > _looked[b])
	return known.slice(0, count)

func _marked(text: String) -> String:
	var parts := PackedStringArray()
	var words := text.replace("\n", " ").replace("[", "(").split(" ", false)
	var most := 0.0
	for word in words:
		most = maxf(most, _looked.get(_bare(word), 0.0))
	for i in words.size():
		var word := words[i]
		if i == _picked:
			word = "[bgcolor=#%s][color=#100c18]%s[/color][/bgcolor]" % [color.to_html(false), word]
		elif _looked.has(_bare(word)) and most > 0.0 and (_picked < 0 or i < _picked):
			word = "[bgcolor=#ffb347%02x]%s[/bgcolor]" % [int(200 * clampf(_looked[_bare(word)] / most, 0.0, 1.0)), word]
		parts.append("[url=%d]%s[/url]" % [i, word])
	var shown := " ".join(parts)
	if not _looked.is_empty():
		shown += "\n[font_size=12][color=#c9b8d8]looked at: %s[/color][/font_size]" % ", ".join(looked_at_most(6))
	return shown

func _show(text: String) -> void:
	var asked := "[font_size=12][color=#a99cbb]“%s”[/color][/font_size]\n" % _asked.replace("[", "(") if _asked != "" else ""
	_words.text = "[b][color=#%s]%s[/color][/b]  %s%s" % [color.to_html(false), title, asked, text]

func _process(_delta: float) -> void:
	if Time.get_ticks_msec() > _hides_at:
		bubble.visible = false
	var camera := get_viewport().get_camera_3d()
	if camera == null or not bubble.visible:
		return
	bubble.reset_size()
	var at := camera.unproject_position(global_transform * above) + shift
	var screen := get_viewport().get_visible_rect().size
	bubble.position = Vector2(clampf(at.x - bubble.size.x / 2, 8, screen.x - bubble.size.x - 8), clampf(at.y - bubble.size.y, 8, screen.y - bubble.size.y - 60))

# --- Bodies.

func be_human(scenery: Scenery, coat: Color, skin: Color, hair: Color, stout := 1.0) -> void:
	var part := func(mesh: Mesh, place: Vector3, of: Color, turn := Vector3.ZERO) -> void:
		scenery.part(mesh, place, Scenery.material(of), turn, self)
	part.call(Scenery.pole(0.34 * stout, 0.22 * stout, 1.0), Vector3(0, 0.62, 0), coat)
	part.call(Scenery.ball(0.25 * stout, 0.4), Vector3(0, 1.12, 0), coat)
	part.call(Scenery.ball(0.19), Vector3(0, 1.46, 0), skin)
	part.call(Scenery.ball(0.2, 0.28), Vector3(0, 1.56, -0.03), hair)
	for x: float in [-1.0, 1.0]:
		part.call(Scenery.pole(0.07, 0.09, 0.66), Vector3(x * 0.32 * stout, 0.9, 0.08), coat.darkened(0.15), Vector3(-22, 0, x * 14))
		part.call(Scenery.ball(0.08), Vector3(x * 0.40 * stout, 0.58, 0.2), skin)
		part.call(Scenery.ball(0.025), Vector3(x * 0.07, 1.49, 0.175), Color(0.05, 0.04, 0.04))
		part.call(Scenery.pole(0.1, 0.11, 0.3), Vector3(x * 0.14, 0.12, 0), coat.darkened(0.5))

func be_dragon(scenery: Scenery) -> void:
	var red := Scenery.material(Color(0.42, 0.07, 0.06), 0.0, 0.5)
	var dark := Scenery.material(Color(0.24, 0.04, 0.06), 0.0, 0.6)
	var gold := Scenery.material(Color(1.0, 0.72, 0.2), 3.0)
	above = Vector3(-1.9, 3.1, 1.2)
	scenery.part(Scenery.ball(1.15, 1.7), Vector3(0, 0.8, 0), red, Vector3(0, 20, 0), self)
	for i in 9:  # neck
		var t := i / 8.0
		scenery.part(Scenery.ball(0.58 - 0.26 * t), Vector3(-0.7 - 0.95 * t, 1.0 + 1.5 * t - 0.35 * t * t, 0.35 + 0.65 * t), red, Vector3.ZERO, self)
	for i in 12:  # tail
		var t := i / 11.0
		scenery.part(Scenery.ball(0.62 - 0.54 * t), Vector3(0.8 + 1.9 * t, 0.55 - 0.1 * t, 0.1 + 1.7 * t * t), red, Vector3.ZERO, self)
	var head := Node3D.new()
	head.position = Vector3(-1.85, 2.2, 1.15)
	head.rotation_degrees = Vector3(6, -28, 0)
	add_child(head)
	scenery.part(Scenery.ball(0.36, 0.6), Vector3.ZERO, red, Vector3.ZERO, head)
	scenery.part(Scenery.box(Vector3(0.34, 0.24, 0.6)), Vector3(0, -0.06, 0.42), red, Vector3.ZERO, head)
	scenery.part(Scenery.box(Vector3(0.3, 0.08, 0.5)), Vector3(0, -0.24, 0.36), dark, Vector3(12, 0, 0), head)
	for x: float in [-1.0, 1.0]:
		scenery.part(Scenery.ball(0.07), Vector3(x * 0.21, 0.13, 0.24), gold, Vector3.ZERO, head)
		scenery.part(Scenery.pole(0.09, 0.0, 0.55), Vector3(x * 0.18, 0.36, -0.18), dark, Vector3(-38, 0, -x * 16), head)
		scenery.part(Scenery.prism(Vector3(2.3, 1.7, 0.06)), Vector3(0.3 + x * 0.9, 1.9, -0.4 - 0.3 * x), dark, Vector3(-16, 22 * x, -x * 20), self)
	for i in 7:
		var t := i / 6.0
		scenery.part(Scenery.pole(0.11, 0.0, 0.34), Vector3(-0.7 + 1.5 * t, 1.62 - 0.25 * absf(t - 0.4), 0.12), dark, Vector3.ZERO, self)
